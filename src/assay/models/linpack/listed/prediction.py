"""Predicts Rmax and N½ of a system, with intervals, from the facts that a TOP500 list states.

``coefficients.json.gz`` holds boosted trees on the columns of ``columns.py``, fitted to the lists
of June 1993 to June 2021 (``benchmarks/top500_prediction.py``), and the widths of the intervals.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.arrays import Floats
from assay.models.linpack.listed.columns import (
    OrderRule,
    flags,
    half_columns,
    known_order,
    mechanisms,
    number_table,
)
from assay.models.linpack.listed.forest import UNIT, Forest
from assay.models.linpack.listed.names import UNKNOWN, ListedSystem, SystemNames, read_names

_FILE = Path(__file__).with_name("coefficients.json.gz")


@dataclass(frozen=True)
class Losses:
    """Shares of the peak that are lost; they and Rmax / peak add up to 1."""

    #: Latency of the factorisation.
    panel: float
    #: Bandwidth of broadcasts and exchanges.
    broadcast: float
    #: Reduction of both losses if the order were the typical one of a system of this size and year.
    small_order: float
    #: The other losses: processors, caches and memory below peak, as far as names show them.
    memory: float


@dataclass(frozen=True)
class ListedPrediction:
    """``rmax`` in flop/s and ``half`` (N½) with 90% intervals; ``losses`` by cause."""

    rmax: float
    rmax_ci90: tuple[float, float]
    half: float
    half_ci90: tuple[float, float]
    losses: Losses
    #: Facts that the names don't state or that no listed system shares. The prediction then rests
    #: on systems of the same size and year.
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """The fitted model."""

    rule: OrderRule
    words: tuple[str, ...]
    rate: Forest
    half: Forest
    #: Least-squares fit of log N½, which ``half`` corrects.
    half_line: tuple[float, ...]
    #: Half widths of 90% intervals of the logarithms, by group: of Rmax, of Rmax if the names of
    #: parts aren't known (``names.without_names``), and of N½. The group "" contains all systems.
    rate_widths: Mapping[str, float]
    unnamed_widths: Mapping[str, float]
    half_widths: Mapping[str, float]

    def logs(
        self, systems: Sequence[ListedSystem], names: Sequence[SystemNames]
    ) -> tuple[Floats, Floats]:
        """log of Rmax / peak, and of N½."""
        numbers = number_table(systems, names, self.rule)
        table = np.hstack([numbers, flags(names, self.words)])
        half = half_columns(numbers, systems, self.rule) @ np.array(self.half_line)
        return self.rate.predict(table), self.half.predict(table) + half

    def predict(self, system: ListedSystem) -> ListedPrediction:
        """The prediction for one system."""
        names = read_names(system)
        rate, half = (float(each[0]) for each in self.logs([system], [names]))
        rate = min(rate, math.log(0.999))
        group = group_of(system, names)
        wide = width_of(self.rate_widths, group)
        wide_half = width_of(self.half_widths, group)
        top = system.peak
        return ListedPrediction(
            rmax=top * math.exp(rate),
            rmax_ci90=(top * math.exp(rate - wide), min(top * math.exp(rate + wide), top)),
            half=math.exp(half),
            half_ci90=(math.exp(half - wide_half), math.exp(half + wide_half)),
            losses=self._losses(system, names, math.exp(rate)),
            unknown=self._unknown(system, names),
        )

    def _losses(self, system: ListedSystem, names: SystemNames, efficiency: float) -> Losses:
        typical = self.rule.order(system)
        order = known_order(system) or typical
        here = mechanisms(system, names, order)
        best = mechanisms(system, names, max(order, typical))
        small = max(here.bandwidth + here.latency - best.bandwidth - best.latency, 0.0)
        parts = np.array([best.latency, best.bandwidth, small])
        # Times relative to the arithmetic at peak. Together they can't exceed the loss.
        lost = 1.0 / efficiency - 1.0
        parts *= min(1.0, lost / max(float(parts.sum()), 1e-300)) * efficiency
        panel, broadcast, small_order = (float(part) for part in parts)
        return Losses(panel, broadcast, small_order, max(1 - efficiency - float(parts.sum()), 0.0))

    def _unknown(self, system: ListedSystem, names: SystemNames) -> tuple[str, ...]:
        missing = [
            what
            for what in ("network", "processor")
            if getattr(names, what) == UNKNOWN or f"{what}={getattr(names, what)}" not in self.words
        ]
        return (*missing, *(("order",) if known_order(system) is None else ()))


def group_of(system: ListedSystem, names: SystemNames) -> str:
    """The group within which intervals are calibrated: era, and network or accelerator."""
    era = next(end for end in (1999, 2005, 2011, 9999) if system.year <= end)
    if names.accelerator != UNKNOWN:
        return f"{era}-accelerator"
    if names.network in ("gigabit", "10g", "25g", "40g", "50g", "100g", "20g", "fast-ethernet"):
        return f"{era}-ethernet"
    return f"{era}-{'unknown' if names.network == UNKNOWN else 'other'}"


def width_of(widths: Mapping[str, float], group: str) -> float:
    """The width of a group: its own, else its era's, else the width for all systems."""
    era = group.partition("-")[0]
    return next(widths[name] for name in (group, era, "") if name in widths)


@functools.cache
def listed_model() -> Listed:
    """The model that assay ships."""
    data = json.loads(gzip.decompress(_FILE.read_bytes()))
    return Listed(
        rule=OrderRule(*data["order"]),
        words=tuple(data["words"]),
        rate=_forest(data["rate"]),
        half=_forest(data["half"]),
        half_line=tuple(data["half_line"]),
        rate_widths=data["rate_widths"],
        unnamed_widths=data["unnamed_widths"],
        half_widths=data["half_widths"],
    )


def _forest(data: dict[str, Any]) -> Forest:
    trees = int(data["trees"])

    def unpacked(name: str, kind: str) -> Floats:
        values = np.frombuffer(base64.b64decode(data[name]), kind)
        return values.reshape(trees, -1).astype(np.float64)

    return Forest(
        float(data["start"]),
        unpacked("columns", "<i2").astype(np.int64),
        unpacked("bounds", "<f8"),
        unpacked("leaves", "<i2") * UNIT,
    )
