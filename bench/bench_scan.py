"""Time and peak memory of scanning a folder of a million pictures, and of planning its file.

Usage: python bench/bench_scan.py [FOLDER] [--pictures N] [--keep]

Makes hard links to 40 small JPEGs of different sizes in 1000 class folders below FOLDER (a new
folder in /tmp unless given), scans them in a fresh process as an export does, arranges the level 0
file, and removes what it made. A file system allows some 65,000 links to one file, hence the 40.
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

SEEDS, FOLDERS = 40, 1000
MOST_SECONDS, MOST_MIB = 60, 1024

SCAN = """
import json, resource, sys, time
from dts.datasets.listing import list_pictures
from dts.export.packing import arrange
from dts.export.sources import capacity
from dts.format.layout import MAX_PICTURES
begin = time.perf_counter()
listing = list_pictures(sys.argv[1], dataset="folder")
scanned = time.perf_counter()
plan = arrange(listing.sizes, None, capacity(0), MAX_PICTURES[0], num_classes=len(listing.classes))
planned = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({
    "pictures": len(listing),
    "blocks": plan.num_blocks,
    "scan": scanned - begin,
    "plan": planned - scanned,
    "peak_mib": peak / (1 << 20 if sys.platform == "darwin" else 1 << 10),
}))
"""


def make_tree(root, pictures):
    """Fill 1000 class folders with hard links."""
    seeds = []
    rng = np.random.default_rng(1)
    for k in range(SEEDS):
        side = 8 + 4 * k
        out = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (side, side, 3), np.uint8)).save(out, "JPEG")
        seed = root / "seeds" / f"{k}.jpg"
        seed.parent.mkdir(exist_ok=True)
        seed.write_bytes(out.getvalue())
        seeds.append(str(seed))
    for f in range(FOLDERS):
        folder = root / "train" / f"class_{f:04d}"
        folder.mkdir(parents=True)
        for k in range(f, pictures, FOLDERS):
            os.link(seeds[(k // FOLDERS + f) % SEEDS], f"{folder}/picture_{k:07d}.jpg")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--pictures", type=int, default=1_000_000)
    parser.add_argument("--keep", action="store_true", help="leave the links there")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="dts-scan-", dir=options.folder))
    try:
        begin = time.perf_counter()
        make_tree(root, options.pictures)
        print(f"made {options.pictures:,} links in {time.perf_counter() - begin:.0f} s")
        command = [sys.executable, "-c", SCAN, str(root / "train")]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    finally:
        if not options.keep:
            shutil.rmtree(root)
    print(
        f"{found['pictures']:,} pictures: scanned in {found['scan']:.1f} s, arranged into "
        f"{found['blocks']:,} blocks in {found['plan']:.1f} s, peak memory "
        f"{found['peak_mib']:.0f} MiB"
    )
    total = found["scan"] + found["plan"]
    assert found["pictures"] == options.pictures
    assert total <= MOST_SECONDS, f"{total:.0f} s, wanted {MOST_SECONDS}"
    assert found["peak_mib"] <= MOST_MIB, f"{found['peak_mib']:.0f} MiB, wanted {MOST_MIB}"


if __name__ == "__main__":
    main()
