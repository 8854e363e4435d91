"""Operations on pictures, one file a family: parameters in Python, work without the GIL."""

from dts.transforms.cfunction import CFunction
from dts.transforms.chain import Chain
from dts.transforms.crop import CenterCrop, RandomResizedCrop
from dts.transforms.erase import RandomErasing
from dts.transforms.flip import RandomHorizontalFlip
from dts.transforms.function import Lambda
from dts.transforms.invert import RandomInvert
from dts.transforms.mix import BatchTransform, CutMix, Mixing, MixUp
from dts.transforms.op import Transform
from dts.transforms.resize import Resize

__all__ = [
    "BatchTransform",
    "CFunction",
    "CenterCrop",
    "Chain",
    "CutMix",
    "Lambda",
    "MixUp",
    "Mixing",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomResizedCrop",
    "Resize",
    "Transform",
]
