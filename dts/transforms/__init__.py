"""Operations on pictures, one file a family: parameters in Python, work without the GIL."""

from dts.transforms.cfunction import CFunction
from dts.transforms.chain import Chain
from dts.transforms.crop import CenterCrop, FastRandomResizedCrop, RandomResizedCrop
from dts.transforms.erase import RandomErasing
from dts.transforms.flip import RandomHorizontalFlip, RandomVerticalFlip
from dts.transforms.function import Lambda
from dts.transforms.invert import RandomInvert
from dts.transforms.mix import BatchTransform, CutMix, Mixing, MixUp
from dts.transforms.nothing import DoNothing
from dts.transforms.op import Transform
from dts.transforms.pad import Pad, RandomCrop
from dts.transforms.resize import Resize
from dts.transforms.rotate import RandomRotation
from dts.transforms.scale import RandomScale

__all__ = [
    "BatchTransform",
    "CFunction",
    "CenterCrop",
    "Chain",
    "CutMix",
    "DoNothing",
    "FastRandomResizedCrop",
    "Lambda",
    "MixUp",
    "Mixing",
    "Pad",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomScale",
    "RandomVerticalFlip",
    "Resize",
    "Transform",
]
