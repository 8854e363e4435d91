import os
import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dts.errors import FormatError
from dts.format import DtsFile, sections
from dts.format.extension import Extension
from dts.format.layout import EXTENSION_OFFSET, EXTENSION_ROOM, sidecar_path
from dts.format.names import Names

WEIRD = [
    "",
    "a",
    "Zürich/北京 tower.jpg",
    "dir/sub/a b.JPEG",
    "x" * 5000,
    "nl\n\0end",
    "\udcff\udc80",
]


def test_names_are_a_sequence():
    names = Names.of(WEIRD)
    assert list(names) == WEIRD
    assert names == WEIRD
    assert names != WEIRD[:-1]
    assert len(names) == len(WEIRD)
    assert names[np.int64(2)] == names[-5] == WEIRD[2]
    assert names[1:6:2] == WEIRD[1:6:2]
    assert names[::-1] == WEIRD[::-1]
    assert names.raw(-1) == b"\xff\x80"
    assert "a" in names
    assert names.index("a") == 1
    assert pickle.loads(pickle.dumps(names)) == names
    assert "a" in repr(names)
    for index in (len(WEIRD), -len(WEIRD) - 1, np.int64(100)):
        with pytest.raises(IndexError):
            names[index]
    with pytest.raises(TypeError):
        names[1.0]
    with pytest.raises(TypeError):
        hash(names)


@given(st.lists(st.binary(max_size=20) | st.text(max_size=10), max_size=20))
def test_names_round_trip(values):
    names = Names.of(values)
    raw = [v if isinstance(v, bytes) else v.encode() for v in values]
    assert [names.raw(i) for i in range(len(names))] == raw
    assert Names.from_bytes(names.to_bytes()) == names
    assert Names.joined([names, names]) == [*names, *names]


@given(st.binary(max_size=60))
def test_any_bytes_are_names_or_an_error(data):
    try:
        names = Names.from_bytes(data)
    except FormatError:
        return
    assert names.to_bytes() == data
    assert sum(len(names.raw(i)) for i in range(len(names))) == len(data) - 4 - 4 * len(names)


def test_names_are_bounded():
    with pytest.raises(FormatError, match="name 1 has 65536 bytes"):
        Names.of(["a", "b" * 65536]).to_bytes()
    with pytest.raises(FormatError, match="1 KiB"):
        Extension(sample_names=["c" * 2000] * 100).pack()


def arrays_of(extension):
    return {
        name: None if getattr(extension, name) is None else list(getattr(extension, name))
        for name in Extension.__dataclass_fields__
    }


def test_written_file_is_read_back(write_dts):
    written = write_dts((3, 5, 4))
    extension = Extension.from_file(written.path)
    assert arrays_of(extension) == {
        "class_names": [f"class{i}" for i in range(10)],
        "sample_names": written.names,
        "block_counts": [3, 5, 4],
        "block_crcs": arrays_of(extension)["block_crcs"],
        "sample_crcs": [zlib.crc32(data) for data, _ in written.samples],
        "source_sizes": [len(data) for data, _ in written.samples],
    }
    assert not os.path.exists(sidecar_path(written.path))
    assert Extension.from_file(write_dts(name="plain.dts", extension=False).path) is None


def inject(written, inside, sidecar=None):
    written.patch(EXTENSION_OFFSET, bytes(1 << 16))
    written.patch(EXTENSION_OFFSET, inside)
    if sidecar is not None:
        Path(sidecar_path(written.path)).write_bytes(sidecar)


names_3 = st.lists(st.binary(max_size=30) | st.text(max_size=10), min_size=3, max_size=3)
numbers_3 = st.lists(st.integers(0, 2**32 - 1), min_size=3, max_size=3)


