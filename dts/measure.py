"""How much the pipeline costs, as a ratio to plain JPEG decoding of the same pictures.

Times of a shared machine drift by tens of per cent, so nothing here is told by one time alone: the
pipeline and a plain decode of the very pictures it delivered take turns on one CPU, and each pair
gives one ratio. CPU time is compared, not wall time.
"""

import contextlib
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import simplejpeg

import dts
from dts.errors import ConfigError
from dts.format import DtsFile, read_header
from dts.format.layout import PICTURES

BUSY = 1.25  # a baseline whose `spread` is larger was not measured in peace


def spread(values: Sequence[float]) -> float:
    """Say by which factor values move: their upper quartile over their lower one.

    Unlike largest over smallest it does not grow with the number of rounds, and one round that
    was disturbed does not spoil the others.
    """
    if len(values) < 2:
        return 1.0
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return upper / lower if lower > 0 else 1.0


@dataclass
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    path : str
    pictures : int
        Pictures in a round.
    pipeline_ms, decode_ms : list of float
        CPU milliseconds a picture, one entry a round: the whole pipeline, and the full decode of
        the same pictures by simplejpeg.
    images_per_second : list of float
        Wall-clock rate of the pipeline with one preprocessing thread, one entry a round.
    refused : int
        Pictures in the last round that simplejpeg would not decode; they count for the pipeline
        only.
    build : dict
        `dts.build_info()` of the run.
    """

    path: str
    pictures: int = 0
    pipeline_ms: list[float] = field(default_factory=list)
    decode_ms: list[float] = field(default_factory=list)
    images_per_second: list[float] = field(default_factory=list)
    refused: int = 0
    build: dict[str, Any] = field(default_factory=dict)

    @property
    def ratios(self) -> list[float]:
        """Pipeline over plain decode, one entry a round."""
        return [p / d for p, d in zip(self.pipeline_ms, self.decode_ms, strict=True)]

    @property
    def ratio(self) -> float:
        """Median of `ratios`."""
        return statistics.median(self.ratios)

    @property
    def busy(self) -> bool:
        """Whether the plain decode moved by more than a quarter from round to round."""
        return spread(self.decode_ms) > BUSY

    def to_json(self) -> str:
        """Return everything as JSON text."""
        derived = {"ratio": self.ratio, "ratios": self.ratios, "busy": self.busy}
        return json.dumps({**asdict(self), **derived}, indent=2, default=str)

    def lines(self) -> list[str]:
        """Return the lines that tell it to a person."""
        pipeline, decode = statistics.median(self.pipeline_ms), statistics.median(self.decode_ms)
        rate = statistics.median(self.images_per_second)
        told = [
            f"pipeline      {pipeline:8.3f} ms CPU a picture (1 thread, all of the process)",
            f"plain decode  {decode:8.3f} ms CPU a picture (simplejpeg, whole, kept buffer)",
            f"ratio         {self.ratio:8.3f}    from {min(self.ratios):.3f} to"
            f" {max(self.ratios):.3f} in {len(self.ratios)} rounds of {self.pictures} pictures",
            f"images/s      {rate:8.0f}    with one preprocessing thread",
        ]
        if self.refused:
            told.append(
                f"{self.refused} pictures that simplejpeg refuses are in the first line only"
            )
        if self.busy:
            told.append(
                "machine busy: the plain decode alone moved by more than a quarter;"
                " trust the ratio, not the times, or measure again"
            )
        return told


class PlainDecode:
    """Full decode by simplejpeg into one buffer that is kept, as a careful user would write it."""

    def __init__(self) -> None:
        self._buffer = np.empty(0, np.uint8)
        self.refused = 0

    def cpu_seconds(self, pictures: Sequence[bytes]) -> float:
        """Decode encoded `pictures` and return the mean CPU time of one, in seconds."""
        good = []
        for data in pictures:
            try:
                height, width, *_ = simplejpeg.decode_jpeg_header(data)
                if self._buffer.size < height * width * 3:
                    self._buffer = np.zeros(height * width * 3, np.uint8)
                simplejpeg.decode_jpeg(data, colorspace="RGB", buffer=self._buffer)
            except ValueError:
                continue
            good.append(data)
        self.refused = len(pictures) - len(good)
        if not good:
            raise ConfigError("bench: simplejpeg decodes none of these pictures")
        begin = time.thread_time()
        for data in good:
            simplejpeg.decode_jpeg(data, colorspace="RGB", buffer=self._buffer)
        return (time.thread_time() - begin) / len(good)


class OneThreadPipeline:
    """A chain over one .dts file, with one IO and one preprocessing thread, IMAGENET normalised.

    Parameters
    ----------
    path : str or Path
        A .dts file of JPEG pictures, of either split.
    chain : sequence of transforms, optional
        By default the usual training chain: RandomResizedCrop(224) + RandomHorizontalFlip.
    dtype : str
        Output dtype, as in ``Setup.output``.
    batch_size : int
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        chain: Sequence[dts.Transform] | None = None,
        dtype: str = "float16",
        batch_size: int = 32,
    ) -> None:
        header = read_header(path)
        self.is_training = bool(header.is_training)
        if chain is None:
            chain = (dts.RandomResizedCrop(224), dts.RandomHorizontalFlip())
        setup = (
            dts.Preprocessor.setup()
            .dataset("folder", str(path))
            .load_workers(1)
            .preprocess_workers(1)
            .batch_size(min(batch_size, header.num_samples))
            .seed(0)
            .output(dtype)
            .normalization(dts.NormMode.IMAGENET)
        )
        for put in (setup.train_transforms, setup.val_transforms):
            put(*chain)
        self.preprocessor = setup.commit()
        self._epoch = 0

    def stream(self, pictures: int) -> tuple[list[int], float, float]:
        """Stream until `pictures` pictures have come, epoch after epoch; the next call goes on.

        Returns
        -------
        tuple of (list of int, float, float)
            Ids delivered; CPU and wall time of it, in seconds. The CPU time is that of the whole
            process: preprocessing, IO, and the loop that takes the batches.
        """
        pre = self.preprocessor
        ids: list[np.ndarray] = []
        count = 0
        cpu, wall = time.process_time(), time.perf_counter()
        while count < pictures:
            for batch in pre.train(self._epoch) if self.is_training else pre.val(self._epoch):
                ids.append(batch.ids.copy())
                count += len(batch)
                if count >= pictures:
                    # The loop outruns the one worker: what was begun beyond is next to nothing.
                    break
            self._epoch += 1
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return np.concatenate(ids).tolist(), cpu, wall

    def close(self) -> None:
        self.preprocessor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextlib.contextmanager
