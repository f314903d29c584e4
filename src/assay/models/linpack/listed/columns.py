"""The columns that efficiency and N½ are predicted from: mechanisms, sizes, families, words.

The mechanisms are the terms of HPL's published model (Petitet, Whaley, Dongarra & Cleary,
"HPL scalability analysis", netlib): with P x Q processes at rate g, messages of latency a and b
seconds per byte, and blocks of NB columns, an order N takes the time of 2N³/3 flop at peak, times
1 + bandwidth + latency with

    bandwidth = 3 b g (3P + Q) / (4 N)
    latency = 3 a g P Q ((NB + 1) log P + P) / (2 N² NB)

If a list gives no order, the order is estimated from cores, peak and year.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.models.linpack.listed.names import ListedSystem, SystemNames, read_names

BLOCK = 128
# Smaller orders are not plausible for a listed system; lists have a few in thousands.
_LEAST_ORDER = 500


@dataclass(frozen=True)
class OrderRule:
    """log N = constant + cores · log cores + peak · log peak + year · (year - 2000)."""

    constant: float
    cores: float
    peak: float
    year: float

    def order(self, system: ListedSystem) -> float:
        """The typical order of a system of this size and year."""
        return math.exp(
            self.constant
            + self.cores * math.log(system.cores)
            + self.peak * math.log(system.peak)
            + self.year * (system.year - 2000)
        )


@dataclass(frozen=True)
class Mechanisms:
    """Times of communication over the time of the arithmetic at peak."""

    bandwidth: float
    latency: float


def known_order(system: ListedSystem) -> int | None:
    """The order; None if unknown or implausible."""
    return system.order if system.order and system.order >= _LEAST_ORDER else None


def mechanisms(system: ListedSystem, names: SystemNames, order: float) -> Mechanisms:
    """The two terms of communication, for one process per core in a nearly square grid."""
    p = max(math.sqrt(system.cores / 1.5), 1.0)
    q = system.cores / p
    rate = system.peak / system.cores
    if system.cores == 1:
        return Mechanisms(0.0, 0.0)
    byte = 8 / names.rate
    return Mechanisms(
        3 * byte * rate * (3 * p + q) / (4 * order),
        3
        * names.latency
        * rate
        * system.cores
        * ((BLOCK + 1) * math.log2(max(p, 2)) + p)
        / (2 * order**2 * BLOCK),
    )


def numbers(system: ListedSystem, names: SystemNames, rule: OrderRule) -> list[float]:
    """The numeric columns; NaN if unknown."""
    order = known_order(system)
    typical = rule.order(system)
    used = order or typical
    terms = mechanisms(system, names, used)
    per_core = system.peak / system.cores
    unknown = math.nan
    return [
        math.log(system.cores),
        math.log(system.peak),
        math.log(per_core),
        float(system.year),
        math.log(order) if order else unknown,
        math.log(8 * order**2 / system.cores) if order else unknown,
        math.log(order**3 / system.peak) if order else unknown,
        math.log(order / typical) if order else unknown,
        math.log(8 * order**2 / system.peak) if order else unknown,
        names.clock / 1e9 if names.clock else unknown,
        float(names.cores_per_chip) if names.cores_per_chip else unknown,
        per_core / names.clock if names.clock else unknown,
        math.log(terms.bandwidth + 1e-9),
        math.log(terms.latency + 1e-9),
        math.log(names.rate),
    ]


def fit_orders(systems: Sequence[ListedSystem]) -> OrderRule:
    """Least squares of log N over the systems with an order."""
    known = [system for system in systems if known_order(system)]
    x = np.array(
        [[1.0, math.log(s.cores), math.log(s.peak), s.year - 2000] for s in known], dtype=float
    )
    y = np.log([float(s.order or 1) for s in known])
    return OrderRule(*(float(v) for v in np.linalg.lstsq(x, y, rcond=None)[0]))


def vocabulary(names: Iterable[SystemNames], keys: Sequence[str], least: int) -> list[str]:
    """Words that occur in the names of at least ``least`` computers, and all families."""
    seen: dict[str, set[str]] = {}
    for key, each in zip(keys, names, strict=True):
        for word in _words(each):
            seen.setdefault(word, set()).add(key)
    counts = Counter({word: len(found) for word, found in seen.items()})
    return sorted(word for word, count in counts.items() if count >= least)


def flags(names: Sequence[SystemNames], words: Sequence[str]) -> Floats:
    """1 if a system's names contain the word or family."""
    place = {word: index for index, word in enumerate(words)}
    found = np.zeros((len(names), len(words)))
    for row, each in enumerate(names):
        for word in _words(each):
            if word in place:
                found[row, place[word]] = 1.0
    return found


def number_table(
    systems: Sequence[ListedSystem], names: Sequence[SystemNames], rule: OrderRule
) -> Floats:
    """The numeric columns of all systems."""
    return np.array([numbers(s, n, rule) for s, n in zip(systems, names, strict=True)])


def names_of(systems: Sequence[ListedSystem]) -> list[SystemNames]:
    """The facts in all systems' names."""
    return [read_names(system) for system in systems]


def _words(names: SystemNames) -> set[str]:
    families = {
        f"network={names.network}",
        f"processor={names.processor}",
        f"accelerator={names.accelerator}",
        f"maker={names.maker}",
    }
    return families | set(names.words)


def half_columns(numbers: Floats, systems: Sequence[ListedSystem], rule: OrderRule) -> Floats:
    """Columns of the log-linear part of N½: size, year, order over the typical one, mechanisms."""
    order = np.where(np.isnan(numbers[:, 7]), 0.0, numbers[:, 7])
    typical = np.log([rule.order(system) for system in systems])
    return np.column_stack(
        [
            np.ones(len(numbers)),
            numbers[:, 0],
            numbers[:, 1],
            numbers[:, 3] - 2000,
            order,
            typical,
            numbers[:, 12],
            numbers[:, 13],
        ]
    )
