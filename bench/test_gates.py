"""Timed gates: ratios that must hold, each against a baseline of the same interleaved run.

``bash tools/bench.sh`` runs them; the tests never do. A gate whose baseline moved by more than a
quarter is skipped, since the machine was busy: a ratio made then proves nothing.
"""

import pytest

from dts import measure


@pytest.mark.parametrize(
    ("level", "dtype", "limit"),
    [
        (3, "float16", 1.0),
        (0, "float16", 1.0),
    ],
)
def test_pipeline_costs_no_more_than_plain_decode(described, dts_file, level, dtype, limit):
    """RandomResizedCrop(224), flip, normalise, one thread, against simplejpeg's full decode."""
    found = described.pedantic(
        measure.compare,
        args=(dts_file(level),),
        kwargs={"rounds": 7, "pictures": 400, "dtype": dtype},
    )
    described.extra_info.update(
        ratio=round(found.ratio, 4),
        ratios=[round(r, 4) for r in found.ratios],
        pipeline_ms=found.pipeline_ms,
        decode_ms=found.decode_ms,
    )
    print("\n" + "\n".join(found.lines()))
    if found.ratio > limit and found.busy:
        pytest.skip(f"machine busy: ratio {found.ratio:.3f} with an uneasy baseline")
    assert found.ratio <= limit
