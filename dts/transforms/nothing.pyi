from dts.transforms.op import Op, Transform

class DoNothing(Transform):
    def compile(self, position: int) -> Op: ...
