"""Baselines with known tables, for tests of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from scipy.special import ndtri

from assay.check.baseline.costs import CORE_GAP, cost_of
from assay.check.baseline.exceedance import GRID
from assay.check.baseline.model import Baseline, ComponentBaseline, SessionShift
from assay.check.components import ALONE, CORE
from assay.check.model import Quiet, Reading

USUAL = {
    "core": 5.5e9,
    "product": 2.4e12,
    "stream": 222e9,
    "latency": 98e-9,
    "random": 1.1e9,
    "storage": 1.9e9,
    "message_latency": 1.6e-6,
    "message_bandwidth": 24e9,
}

# Standard normal quantiles of the grid's tail probabilities.
_NORMAL: list[float] = (-ndtri(np.array(GRID))).tolist()


def normal_table(deviation: float) -> list[float]:
    """The table of a normal distribution."""
    return [deviation * quantile for quantile in _NORMAL]


def component(cost: float, **changes: Any) -> ComponentBaseline:
    """A component whose nodes scatter by 0.5% and whose checks by 1%, normally. Ten sessions on
    five days were the same."""
    usual = ComponentBaseline(
        level=cost,
        learned_level=cost,
        drift=0.005,
        sessions=[SessionShift(43200.0 * n, 43300.0 * n, 0.0, 0.0) for n in range(10)],
        movement=normal_table(1e-5),
        moving=False,
        fleet=normal_table(0.0112),
        within=normal_table(0.01),
        between=normal_table(0.005),
        check_scatter=0.01,
        node_scatter=0.005,
        round_scatter=0.002,
        nodes=500,
        checks=1500,
    )
    return msgspec.structs.replace(usual, **changes)


def baseline(*names: str, changes: Mapping[str, Any] | None = None, gap: bool = False) -> Baseline:
    """A baseline of these components, or of all that need no partner."""
    parts = {}
    for name in names or ALONE:
        cost = cost_of(name, USUAL[name])
        assert cost is not None
        parts[name] = component(cost, **(changes or {}))
    gaps = component(
        0.01, fleet=normal_table(0.002), within=normal_table(0.002), check_scatter=2e-3
    )
    return Baseline(
        kind="epyc",
        version=3,
        anchored=3,
        created=1.0,
        program="0" * 64,
        nodes=500,
        checks=1500,
        components=parts,
        core_gap=gaps if gap and CORE in parts else None,
    )


def reading(name: str, slower: float = 0.0, **changes: Any) -> Reading:
    """A reading whose time is longer by a share, or whose rate is lower."""
    less = name in ("latency", "message_latency")
    value = USUAL[name] * (1.0 + slower if less else 1.0 - slower)
    return msgspec.structs.replace(Reading(component=name, values=[value], seconds=0.3), **changes)


def busy(others: float = 3.0) -> Quiet:
    """Other processes' work."""
    return Quiet(others=others)


__all__ = ["CORE_GAP", "USUAL", "baseline", "busy", "component", "normal_table", "reading"]
