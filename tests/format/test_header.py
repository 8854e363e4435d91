import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dts.errors import FormatError
from dts.format import HEADER_DTYPE, Header, read_header

# Headers of files that the reference's exporter wrote, and what is in them.
OPAQUE_LV0 = bytes.fromhex(
    "2e44545303000000494d4147454e4554010000000000000000000000e80300004e48574300000000000000000300"
    "000020524742a40100000100000000000000030000000300000000000004000000000000000100000003000000"
    "000000000100100000400000008034e3019e000000e364c63f0000000000000000000000000000000000000000"
    "00000000d97be40f"
)
SPECIAL_LV2 = bytes.fromhex(
    "2e44545303000000494d4147454e4554010000000200000000000000e80300004e48574300000000000000000300"
    "0000205247422400000001000000000000000100000001000000000000020000000000000001000000010000000"
    "000000001004000004000000080a9030000000000eb66c04100000000000000000000000000000000000000000000"
    "0000a57339f2"
)
MNIST_TEST = bytes.fromhex(
    "2e445453030000002020204d4e4953540000000000000000000000000a0000004e4857431c0000001c0000000100"
    "0000475241591027000001000000000000000100000001000000100b67010000000000010000100a67010000000"
    "0100a6701000000000000000010030000102700000000803f000000000000000000000000000000000000000000"
    "00000067b0399c"
)
CIFAR10_TRAIN = bytes.fromhex(
    "2e4454530300000020434946415231300100000000000000000000000a0000004e48574320000000200000000300"
    "00002052474250c300000100000000000000010000000100000050842809000000000001000050832809000000"
    "005083280900000000000000000004000050c300000000803f0000000000000000000000000000000000000000"
    "000000001d7a5453"
)
REFERENCE = {
    "opaque_lv0": (
        OPAQUE_LV0,
        {
            "dataset_type": "IMAGENET",
            "is_training": 1,
            "compress_level": 0,
            "num_classes": 1000,
            "num_samples": 420,
            "num_blocks": 3,
            "total_bytes": 67108864,
            "block_bytes": 50331648,
            "block_header_size": 4096,
            "max_pic_area": 31667328,
            "max_pic_per_block": 158,
            "crc_code": 0x0FE47BD9,
        },
    ),
    "special_lv2": (
        SPECIAL_LV2,
        {"compress_level": 2, "block_header_size": 16384, "max_pic_per_block": 0, "num_blocks": 1},
    ),
    "mnist_test": (
        MNIST_TEST,
        {
            "dataset_type": "   MNIST",
            "color_channel_type": "GRAY",
            "block_bytes": 23530000,
            "max_pic_area": 784,
            "crc_code": 0x9C39B067,
        },
    ),
    "cifar10_train": (
        CIFAR10_TRAIN,
        {
            "dataset_type": " CIFAR10",
            "color_channel_type": " RGB",
            "num_samples": 50000,
            "bytes_per_block": 153650000,
            "total_bytes": 153650256,
        },
    ),
}


def test_dtype_is_the_documented_table():
    assert HEADER_DTYPE.itemsize == 144
    assert len(HEADER_DTYPE.names) == 29
    offsets = {name: HEADER_DTYPE.fields[name][1] for name in HEADER_DTYPE.names}
    assert offsets["dataset_type"] == 8
    assert offsets["num_samples"] == 52
    assert offsets["total_bytes"] == 72
    assert offsets["block_bytes"] == 84
    assert offsets["crc_code"] == 140


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_headers_are_read_and_written_back(name):
    data, fields = REFERENCE[name]
    header = Header.from_bytes(data)
    header.validate()
    assert {field: getattr(header, field) for field in fields} == fields
    assert header.magic == ".DTS"
    assert header.version == (3, 0, 0, 0)
    assert header.to_bytes() == data
    assert header.replace() == header


@pytest.mark.parametrize("name", REFERENCE)
def test_struct_and_dtype_agree(name):
    data, _ = REFERENCE[name]
    record = np.frombuffer(data, HEADER_DTYPE)[0]
    header = Header.from_bytes(data)
    for field in HEADER_DTYPE.names:
        value = record[field]
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, np.ndarray):
            value = tuple(value.tolist())
        assert getattr(header, field) == value


def test_for_pictures_fills_in_what_the_reference_writes():
    ours = Header.for_pictures(
        level=0,
        is_training=True,
        num_classes=1000,
        num_samples=420,
        num_blocks=3,
        source_bytes=43298337,
        max_pic_area=31667328,
        max_pic_per_block=158,
        crc=0x0FE47BD9,
    )
    reference = Header.from_bytes(OPAQUE_LV0)
    assert ours.replace(compression_ratio=reference.compression_ratio) == reference


