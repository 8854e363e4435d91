"""From a Setup to the splits of a Preprocessor: sources, chains, threads, memory."""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dts.batching import batch_settings, check_kept_fits, kept_bytes
from dts.chains import OutputPlan, plan_output
from dts.config import LoadMode, SplitConfig, SplitPlan
from dts.errors import ConfigError
from dts.kept import KeptPipeline
from dts.loaders import check_fits, choose_mode, default_threads
from dts.loaders.topology import Binding, allowed_cpus, cpu_masks, plan_binding, read_topology
from dts.pipeline import SplitPipeline
from dts.sources import Source, open_sources
from dts.transforms import Chain

if TYPE_CHECKING:
    from dts.builder import Setup

_log = logging.getLogger("dts")

SEQUENTIAL_WINDOW = 4  # blocks; without a shuffle a large window has no use


@dataclass
class Split:
    """One split, running."""

    source: Source
    stages: tuple[tuple[int, Chain, tuple[int, int, int]], ...]  # as `SplitPipeline` takes them
    config: SplitConfig
    memory: SplitPlan
    pipeline: SplitPipeline | KeptPipeline
    n_batches: int

    def chain_at(self, epoch: int) -> Chain:
        """Return the chain of an epoch."""
        return [chain for first, chain, _ in self.stages if first <= epoch][-1]


def plan_splits(setup: "Setup") -> dict[str, Split]:
    """Open the files of a Setup whose values were checked, and make its splits.

    Returns
    -------
    dict of str to Split
        "train" and "val", as far as they are there.
    """
    sources = open_sources(setup)
    splits: dict[str, Split] = {}
    try:
        output = plan_output(setup, sources)
        mode = _mode(setup, sources, kept_bytes(setup, sources, output))
        workers, loaders = _threads(setup)
        binding = _binding(setup, workers, loaders)
        masks = () if binding is None else cpu_masks(binding.workers)
        for name, source in sources.items():
            source.exif_orientation = setup._exif_orientation
            config = _config(setup, name, source, output, workers, masks)
            bad = source.damaged() if setup._verify else None
            order, window = _order(setup, name, source)
            stages = tuple(
                (stage.first_epoch, _compiled(name, stage.chain), output.shape(stage))
                for stage in output.stages[name]
            )
            reader = source.reader(
                split=name,
                mode=mode,
                order=order,
                window=window,
                load_workers=loaders,
                num_workers=workers,
                seed=config.seed,
                bad=bad,
            )
            if setup._direct_io and not reader.read_directly():
                _log.warning("direct_io: %s is read through the page cache", source.place)
            if binding is not None:
                reader.bind_io(cpu_masks(binding.loaders))
            splits[name] = _split(name, source, stages, output.between[name], config, mode, reader)
    except BaseException:
        for split in splits.values():
            split.pipeline.close()
        for source in sources.values():
            source.close()
        raise
    return splits


def _config(
    setup: "Setup",
    name: str,
    source: Source,
    output: OutputPlan,
    workers: int,
    masks: tuple[bytes, ...],
) -> SplitConfig:
    assert setup._seed is not None  # commit() drew one
    assert setup._batch_size is not None
    drop_last = setup._drop_last and name == "train"
    return SplitConfig(
        split=0 if name == "train" else 1,
        seed=setup._seed % (1 << 64),
        # No memory for rows that no batch can have.
        batch_size=setup._batch_size if drop_last else min(setup._batch_size, len(source)),
        sample_shape=output.shapes[name],
        dtype=setup._output[0],
        label_dtype=setup._labels,
        channels=output.channels,
        array_size=None if source.array_shape is None else source.array_shape[:2],
        exif_orientation=setup._exif_orientation,
        fast_decode=setup._fast_decode,
        scale=output.scale,
        bias=output.bias,
        prefetch=setup._prefetch,
        max_held=setup._max_held,
        workers=workers,
        on_error=setup._on_error,
        drop_last=drop_last,
        worker_masks=masks,
        **batch_settings(setup, name, source),
    )


