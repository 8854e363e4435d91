"""Workers, batch slots and the hand-over between threads."""

from dts.pipeline.pool import SplitPipeline

__all__ = ["SplitPipeline"]
