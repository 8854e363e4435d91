"""CFunction: a compiled function as a transform.

The words of its stream, where it is random: the four that the function gets, in that order.
"""

from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uintptr_t
from libc.stdio cimport snprintf

from dts.status cimport DTS_OK, DTS_TRANSFORM, dts_error
from dts.transforms.op cimport Op, dts_draw, dts_image, dts_op
from dts.transforms.user cimport user_op
from dts.transforms.user import UserTransform, name_of, random_words

import ctypes
from numbers import Integral

import numpy as np

cdef extern from "dts/transforms/user_transform.h" nogil:
    ctypedef int (*dts_user_transform)(
        const uint8_t *src, int64_t src_stride, int src_width, int src_height, uint8_t *dst,
        int64_t dst_stride, int dst_width, int dst_height, int channels, const uint32_t *random,
        void *user_data,
    ) noexcept nogil

cdef int ARGUMENTS = 11
cdef bytes CAPSULE = b"dts_user_transform"


ctypedef struct Target:
    dts_user_transform function
    void *user_data
    char name[96]


cdef class _Target:
    """What a worker calls, and the Python objects that keep it there."""

    cdef Target c
    cdef object kept

    def __init__(self, uintptr_t function, uintptr_t user_data, bytes name, kept):
        self.c.function = <dts_user_transform> <void *> function
        self.c.user_data = <void *> user_data
        snprintf(self.c.name, sizeof(self.c.name), "%s", <const char *> name)
        self.kept = kept


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    cdef const Target *t = <const Target *> op.context
    cdef int code = t.function(
        src.pixels, src.stride, src.width, src.height, dst.pixels, dst.stride, dst.width,
        dst.height, src.channels, <const uint32_t *> d.choice, t.user_data,
    )
    if code == 0:
        return DTS_OK
    snprintf(error.reason, sizeof(error.reason), "CFunction(%s): the function returned %d", t.name,
             code)
    return DTS_TRANSFORM


def _in_capsule(capsule):
    cdef const char *name = PyCapsule_GetName(capsule)
    # A capsule of Cython's is named after the signature, as "int (uint8_t const *, ...)".
    if name != NULL and name != CAPSULE:
        text = (<bytes> name).decode("utf-8", "replace")
        if "(" not in text or text.count(",") + 1 != ARGUMENTS:
            raise ValueError(f"function is a capsule of another kind: {text!r}")
    return <uintptr_t> PyCapsule_GetPointer(capsule, name)


def _address(function):
    if isinstance(function, bool) or function is None:
        raise TypeError(f"function must be a compiled function, not {function!r}")
    if PyCapsule_CheckExact(function):
        return _in_capsule(function)
    if isinstance(function, ctypes._CFuncPtr):
        types = function.argtypes
        if types is not None and len(types) != ARGUMENTS:
            raise ValueError(f"function takes {len(types)} arguments, not {ARGUMENTS}")
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    address = function if isinstance(function, Integral) else getattr(function, "address", None)
    if not isinstance(address, Integral):
        raise TypeError(
            f"function must be a capsule, a ctypes function, an object with an address (as "
            f"numba's cfunc) or an address, not {function!r}"
        )
    return int(address)


def _memory(user_data):
    """Return the address of user_data, and what keeps it there."""
    if user_data is None:
        return 0, None
    if isinstance(user_data, Integral) and not isinstance(user_data, bool):
        if not 0 <= user_data < 1 << 64:
            raise ValueError(f"user_data must be an address, not {user_data}")
        return int(user_data), None
    try:
        view = np.frombuffer(user_data, np.uint8)
    except (TypeError, BufferError, ValueError) as error:
        raise TypeError(
            "user_data must be None, an address, or an object with contiguous memory (an array, "
            f"bytes, a ctypes structure), not {type(user_data).__name__}: {error}"
        ) from None
    return view.ctypes.data, view


class CFunction(UserTransform):
    """A compiled function of yours on the pixels of each picture.

    The workers call it without Python's lock, all at once. Its signature is that of
    ``dts/transforms/user_transform.h`` in the package (`dts.get_include` names the folder to
    give to a compiler)::

        int function(const uint8_t *src, int64_t src_stride, int src_width, int src_height,
                     uint8_t *dst, int64_t dst_stride, int dst_width, int dst_height,
                     int channels, const uint32_t *random, void *user_data);

    It writes every pixel of `dst`, none of `src`, and returns 0; another number makes a
    TransformError of that sample. Nobody can check that it does, or that it has that signature: a
    wrong function ends the process.

    Parameters
    ----------
    function : capsule, ctypes function, object with ``address``, or int
        A PyCapsule named ``"dts_user_transform"``, of Cython (from ``__pyx_capi__``) or without a
        name; a function of a library opened with ctypes; what numba's ``cfunc`` makes; or an
        address (of cffi: ``int(ffi.cast("uintptr_t", f))``).
    size : int or (int, int), optional
        Height and width of `dst`, in pixels; None: those of `src`.
    random : bool
        Whether `random` holds four words that depend on seed, epoch, sample, split and place in
        the chain only; else they are 0.
    user_data : None, int or buffer
        An address, or an object whose memory the function gets: an array, bytes, a ctypes
        structure. It is kept alive. All threads get the same.
    name : str, optional
        For messages; default that of `function`, as far as it has one.

    Raises
    ------
    TypeError
        Not a compiled function, or `user_data` without memory.
    ValueError
        The address is 0, a capsule of another kind, a ctypes function with another number of
        arguments, or a size outside 1..65,500.
    """

    def __init__(self, function, size=None, random=False, user_data=None, name=None):
        address = _address(function)
        if not 0 < address < 1 << 64:
            raise ValueError(f"function must have an address above 0, not {address}")
        _memory(user_data)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a string, not {name!r}")
        super().__init__(size, random)
        self.function = function
        self.user_data = user_data
        self.name = name or (
            hex(address) if isinstance(function, Integral) else name_of(function)
        )

    def drawn(self, values, choices):
        name = {"function": self.name}
        return {**name, "random": random_words(choices)} if self.random else name

    def __repr__(self):
        return f"CFunction({self.name}, size={self.size}, random={self.random})"

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        address, _ = _memory(self.user_data)
        return _address(self.function), self.size, self.random, address, self.name

    def compile(self, position):
        cdef Op out = user_op(self, position)
        out.op.run = _run
        address, memory = _memory(self.user_data)
        name = self.name.encode("utf-8", "backslashreplace")
        out.keep = _Target(_address(self.function), address, name, (self.function, memory))
        out.op.context = &(<_Target> out.keep).c
        return out