@given(names=names_3, crcs=numbers_3, sizes=numbers_3, room=st.integers(60, 700))
def test_round_trip_with_weird_names(small_file, names, crcs, sizes, room):
    extension = Extension(sample_names=names, sample_crcs=crcs, source_sizes=sizes)
    inside, sidecar = extension.pack(room)
    assert len(inside) <= max(room, sections.HEAD_BYTES)
    inject(small_file, inside, sidecar)
    back = Extension.from_file(small_file.path)
    assert [n if isinstance(n, bytes) else n.encode() for n in names] == [
        back.sample_names.raw(i) for i in range(3)
    ]
    assert list(back.sample_crcs) == crcs
    assert list(back.source_sizes) == sizes
    assert back.class_names is None


def test_what_has_no_room_goes_to_a_sidecar(write_dts):
    written = write_dts((40, 40), room=600)
    assert os.path.exists(sidecar_path(written.path))
    with DtsFile(written.path) as file:
        assert file.block_counts.tolist() == [40, 40]
        assert file.class_names[3] == "class3"
        assert file.names == written.names
        assert file.sample_crcs.tolist() == [zlib.crc32(data) for data, _ in written.samples]


def test_small_and_dear_parts_stay_inside():
    n = 100_000
    rng = np.random.default_rng(0)
    extension = Extension(
        class_names=["a", "b"],
        sample_names=[f"{x:032x}" for x in rng.integers(0, 2**62, n)],
        block_counts=[n],
        block_crcs=[5],
        sample_crcs=rng.integers(0, 2**32, n),
        source_sizes=rng.integers(0, 2**40, n),
    )
    inside, sidecar = extension.pack(1 << 19)
    assert [tag in inside[:300] for tag in (b"CLAS", b"BCNT", b"BCRC", b"SCRC")] == [True] * 4
    assert [tag in sidecar[:300] for tag in (b"NAME", b"SIZE")] == [True] * 2
    whole, none = extension.pack()
    assert none is None
    assert len(whole) <= EXTENSION_ROOM


def test_missing_sidecar_is_a_warning_and_the_rest_works(write_dts):
    written = write_dts((40, 40), room=600)
    os.remove(sidecar_path(written.path))
    with pytest.warns(UserWarning, match=r"a\.dts\.dtsx is missing"):
        file = DtsFile(written.path)
    with file:
        assert file.names is None
        assert file.class_names[0] == "class0"
        assert bytes(file[50][0]) == written.samples[50][0]


def test_sidecar_of_another_file_is_refused(write_dts):
    written = write_dts((40, 40), room=600)
    other = write_dts((40, 41), room=600, name="b.dts")
    os.replace(sidecar_path(other.path), sidecar_path(written.path))
    with pytest.raises(FormatError, match=r"a\.dts\.dtsx is the sidecar of another"):
        DtsFile(written.path)


def test_damaged_sidecar_is_named(write_dts):
    written = write_dts((40, 40), room=600)
    sidecar = Path(sidecar_path(written.path))
    data = bytearray(sidecar.read_bytes())
    data[-1] ^= 1
    sidecar.write_bytes(data)
    with (
        DtsFile(written.path) as file,
        pytest.raises(FormatError, match=r"dtsx: .*section 'SIZE'"),
    ):
        print(file.source_sizes)
    sidecar.write_bytes(b"")
    with pytest.raises(FormatError, match="dtsx: extension: head"):
        DtsFile(written.path)


@pytest.mark.parametrize(
    ("at", "reason"),
    [(0, "head"), (4, "version"), (8, "directory"), (20, "directory"), (30, "CRC")],
)
def test_damaged_head_is_named_and_can_be_ignored(write_dts, at, reason):
    written = write_dts()
    written.flip(EXTENSION_OFFSET + at)
    with pytest.raises(FormatError, match=rf"a\.dts: extension: .*{reason}.*extension='ignore'"):
        DtsFile(written.path)
    with DtsFile(written.path, extension="ignore") as file:
        assert file.names is None
        assert file.class_names is None
        assert [bytes(file[i][0]) for i in range(len(file))] == [d for d, _ in written.samples]


