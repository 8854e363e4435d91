"""Packs labelled image data sets into .dts files and streams training batches out of them."""

from dts.batch import Batch, Box, Draws, Mix
from dts.builder import Setup
from dts.config import LoadMode, NormMode
from dts.errors import (
    ClosedError,
    ConfigError,
    CorruptError,
    DecodeError,
    DtsError,
    ExportError,
    FormatError,
    TransformError,
)
from dts.info import __version__, build_info, get_include
from dts.pipeline import apply_transforms
from dts.preprocessor import Preprocessor
from dts.transforms import (
    CenterCrop,
    CFunction,
    CutMix,
    DoNothing,
    FastRandomResizedCrop,
    Lambda,
    MixUp,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomInvert,
    RandomResizedCrop,
    RandomRotation,
    RandomScale,
    RandomVerticalFlip,
    Resize,
    Transform,
)

__all__ = [
    "Batch",
    "Box",
    "CFunction",
    "CenterCrop",
    "ClosedError",
    "ConfigError",
    "CorruptError",
    "CutMix",
    "DecodeError",
    "DoNothing",
    "Draws",
    "DtsError",
    "ExportError",
    "FastRandomResizedCrop",
    "FormatError",
    "Lambda",
    "LoadMode",
    "Mix",
    "MixUp",
    "NormMode",
    "Pad",
    "Preprocessor",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomScale",
    "RandomVerticalFlip",
    "Resize",
    "Setup",
    "Transform",
    "TransformError",
    "__version__",
    "apply_transforms",
    "build_info",
    "get_include",
]
