"""Operations on pixels: what a 224 x 224 x 3 picture costs, in the loop of the workers."""

from bench_transforms import PICTURES, picture
from harness import gate

from dts import ColorJitter
from dts.pipeline.apply import transforms_time


@gate("ColorJitter, all four parts", against="400 us", limit=400e-6, unit="us")
def jitter(room):
    """Brightness, contrast, saturation and hue, the copy of the picture not counted."""
    image, op = picture(), ColorJitter(0.4, 0.4, 0.4, 0.2)
    while True:
        yield transforms_time(image, op, PICTURES) - transforms_time(image, (), PICTURES)
