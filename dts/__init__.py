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
    ColorJitter,
    GaussianBlur,
    GaussianNoise,
    RandAugment,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomPosterize,
    RandomResizedCrop,
    RandomSolarize,
    Resize,
    Transform,
    TrivialAugmentWide,
)

__all__ = [
    "Batch",
    "Box",
    "CenterCrop",
    "ClosedError",
    "ColorJitter",
    "ConfigError",
    "CorruptError",
    "DecodeError",
    "Draws",
    "DtsError",
    "ExportError",
    "FormatError",
    "GaussianBlur",
    "GaussianNoise",
    "LoadMode",
    "NormMode",
    "Preprocessor",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomSolarize",
    "Resize",
    "Setup",
    "Transform",
    "TrivialAugmentWide",
    "__version__",
    "apply_transforms",
    "build_info",
]
