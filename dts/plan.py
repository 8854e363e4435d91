"""From a Setup to the splits of a Preprocessor: open files, compile chains, plan memory."""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dts.config import LoadMode, NormMode, SplitConfig, SplitPlan
from dts.errors import ConfigError, CorruptError
from dts.format import DtsFile
from dts.kernels import norm_constants
from dts.loaders import BlockReader, available_bytes, default_threads
from dts.locate import find_files
from dts.pipeline import SplitPipeline
from dts.transforms import CenterCrop, Chain, RandomErasing, Resize

if TYPE_CHECKING:
    from dts.builder import Setup

_log = logging.getLogger("dts")

BLOCK = 16 << 20
SHARE = 0.6  # of the memory that the process may use, for AUTO
SEQUENTIAL_WINDOW = 4  # blocks; without a shuffle a large window has no use
HALF_MAX = 65504.0


@dataclass
class Split:
    """One split, running."""

    file: DtsFile
    chain: Chain
    config: SplitConfig
    memory: SplitPlan
    pipeline: SplitPipeline
    n_batches: int


def plan_splits(setup: "Setup") -> "dict[str, Split]":
    """Open the files of a Setup whose values were checked, and make its splits.

    Returns
    -------
    dict of str to Split
        "train" and "val", as far as they are there.
    """
    assert setup._dataset is not None  # commit() saw to that
    _, where, val_where = setup._dataset
    train, val = find_files(setup._name(), where, val_where, setup._level)
    files = {}
    try:
        for name, path in (("train", train), ("val", val)):
            if path is not None:
                files[name] = DtsFile(path)
        return _make(setup, files)
    except BaseException:
        for file in files.values():
            file.close()
        raise