def test_compression_ratio_is_a_double_division_rounded_once():
    header = Header.for_pictures(
        level=3,
        is_training=False,
        num_classes=2,
        num_samples=5,
        num_blocks=1,
        source_bytes=1234567,
        max_pic_area=0,
        max_pic_per_block=5,
    )
    assert header.compression_ratio == float(np.float32(2 * 16777216 / 1234567))
    assert header.is_training == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"num_samples": 1021}, "num_samples"),
        ({"num_samples": 0}, "num_samples"),
        ({"source_bytes": 0}, "source_bytes"),
        ({"level": 4}, "compress_level"),
        ({"volume_id": 1}, "volume_id"),
        ({"num_volumes": 2}, "num_volumes"),
        ({"max_pic_per_block": 341}, "max_pic_per_block"),
        ({"num_classes": 2**31}, "num_classes"),
        ({"crc": -1}, "crc_code"),
    ],
)
def test_for_pictures_refuses_what_cannot_be(change, named):
    fields = {
        "level": 0,
        "is_training": True,
        "num_classes": 3,
        "num_samples": 900,
        "num_blocks": 3,
        "source_bytes": 1000,
        "max_pic_area": 1,
        "max_pic_per_block": 340,
    }
    with pytest.raises(FormatError, match=named):
        Header.for_pictures(**fields | change)


@pytest.mark.parametrize("kind", ["IMAGENET", "MNIST", "CIFAR10", "CIFAR100"])
def test_defaults_are_valid(kind):
    header = Header(dataset_type=kind, num_samples=7)
    header.validate()
    assert header.dataset_type.strip() == kind
    assert len(header.dataset_type) == 8


def test_mnist_with_right_sizes_is_valid_too():
    assert Header(dataset_type="MNIST", num_samples=10).block_bytes == 7850
    Header(dataset_type="MNIST", num_samples=10, compress_level=3, val_set_prep=1).validate()
    with pytest.raises(FormatError, match="block_bytes"):
        Header(dataset_type="MNIST", num_samples=10, block_bytes=7851).validate()


def test_constructor_refuses_unknown_fields_and_values_that_do_not_fit():
    with pytest.raises(TypeError, match="num_sample'"):
        Header(num_sample=3)
    for fields in (
        {"num_samples": 2**32},
        {"num_samples": -1},
        {"num_samples": 1.5},
        {"dataset_type": "far too long"},
        {"version": (3, 0, 0)},
        {"version": (256, 0, 0, 0)},
        {"normalize_mean": 0.5},
    ):
        with pytest.raises(FormatError, match=next(iter(fields))):
            Header(**fields)


def test_numpy_values_are_taken():
    header = Header(num_samples=np.uint64(5), is_training=np.bool_(False))
    assert (header.num_samples, header.is_training) == (5, 0)


def test_equality_hash_copies_and_json():
    a, b = Header(num_samples=3), Header(num_samples=4)
    assert a != b
    assert a == b.replace(num_samples=3, max_pic_per_block=3)
    assert a != "header"
    assert len({a, copy.deepcopy(a), pickle.loads(pickle.dumps(a))}) == 1
    assert eval(repr(a)) == a
    assert list(a.as_dict()) == list(HEADER_DTYPE.names)
    assert Header(**json.loads(json.dumps(a.as_dict()))) == a
    with pytest.raises(AttributeError):
        a.num_samples = 5


@given(st.binary(min_size=144, max_size=200))
def test_any_bytes_survive(data):
    header = Header.from_bytes(data)
    assert header.to_bytes() == data[:144]
    assert len(header.as_dict()) == 29
    with pytest.raises(FormatError):
        header.validate()


@given(st.data())
def test_fields_round_trip(data):
    kind = data.draw(st.sampled_from(["IMAGENET", "MNIST", "CIFAR10", "CIFAR100"]))
    numbers = {
        name: data.draw(st.integers(0, int(np.iinfo(HEADER_DTYPE[name]).max)), label=name)
        for name in HEADER_DTYPE.names
        if HEADER_DTYPE[name].kind == "u"
    }
    header = Header(dataset_type=kind, **numbers)
    assert {name: getattr(header, name) for name in numbers} == numbers
    assert Header.from_bytes(header.to_bytes()) == header


def is_valid(data):
    try:
        Header.from_bytes(data).validate()
    except FormatError:
        return False
    return True


@pytest.mark.parametrize("name", REFERENCE)
def test_every_byte_mutated_is_valid_or_a_format_error(name):
    data, _ = REFERENCE[name]
    may_pass = {"version", "crc_code", "compression_ratio", "normalize_mean", "normalize_std"}
    may_pass |= {"is_training", "compress_level", "val_set_prep", "num_classes"}
    may_pass |= {"max_pic_area", "max_pic_per_block", "num_samples"}
    starts = [(HEADER_DTYPE.fields[f][1], f) for f in HEADER_DTYPE.names]
    for position in range(144):
        field = max(s for s in starts if s[0] <= position)[1]
        for value in range(256):
            mutated = bytearray(data)
            mutated[position] = value
            if is_valid(mutated):
                assert value == data[position] or field in may_pass
            else:
                assert value != data[position]


def test_short_input():
    with pytest.raises(FormatError, match="144"):
        Header.from_bytes(OPAQUE_LV0[:143])


def test_read_header(tmp_path):
    path = tmp_path / "a.dts"
    with pytest.raises(FileNotFoundError):
        read_header(path)
    path.write_bytes(OPAQUE_LV0[:100])
    with pytest.raises(FormatError, match=r"a\.dts.*100 bytes"):
        read_header(path)
    path.write_bytes(b"\x89PNG" + OPAQUE_LV0[4:])
    with pytest.raises(FormatError, match=r"a\.dts: magic"):
        read_header(path)
    path.write_bytes(OPAQUE_LV0)
    assert read_header(str(path)).num_samples == 420
    with pytest.raises(IsADirectoryError):
        read_header(tmp_path)
