"""Which data sets exist, and how people write their names."""

from dts.datasets.cifar import CIFAR10, CIFAR100
from dts.datasets.mnist import MNIST
from dts.errors import ConfigError

# Those that are held as plain arrays; all others are folders of pictures.
ARRAY_SETS = {kind.name: kind for kind in (MNIST, CIFAR10, CIFAR100)}
DATASETS = (*ARRAY_SETS, "imagenet", "folder")
SPLITS = ("train", "val")


def canonical(name: str) -> str:
    """Give the one name of a data set: any case, hyphens and underscores anywhere.

    ``cifar`` alone is ``cifar10``.

    Raises
    ------
    ConfigError
        There is no such data set.
    """
    found = name.lower().replace("-", "").replace("_", "")
    found = "cifar10" if found == "cifar" else found
    if found not in DATASETS:
        raise ConfigError(f"dataset: {name!r} is none of {', '.join(DATASETS)}")
    return found