def _compiled(name, ops):
    try:
        return Chain(ops)
    except ValueError as error:
        raise ConfigError(f"{name}_transforms: {error}") from None


def _split(name, source, stages, between, config, mode, reader):
    pipeline = SplitPipeline(reader, stages, config, source.paths, lambda: source.names)
    n_batches = pipeline.n_batches_of(len(source))
    if n_batches == 0:
        pipeline.close()
        raise ConfigError(
            f"drop_last: {len(source)} samples do not fill one batch of {config.batch_size}: "
            "0 batches"
        )
    shortest = min(min(height, width) for _, _, (height, width, _) in stages)
    memory = SplitPlan(
        split=name,
        mode=mode,
        file_bytes=source.file_bytes,
        arena_bytes=reader.memory_bytes,
        slots=config.prefetch + 2,
        slot_bytes=pipeline.slot_bytes,
        workers=config.workers,
        scratch_bytes=_scratch(source.max_area, shortest, config) + between,
        kept_bytes=n_batches * pipeline.slot_bytes if config.keep else 0,
    )
    runs = KeptPipeline(pipeline, n_batches) if config.keep else pipeline
    return Split(source, stages, config, memory, runs, n_batches)


def _scratch(area, side, config):
    """Bytes of the rows that the vertical filter spans at the strongest downscale, and some.

    A filter of the axis of length n spans 2 n / side rows; rows are at most 65,500 long. Turning
    a picture takes one that is turned, several views one that they share.
    """
    turned = area if config.exif_orientation else 0
    shared = area if config.views > 1 and config.array_size is None else 0
    return int((2 * (2 * area / side + 8 * 65_500) + turned + shared) * config.channels)


def _threads(setup: "Setup") -> tuple[int, int]:
    """Preprocessing and IO threads for each split."""
    cpus, why = default_threads()
    workers = setup._preprocess_workers or cpus
    # They sleep once two windows are loaded; until the first is, nobody else has work.
    loaders = setup._load_workers or min(4, cpus)
    _log.info("%d preprocessing and %d IO threads (%s)", workers, loaders, why)
    return workers, loaders


def _binding(setup: "Setup", workers: int, loaders: int) -> Binding | None:
    """Which CPUs the threads are bound to; None: the system places them."""
    if not setup._cpu_binding:
        return None
    cpus = read_topology(allowed_cpus())
    if not cpus:
        _log.warning("cpu_binding: this system has no calls for it; threads are not bound")
        return None
    binding = plan_binding(cpus, workers, loaders)
    nodes, cores = len({c.node for c in cpus}), sum(c.sibling == 0 for c in cpus)
    _log.info("threads bound to %d CPUs (%d cores, %d nodes)", len(cpus), cores, nodes)
    return binding


def _mode(setup: "Setup", sources: dict[str, Source], kept: int) -> str:
    """FULLY or PARTIAL. Only where the pictures lie: the order does not follow the memory."""
    need = sum(source.memory_bytes for source in sources.values())
    mode = setup._mode.name
    if _in_arrays(sources):
        if setup._mode is LoadMode.PARTIAL:
            _log.info("load mode FULLY: sets of small arrays are always in memory")
        mode = "FULLY"
    elif setup._mode is LoadMode.AUTO:
        mode = "FULLY" if setup._order == "global" else choose_mode(need + kept)
        _log.info("load mode %s: the set takes %d bytes", mode, need)
    if mode == "FULLY":
        check_fits(need)
    check_kept_fits(kept, need if mode == "FULLY" else 0)
    return mode


def _in_arrays(sources: dict[str, Source]) -> bool:
    return all(source.array_shape is not None for source in sources.values())


def _order(setup: "Setup", name: str, source: Source) -> tuple[str, int]:
    """Order and window, in blocks, of a split."""
    if name == "val" or not setup._shuffle:
        return "sequential", SEQUENTIAL_WINDOW
    order = setup._order
    if order is None:
        fully = setup._mode is LoadMode.FULLY or source.array_shape is not None
        order = "global" if fully else "window"
    return order, setup._window
