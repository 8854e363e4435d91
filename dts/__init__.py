"""Packs labelled image data sets into .dts files and streams training batches out of them."""

from dts.batch import Batch, Box, Draws
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
)
from dts.info import __version__, build_info
from dts.pipeline import apply_transforms
from dts.preprocessor import Preprocessor
from dts.transforms import (
    CenterCrop,
    DoNothing,
    FastRandomResizedCrop,
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
    "CenterCrop",
    "ClosedError",
    "ConfigError",
    "CorruptError",
    "DecodeError",
    "DoNothing",
    "Draws",
    "DtsError",
    "ExportError",
    "FastRandomResizedCrop",
    "FormatError",
    "LoadMode",
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
    "__version__",
    "apply_transforms",
    "build_info",
]
