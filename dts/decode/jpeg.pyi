from collections.abc import Buffer
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

class JpegHeader(NamedTuple):
    width: int
    height: int
    components: int
    mcu_width: int
    mcu_height: int
    progressive: bool

