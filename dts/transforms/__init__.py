"""Operations on pictures, one file a family: parameters in Python, work without the GIL."""

from dts.transforms.augment import RandAugment, TrivialAugmentWide
from dts.transforms.blur import GaussianBlur
from dts.transforms.chain import Chain
from dts.transforms.crop import CenterCrop, RandomResizedCrop
from dts.transforms.erase import RandomErasing
from dts.transforms.flip import RandomHorizontalFlip
from dts.transforms.invert import RandomInvert
from dts.transforms.jitter import ColorJitter
from dts.transforms.noise import GaussianNoise
from dts.transforms.op import Transform
from dts.transforms.resize import Resize
from dts.transforms.tone import (
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomPosterize,
    RandomSolarize,
)

__all__ = [
    "CenterCrop",
    "Chain",
    "ColorJitter",
    "GaussianBlur",
    "GaussianNoise",
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
    "Transform",
    "TrivialAugmentWide",
]
