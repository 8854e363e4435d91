from typing import Final, Self

from numpy.typing import DTypeLike
from typing_extensions import disjoint_base

ALIGNMENT: Final[int]

@disjoint_base
class Slot:
    def __new__(
        cls,
        samples: int,
        sample_bytes: int,
        label_bytes: int,
        views: int = 1,
        classes: int = 0,
    ) -> Self: ...

@disjoint_base
class Lease: ...

@disjoint_base
class TransferStation:
    batch_size: int
    views: int
    classes: int
    sample_bytes: int
    base_slots: int
    extra_slots: int
    max_held: int | None
    keep: bool
    token: int
    def __new__(
        cls,
        batch_size: int,
        sample_shape: tuple[int, int, int],
        dtype: DTypeLike,
        label_dtype: DTypeLike,
        prefetch: int,
        max_held: int | None,
        views: int = 1,
        classes: int = 0,
    ) -> Self: ...
    @property
    def slot_bytes(self) -> int: ...
    def set_shape(self, sample_shape: tuple[int, int, int]) -> None: ...
    def begin(self, n_samples: int, n_batches: int, claim: int, most: int) -> None: ...
    def held(self) -> int: ...
    def check_held(self) -> None: ...
    def reset(self) -> None: ...
    def counters(self) -> dict[str, int]: ...
