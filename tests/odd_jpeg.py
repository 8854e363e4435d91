"""A small JPEG writer that makes files no library would write, and edits to files that exist."""

import base64
import struct
from math import ceil

import numpy as np

# 24 x 20 by cjpeg -quality 30 -arithmetic, and the same with -progressive.
ARITHMETIC = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1td"
    "hbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk"
    "pKSkpKSkpKSkpKSkpKSkpKSkpKT/yQARCAAUABgDASIAAhEBAxEB/8wACgAQEAUBEBEF/9oADAMBAAIRAxEAPwD+y+we"
    "mowi2h8jc5ePgPCKvVV8NPpYMCz/APW8bI0TKL2lZoQdUO87xMCifY+EpVOoY5vGOmZukOpWWNCDVZ6gssXCelGeID/E"
    "546miXR264ytIPwTO0bWuw4VP+n0fFpnksLmkIm59wYvID7Yoy5dpwXnymvzXAdeGZRKkebkEtH/2Q=="
)
ARITHMETIC_PROGRESSIVE = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1td"
    "hbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk"
    "pKSkpKSkpKSkpKSkpKSkpKSkpKT/ygARCAAUABgDASIAAhEBAxEB/8wABgAQARD/2gAMAwEAAhADEAAAAf1KsyOs/d2d"
    "iWD/zAAEEAX/2gAIAQEAAQUCZGcdCwJwTmi0nl1O/8wABBEF/9oACAEDAQE/AX/A/8wABBEF/9oACAECAQE/ARHA/8wA"
    "BBAF/9oACAEBAAY/AqUFBiDGx1us/8wABBAF/9oACAEBAAE/Id3FNHoTer+eToZcTiNlyT68/9oADAMBAAIAAwAAABBQ"
    "OGD/zAAEEQX/2gAIAQMBAT8QaSea/8wABBEF/9oACAECAQE/EFX5psD/zAAEEAX/2gAIAQEAAT8Q7wa2SeBDfax/GuXP"
    "utR1DmiU+qcKQ27U8ml6kjz3g/yRrMgmBswO6wSAgM0U71HjwQDdvbBcIrKA/9k="
)


def _segment(marker, body):
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


class _Bits:
    def __init__(self):
        self.value, self.count = 1, 0

    def put(self, value, count):
        self.value = self.value << count | value
        self.count += count

    def flush(self):
        """Bytes so far, padded with ones, zero bytes stuffed in after FF."""
        pad = -self.count % 8
        self.put((1 << pad) - 1, pad)
        data = self.value.to_bytes(self.count // 8 + 1, "big")[1:]
        self.value, self.count = 1, 0
        return data.replace(b"\xff", b"\xff\x00")


# Codes of one length, 4 bits for DC sizes and 8 bits for AC symbols: valid, and quick to write.
_DC = list(range(12))
_AC = [0x00, 0xF0] + [run << 4 | size for run in range(16) for size in range(1, 11)]
_TABLES = _segment(0xDB, b"\x00" + bytes([8] * 64)) + _segment(
    0xC4,
    b"\x00"
    + bytes([0] * 3 + [len(_DC)] + [0] * 12)
    + bytes(_DC)
    + b"\x10"
    + bytes([0] * 7 + [len(_AC)] + [0] * 8)
    + bytes(_AC),
)


def _number(bits, value):
    size = abs(value).bit_length()
    bits.put(value if value > 0 else value + (1 << size) - 1, size)


def _block(bits, rng, previous):
    """Code one block of random coefficients; returns its DC."""
    dc = int(rng.integers(-50, 51))
    bits.put(_DC.index(abs(dc - previous).bit_length()), 4)
    _number(bits, dc - previous)
    at = 1
    for _ in range(rng.integers(0, 5)):
        run = int(rng.integers(0, 8))
        value = int(rng.integers(1, 20)) * int(rng.choice([-1, 1]))
        if at + run > 62:
            break
        bits.put(_AC.index(run << 4 | abs(value).bit_length()), 8)
        _number(bits, value)
        at += run + 1
    bits.put(_AC.index(0), 8)
    return dc


def write_jpeg(
    width,
    height,
    factors,
    *,
    scans=None,
    restart=0,
    seed=0,
    app=b"",
    ids=(1, 2, 3, 4),
    before=lambda interval: b"",
):
    """Make a baseline JPEG of random coefficients.

    ``factors``: (h, v) of each component. ``scans``: lists of component numbers, one list a scan.
    ``restart``: MCUs between restart markers. ``app``: segments after the start marker.
    ``before(interval)``: bytes to put in front of that restart marker.
    """
    rng = np.random.default_rng(seed)
    h_max, v_max = (max(f[i] for f in factors) for i in (0, 1))
    frame = struct.pack(">BHHB", 8, height, width, len(factors))
    for number, (h, v) in zip(ids, factors, strict=False):
        frame += bytes([number, h << 4 | v, 0])
    out = b"\xff\xd8" + app + _TABLES + _segment(0xC0, frame)
    out += _segment(0xDD, struct.pack(">H", restart)) if restart else b""
    for scan in scans or [list(range(len(factors)))]:
        header = (
            bytes([len(scan)]) + b"".join(bytes([ids[c], 0]) for c in scan) + bytes([0, 63, 0])
        )
        out += _segment(0xDA, header)
        if len(scan) == 1:
            h, v = factors[scan[0]]
            mcus = ceil(ceil(width * h / h_max) / 8) * ceil(ceil(height * v / v_max) / 8)
            blocks = {scan[0]: 1}
        else:
            mcus = ceil(width / (8 * h_max)) * ceil(height / (8 * v_max))
            blocks = {c: factors[c][0] * factors[c][1] for c in scan}
        bits, dc = _Bits(), dict.fromkeys(scan, 0)
        for mcu in range(mcus):
            if restart and mcu and mcu % restart == 0:
                interval = mcu // restart - 1
                marker = bytes([0xFF, 0xD0 + interval % 8])
                out += bits.flush() + before(interval) + marker
                dc = dict.fromkeys(scan, 0)
            for component in scan:
                for _ in range(blocks[component]):
                    dc[component] = _block(bits, rng, dc[component])
        out += bits.flush()
    return out + b"\xff\xd9"


def app14(transform):
    return b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00" + bytes([transform])


def without(data, marker):
    """Cut a segment out."""
    at = data.index(bytes([0xFF, marker]))
    return data[:at] + data[at + 2 + int.from_bytes(data[at + 2 : at + 4], "big") :]


def patch_frame(data, *, height=None, width=None, precision=None, marker=None):
    at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    out = bytearray(data)
    for value, place, size in ((height, 5, 2), (width, 7, 2), (precision, 4, 1), (marker, 1, 1)):
        if value is not None:
            out[at + place : at + place + size] = value.to_bytes(size, "big")
    return bytes(out)
