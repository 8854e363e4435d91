"""Which data sets exist, and how people write their names."""

from dts.errors import ConfigError

DATASETS = ("mnist", "cifar10", "cifar100", "imagenet", "folder")
SPLITS = ("train", "val")


def canonical(name: str) -> str:
    """Give the one name of a data set: any case, hyphens and underscores anywhere.

    Raises
    ------
    ConfigError
        There is no such data set.
    """
    found = name.lower().replace("-", "").replace("_", "")
    if found not in DATASETS:
        raise ConfigError(f"dataset: {name!r} is none of {', '.join(DATASETS)}")
    return found
