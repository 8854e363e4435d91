"""Lambda: a Python function as a transform.

The words of its stream, where it is random: the four of the key of numpy's Philox, lowest first.
"""

from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from dts.status cimport DTS_OK, DTS_TRANSFORM, dts_error, dts_error_set
from dts.transforms.op cimport Op, dts_draw, dts_image, dts_op
from dts.transforms.user cimport user_op
from dts.transforms.user import UserTransform, name_of, random_words

import itertools

import numpy as np

cdef extern from *:
    """
    #if defined(_MSC_VER) && !defined(__clang__)
    static __declspec(thread) int dts_user_depth;
    #else
    static _Thread_local int dts_user_depth;
    #endif
    """
    int dts_user_depth

cdef int KEPT = 64          # exceptions whose traceback can still be shown

_numbers = itertools.count(1)


def in_user_code():
    """Whether this thread is a worker inside a user's Python function."""
    return dts_user_depth > 0


cdef class _Call:
    """A function as a worker calls it, and what it raised of late."""

    cdef object function
    cdef str name
    cdef bint random
    cdef readonly dict failures

    def __init__(self, function, str name, random):
        self.function = function
        self.name = name
        self.random = random
        self.failures = {}

    cdef int run(self, const dts_draw *d, const dts_image *src, const dts_image *dst,
                 dts_error *error) noexcept:
        cdef int number
        global dts_user_depth
        dts_user_depth += 1
        try:
            self.fill(d, src, dst)
        except BaseException as problem:
            try:
                number = next(_numbers) & 0x7FFFFFFF
                error.reserved = number
                self.failures[number] = problem
                while len(self.failures) > KEPT:
                    self.failures.pop(next(iter(self.failures)), None)
                text = f"{self.name}: {type(problem).__name__}: {problem}"
            except BaseException:
                text = f"{self.name} raised an exception that cannot be shown"
            return dts_error_set(error, DTS_TRANSFORM, text.encode("utf-8", "backslashreplace"))
        finally:
            dts_user_depth -= 1
        return DTS_OK

    cdef int fill(self, const dts_draw *d, const dts_image *src, const dts_image *dst) except -1:
        cdef uint8_t[:, :, ::1] view
        cdef const uint8_t[:, :, ::1] made
        cdef int row
        # A copy: the function may keep it, and the loader's memory is not its to write.
        image = np.empty((src.height, src.width, src.channels), np.uint8)
        view = image
        for row in range(src.height):
            memcpy(&view[row, 0, 0], src.pixels + row * src.stride, src.width * src.channels)
        if self.random:
            key = sum((d.choice[k] & 0xFFFFFFFF) << (32 * k) for k in range(4))
            result = self.function(image, np.random.Generator(np.random.Philox(key=key)))
        else:
            result = self.function(image)
        made = _checked(result, (dst.height, dst.width, dst.channels))
        for row in range(dst.height):
            memcpy(dst.pixels + row * dst.stride, &made[row, 0, 0], dst.width * dst.channels)
        return 0


def _checked(result, shape):
    if not isinstance(result, np.ndarray):
        raise TypeError(f"it returned {type(result).__name__}, not an array")
    if result.dtype != np.uint8:
        raise TypeError(f"it returned an array of {result.dtype}, not uint8")
    if result.ndim == 2 and shape[2] == 1:
        result = result[:, :, None]
    if result.shape != shape:
        raise ValueError(f"it returned an array of shape {result.shape}, not {shape}")
    return np.ascontiguousarray(result)


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    with gil:
        return (<_Call> op.context).run(d, src, dst, error)


class Lambda(UserTransform):
    """A Python function of yours on the pixels of each picture.

    It is slow: the function holds Python's lock, so that the workers run it one after the other,
    and a call costs some ten microseconds before it does anything. `CFunction` has neither cost.

    Parameters
    ----------
    function : callable
        Gets an array of shape (h, w, c), uint8, which is its own: it may change it, keep it or
        return it. Returns a uint8 array of the same number of channels ((h, w) will do for one).
        It is called on the workers' threads. What it raises becomes a TransformError of that
        sample, and `Setup.on_error` holds.
    size : int or (int, int), optional
        Height and width of what it returns, in pixels; None: those of what it gets.
    random : bool
        Whether it also gets, as second argument, a ``numpy.random.Generator``: a new one for each
        sample, which depends on seed, epoch, sample, split and place in the chain only. Use no
        other source of chance, or nothing can be repeated. (numpy does not promise that a method
        of a Generator gives the same numbers in every version of numpy.)

    Raises
    ------
    TypeError
        `function` cannot be called.
    ValueError
        A size outside 1..65,500.

    Notes
    -----
    Closing a Preprocessor waits for calls that are running; one that never returns is waited for
    for ever. Inside the function a Preprocessor can be neither iterated nor closed.

    Examples
    --------
    >>> import numpy as np, dts
    >>> upside_down = dts.Lambda(lambda image: image[::-1])
    >>> dts.apply_transforms(np.array([[1, 2], [3, 4]], np.uint8), upside_down)
    array([[3, 4],
           [1, 2]], dtype=uint8)
    """

    def __init__(self, function, size=None, random=False):
        if not callable(function):
            raise TypeError(f"function must be callable, not {function!r}")
        super().__init__(size, random)
        self.function = function

    def drawn(self, values, choices):
        name = {"function": name_of(self.function)}
        return {**name, "key": random_words(choices)} if self.random else name

    def __repr__(self):
        return f"Lambda({name_of(self.function)}, size={self.size}, random={self.random})"

    def compile(self, position):
        cdef Op out = user_op(self, position)
        out.op.run = _run
        out.keep = _Call(self.function, f"Lambda({name_of(self.function)})", self.random)
        out.op.context = <void *> out.keep
        return out
