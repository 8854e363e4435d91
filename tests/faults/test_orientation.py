"""EXIF orientation: one switch; with it on, the pipeline sees the upright picture."""

import io

import make
import numpy as np
import pytest
from PIL import Image, ImageOps

from dts import CenterCrop, RandomHorizontalFlip, RandomResizedCrop, Resize, decode

ORIENTATION = 0x0112


def tagged(value, *, width=61, height=43, seed=0, **options):
    """Make a JPEG with an orientation tag."""
    exif = Image.Exif()
    exif[0x010F] = "a maker"
    exif[ORIENTATION] = value
    return make.jpeg(seed, width, height, exif=exif, **options)


def stood_up(data):
    """Decode here, turn with Pillow."""
    with Image.open(io.BytesIO(data)) as image:
        turned = Image.fromarray(decode.decode(data))
        turned.getexif()[ORIENTATION] = image.getexif().get(ORIENTATION, 1)
        return np.asarray(ImageOps.exif_transpose(turned))


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    """A file of 24 pictures, three for each orientation, of several kinds; and their bytes."""
    kinds = [{"subsampling": 2}, {"progressive": True, "subsampling": 1}, {"mode": "L"}]
    pictures = [
        tagged(k % 8 + 1, width=61 + 9 * k, height=143 - 3 * k, seed=k, **kinds[k // 8])
        for k in range(24)
    ]
    path = tmp_path_factory.mktemp("eight") / "folder_train_lv0.dts"
    return make.pack_blocks(path, [[(p, k % 3) for k, p in enumerate(pictures)]]), pictures


@pytest.fixture(scope="module")
def stored(eight):
    """The same pictures as arrays, turned upright by Pillow."""
    return [stood_up(data) for data in eight[1]]


def batches(setup):
    with setup.batch_size(5).output("uint8").commit() as pre:
        draws = [pre.draws("train", 0, id) for id in range(pre.num_train_samples)]
        images = {}
        for batch in pre.train(0):
            images |= {int(i): x.copy() for i, x in zip(batch.ids, batch.images, strict=True)}
    return images, draws, pre.stats


def test_all_eight_without_a_resize(eight, stored, backend, setup):
    """Decoding a region of a turned picture gives the very pixels of turning the whole."""
    images, draws, _ = batches(
        setup(eight[0]).train_transforms(CenterCrop((37, 29))).exif_orientation()
    )
    for id, whole in enumerate(stored):
        assert draws[id].image_size == whole.shape[:2]
        top, left, height, width = draws[id].crop
        assert np.array_equal(images[id], whole[top : top + height, left : left + width])


@pytest.mark.parametrize("size", [(48, 40), (200, 210)])
def test_all_eight_through_the_usual_chain(eight, stored, backend, setup, size):
    """Equal to the same crop, flip and resize of what Pillow turned."""
    chain = [RandomResizedCrop(size), RandomHorizontalFlip()]
    images, draws, _ = batches(setup(eight[0]).train_transforms(*chain).exif_orientation(True))
    assert {d.image_size for d in draws} >= {stored[0].shape[:2], stored[4].shape[:2]}
    for id, whole in enumerate(stored):
        top, left, height, width = draws[id].crop
        assert top + height <= whole.shape[0]
        assert left + width <= whole.shape[1]
        cut = Image.fromarray(whole[top : top + height, left : left + width])
        wanted = np.asarray(cut.resize(size[::-1], Image.Resampling.BILINEAR))
        wanted = wanted[:, :: -1 if draws[id].flip else 1]
        assert np.abs(images[id].astype(int) - wanted).max() <= 1


def test_chains_that_hold_a_picture_in_between(eight, stored, setup):
    chain = [CenterCrop((200, 210)), Resize((50, 60)), RandomResizedCrop(32)]
    images, _, _ = batches(setup(eight[0]).train_transforms(*chain).exif_orientation())
    flat = setup(eight[0]).train_transforms(*chain)
    upright, _, _ = batches(flat)
    assert any(not np.array_equal(images[k], upright[k]) for k in range(1, 8))
    assert all(np.array_equal(images[k], upright[k]) for k in (0, 8, 16))


def test_off_by_default(eight, setup):
    images, draws, _ = batches(setup(eight[0]).train_transforms(CenterCrop((37, 29))))
    for id, data in enumerate(eight[1]):
        whole = decode.decode(data)
        assert draws[id].image_size == whole.shape[:2]
        top, left, height, width = draws[id].crop
        assert np.array_equal(images[id], whole[top : top + height, left : left + width])


def with_exif(body, data=None):
    """Put an APP1 segment behind the start marker."""
    data = data or make.jpeg(0, 61, 43)
    segment = b"Exif\0\0" + body
    return data[:2] + b"\xff\xe1" + (len(segment) + 2).to_bytes(2, "big") + segment + data[2:]


def ifd(value=6, *, order="little", kind=3, count=1, entries=1, at=8, magic=42, tag=ORIENTATION):
    put = lambda number, size: number.to_bytes(size, order)  # noqa: E731
    mark = b"II" if order == "little" else b"MM"
    size = {1: 1, 3: 2}.get(kind, 4)
    field = put(value, size) + bytes(4 - size)
    entry = put(tag, 2) + put(kind, 2) + put(count, 4) + field
    return mark + put(magic, 2) + put(at, 4) + put(entries, 2) + entry + bytes(4)


GOOD = {
    "little": (ifd(), 6),
    "big": (ifd(order="big"), 6),
    "as a byte": (ifd(3, kind=1), 3),
    "as a long": (ifd(8, kind=4, order="big"), 8),
    "another tag": (ifd(tag=0x0110), 1),
}
BROKEN = {
    "empty": b"",
    "no byte order": b"xx" + ifd()[2:],
    "wrong magic": ifd(magic=43),
    "offset past the end": ifd(at=1 << 31),
    "offset at the end": ifd(at=len(ifd()) - 1),
    "more entries than data": ifd(entries=9, tag=0x0110),
    "entry cut off": ifd()[:15],
    "value 0": ifd(0),
    "value 9": ifd(9),
    "a text": ifd(kind=2),
    "two values": ifd(count=2),
    "eight bytes overwritten": b"\xa8" * 8 + ifd()[8:],
}


@pytest.mark.parametrize("name", GOOD)
def test_tags_that_are_read(name):
    body, value = GOOD[name]
    decoder = decode.Decoder()
    assert decoder.orientation(with_exif(body)) == value == decode.orientation(with_exif(body))
    assert decoder.warnings == 0


def test_agrees_with_pillow():
    for value in range(1, 9):
        assert decode.orientation(tagged(value)) == value
    assert decode.orientation(make.jpeg(0, 9, 9)) == 1


@pytest.mark.parametrize("name", BROKEN)
def test_j32_broken_exif_is_orientation_1_and_one_warning(name, backend, setup, tmp_path, capfd):
    data = with_exif(BROKEN[name])
    decoder = decode.Decoder()
    assert decoder.orientation(data) == 1
    assert decoder.warnings == 1
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", [[(data, 0)]])
    with setup(path).train_transforms(CenterCrop(32)).exif_orientation().commit() as pre:
        (batch,) = pre.train(0)
        assert pre.draws("train", 0, 0).image_size == (43, 61)
        assert pre.stats()["train"]["decode_warnings"] == 1
    whole = decode.decode(make.jpeg(0, 61, 43))
    assert np.allclose(batch.images[0] * 255, whole[6:38, 14:46], atol=1e-3)
    assert capfd.readouterr() == ("", "")


def test_j32_every_cut_of_an_exif_block_is_survived():
    body = ifd()
    for length in range(len(body)):
        assert decode.orientation(with_exif(body[:length])) in (1, 6)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        noise = bytearray(body)
        for at in rng.integers(0, len(body), 3):
            noise[at] = rng.integers(0, 256)
        assert 1 <= decode.orientation(with_exif(bytes(noise))) <= 8


def test_wrong_types_are_refused(setup, eight):
    with pytest.raises(TypeError, match="exif_orientation"):
        setup(eight[0]).exif_orientation(6)
    with pytest.raises(TypeError, match="exif_orientation"):
        setup(eight[0]).exif_orientation("on")


def test_the_memory_plan_counts_the_turned_picture(setup, eight):
    plans = []
    for on in (False, True):
        chain = setup(eight[0]).train_transforms(Resize((32, 32))).exif_orientation(on)
        with chain.commit() as pre:
            plans.append(pre.memory_plan().splits[0].scratch_bytes)
    assert plans[1] - plans[0] == 3 * (1 << 20)  # make.pack_blocks writes that area
