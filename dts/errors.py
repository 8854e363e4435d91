"""Exception classes, and the one table that turns a status from below into an exception."""

import os


class DtsError(Exception):
    """Base of every error that dts raises on its own account."""


class ConfigError(DtsError, ValueError):
    """A setting that cannot work. The message names the method of Setup it came from."""


class FormatError(DtsError, ValueError):
    """Not a valid .dts file, or not a valid original file of a data set."""


class ExportError(DtsError):
    """A data set that cannot be packed. Nothing was left under the final name."""


class ClosedError(DtsError, RuntimeError):
    """The object was closed, superseded by a newer iterator, or made before a fork."""


class _SampleError(DtsError):
    """An error that knows where it happened."""

    def __init__(self, reason, *, path=None, block=None, sample=None, id=None, name=None):
        self.path = path
        self.block = block
        self.sample = sample
        self.id = id
        self.name = name
        self.reason = reason
        super().__init__(reason)

    def __str__(self):
        places = [
            ("", self.path),
            ("block ", self.block),
            ("sample ", self.sample),
            ("id ", self.id),
            ("", repr(self.name) if self.name is not None else None),
        ]
        where = ", ".join(f"{label}{value}" for label, value in places if value is not None)
        return f"{where}: {self.reason}" if where else self.reason

    def __reduce__(self):
        state = {k: getattr(self, k) for k in ("path", "block", "sample", "id", "name")}
        return _rebuild, (type(self), self.reason, state)


def _rebuild(cls, reason, state):
    return cls(reason, **state)


class CorruptError(_SampleError):
    """Stored bytes that are not those that were packed, or are not there.

    Attributes
    ----------
    path : str or None
        File.
    block, sample : int or None
        Block number in the file, and picture number in the block.
    id : int or None
        Sample id.
    name : str or None
        ``class/file`` as packed, where the file has names.
    reason : str
    """


class DecodeError(_SampleError):
    """A picture that cannot be decoded. Attributes as in CorruptError."""


class TransformError(_SampleError):
    """A transform of the user's own that failed. Attributes as in CorruptError.

    ``__cause__`` is the exception that a Python function raised, where it was not too long ago.
    """


# The order and the numbers are those of dts/status.h.
(
    OK,
    END,
    CLOSED,
    NO_MEMORY,
    IO,
    TRUNCATED,
    BAD_BLOCK,
    BAD_CRC,
    BAD_IMAGE,
    TOO_LARGE,
    INTERNAL,
    TRANSFORM,
) = range(12)

_CLASS_OF: dict[int, type[Exception]] = {
    CLOSED: ClosedError,
    NO_MEMORY: MemoryError,
    IO: OSError,
    TRUNCATED: CorruptError,
    BAD_BLOCK: CorruptError,
    BAD_CRC: CorruptError,
    BAD_IMAGE: DecodeError,
    TOO_LARGE: DecodeError,
    INTERNAL: DtsError,
    TRANSFORM: TransformError,
}


def from_status(
    status, reason, *, os_errno=0, path=None, block=None, sample=None, id=None, name=None
):
    """Make the exception for a status of dts/status.h.

    Parameters
    ----------
    status : int
        One of the codes of dts/status.h, not ``OK`` or ``END``.
    reason : str
        What is wrong, in words.
    os_errno : int
        What the operating system said, for ``IO``.
    path, block, sample, id, name
        Where, as far as it is known; negative numbers count as unknown.

    Returns
    -------
    Exception
        To be raised by the caller.
    """
    block, sample, id = (None if v is None or v < 0 else v for v in (block, sample, id))
    cls = _CLASS_OF.get(status, DtsError)
    if issubclass(cls, _SampleError):
        return cls(reason, path=path, block=block, sample=sample, id=id, name=name)
    if cls is OSError:
        where = "".join(
            f", {k} {v}"
            for k, v in (("block", block), ("sample", sample), ("id", id))
            if v is not None
        )
        text = os.strerror(os_errno) if os_errno else reason
        error = OSError(os_errno, f"{text}{where} ({reason})", path)
        error.id, error.name = id, name  # type: ignore[attr-defined]
        return error
    return cls(reason if path is None else f"{path}: {reason}")