def _one_cpu() -> Iterator[None]:
    """Keep all threads on one CPU: neighbours of a shared machine slow its CPUs unequally."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


class Turn(NamedTuple):
    """One turn of the pipeline and one of plain decoding; see `turns`."""

    pipeline: float
    decode: float
    rate: float
    pictures: int
    refused: int


def turns(
    path: str | os.PathLike[str], pictures: int, **pipeline_options: Any
) -> Generator[Turn, None, None]:
    """Let the one-thread pipeline and plain decoding take turns on one CPU, for ever.

    Parameters
    ----------
    path : str or Path
        A .dts file of JPEG pictures.
    pictures : int
        About so many pictures a turn, in several epochs where the file has fewer.
    **pipeline_options
        As for `OneThreadPipeline`.

    Yields
    ------
    Turn
        CPU seconds a picture of either; pictures a second of wall time in the pipeline; pictures
        taken, and how many of them simplejpeg would not decode.

    Raises
    ------
    ConfigError
        If the file holds no JPEG pictures.
    """
    if read_header(path).dataset_type != PICTURES:
        raise ConfigError(f"bench: {Path(path).name} holds no JPEG pictures")
    plain = PlainDecode()
    with (
        _one_cpu(),
        DtsFile(path) as file,
        OneThreadPipeline(path, **pipeline_options) as pipeline,
    ):
        stored: dict[int, bytes] = {}
        while True:
            ids, cpu, wall = pipeline.stream(pictures)
            stored.update((i, bytes(file[i][0])) for i in set(ids) - set(stored))
            decode = plain.cpu_seconds([stored[i] for i in ids])
            yield Turn(cpu / len(ids), decode, len(ids) / wall, len(ids), plain.refused)


def compare(
    path: str | os.PathLike[str],
    *,
    rounds: int = 5,
    pictures: int = 1000,
    progress: Callable[[], object] | None = None,
    **pipeline_options: Any,
) -> Comparison:
    """Measure the one-thread pipeline against plain decoding, in turns.

    Parameters
    ----------
    path : str or Path
        A .dts file of JPEG pictures.
    rounds : int
        Pairs to measure, after one that only warms up.
    pictures : int
        About so many pictures a round, in several epochs where the file has fewer.
    progress : callable, optional
        Called with no argument after each round, the first included.
    **pipeline_options
        As for `OneThreadPipeline`.

    Returns
    -------
    Comparison

    Raises
    ------
    ConfigError
        If the file holds no JPEG pictures, or `rounds` or `pictures` is below 1.
    """
    if rounds < 1 or pictures < 1:
        raise ConfigError("bench: rounds and pictures must be at least 1")
    found = Comparison(str(path), build=dict(dts.build_info()))
    with contextlib.closing(turns(path, pictures, **pipeline_options)) as endless:
        for number, turn in enumerate(itertools.islice(endless, rounds + 1)):
            if number:  # the first warms caches, clocks and the arena
                found.pipeline_ms.append(turn.pipeline * 1e3)
                found.decode_ms.append(turn.decode * 1e3)
                found.images_per_second.append(turn.rate)
            if progress:
                progress()
    found.pictures, found.refused = turn.pictures, turn.refused
    return found
