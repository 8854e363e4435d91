"""Small .dts files, the obvious order, and the C contract through ctypes."""

import ctypes
import itertools
import struct
import threading
import types

import numpy as np
import pytest

from dts.format import Header

BLOCK = 16 << 20
CLASSES = 7


def picture(id):
    """Bytes that tell which sample they are, of a length that differs from sample to sample."""
    return struct.pack("<q", id) * (1 + id % 11)


def block_bytes(level, number, first_id, count, header):
    """Head, table and pictures of one block, without the zeros after the last picture."""
    body = [picture(first_id + i) for i in range(count)]
    padded = [(len(p) + 63) // 64 * 64 for p in body]
    offsets = [header + sum(padded[:i]) for i in range(count)]
    labels = [(first_id + i) % CLASSES for i in range(count)]
    table = np.array([*offsets, *map(len, body), *labels], "<u4").tobytes()
    head = f"LV{level}B".encode() + struct.pack("<II", number, count) + table
    return head.ljust(header, b"\0") + b"".join(
        p.ljust(n, b"\0") for p, n in zip(body, padded, strict=True)
    )


def write_dts(path, counts, *, level=0, first_id=0, **fields):
    """Write a file of blocks of `counts` pictures; holes stay holes."""
    header = 4096 if level == 0 else 16384
    fields = {
        "level": level,
        "is_training": True,
        "num_classes": CLASSES,
        "num_samples": max(1, sum(counts)),
        "num_blocks": len(counts),
        "source_bytes": 1,
        "max_pic_area": 64,
        "max_pic_per_block": max(1, *counts),
        "crc": 0,
    } | fields
    with open(path, "wb") as file:
        file.write(Header.for_pictures(**fields).to_bytes())
        for number, count in enumerate(counts):
            file.seek(BLOCK * (1 + number))
            file.write(block_bytes(level, number, first_id, count, header))
            first_id += count
        file.truncate(BLOCK * (1 + len(counts)))


def describe(paths, volumes, *, level=0, names=None):
    """Give what a reader needs of a DtsFile whose volumes hold blocks of these counts."""
    counts = np.array(list(itertools.chain(*volumes)), np.int64)
    number = [i for volume in volumes for i in range(len(volume))]
    return types.SimpleNamespace(
        paths=[str(p) for p in paths],
        headers=[types.SimpleNamespace(block_header_size=4096 if level == 0 else 16384)]
        * len(volumes),
        level=level,
        num_classes=CLASSES,
        block_counts=counts,
        block_starts=np.cumsum(counts) - counts,
        block_volume=[v for v, volume in enumerate(volumes) for _ in volume],
        block_number=number,
        block_offset=[BLOCK * (1 + i) for i in number],
        names=names,
    )


@pytest.fixture(scope="session")
def make_set(tmp_path_factory):
    """make_set(counts, ...): a set of one volume, or of several when counts is nested."""

    def make(counts, *, level=0, names=None):
        volumes = counts if counts and isinstance(counts[0], list) else [counts]
        folder = tmp_path_factory.mktemp("set")
        paths, first = [], 0
        for i, volume in enumerate(volumes):
            paths.append(folder / f"set_vol{i:03d}.dts")
            write_dts(
                paths[-1],
                volume,
                level=level,
                first_id=first,
                volume_id=i,
                num_volumes=len(volumes),
                total_blocks=sum(map(len, volumes)),
            )
            first += sum(volume)
        return describe(paths, volumes, level=level, names=names)

    return make


@pytest.fixture(scope="session")
def mixed(make_set):
    """29 samples in 7 blocks: a prime number of both."""
    return make_set([5, 3, 7, 1, 0, 9, 4])


@pytest.fixture(scope="session")
def expect():
    """expect(id): label and bytes of a sample."""
    return lambda id: (id % CLASSES, picture(id))


@pytest.fixture(scope="session")
def drain():
    """drain(reader, workers): what each worker got in the running epoch, one thread each."""

    def run(reader, workers=1):
        got = [[] for _ in range(workers)]
        failures = []

        def work(worker):
            try:
                while (sample := reader.get_next_sample(worker)) is not None:
                    label, data, id = sample
                    got[worker].append((id, label, bytes(data)))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(w,)) for w in range(1, workers)]
        for thread in threads:
            thread.start()
        work(0)
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return got

    return run


class Sample(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("id", ctypes.c_int64),
        ("size", ctypes.c_uint32),
        ("label", ctypes.c_int32),
        ("volume", ctypes.c_int32),
        ("block", ctypes.c_int32),
        ("index", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class Error(ctypes.Structure):
    _fields_ = [
        ("status", ctypes.c_int32),
        ("os_errno", ctypes.c_int32),
        ("volume", ctypes.c_int32),
        ("block", ctypes.c_int32),
        ("sample", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("id", ctypes.c_int64),
        ("position", ctypes.c_int64),
        ("reason", ctypes.c_char * 224),
    ]


_P = ctypes.POINTER
_SAMPLE_AT = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, _P(Sample), _P(Error)
)
_REPLACEMENT = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int64,
    _P(Sample),
    ctypes.c_int,
    _P(Sample),
    _P(Error),
)
_FINISH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)


class _Loader(ctypes.Structure):
    _fields_ = [
        ("self", ctypes.c_void_p),
        ("sample_at", _SAMPLE_AT),
        ("replacement", _REPLACEMENT),
        ("finish", _FINISH),
        ("rest", _FINISH),
        ("resume", _FINISH),
    ]


class CLoader:
    """dts_loader as the pipeline sees it. ctypes lets go of the GIL in every call."""

    def __init__(self, reader):
        self.reader = reader
        self.c = _Loader.from_address(reader.address)

    def sample_at(self, position, worker=0):
        sample, error = Sample(), Error()
        status = self.c.sample_at(self.c.self, worker, position, sample, error)
        return status, sample, error

    def replacement(self, position, bad, attempt, worker=0):
        sample, error = Sample(), Error()
        status = self.c.replacement(self.c.self, worker, position, bad, attempt, sample, error)
        return status, sample, error

    def finish(self, worker=0):
        self.c.finish(self.c.self, worker)

    def rest(self, worker=0):
        self.c.rest(self.c.self, worker)

    def resume(self, worker=0):
        self.c.resume(self.c.self, worker)


@pytest.fixture(scope="session")
def c_loader():
    return CLoader
