"""Many names in little memory: one pool of bytes and where each name ends in it."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dts.errors import FormatError

MAX_NAME_BYTES = 65535


class Names(Sequence[str]):
    """A sequence of str kept as bytes; a str is made when it is asked for.

    Bytes that are not UTF-8 come out as surrogate escapes, as file names do everywhere in Python.
    Indexed by any integer, NumPy's too, negative ones from the end; a slice gives a list.

    Parameters
    ----------
    pool : bytes-like
        All names, one after the other.
    ends : ndarray of int64, shape (n,)
        End of each name in `pool`.
    """

    __slots__ = ("_ends", "_pool")

    def __init__(self, pool: bytes | memoryview, ends: NDArray[np.int64]) -> None:
        self._pool = memoryview(pool)
        self._ends = ends

    @classmethod
    def of(cls, names: Iterable[str | bytes]) -> "Names":
        """Make one from names as str or bytes."""
        if isinstance(names, Names):
            return names
        raw = [n if isinstance(n, bytes) else n.encode("utf-8", "surrogateescape") for n in names]
        lengths = np.fromiter(map(len, raw), np.int64, len(raw))
        return cls(b"".join(raw), np.cumsum(lengths))

    @classmethod
    def joined(cls, parts: Sequence["Names"]) -> "Names":
        """Put several together."""
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(part._pool) for part in parts)])
        ends = [part._ends + start for part, start in zip(parts, starts[:-1], strict=True)]
        return cls(b"".join(part._pool for part in parts), np.concatenate(ends))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Names":
        """Read what `to_bytes` made.

        Raises
        ------
        FormatError
            Lengths that do not add up to the bytes that are there.
        """
        if len(data) < 4:
            raise FormatError("list of names is shorter than its count")
        n = int.from_bytes(data[:4], "little")
        pool_start = 4 + 4 * n
        if pool_start > len(data):
            raise FormatError(f"list of {n} names has only {len(data)} bytes")
        ends = np.cumsum(np.frombuffer(data, "<u4", n, 4), dtype=np.int64)
        pool = memoryview(data)[pool_start:]
        if (int(ends[-1]) if n else 0) != len(pool):
            raise FormatError(f"lengths of {n} names do not add up to their {len(pool)} bytes")
        return cls(pool, ends)

    def to_bytes(self) -> bytes:
        """Give the count (u32), all lengths (u32 each), and then all names."""
        n = len(self)
        lengths = np.diff(self._ends, prepend=0)
        if n and lengths.max() > MAX_NAME_BYTES:
            long = int(lengths.argmax())
            raise FormatError(f"name {long} has {lengths[long]} bytes, at most {MAX_NAME_BYTES}")
        return b"".join((n.to_bytes(4, "little"), lengths.astype("<u4").tobytes(), self._pool))

    def raw(self, index: int) -> bytes:
        """Give one name as the bytes it was packed with."""
        n = len(self._ends)
        i = operator.index(index)
        if not -n <= i < n:
            raise IndexError(f"name {index} of {n}")
        i %= n
        return bytes(self._pool[int(self._ends[i - 1]) if i else 0 : int(self._ends[i])])

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self.raw(index).decode("utf-8", "surrogateescape")

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end in self._ends.tolist():
            yield bytes(self._pool[start:end]).decode("utf-8", "surrogateescape")
            start = end

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return np.array_equal(self._ends, other._ends) and self._pool == other._pool
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(
                a == b for a, b in zip(self, other, strict=True)
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        head = ", ".join(map(repr, self[:3]))
        return f"<Names of {len(self)}: {head}{', ...' if len(self) > 3 else ''}>"

    def __reduce__(self) -> Any:
        return type(self), (bytes(self._pool), self._ends)
