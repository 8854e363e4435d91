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
    RandomErasing,
    RandomHorizontalFlip,
    RandomInvert,
    RandomResizedCrop,
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
    "Draws",
    "DtsError",
    "ExportError",
    "FormatError",
    "LoadMode",
    "NormMode",
    "Preprocessor",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomResizedCrop",
    "Resize",
    "Setup",
    "Transform",
    "__version__",
    "apply_transforms",
    "build_info",
]
