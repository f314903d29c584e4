"""The order and the settings of a Linpack problem.

Open parameters of a ``linpack`` cell are set from the search (``linpack.search``) at the same
placement with the same toolchain. docs/methods/speed.md has the reasons for each rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from assay.kernels import find_kernel, left_open
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.units import format_duration, format_memory, format_quantity

KERNEL = "linpack"
SEARCH = "linpack.search"
# Parameters that a search chooses; n follows from its rate and from the available memory.
CHOSEN = ("nb", "p", "broadcast", "swap", "depth")
# Share of the plan's budget for one solution of the largest order. A curve of rate over order costs
# two to three times its largest point, so that six launches of the whole curve fit the budget.
TIME_SHARE = 0.05
# Maximum order.
MOST = 10**9


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    nb: int
    p: int
    broadcast: str
    swap: str
    depth: int
    n: int
    #: Rate of the best candidate in trials of order ``n``, flop/s.
    rate: float
    #: Free memory per rank on the fullest node, bytes; infinite if the system doesn't report it.
    memory_available: float


@dataclass(frozen=True)
class LargestOrder:
    """The largest order for a cell: ``n``, limited by memory and by time."""

    #: ``by_memory``, ``by_time``: the largest order that memory and time allow.
    by_memory: int
    by_time: int
    #: Memory per rank that may be used, bytes.
    available: float
    #: Time allowed for a solution, s.
    seconds: float
    #: The rate of the search, flop/s.
    rate: float
    #: Time of a solution of the order ``by_memory`` at the search's ``rate``, s.
    needed: float

    @property
    def n(self) -> int:
        """The largest order."""
        return min(self.by_memory, self.by_time)

    @property
    def limit(self) -> Literal["memory", "time"]:
        """The limit that determines it."""
        return "memory" if self.by_memory <= self.by_time else "time"


@dataclass(frozen=True)
class ResolvedParameters:
    """The parameters that a cell is measured with."""

    parameters: dict[str, Value]
    #: The largest order, if the order was open and a search set it.
    largest: LargestOrder | None = None
    #: Time of a solution at the search's rate, s; None if unknown.
    seconds: float | None = None


def is_open(cell: Cell) -> bool:
    """Whether a cell has open parameters."""
    return cell.kernel == KERNEL and bool(left_open(cell))


def searches_for(cell: Cell, cells: Iterable[Cell]) -> list[Cell]:
    """The searches among ``cells`` whose result applies to a cell, in their order."""
    return [
        other
        for other in cells
        if other.kernel == SEARCH
        and other.placement == cell.placement
        and other.toolchain == cell.toolchain
    ]


def read_search(facts: Mapping[str, Value], ranks: int) -> Found | None:
    """The result of a search from its facts; None if it is not usable for ``ranks`` ranks."""
    try:
        found = Found(
            nb=int(facts["nb"]),
            p=int(facts["p"]),
            broadcast=str(facts["broadcast"]),
            swap=str(facts["swap"]),
            depth=int(facts["depth"]),
            n=int(facts["n"]),
            rate=float(facts["rate"]),
            memory_available=float(facts.get("memory_available", math.inf)),
        )
    except (KeyError, ValueError, OverflowError):
        return None
    usable = (
        found.nb >= 1
        and found.p >= 1
        and ranks % found.p == 0
        and math.isfinite(found.rate)
        and found.rate > 0.0
        and found.memory_available > 0.0
    )
    return found if usable else None


def resolve(cell: Cell, found: Found | None, budget: float) -> ResolvedParameters:
    """The parameters of a ``linpack`` cell, by a search and the plan's budget in seconds.

    Parameters that the plan sets are kept. Without a search the kernel chooses the open ones.
    """
    parameters = {p.name: p.default for p in find_kernel(KERNEL).parameters} | cell.parameters
    open_ = left_open(cell)
    for name in CHOSEN:
        if name in open_ and found is not None:
            parameters[name] = getattr(found, name)
    if parameters["depth"] == -1:
        parameters["depth"] = 1
    if found is None:
        return ResolvedParameters(parameters)
    largest = None
    if "n" in open_:
        largest = largest_order(cell, parameters, found, budget)
        parameters["n"] = max(int(float(parameters["fraction"]) * largest.n), 1)
    return ResolvedParameters(parameters, largest, _flops(cell, parameters) / found.rate)


def largest_order(
    cell: Cell, parameters: Mapping[str, Value], found: Found, budget: float
) -> LargestOrder:
    """The largest order by memory and by time, with these settings."""
    memory = find_kernel(KERNEL).memory
    assert memory is not None
    placement = cell.placement

    def bytes_of(n: int) -> float:
        return memory({**parameters, "n": n}, placement.ranks, placement.threads)

    def seconds_of(n: int) -> float:
        return _flops(cell, {**parameters, "n": n}) / found.rate

    available = float(parameters["fill"]) * found.memory_available
    seconds = TIME_SHARE * budget
    by_memory = _largest(lambda n: bytes_of(n) <= available)
    return LargestOrder(
        by_memory=by_memory,
        by_time=_largest(lambda n: seconds_of(n) <= seconds),
        available=available,
        seconds=seconds,
        rate=found.rate,
        needed=seconds_of(by_memory),
    )


def sizing_text(largest: LargestOrder) -> str:
    """What limits the largest order, and how to raise it: ``N up to …``."""
    rate = format_quantity(largest.rate, "flop/s")
    free = format_memory(largest.available)
    if largest.limit == "memory":
        return (
            f"N up to {largest.n:,}, limited by memory: {free} per rank of the fullest "
            "node; a larger fill= takes more of the free memory"
        )
    text = (
        f"N up to {largest.n:,}, limited by time: {format_duration(largest.seconds)} per solution "
        f"at the search's {rate}, a {round(1 / TIME_SHARE)}th of the budget"
    )
    if math.isinf(largest.available):
        return f"{text}; the amount of free memory is unknown"
    minutes = math.ceil(largest.needed / TIME_SHARE / 60.0)
    budget = f"{minutes} min" if minutes < 120 else f"{math.ceil(minutes / 60)} h"
    return f"{text}; memory would allow N = {largest.by_memory:,} (--budget '{budget}')"


def _flops(cell: Cell, parameters: Mapping[str, Value]) -> float:
    placement = cell.placement
    return find_kernel(KERNEL).work(parameters, placement.ranks, placement.threads)["flops"]


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest order that fits, assuming that all smaller orders fit; 1 even if 1 doesn't
    fit."""
    low, high = 1, 2
    while high < MOST and fits(high):
        low, high = high, 2 * high
    high = min(high, MOST)
    while high - low > 1:
        midpoint = (low + high) // 2
        low, high = (midpoint, high) if fits(midpoint) else (low, midpoint)
    return low
