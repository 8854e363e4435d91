from dts.transforms.op import Op, Transform

class GaussianNoise(Transform):
    mean: float
    sigma: float
    clip: bool
    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None: ...
    def compile(self, position: int) -> Op: ...
