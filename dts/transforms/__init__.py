"""Operations on pictures, one file a family: parameters in Python, work without the GIL."""

from dts.transforms.augment import RandAugment, TrivialAugmentWide
from dts.transforms.blur import GaussianBlur
from dts.transforms.cfunction import CFunction
from dts.transforms.chain import Chain
from dts.transforms.crop import CenterCrop, FastRandomResizedCrop, RandomResizedCrop
from dts.transforms.erase import RandomErasing
from dts.transforms.flip import RandomHorizontalFlip, RandomVerticalFlip
from dts.transforms.function import Lambda
from dts.transforms.invert import RandomInvert
from dts.transforms.jitter import ColorJitter
from dts.transforms.mix import BatchTransform, CutMix, Mixing, MixUp
from dts.transforms.noise import GaussianNoise
from dts.transforms.nothing import DoNothing
from dts.transforms.op import Transform
from dts.transforms.pad import Pad, RandomCrop
from dts.transforms.resize import Resize
from dts.transforms.rotate import RandomRotation
from dts.transforms.scale import RandomScale
from dts.transforms.tone import (
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomPosterize,
    RandomSolarize,
)

__all__ = [
    "BatchTransform",
    "CFunction",
    "CenterCrop",
    "Chain",
    "ColorJitter",
    "CutMix",
    "DoNothing",
    "FastRandomResizedCrop",
    "GaussianBlur",
    "GaussianNoise",
    "Lambda",
    "MixUp",
    "Mixing",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomScale",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "Transform",
    "TrivialAugmentWide",
]
