"""What is compared with torchvision and Pillow: pictures by formula, a case for each setting.

Read by tools/make_oracles.py, which runs where torchvision is and dts need not be, and by the
tests, which run where dts is and torchvision is not. So it imports neither.
"""

from dataclasses import dataclass, field

import numpy as np

RGB = ("noise", "smooth", "patches", "odd", "one")
GREY = ("noise-grey", "smooth-grey", "odd-grey")
COLOURS = np.array(
    [
        (0, 0, 0), (255, 255, 255), (128, 128, 128), (1, 1, 1), (254, 254, 254), (127, 128, 127),
        (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (0, 255, 255), (255, 0, 255),
        (200, 100, 50), (50, 200, 100), (100, 50, 200), (10, 10, 11), (250, 249, 250),
        (3, 99, 250),
        (90, 90, 0), (0, 17, 17), (255, 128, 0), (128, 0, 255), (77, 12, 200), (201, 202, 203),
    ],
    np.uint8,
)  # fmt: skip


def _noise(height, width, channels, key):
    # random_raw is the generator itself, whose words never change; methods above it may.
    words = np.random.Philox(key=key).random_raw(height * width * channels)
    return (words & np.uint64(255)).astype(np.uint8).reshape(height, width, channels)


def _smooth(height, width, channels):
    y, x, k = np.mgrid[0:height, 0:width, 0:channels]
    wave = (5 * x + 9 * y + 80 * k) % 400
    return (np.minimum(wave, 399 - wave) + (x * y + k) % 7 + 20).astype(np.uint8)


def pictures():
    """Return every picture by name: uint8 arrays of shape (h, w, 1) or (h, w, 3)."""
    return {
        "noise": _noise(17, 23, 3, 1),
        "smooth": _smooth(40, 33, 3),
        "patches": COLOURS.reshape(4, 6, 3).repeat(5, 0).repeat(4, 1),
        "odd": _noise(7, 5, 3, 2),
        "one": _noise(1, 1, 3, 3),
        "noise-grey": _noise(17, 23, 1, 4),
        "smooth-grey": _smooth(40, 33, 1),
        "odd-grey": _noise(7, 5, 1, 5),
    }


@dataclass(frozen=True)
class Case:
    """One setting of one operation, and what the others call it.

    Attributes
    ----------
    op : str
        Class in `dts.transforms`.
    settings : dict
        Its arguments, with nothing left to chance.
    torch : (str, dict) or None
        Function of ``torchvision.transforms.v2.functional``, applied to a uint8 tensor.
    pillow : (str, dict) or None
        Function of tools/make_oracles.py.
    on : tuple of str
        Names of pictures.
    torch_levels, pillow_levels : int
        Most levels that a pixel may differ by.
    """

    op: str
    settings: dict
    torch: tuple | None = None
    pillow: tuple | None = None
    on: tuple = RGB + GREY
    torch_levels: int = 0
    pillow_levels: int = 0
    chain: tuple = field(default=())

    @property
    def name(self):
        """The constructor call."""
        return f"{self.op}({', '.join(f'{k}={v!r}' for k, v in self.settings.items())})"


def _geometry():
    for size in ((5, 5), (16, 9), (41, 60), 7):
        yield Case("CenterCrop", {"size": size}, ("center_crop", {"output_size": size}))
    fills = {"left": 2, "top": 3, "right": 1, "bottom": 4}
    for padding in (3, (2, 1), tuple(fills.values())):
        listed = list(padding) if isinstance(padding, tuple) else padding
        for fill in (0, 77):
            yield Case(
                "Pad",
                {"padding": padding, "fill": fill},
                ("pad", {"padding": listed, "fill": fill}),
            )
        for mode in ("edge", "reflect", "symmetric"):
            yield Case(
                "Pad",
                {"padding": padding, "padding_mode": mode},
                ("pad", {"padding": listed, "padding_mode": mode}),
                on=tuple(p for p in RGB + GREY if p != "one" or mode == "edge"),
            )
    yield Case(
        "Pad", {"padding": 2, "fill": (9, 90, 200)},
        ("pad", {"padding": 2, "fill": [9, 90, 200]}), on=RGB,
    )  # fmt: skip
    for size in ((20, 30), 12, (80, 70), (1, 1), (3, 40)):
        wanted = list(size) if isinstance(size, tuple) else [size]
        resize = {"size": wanted, "antialias": True}
        yield Case(
            "Resize", {"size": size}, ("resize", resize), ("resize", {"size": size}),
            torch_levels=1, pillow_levels=1,
        )  # fmt: skip
        yield Case(
            "Resize", {"size": size, "antialias": False},
            ("resize", {**resize, "antialias": False}), torch_levels=1,
        )  # fmt: skip
    yield Case("RandomHorizontalFlip", {"p": 1.0}, ("horizontal_flip", {}), ("flip", {"axis": 0}))
    yield Case("RandomVerticalFlip", {"p": 1.0}, ("vertical_flip", {}), ("flip", {"axis": 1}))
    for angle in (0, 30, -45, 90, 180, 7.5):
        for mode, levels in (("nearest", 0), ("bilinear", 1)):
            yield Case(
                "RandomRotation",
                {"degrees": (angle, angle), "interpolation": mode},
                ("rotate", {"angle": angle, "interpolation": mode, "fill": 0}),
                ("rotate", {"angle": angle, "interpolation": mode}) if mode == "nearest" else None,
                torch_levels=levels, pillow_levels=255,
            )  # fmt: skip
    yield Case(
        "RandomRotation", {"degrees": (20, 20), "fill": 99, "center": (3, 2)},
        ("rotate", {"angle": 20, "fill": [99], "center": [3, 2]}),
    )  # fmt: skip


def _colour():
    factors = (0.0, 0.5, 0.77, 1.0, 1.3, 2.0)
    for part, enhance in (("brightness", "Brightness"), ("contrast", "Contrast")):
        for f in factors:
            yield Case(
                "ColorJitter", {part: (f, f)},
                (f"adjust_{part}", {f"{part}_factor": f}), ("enhance", {"kind": enhance, "f": f}),
                torch_levels=1, pillow_levels=2,
            )  # fmt: skip
    for f in factors:
        yield Case(
            "ColorJitter", {"saturation": (f, f)},
            ("adjust_saturation", {"saturation_factor": f}),
            ("enhance", {"kind": "Color", "f": f}),
            on=RGB, torch_levels=1, pillow_levels=2,
        )  # fmt: skip
    for f in (-0.5, -0.2, -0.01, 0.0, 0.1, 0.25, 0.5):
        yield Case(
            "ColorJitter", {"hue": (f, f)}, ("adjust_hue", {"hue_factor": f}), on=RGB,
            torch_levels=1,
        )  # fmt: skip
    yield Case(
        "RandomGrayscale", {"p": 1.0}, ("rgb_to_grayscale", {"num_output_channels": 3}),
        ("grey", {}), on=RGB, torch_levels=1, pillow_levels=1,
    )  # fmt: skip
    for name, torch, pillow in (
        ("RandomAutocontrast", "autocontrast", "autocontrast"),
        ("RandomEqualize", "equalize", "equalize"),
        ("RandomInvert", "invert", "invert"),
    ):
        yield Case(
            name, {"p": 1.0}, (torch, {}), (pillow, {}),
            pillow_levels=1 if name == "RandomAutocontrast" else 0,
        )  # fmt: skip
    for bits in (0, 1, 4, 8):
        given = {"bits": bits}
        yield Case(
            "RandomPosterize", {**given, "p": 1.0}, ("posterize", given),
            ("posterize", given) if bits else None,
        )  # fmt: skip
    for threshold in (0, 100, 255):
        given = {"threshold": threshold}
        yield Case("RandomSolarize", {**given, "p": 1.0}, ("solarize", given), ("solarize", given))
    for f in (0.0, 0.5, 1.0, 1.7, 2.0):
        given = {"sharpness_factor": f}
        yield Case(
            "RandomAdjustSharpness", {**given, "p": 1.0}, ("adjust_sharpness", given),
            ("enhance", {"kind": "Sharpness", "f": f}), torch_levels=1, pillow_levels=2,
        )  # fmt: skip
    for size, sigma in ((3, 0.5), (5, 1.3), (3, 5.0), ((5, 3), 0.9)):
        sides = list(size) if isinstance(size, tuple) else [size, size]
        yield Case(
            "GaussianBlur", {"kernel_size": size, "sigma": (sigma, sigma)},
            ("gaussian_blur", {"kernel_size": sides, "sigma": [sigma, sigma]}),
            on=tuple(p for p in RGB + GREY if p != "one"), torch_levels=1,
        )  # fmt: skip
    yield Case(
        "GaussianBlur", {"kernel_size": 15, "sigma": (2.0, 2.0)},
        ("gaussian_blur", {"kernel_size": [15, 15], "sigma": [2.0, 2.0]}),
        on=("noise", "smooth", "noise-grey", "smooth-grey"), torch_levels=1,
    )  # fmt: skip


CASES = (*_geometry(), *_colour())

# RandAugment: every operation at these magnitudes of 31, with both signs, on these pictures.
AUGMENT_MAGNITUDES = (3, 9, 30)
AUGMENT_PICTURES = ("smooth", "noise", "smooth-grey")
AUGMENT_LEVELS = 1


def augment_key(operation, magnitude, negative, picture):
    """Return the name in the stored file."""
    return f"augment|{operation}|{magnitude}|{'-' if negative else '+'}|{picture}"
