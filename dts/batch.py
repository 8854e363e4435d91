"""What an epoch hands out."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dts.transforms.mix import BatchTransform


class Batch:
    """One batch. Unpacks to ``images, labels``.

    Attributes
    ----------
    images : ndarray of shape (n, h, w, c)
        float32, float16 or uint8; C-contiguous, writable, aligned to 256 bytes. It is the memory
        the workers wrote to: nothing was copied, and it is not written again while an array over
        it lives. (Read-only in validation batches with ``using_cpvs``.)
    labels : ndarray of shape (n,)
        int32 or int64. With ``batch_transforms``, in training: (n, classes), float32.
    hard_labels : ndarray of shape (n,)
        int32 or int64, of the pictures before they were mixed.
    ids : ndarray of shape (n,), int64
        Position of each sample in the .dts file(s), block by block, or in the listing of a folder.
    epoch, index : int
        Which epoch, and number of the batch in it.
    mixes : tuple of Mix
        What ``batch_transforms`` did, one for each view; empty where there are none.
    n_views : int
        Views of each sample: see ``sdmp_factor``.
    """

    __slots__ = ("epoch", "hard_labels", "ids", "images", "index", "labels", "mixes", "n_views")

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,
        ids: np.ndarray,
        epoch: int,
        index: int,
        *,
        hard_labels: np.ndarray | None = None,
        mixes: "tuple[Mix, ...]" = (),
        n_views: int = 1,
    ):
        self.images = images
        self.labels = labels
        self.ids = ids
        self.epoch = epoch
        self.index = index
        self.hard_labels = labels if hard_labels is None else hard_labels
        self.mixes = mixes
        self.n_views = n_views

    @property
    def mix(self) -> "Mix | None":
        """What ``batch_transforms`` did to the first view; None where there are none."""
        return self.mixes[0] if self.mixes else None

    @property
    def views(self) -> tuple[np.ndarray, ...]:
        """The images of each view, (n / n_views, h, w, c), without a copy.

        Row i of each is the same sample.
        """
        n = len(self.ids) // self.n_views
        return tuple(self.images[k * n : (k + 1) * n] for k in range(self.n_views))

    def __iter__(self):
        yield self.images
        yield self.labels

    def __len__(self):
        return len(self.ids)

    def __repr__(self):
        return (
            f"Batch(epoch={self.epoch}, index={self.index}, images={self.images.dtype}"
            f"{self.images.shape}, labels={self.labels.dtype})"
        )


class Box(NamedTuple):
    """A rectangle, in pixels."""

    top: int
    left: int
    height: int
    width: int

    @property
    def pil(self) -> tuple[int, int, int, int]:
        """(left, upper, right, lower), as ``PIL.Image.crop`` takes it."""
        return self.left, self.top, self.left + self.width, self.top + self.height


@dataclass(frozen=True, eq=False)
class Mix:
    """What was done to a batch: row i became lam[i] of itself and the rest of row partner[i].

    Attributes
    ----------
    op : MixUp, CutMix or None
        None: this batch was left as it is.
    lam : ndarray of shape (n,), float32
        Share of a row's own label: 1 where it has no partner. For CutMix the share of the area.
    partner : ndarray of shape (n,), int64
        Row of the batch; itself where it has none.
    box : Box or None
        What CutMix exchanged, in pixels.
    """

    op: BatchTransform | None
    lam: np.ndarray
    partner: np.ndarray
    box: Box | None

    @classmethod
    def from_record(cls, op, lam, partner, box):
        """Make it of what `dts.pipeline.mixing.mix_records` says."""
        return cls(op, lam, partner, None if box is None else Box(*box))


@dataclass(frozen=True)
class Draws:
    """What was drawn for one sample. ``draws["crop"]`` works as ``draws.crop``.

    Attributes
    ----------
    id, epoch : int
    split : str
        "train" or "val".
    image_size : (int, int)
        Height and width of the packed picture, in pixels; upright with ``exif_orientation``.
    crop : Box or None
        The box of the first crop of the chain, in pixels of that crop's input (the packed picture
        where the crop comes first).
    flip, vflip : bool
        Whether the result is mirrored left to right, and top to bottom.
    erase : Box or None
        The erased box, in pixels of the result, as it looks after the flips.
    steps : tuple of dict
        For every transform: ``transform``, ``kind``, ``applied``, ``box`` (a Box), ``input_size``
        and ``output_size`` (height, width).
    """

    id: int
    epoch: int
    split: str
    image_size: tuple[int, int]
    crop: Box | None
    flip: bool
    vflip: bool
    erase: Box | None
    steps: tuple[dict[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        if name not in self.__dataclass_fields__:
            raise KeyError(name)
        return getattr(self, name)

    @classmethod
    def from_steps(cls, steps, *, id, epoch, split, image_size):
        """Collect what `Chain.describe` says."""
        steps = tuple({**s, "box": Box(*s["box"])} for s in steps)
        crops = [s["box"] for s in steps if type(s["transform"]).__name__.endswith("Crop")]
        flips = [s["applied"] for s in steps if s["kind"] == "flip"]
        vflips = [s["applied"] for s in steps if s["kind"] == "vflip"]
        erased = [s["box"] for s in steps if s["kind"] == "erase" and s["applied"]]
        return cls(
            id=id,
            epoch=epoch,
            split=split,
            image_size=image_size,
            crop=crops[0] if crops else None,
            flip=sum(flips) % 2 == 1,
            vflip=sum(vflips) % 2 == 1,
            erase=erased[-1] if erased else None,
            steps=steps,
        )
