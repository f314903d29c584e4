"""Fits the predictions of efficiency and N½ to listed systems, and calibrates their intervals."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Bools, Floats, Ints
from assay.models.linpack.listed.columns import (
    fit_orders,
    flags,
    half_columns,
    known_order,
    names_of,
    number_table,
    vocabulary,
)
from assay.models.linpack.listed.forest import UNIT, Forest
from assay.models.linpack.listed.names import ListedSystem, SystemNames, without_names
from assay.models.linpack.listed.prediction import Listed, group_of
from listed.boosting import ForestSettings, fit_forest
from listed.families import family_of

EFFICIENCY = ForestSettings(trees=600, depth=6, rate=0.05, columns=0.3)
HALF = ForestSettings(trees=300, depth=4, rate=0.06)
# A word counts if at least this many families have it.
LEAST_FAMILIES = 8
# A group with fewer families gets the interval of its era, or of all systems.
LEAST_GROUP = 20
LEVEL = 0.90


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
    def families(self) -> Ints:
        """Number of each system's family."""
        keys = [family_of(system.computer) for system in self.systems]
        return np.unique(keys, return_inverse=True)[1].astype(np.int64)

    @property
    def ordered(self) -> Bools:
        """Whether the list states the order."""
        return np.array([known_order(system) is not None for system in self.systems])


@dataclass(frozen=True)
class HeldOut:
    """Predictions of every system from fits without its family."""

    #: log of efficiency, with the names of parts and without them. ``half``: log of N½.
    rate: Floats
    unnamed: Floats
    half: Floats


def known(systems: Sequence[ListedSystem], rmax: Floats, half: Floats) -> Known:
    """Systems with their names read."""
    return Known(systems, names_of(systems), rmax, half)


def family_weights(families: Ints) -> Floats:
    """Weights of systems: a family counts as the root of its number of systems. Their mean is 1."""
    weights = 1.0 / np.sqrt(np.bincount(families)[families])
    return np.asarray(weights / weights.mean())


def fit(data: Known, rows: Ints, seed: int) -> Listed:
    """Fit to some rows, without intervals.

    Efficiency is fitted to each system twice: with and without the names of its parts.
    """
    systems = [data.systems[row] for row in rows]
    names = [data.names[row] for row in rows]
    rule = fit_orders(systems)
    numbers = number_table(systems, names, rule)
    families = data.families[rows]
    words = vocabulary(names, [str(family) for family in families], LEAST_FAMILIES)
    there = flags(names, words)
    hidden = [without_names(each) for each in names]
    rate = fit_forest(
        x=np.vstack([numbers, number_table(systems, hidden, rule)]),
        flags=np.vstack([there, flags(hidden, words)]),
        y=np.tile(data.efficiency[rows], 2),
        weights=np.tile(family_weights(families), 2),
        settings=EFFICIENCY,
        seed=seed,
    )
    has = ~np.isnan(data.half[rows])
    base = half_columns(numbers, systems, rule)
    target = np.log(data.half[rows][has])
    line = np.linalg.lstsq(base[has], target, rcond=None)[0]
    half = fit_forest(
        x=numbers[has],
        flags=there[has],
        y=target - base[has] @ line,
        weights=np.ones(int(has.sum())),
        settings=HALF,
        seed=seed,
    )
    return Listed(
        rule=rule,
        words=tuple(words),
        rate=rate,
        half=half,
        half_line=tuple(float(v) for v in line),
        rate_widths={},
        unnamed_widths={},
        half_widths={},
    )


def folds(data: Known, count: int, seed: int) -> Ints:
    """The fold of each system. All systems of a family are in the same fold."""
    families = data.families
    drawn = np.random.default_rng(seed).integers(0, count, int(families.max()) + 1)
    return np.asarray(drawn[families], dtype=np.int64)


Fold = tuple[Known, Ints, int, int]


def _of_fold(task: Fold) -> tuple[Ints, Floats, Floats, Floats]:
    data, fold, number, seed = task
    model = fit(data, np.where(fold != number)[0], seed)
    rows = np.where(fold == number)[0]
    systems = [data.systems[row] for row in rows]
    names = [data.names[row] for row in rows]
    rate, half = model.logs(systems, names)
    unnamed, _ = model.logs(systems, [without_names(each) for each in names])
    return rows, rate, unnamed, half


def held_out(
    data: Known,
    fold: Ints,
    seed: int,
    each: Callable[[Callable[[Fold], object], Iterable[Fold]], Iterable[object]] = map,
) -> HeldOut:
    """Predictions of all systems, each from a fit to the other folds.

    ``each``: ``map``, or that of a pool of processes.
    """
    found = HeldOut(*(np.zeros(len(fold)) for _ in range(3)))
    for part in each(_of_fold, [(data, fold, int(n), seed) for n in np.unique(fold)]):
        rows, found.rate[rows], found.unnamed[rows], found.half[rows] = part
    return found


def interval_widths(data: Known, error: Floats) -> dict[str, float]:
    """Half width of the interval of log, by group: conformal (Vovk et al. 2005, Mondrian).

    ``error``: log of predicted over published value, for held-out systems; NaN is ignored. Each
    system counts by the weight of its family.
    """
    size = np.abs(error)
    there = ~np.isnan(size)
    families = data.families
    weights = family_weights(families)
    groups = np.array([group_of(s, n) for s, n in zip(data.systems, data.names, strict=True)])
    eras = np.array([group.partition("-")[0] for group in groups])
    widths = {"": _conformal(size[there], weights[there])}
    for labels in (eras, groups):
        for name in np.unique(labels[there]):
            own = (labels == name) & there
            if np.unique(families[own]).size >= LEAST_GROUP:
                widths[str(name)] = _conformal(size[own], weights[own])
    return widths


def as_text(model: Listed, source: str) -> bytes:
    """The model as a file: JSON, compressed."""
    data = {
        "source": source,
        "order": [model.rule.constant, model.rule.cores, model.rule.peak, model.rule.year],
        "words": list(model.words),
        "rate": _forest(model.rate),
        "half": _forest(model.half),
        "half_line": list(model.half_line),
        "rate_widths": {k: round(v, 4) for k, v in model.rate_widths.items()},
        "unnamed_widths": {k: round(v, 4) for k, v in model.unnamed_widths.items()},
        "half_widths": {k: round(v, 4) for k, v in model.half_widths.items()},
    }
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)


def _conformal(errors: Floats, weights: Floats) -> float:
    """The quantile of weighted errors; a further system, of infinite error, has the mean weight."""
    order = errors.argsort()
    running = weights[order].cumsum()
    place = int(np.searchsorted(running, LEVEL * (running[-1] + weights.mean())))
    return float(errors[order][min(place, errors.size - 1)])


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
