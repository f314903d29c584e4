"""Fits the predictions of efficiency and N½ to listed systems. Predicting doesn't need this
module."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.models.linpack.listed.boosting import UNIT, Forest, ForestSettings, fit_forest
from assay.models.linpack.listed.columns import (
    fit_orders,
    flags,
    half_columns,
    names_of,
    number_table,
    vocabulary,
)
from assay.models.linpack.listed.names import ListedSystem, SystemNames, computer_key
from assay.models.linpack.listed.prediction import Listed, group_of

EFFICIENCY = (ForestSettings(trees=500, depth=6, rate=0.06),)
HALF = (ForestSettings(trees=300, depth=4, rate=0.06),)
# A word counts if at least this many computers have it.
LEAST_COMPUTERS = 8
# A group with fewer systems gets the interval of its era, or of all systems.
LEAST_GROUP = 30
# Level of the quantile. Twins and systems of one family have similar errors, so a group has fewer
# independent errors than systems, and the 90% quantile covers 87 to 89% of held-out systems.
LEVEL = 0.92


@dataclass(frozen=True)
class Known:
    """Systems with their published results. ``rmax`` in flop/s."""

    systems: Sequence[ListedSystem]
    names: Sequence[SystemNames]
    rmax: Floats
    #: N½; NaN if unknown.
    half: Floats

    @property
    def efficiency(self) -> Floats:
        """log of Rmax over peak."""
        peak = np.array([system.peak for system in self.systems])
        return np.asarray(np.log(self.rmax / peak), dtype=np.float64)

    @property
    def computers(self) -> Ints:
        """Number of the computer's key, which twins share."""
        keys = [computer_key(system.computer) for system in self.systems]
        return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def known(systems: Sequence[ListedSystem], rmax: Floats, half: Floats) -> Known:
    """Systems with their names read."""
    return Known(systems, names_of(systems), rmax, half)


def fit(data: Known, rows: Ints, seed: int) -> Listed:
    """Fit to some rows, without intervals (``with_intervals``)."""
    systems = [data.systems[row] for row in rows]
    names = [data.names[row] for row in rows]
    rule = fit_orders(systems)
    numbers = number_table(systems, names, rule)
    keys = [computer_key(system.computer) for system in systems]
    words = vocabulary(names, keys, LEAST_COMPUTERS)
    there = flags(names, words)
    ones = np.ones(len(rows))
    rate = tuple(
        fit_forest(
            x=numbers,
            flags=there,
            y=data.efficiency[rows],
            weights=ones,
            settings=settings,
            seed=seed + index,
        )
        for index, settings in enumerate(EFFICIENCY)
    )
    has = ~np.isnan(data.half[rows])
    base = half_columns(numbers, systems, rule)
    target = np.log(data.half[rows][has])
    line = np.linalg.lstsq(base[has], target, rcond=None)[0]
    rest = target - base[has] @ line
    half = tuple(
        fit_forest(
            x=numbers[has],
            flags=there[has],
            y=rest,
            weights=ones[has],
            settings=settings,
            seed=seed + index,
        )
        for index, settings in enumerate(HALF)
    )
    return Listed(
        rule=rule,
        words=tuple(words),
        rate=rate,
        half=half,
        half_line=tuple(float(v) for v in line),
        rate_widths={},
        half_widths={},
    )


def folds(data: Known, count: int, seed: int) -> Ints:
    """The fold of each system. All systems of a computer are in the same fold."""
    computers = data.computers
    drawn = np.random.default_rng(seed).integers(0, count, int(computers.max()) + 1)
    return np.asarray(drawn[computers], dtype=np.int64)


def held_out(data: Known, fold: Ints, seed: int) -> tuple[Floats, Floats]:
    """log of predicted efficiency and N½ of every system, from fits without its computer."""
    rate, half = np.zeros(len(fold)), np.zeros(len(fold))
    for number in np.unique(fold):
        model = fit(data, np.where(fold != number)[0], seed)
        for_fold = np.where(fold == number)[0]
        rate[for_fold], half[for_fold] = model.logs(
            [data.systems[row] for row in for_fold], [data.names[row] for row in for_fold]
        )
    return rate, half


def interval_widths(data: Known, error: Floats) -> dict[str, float]:
    """Half width of the interval of log, by group: conformal (Vovk et al. 2005, Mondrian).

    ``error``: log of predicted over published value, for held-out systems; NaN is ignored.
    """
    size = np.abs(error)
    groups = np.array([group_of(s, n) for s, n in zip(data.systems, data.names, strict=True)])
    eras = np.array([group.partition("-")[0] for group in groups])
    widths = {"": _conformal(size[~np.isnan(size)])}
    for labels in (eras, groups):
        for name in np.unique(labels):
            own = size[(labels == name) & ~np.isnan(size)]
            if own.size >= LEAST_GROUP:
                widths[str(name)] = _conformal(own)
    return widths


def as_text(model: Listed) -> bytes:
    """The model as a file: JSON, compressed."""
    data = {
        "source": "TOP500 lists of June 1993 to June 2021; benchmarks/top500_prediction.py",
        "order": [model.rule.constant, model.rule.cores, model.rule.peak, model.rule.year],
        "words": list(model.words),
        "rate": [_forest(forest) for forest in model.rate],
        "half": [_forest(forest) for forest in model.half],
        "half_line": list(model.half_line),
        "rate_widths": {k: round(v, 4) for k, v in model.rate_widths.items()},
        "half_widths": {k: round(v, 4) for k, v in model.half_widths.items()},
    }
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)


def _conformal(errors: Floats) -> float:
    rank = int(np.ceil((errors.size + 1) * LEVEL))
    return float(np.sort(errors)[min(rank, errors.size) - 1])


def _forest(forest: Forest) -> dict[str, object]:
    leaves = np.round(forest.leaves / UNIT).astype("<i2")
    return {
        "start": forest.start,
        "columns": _packed(forest.columns.astype("<i2")),
        "bounds": _packed(forest.bounds.astype("<f8")),
        "leaves": _packed(leaves),
        "trees": len(forest.leaves),
    }


def _packed(values: npt.NDArray[np.generic]) -> str:
    return base64.b64encode(values.tobytes()).decode()
