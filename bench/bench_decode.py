"""CPU time of decoding a random crop, as a ratio to simplejpeg's full decode of the same picture.

    python bench/bench_decode.py [DIRECTORY] [--rounds N]

Without a directory the pictures are synthetic, 500 x 375. Every round decodes every picture in
every way, one after the other, so that a change of the machine's speed strikes all alike; the
ratio is that of the sums over the rounds' quickest times.
"""

import argparse
import io
import time
from pathlib import Path

import numpy as np
import simplejpeg
from PIL import Image

from dts import decode


def synthetic(count=60, width=500, height=375):
    """JPEGs of about the detail of a photograph: noise with a 1/f spectrum."""
    rng = np.random.default_rng(0)
    fy, fx = np.meshgrid(np.fft.fftfreq(height), np.fft.rfftfreq(width), indexing="ij")
    spectrum = 1 / np.maximum(np.hypot(fx, fy), 1 / width) ** 1.1
    files = []
    for _ in range(count):
        phase = rng.normal(size=(3, *fx.shape)) + 1j * rng.normal(size=(3, *fx.shape))
        planes = np.fft.irfft2(phase * spectrum, s=(height, width))
        planes[1:] = 0.8 * planes[:1] + 0.2 * planes[1:]
        planes = 128 + 50 * planes / planes.std()
        file = io.BytesIO()
        Image.fromarray(planes.clip(0, 255).astype(np.uint8).transpose(1, 2, 0).copy()).save(
            file, "JPEG", quality=93, subsampling="4:2:0"
        )
        files.append(file.getvalue())
    return files


def random_box(rng, width, height):
    """Draw the box of RandomResizedCrop(scale=(0.08, 1), ratio=(3/4, 4/3))."""
    for _ in range(10):
        area = width * height * rng.uniform(0.08, 1)
        ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1)), w, h
    return 0, 0, width, height


def cpu_of(function, *arguments, **keywords):
    """CPU seconds of one call."""
    start = time.thread_time()
    function(*arguments, **keywords)
    return time.thread_time() - start


def main():
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if options.directory is None:
        files = synthetic()
    else:
        files = [p.read_bytes() for p in sorted(options.directory.rglob("*")) if p.is_file()]
    files = [data for data in files if decode.header(data).components == 3]
    info = decode.library_info()
    print(f"{info['kind']} {info['version']}, {info['path']}")
    print(f"{len(files)} pictures, mean {np.mean([len(f) for f in files]) / 1000:.1f} KB")

    rng = np.random.default_rng(1)
    decoder = decode.Decoder()
    tasks = []
    for data in files:
        head = decode.header(data)
        kept = np.empty((head.height, head.width, 3), np.uint8)
        x, y, w, h = random_box(rng, head.width, head.height)
        region = np.empty((h, w, 3), np.uint8)
        tasks.append((data, kept, (x, y, w, h), region))
    ways = {
        "simplejpeg, full, kept buffer": lambda data, kept, box, region: cpu_of(
            simplejpeg.decode_jpeg, data, buffer=kept
        ),
        "dts, full": lambda data, kept, box, region: cpu_of(decoder.decode, data, out=kept),
        "dts, random crop": lambda data, kept, box, region: cpu_of(
            decoder.decode, data, box, out=region
        ),
    }
    best = {name: np.full(len(tasks), np.inf) for name in ways}
    for _ in range(options.rounds):
        for i, task in enumerate(tasks):
            for name, way in ways.items():
                best[name][i] = min(best[name][i], way(*task))
    base = best["simplejpeg, full, kept buffer"].sum()
    for name, times in best.items():
        print(f"{name:32} {times.mean() * 1000:7.3f} ms  ratio {times.sum() / base:.3f}")


if __name__ == "__main__":
    main()
