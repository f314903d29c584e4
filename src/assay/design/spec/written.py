"""The tables of a specification as written."""

from __future__ import annotations

import msgspec

_DEFAULT_MOST = 1024


class WrittenLimits(msgspec.Struct, frozen=True):
    """``[limits]`` of a file."""

    budget: float | None = None
    power: str | float | None = None
    floor: float | None = None
    racks: int | None = None
    memory_per_rank: str | float | None = None
    memory: str | float | None = None
    accelerator_memory: str | float | None = None
    total_cost: float | None = None
    nodes: tuple[int, int] = (1, _DEFAULT_MOST)


class WrittenChoice(msgspec.Struct, frozen=True):
    """``[choose]`` of a file: the parts to choose from, by name; all if missing."""

    nodes: list[str] | None = None
    memory: list[str] | None = None
    disks: list[str] | None = None
    interconnects: list[str] | None = None
    accelerators: list[str] | None = None
    storage: list[str] | None = None
    cloud: list[str] | None = None
    spares: str | float = 0.0
    spare_accelerators: str | float = 0.0
    unbalanced: bool = False


class WrittenSearch(msgspec.Struct, frozen=True):
    """``[search]`` of a file."""

    draws: int = 1000
    seed: int = 1
    step: int = 1
    best: int = 5


class WrittenRequirements(msgspec.Struct, frozen=True):
    """``[require]`` of a file."""

    capacity: str | float | None = None
    bandwidth: str | float | None = None
    inodes: float | None = None
    scratch: str | float | None = None
    scratch_bandwidth: str | float | None = None


class WrittenLater(msgspec.Struct, frozen=True):
    """``[later]`` of a file."""

    after: float
    prices: str | float = 0.0
    rates: str | float = 0.0
    years: float | None = None