def test_every_byte_of_the_extension_is_covered(write_dts):
    written = write_dts((2,))
    size = len(written.read(EXTENSION_OFFSET, 1 << 16).rstrip(b"\0"))
    for at in range(EXTENSION_OFFSET, EXTENSION_OFFSET + size):
        written.flip(at)
        try:
            Extension.from_file(written.path)
        except FormatError as error:
            message = str(error)
        else:
            message = ""
        written.flip(at)
        assert "extension: " in message
    assert Extension.from_file(written.path).sample_names == written.names


def container(tag, raw, *, raw_length=None, **entry):
    data = zlib.compress(raw)
    return sections.pack([(tag, entry.get("data", data), raw_length or len(raw))])


@pytest.mark.parametrize(
    ("tag", "raw", "field", "reason"),
    [
        (b"SCRC", bytes(8), "sample_crcs", "2 entries, the header says 3"),
        (b"SCRC", bytes(16), "sample_crcs", "claims 16 bytes, at most 12"),
        (b"BCRC", bytes(8), "block_crcs", "claims 8 bytes"),
        (b"NAME", Names.of(["a"]).to_bytes(), "sample_names", "1 entries, the header says 3"),
        (b"NAME", b"\3\0\0\0", "sample_names", "list of 3 names has only 4"),
        (b"NAME", bytes(1 << 20), "sample_names", "claims 1048576"),
        (b"CLAS", Names.of(["a"]).to_bytes(), "class_names", "1 entries, the header says 10"),
    ],
)
def test_parts_that_contradict_the_header(small_file, tag, raw, field, reason):
    inject(small_file, container(tag, raw))
    with pytest.raises(FormatError, match=f"section '{tag.decode()}'.*{reason}"):
        Extension.from_file(small_file.path)


def test_counts_that_contradict_the_header(small_file):
    inject(small_file, container(b"BCNT", struct.pack("<I", 4)))
    with pytest.raises(FormatError, match="'BCNT' contradicts the header's 3 samples"):
        DtsFile(small_file.path)


def test_unpacking_stops_at_the_stated_length(small_file):
    bomb = zlib.compress(bytes(50 << 20))
    inject(small_file, sections.pack([(b"SCRC", bomb, 12)]))
    with pytest.raises(FormatError, match="not of its stated length 12"):
        Extension.from_file(small_file.path)
    inject(small_file, sections.pack([(b"SCRC", b"not zlib, but long enough", 12)]))
    with pytest.raises(FormatError, match="cannot be unpacked"):
        Extension.from_file(small_file.path)
    inject(small_file, sections.pack([(b"SCRC", b"", 12)]))
    with pytest.raises(FormatError, match="claims 12"):
        Extension.from_file(small_file.path)


def test_sections_that_we_do_not_know_are_passed_over(small_file):
    crcs = np.arange(3, dtype="<u4").tobytes()
    packed = [
        (tag, zlib.compress(raw), len(raw)) for tag, raw in [(b"ROI ", b"x"), (b"SCRC", crcs)]
    ]
    inject(small_file, sections.pack(packed))
    with DtsFile(small_file.path) as file:
        assert file.sample_crcs.tolist() == [0, 1, 2]


def test_sections_outside_their_area(small_file):
    data = bytearray(container(b"SCRC", bytes(12)))
    struct.pack_into("<Q", data, sections.HEAD_BYTES + 8, 16 << 20)
    head = zlib.crc32(data[24:56], zlib.crc32(data[:20]))
    struct.pack_into("<I", data, 20, head)
    inject(small_file, bytes(data))
    with pytest.raises(FormatError, match="'SCRC' lies outside"):
        DtsFile(small_file.path)


@pytest.mark.parametrize(
    "fields",
    [
        {"sample_crcs": [2**32]},
        {"sample_crcs": [-1]},
        {"source_sizes": [1.5]},
        {"block_counts": [[1, 2], [3, 4]]},
        {"sample_names": ["a"], "sample_crcs": [1, 2]},
        {"sample_names": ["a"], "block_counts": [2]},
    ],
)
def test_pack_refuses(fields):
    with pytest.raises(FormatError):
        Extension(**fields).pack()
