"""Random numbers: Philox4x32-10, counter based, without state."""

from dts.rng.philox import Kind, permutation, philox4x32, random_int, uniform, words

__all__ = ["Kind", "permutation", "philox4x32", "random_int", "uniform", "words"]