def _make(setup, files):
    _check_files(files)
    chains = {name: _chain(setup, name) for name in files}
    sizes = {name: _final_size(name, ops) for name, ops in chains.items()}
    channels = setup._channels or 3
    shapes = {name: (*size, _out_channels(setup, channels)) for name, size in sizes.items()}
    _check_between(setup, chains)
    _check_erase(setup, chains, channels)
    scale, bias = _norm(setup, channels)
    modes = _modes(setup, files)
    cpus, why = default_threads()
    workers = setup._preprocess_workers or cpus
    loaders = setup._load_workers or max(1, min(4, cpus // 4))
    _log.info("%d preprocessing and %d IO threads (%s)", workers, loaders, why)
    bad = {name: _verify(setup, file) for name, file in files.items()}
    splits = {}
    try:
        for number, name in enumerate(("train", "val")):
            if name not in files:
                continue
            config = SplitConfig(
                split=number,
                seed=setup._seed % (1 << 64),
                batch_size=setup._batch_size,
                sample_shape=shapes[name],
                dtype=setup._output[0],
                label_dtype=setup._labels,
                channels=channels,
                scale=scale,
                bias=bias,
                prefetch=setup._prefetch,
                max_held=setup._max_held,
                workers=workers,
                on_error=setup._on_error,
                drop_last=setup._drop_last and name == "train",
            )
            splits[name] = _split(
                setup, config, files[name], name, chains[name], modes, loaders, bad[name]
            )
    except BaseException:
        for split in splits.values():
            split.pipeline.close()
        raise
    return splits


def _split(setup, config, file, name, ops, modes, loaders, bad):
    order, window = _order(setup, name)
    reader = BlockReader(
        file,
        split=name,
        mode=modes[name],
        order=order,
        window=window,
        load_workers=loaders,
        num_workers=config.workers,
        seed=config.seed,
        bad=bad,
    )
    chain = Chain(ops)
    pipeline = SplitPipeline(reader, chain, config, file.paths, file.names)
    n_batches = pipeline.n_batches_of(len(file))
    if n_batches == 0 and len(file):
        pipeline.close()
        raise ConfigError(
            f"drop_last: {len(file)} samples do not fill one batch of {config.batch_size}: "
            "0 batches"
        )
    height, width = config.sample_shape[:2]
    area = max(h.max_pic_area for h in file.headers)
    memory = SplitPlan(
        split=name,
        mode=modes[name],
        file_bytes=sum(h.total_bytes for h in file.headers),
        arena_bytes=reader.memory_bytes,
        slots=config.prefetch + 2,
        slot_bytes=pipeline.slot_bytes,
        workers=config.workers,
        scratch_bytes=_scratch(area, min(height, width), config.channels),
    )
    return Split(file, chain, config, memory, pipeline, n_batches)


def _scratch(area, side, channels):
    """Bytes of the rows that the vertical filter spans at the strongest downscale, and some.

    A filter of the axis of length n spans 2 n / side rows; rows are at most 65,500 long.
    """
    return int(2 * (2 * area / side + 8 * 65_500) * channels)


def _check_files(files):
    for name, file in files.items():
        if file.is_training != (name == "train"):
            kind = "training" if file.is_training else "validation"
            raise ConfigError(f"dataset: {file.paths[0]} is a {kind} set, not the {name} set")
        if file.level is None:
            raise ConfigError(f"dataset: {file.paths[0]} holds no JPEG pictures")
        if len(file) == 0:
            raise ConfigError(f"dataset: {file.paths[0]} holds no sample")
    lists = [f.class_names for f in files.values()]
    if len(lists) == 2 and None not in lists and list(lists[0]) != list(lists[1]):
        train, val = (set(names) for names in lists)
        only = [
            f"only in {where}: {', '.join(sorted(names)[:5])}{' ...' if len(names) > 5 else ''}"
            for where, names in (("train", train - val), ("val", val - train))
            if names
        ]
        raise ConfigError(
            "dataset: the train and the val file have different class lists "
            f"({'; '.join(only) or 'the same names in another order'}); "
            "export the val set with --classes TRAIN.dts"
        )


def _chain(setup, name):
    ops = setup._train if name == "train" else setup._val
    if ops is not None:
        return ops
    if name == "val" and setup._train:
        height, width = _final_size("train", setup._train)
        tall, wide = (int(side / 0.875 + 0.5) for side in (height, width))
        return (Resize(tall if height == width else (tall, wide)), CenterCrop((height, width)))
    return ()


def _final_size(name, ops):
    size = None
    for op in ops:
        size = op.output_size(size)
    if size is None:
        raise ConfigError(
            f"{name}_transforms: the pictures of this set differ in size, and "
            f"{'the chain' if ops else 'no chain'} brings them to one: "
            "add RandomResizedCrop(size), Resize((h, w)) or CenterCrop(size)"
        )
    if size[0] * size[1] > 1 << 26:
        raise ConfigError(
            f"{name}_transforms: a result of {size[0]} x {size[1]} pixels is too large"
        )
    return size


def _out_channels(setup, channels):
    dtype, wanted = setup._output
    return wanted if wanted is not None else (4 if dtype == "float16" else channels)


def _check_between(setup, chains):
    """Hold the sides that a chain passes through to the user's cap."""
    cap = setup._max_intermediate
    for name, ops in chains.items():
        size = None
        for op in ops:
            size = op.output_size(size)
            if cap is not None and size is not None and max(size) > cap:
                raise ConfigError(
                    f"max_intermediate_resolution: {op!r} of {name}_transforms makes "
                    f"{size[0]} x {size[1]}, over the cap of {cap}"
                )


def _check_erase(setup, chains, channels):
    for op in chains.get("train", ()):
        if isinstance(op, RandomErasing):
            values = np.atleast_1d(np.asarray(op.value, float))
            if len(values) not in (1, channels):
                raise ConfigError(
                    f"train_transforms: {op!r} has {len(values)} fill values "
                    f"for {channels} channels"
                )
            if setup._output[0] == "float16" and np.abs(values).max() > HALF_MAX:
                raise ConfigError(
                    f"train_transforms: {op!r} fills with a value that float16 cannot hold"
                )


def _norm(setup, channels):
    """Scale and bias for each channel, float32 values."""
    if setup._output[0] == "uint8":
        if setup._norm is not NormMode.NO_NORM:
            raise ConfigError(
                "normalization: uint8 output is not normalised; leave it out, or use float32"
            )
        return (1.0,) * channels, (0.0,) * channels
    mode = setup._norm
    mean, std = (mode.mean, mode.std) if isinstance(mode, NormMode) else mode
    what = mode.name if isinstance(mode, NormMode) else f"mean {mean}, std {std}"
    for label, values in (("mean", mean), ("std", std)):
        if len(values) not in (1, channels):
            raise ConfigError(
                f"normalization: {label} of {what} has {len(values)} values "
                f"for {channels} channels"
            )
        if not all(np.isfinite(np.float32(v)) for v in values):
            raise ConfigError(f"normalization: {label} {values} is not finite")
    if any(v <= 0 for v in std):
        raise ConfigError(f"normalization: std {std} must be above 0")
    mean = mean * channels if len(mean) == 1 else mean
    std = std * channels if len(std) == 1 else std
    with np.errstate(over="ignore", divide="ignore"):
        scale, bias = norm_constants(mean, std)
        ends = np.abs(np.stack([-bias, np.float32(255) * scale - bias]))
    limit = HALF_MAX if setup._output[0] == "float16" else np.finfo(np.float32).max
    if not np.all(ends <= limit):
        raise ConfigError(
            f"normalization: with {what} a pixel becomes {ends.max():.4g}, "
            f"over the {limit:.5g} that {setup._output[0]} can hold"
        )
    return tuple(map(float, scale)), tuple(map(float, bias))


def _modes(setup, files):
    """FULLY or PARTIAL for each split."""
    need = sum(len(file.block_counts) * BLOCK for file in files.values())
    have, why = available_bytes()
    have = 1 << 62 if have is None else have
    mode = setup._mode
    if mode is LoadMode.AUTO:
        # A choice by memory must not change the order: only the storage differs.
        fits = need <= SHARE * have
        mode = LoadMode.FULLY if fits or setup._order == "global" else LoadMode.PARTIAL
        _log.info("load mode %s: %d bytes needed, %d available (%s)", mode.name, need, have, why)
    if mode is LoadMode.FULLY and need > have:
        raise ConfigError(
            f"fully_mode: the set takes {need / 2**30:.2f} GiB, "
            f"this process may use {have / 2**30:.2f} GiB; "
            "use partial_mode() (and shuffle_order('window'))"
        )
    return dict.fromkeys(files, mode.name)


def _order(setup, name):
    """Order and window, in blocks, of a split."""
    if name == "val" or not setup._shuffle:
        return "sequential", SEQUENTIAL_WINDOW
    order = setup._order
    if order is None:
        order = "global" if setup._mode is LoadMode.FULLY else "window"
    return order, setup._window


def _verify(setup, file):
    """Ids of damaged samples as a mask, or None."""
    if not setup._verify:
        return None
    report = file.verify()
    if report.ok:
        return None
    bad = np.zeros(len(file), np.uint8)
    for damage in report.damaged:
        if damage.id is not None:
            bad[damage.id] = 1
        elif damage.block is not None:
            # In the table or between the pictures: labels may be wrong, so no sample of it is
            # trusted.
            in_volume = file.block_volume == list(file.paths).index(damage.path)
            (b,) = np.flatnonzero(in_volume & (file.block_number == damage.block))
            bad[file.block_starts[b] : file.block_starts[b + 1]] = 1
        else:
            raise CorruptError(damage.reason, path=damage.path)
    return bad
