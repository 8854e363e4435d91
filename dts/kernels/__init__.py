"""SIMD kernels: normalisation and resize, equal bits on every instruction set."""

from dts.kernels.functions import fused_normalize, norm_constants, resize
from dts.kernels.kernels import available_isas, compiler, filter_weights, isa, select_isa

__all__ = [
    "available_isas",
    "compiler",
    "filter_weights",
    "fused_normalize",
    "isa",
    "norm_constants",
    "resize",
    "select_isa",
]
