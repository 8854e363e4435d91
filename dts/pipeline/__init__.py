"""Workers, batch slots and the hand-over between threads."""

from dts.pipeline.apply import apply_transforms
from dts.pipeline.pool import SplitPipeline

__all__ = ["SplitPipeline", "apply_transforms"]
