"""How large a Linpack problem is taken, and by what settings: pure arithmetic.

A cell of ``linpack`` that leaves its order or its settings open is settled from the search
(``linpack.search``) at the same placement with the same toolchain. docs/methods/speed.md says
why each rule is as it is.
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
# What a search chooses; n follows from its rate and from the memory it found.
CHOSEN = ("nb", "p", "broadcast", "swap", "depth")
# Of the plan's budget, what one solution of the largest order may take. A curve of rate over order
# costs two to three times its largest point, so that six launches of all of it fit the budget.
TIME_SHARE = 0.05
# No order is looked for beyond this one.
MOST = 10**9


@dataclass(frozen=True)
class Found:
    """What a search found. ``memory_available``: bytes that a rank may take of the fullest node,
    infinite where the system doesn't tell.

    ``rate``: flop/s of the best candidate in trials of order ``n``.
    """

    nb: int
    p: int
    broadcast: str
    swap: str
    depth: int
    n: int
    rate: float
    memory_available: float


@dataclass(frozen=True)
class LargestOrder:
    """The largest order for a cell: ``n``, the lesser of what memory and what time allow.

    ``by_memory``, ``by_time``: the largest that each of them allows. ``available``: bytes of a rank
    that it may fill. ``seconds``: that a solution may take; ``needed``: that the order by memory
    would take at the search's ``rate``.
    """

    by_memory: int
    by_time: int
    available: float
    seconds: float
    rate: float
    needed: float

    @property
    def n(self) -> int:
        """The largest order."""
        return min(self.by_memory, self.by_time)

    @property
    def limit(self) -> Literal["memory", "time"]:
        """What doesn't allow a larger one."""
        return "memory" if self.by_memory <= self.by_time else "time"


@dataclass(frozen=True)
class ResolvedParameters:
    """What a cell is measured with.

    ``largest``: where its order was open and a search settled it. ``seconds``: that a solution
    takes at the search's rate, None where that is not known.
    """

    parameters: dict[str, Value]
    largest: LargestOrder | None = None
    seconds: float | None = None


def is_open(cell: Cell) -> bool:
    """Whether a cell leaves something for a search to settle."""
    return cell.kernel == KERNEL and bool(left_open(cell))


def searches_for(cell: Cell, cells: Iterable[Cell]) -> list[Cell]:
    """The searches among ``cells`` whose outcome holds for a cell, in their order."""
    return [
        other
        for other in cells
        if other.kernel == SEARCH
        and other.placement == cell.placement
        and other.toolchain == cell.toolchain
    ]


def read_search(facts: Mapping[str, Value], ranks: int) -> Found | None:
    """A search's facts; None where they are no usable outcome for so many ranks."""
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
    """What a cell of ``linpack`` is measured with, by a search and the plan's budget in seconds.

    What was given by hand stays. Without a search the kernel chooses by itself what is open.
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

    def takes(n: int) -> float:
        return memory({**parameters, "n": n}, placement.ranks, placement.threads)

    def lasts(n: int) -> float:
        return _flops(cell, {**parameters, "n": n}) / found.rate

    available = float(parameters["fill"]) * found.memory_available
    seconds = TIME_SHARE * budget
    by_memory = _largest(lambda n: takes(n) <= available)
    return LargestOrder(
        by_memory=by_memory,
        by_time=_largest(lambda n: lasts(n) <= seconds),
        available=available,
        seconds=seconds,
        rate=found.rate,
        needed=lasts(by_memory),
    )


def sizing_text(largest: LargestOrder) -> str:
    """What limits the largest order, and what would lift it: ``up to N = …``."""
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
        return f"{text}; how much memory is free is not known"
    minutes = math.ceil(largest.needed / TIME_SHARE / 60.0)
    budget = f"{minutes} min" if minutes < 120 else f"{math.ceil(minutes / 60)} h"
    return f"{text}; memory would hold N = {largest.by_memory:,} (--budget '{budget}')"


def _flops(cell: Cell, parameters: Mapping[str, Value]) -> float:
    placement = cell.placement
    return find_kernel(KERNEL).work(parameters, placement.ranks, placement.threads)["flops"]


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest order that fits, where all smaller ones do; 1 even if it doesn't."""
    low, high = 1, 2
    while high < MOST and fits(high):
        low, high = high, 2 * high
    high = min(high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
