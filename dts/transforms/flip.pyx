"""Flips: drawn here, done while normalising."""

from dts.transforms.op cimport OP_FLIP, OP_VFLIP, coin_op
from dts.transforms.op import Transform, check_number


class RandomHorizontalFlip(Transform):
    """Mirror left and right with probability ``p``.

    It comes in the last step, together with the normalisation, wherever it stands in a chain:
    steps after it see the picture as it was. Erased boxes are drawn on the flipped picture.

    Parameters
    ----------
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        A probability outside 0..1.
    """

    is_random = True
    is_carrier = True

    def __init__(self, p=0.5):
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        return coin_op(OP_FLIP, self, position)


class RandomVerticalFlip(Transform):
    """Mirror top and bottom with probability ``p``.

    As `RandomHorizontalFlip`, it comes in the last step wherever it stands.

    Parameters
    ----------
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        A probability outside 0..1.
    """

    is_random = True
    is_carrier = True

    def __init__(self, p=0.5):
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        return coin_op(OP_VFLIP, self, position)
