"""Sets of small pictures of one size, which are held as plain arrays: what they have in common."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dts.errors import FormatError

SLACK = 64  # readable bytes after the last picture: kernels load whole vectors

Pixels = NDArray[np.uint8]  # (n, h, w, c)
Labels = NDArray[np.int32]  # (n,)


@dataclass(frozen=True)
class RawArrays:
    """One split in its original files: sizes and heads were looked at, no picture was read.

    Attributes
    ----------
    set : ArraySet
    paths : tuple of str
        The files that hold pictures, in the order of the ids.
    counts : tuple of int
        Pictures in each of them.
    file_bytes : int
        All files of the split together.
    class_names : list of str or None
        By label.
    fill : callable
        Reads all files into arrays of shape (n, h, w, c) and (n,), and checks the labels;
        FormatError where a file is not what it was taken for.
    """

    set: ArraySet
    paths: tuple[str, ...]
    counts: tuple[int, ...]
    file_bytes: int
    class_names: list[str] | None
    fill: Callable[[Pixels, Labels], None]

    def __len__(self) -> int:
        return sum(self.counts)

    def read(self) -> tuple[Pixels, Labels]:
        """Read the split.

        Returns
        -------
        pictures : ndarray of uint8, shape (n * h * w * c + SLACK,)
            Picture after picture, rows of interleaved channels; SLACK bytes behind the last.
        labels : ndarray of int32, shape (n,)

        Raises
        ------
        FormatError
            A file is damaged, or a label is out of range; names file and reason.
        OSError
        """
        pictures, pixels = room_for(len(self), self.set.shape)
        labels = np.empty(len(self), np.int32)
        self.fill(pixels, labels)
        return pictures, labels


@dataclass(frozen=True)
class ArraySet:
    """A data set of this kind.

    Attributes
    ----------
    name, title : str
        As users write it, and as its makers do.
    shape : tuple of (int, int, int)
        Height, width and channels of every picture.
    num_classes : int
    folders : tuple of str
        Where the original files may lie below the folder that is named, in order of search.
    files : dict of tuple of str
        Names of the original files of "train" and "val".
    endings : tuple of str
        What each of those names may end in.
    look : callable
        Makes the RawArrays out of the paths of `files`.
    extra : tuple of str
        Further files worth keeping: those with class names.
    names_in : callable
        Class names, found in one of these folders; or None.
    """

    name: str
    title: str
    shape: tuple[int, int, int]
    num_classes: int
    folders: tuple[str, ...]
    files: dict[str, tuple[str, ...]]
    endings: tuple[str, ...]
    extra: tuple[str, ...]
    look: Callable[[ArraySet, tuple[str, ...], list[str] | None], RawArrays]
    names_in: Callable[[list[str]], list[str] | None]

    @property
    def sample_bytes(self) -> int:
        """Bytes of one picture."""
        height, width, channels = self.shape
        return height * width * channels

    def places(self, directory: str | os.PathLike[str]) -> list[str]:
        """Give the folders that may hold files of this set."""
        root = os.fspath(directory)
        return [
            os.path.join(root, *folder.split("/")) if folder else root for folder in self.folders
        ]

    def class_names(self, directory: str | os.PathLike[str]) -> list[str] | None:
        """Class names by label, where they are known or a file there tells them."""
        return self.names_in(self.places(directory))

    def find(self, directory: str | os.PathLike[str], split: str) -> tuple[str, ...] | None:
        """Find the original files of a split.

        Returns
        -------
        tuple of str, or None
            Their paths in the order of `files`; None where none of them is there.

        Raises
        ------
        FormatError
            Only some of them are there.
        """
        names = self.files[split]
        for place in self.places(directory):
            found = [self._existing(place, name) for name in names]
            if all(found):
                return tuple(path for path in found if path is not None)
            if any(found):
                missing = ", ".join(n for n, f in zip(names, found, strict=True) if f is None)
                raise FormatError(f"{place}: {missing} missing of the {self.title} {split} set")
        return None

    def _existing(self, place: str, name: str) -> str | None:
        paths = (os.path.join(place, name + ending) for ending in self.endings)
        return next((path for path in paths if os.path.isfile(path)), None)

    def open(self, directory: str | os.PathLike[str], split: str) -> RawArrays | None:
        """Look at the original files of a split; None where there are none.

        Raises
        ------
        FormatError
            A file is missing, or cannot be what its name says.
        """
        paths = self.find(directory, split)
        if paths is None:
            return None
        return self.look(self, paths, self.class_names(directory))


def room_for(n: int, shape: tuple[int, int, int]) -> tuple[NDArray[np.uint8], Pixels]:
    """Make room for n pictures: flat, with SLACK bytes behind; and the same seen as pictures."""
    size = n * shape[0] * shape[1] * shape[2]
    flat = np.empty(size + SLACK, np.uint8)
    flat[size:] = 0
    return flat, flat[:size].reshape(n, *shape)


def check_labels(labels: NDArray[np.integer], num_classes: int, path: str) -> None:
    """Raise FormatError, with file and record, unless all labels are below `num_classes`."""
    wrong = np.flatnonzero((labels < 0) | (labels >= num_classes))
    if wrong.size:
        first = int(wrong[0])
        raise FormatError(
            f"{path}: label {labels[first]} of record {first} is not within 0..{num_classes - 1}"
            + (f" ({wrong.size:,} such labels)" if wrong.size > 1 else "")
        )
