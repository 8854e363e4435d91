"""Headers with every field at its extremes: opened or refused, never a crash or a large buffer."""

import resource
import tracemalloc

import numpy as np
import pytest

from dts.errors import CorruptError, FormatError
from dts.format import HEADER_DTYPE, DtsFile, Header
from dts.format.layout import BLOCK_BYTES, HEADER_AREA

# What a file may say there without being refused: see docs/format.md.
TOLERATED = {
    "is_training": {0, 1},
    "compress_level": {0},
    "val_set_prep": {0, 1},
    "num_volumes": {1},
    "volume_id": {0},
    "image_width": {0},
    "image_height": {0},
    "num_classes": {1},
    "max_pic_area": {0, 1},
    "compression_ratio": {1},
    "normalize_mean": {0, 1},
    "normalize_std": {0, 1},
    "crc_code": {0, 1, 0xFFFFFFFF},
}


def patched(data, field, value):
    dtype, offset = HEADER_DTYPE.fields[field][:2]
    data = bytearray(data)
    if value in (0, 1):
        width = dtype.base.itemsize if dtype.base.kind != "S" else dtype.itemsize
        piece = value.to_bytes(width, "little") * (dtype.itemsize // width)
    else:
        piece = b"\xff" * dtype.itemsize
    data[offset : offset + dtype.itemsize] = piece
    return bytes(data)


@pytest.mark.parametrize("extension", [True, False])
def test_each_field_at_its_extremes(write_dts, extension):
    written = write_dts((3, 5), extension=extension)
    data = written.read(0, 144)
    for field in HEADER_DTYPE.names:
        for value in (0, 1, 0xFFFFFFFF):
            written.patch(0, patched(data, field, value))
            opened = reads(written)
            if value in TOLERATED.get(field, ()):
                assert opened or (extension and field == "num_classes")
            else:
                assert not opened


def reads(written):
    """Whether the file opens; whatever it then says must be data or CorruptError."""
    try:
        file = DtsFile(written.path)
    except FormatError as error:
        found = str(written.path) in str(error)
    else:
        with file:
            for i in range(len(file)):
                try:
                    file[i]
                except CorruptError:
                    continue
        return True
    assert found
    return False


@pytest.mark.parametrize("kind", ["MNIST", "CIFAR100"])
def test_each_field_of_arrays_at_its_extremes(write_arrays, kind):
    path, _, _ = write_arrays(kind)
    good = path.read_bytes()
    for field in HEADER_DTYPE.names:
        for value in (0, 1, 0xFFFFFFFF):
            path.write_bytes(patched(good[:144], field, value) + good[144:])
            try:
                with DtsFile(path) as file:
                    assert len(file) == 20
            except FormatError:
                continue


def test_two_fields_that_agree_on_nonsense(write_dts):
    """Counts that fit each other but not the file are not believed, nor given memory."""
    written = write_dts((3, 5), extension=False)
    header = written.header
    tracemalloc.start()
    try:
        for blocks in (1 << 17, 1 << 24, 2**32 - 1):
            huge = header.replace(
                num_blocks=blocks,
                total_blocks=blocks,
                block_bytes=blocks * BLOCK_BYTES,
                total_bytes=HEADER_AREA + blocks * BLOCK_BYTES,
                num_samples=min(blocks * 340, 2**32 - 1),
                max_pic_per_block=340,
            )
            huge.validate()
            written.patch(0, huge.to_bytes())
            with pytest.raises(FormatError, match=f"num_blocks is {blocks}, but the file ends"):
                DtsFile(written.path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_billion_volumes(write_volumes):
    volumes = write_volumes([[3], [5]])
    for volume in volumes:
        header = volume.header
        many = header.replace(num_volumes=2**32 - 1, total_blocks=2**32 - 1)
        volume.patch(0, many.to_bytes())
    with pytest.raises(FormatError, match=r"set_vol002\.dts: volume 2 of 4294967295 is missing"):
        DtsFile(volumes[0].path)


def test_array_file_that_claims_billions(write_arrays):
    path, _, _ = write_arrays("MNIST")
    n = 2**32 - 1
    header = Header(dataset_type="MNIST", num_samples=n)
    path.write_bytes(header.to_bytes() + path.read_bytes()[144:])
    with DtsFile(path) as file:
        assert len(file) == n
        with pytest.raises(CorruptError):
            file[n - 1]
        with pytest.raises(CorruptError):
            file.labels()


def test_random_headers(write_dts):
    written = write_dts((3, 5))
    good = np.frombuffer(written.read(0, 144), np.uint8)
    rng = np.random.default_rng(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(500):
        data = good.copy()
        where = rng.integers(0, 144, rng.integers(1, 6))
        data[where] = rng.integers(0, 256, where.size)
        written.patch(0, data.tobytes())
        reads(written)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
