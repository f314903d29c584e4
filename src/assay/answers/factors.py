"""What changes variation: cells that differ in one factor held side by side, others kept equal.

Spread is the question. Where a factor changes the work or the cores (ppn, a class), that it changes
the time is no news and is not told; of adapters, orders, toolchains, node sets and sessions both
are.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.answers.benchmarks import TITLES
from assay.answers.select import counted
from assay.answers.study import Study, Varied, sessions, title_of
from assay.plans.model import Cell
from assay.stats.intervals import Floats

if TYPE_CHECKING:
    from assay.stats.anova import Anova
    from assay.stats.compare import Difference

# Factors that leave the work as it is, so that where the times lie is a question, too.
LOCATED = (
    "adapter", "order", "toolchain", "node set", "binding", "hosts", "session", "time of day",
)  # fmt: skip
# Factors of a result and not of its cell: found in the records.
_FOUND = ("hosts", "session", "time of day")
# More levels are a sweep, whose differences are no finding; fewer results make no level.
_MOST_LEVELS, _LEAST_RESULTS = 8, 5
# Results that a test looks at, of all levels together.
_MOST_RESULTS = 2000
_DAY = 86400.0
_QUARTERS = ("00 to 06 h UTC", "06 to 12 h UTC", "12 to 18 h UTC", "18 to 24 h UTC")
# Factors whose interactions are looked at together.
_MOST_FACTORS = 4


@dataclass(frozen=True)
class Comparison:
    """One factor's levels over the cells of one kernel, everything else kept equal.

    ``title``: of the kernel and what its cells share. ``spread`` and ``location`` are of times
    relative to those of the same cell, or to those of all levels together; ``location`` is None
    where it is no question. ``cells``: their ids.
    """

    title: str
    factor: str
    spread: Difference
    location: Difference | None
    cells: tuple[str, ...]

    @property
    def name(self) -> str:
        """``FT, adapter``."""
        return f"{self.title}, {self.factor}"


@dataclass(frozen=True)
class Variance:
    """The analysis of variance of one kernel's times over its factors."""

    title: str
    anova: Anova


@dataclass(frozen=True)
class Factors:
    """All comparisons, corrected for their number, the surest first; and the ANOVA of each kernel.

    ``left_out``: sentences on factors that couldn't be compared.
    """

    comparisons: tuple[Comparison, ...]
    variances: tuple[Variance, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Table:
    """A kernel's results: their times, in order of time, with the level of each factor.

    ``levels``: of each factor, in the plan's order. ``cells``: the number of each result's cell, in
    ``ids``.
    """

    title: str
    times: Floats
    factors: Mapping[str, list[str]]
    levels: Mapping[str, list[str]]
    cells: list[int]
    ids: tuple[str, ...]


def factors_of(study: Study) -> Factors | None:
    """What the cells of a study tell of their factors; None where nothing differs in any."""
    from assay.stats.compare import correct

    found: list[tuple[str, str, Difference, Difference | None, tuple[str, ...]]] = []
    variances: list[Variance] = []
    left_out: list[str] = []
    for table in _tables(study):
        for factor in table.factors:
            compared = _compare(table, factor)
            if isinstance(compared, str):
                if factor not in _FOUND:  # nobody asked for them to be compared
                    left_out.append(compared)
            else:
                found.append((table.title, factor, *compared, table.ids))
        variance = _variance(table)
        if variance is not None:
            variances.append(variance)
    if not found:
        return None
    # One family for the spreads and one for the locations: each errs at all once in twenty runs.
    spreads = correct([spread for _, _, spread, _, _ in found])
    places = [place for place, each in enumerate(found) if each[3] is not None]
    located = [each[3] for each in found if each[3] is not None]
    locations = dict(zip(places, correct(located), strict=True))
    comparisons = [
        Comparison(title, factor, spreads[place], locations.get(place), ids)
        for place, (title, factor, _, _, ids) in enumerate(found)
    ]
    return Factors(
        tuple(sorted(comparisons, key=_sureness)), tuple(variances), tuple(dict.fromkeys(left_out))
    )


def _sureness(comparison: Comparison) -> tuple[float, float]:
    location = comparison.location.p_corrected if comparison.location else 1.0
    return (
        comparison.spread.p_corrected or 0.0,
        1.0 if location is None else location,
    )


def _tables(study: Study) -> Iterator[_Table]:
    kernels: dict[str, list[Varied]] = {}
    for varied in study.varied:
        kernels.setdefault(varied.cell.kernel, []).append(varied)
    for found in kernels.values():
        table = _table(found)
        if table is not None:
            yield table


def _table(found: Sequence[Varied]) -> _Table | None:
    """The table of one kernel's cells; None where they differ in nothing."""
    columns: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for each in found for name in _of_cell(each)):
        columns[name] = [
            level for each in found for level in [_of_cell(each).get(name, "")] * len(each.times)
        ]
    for name in _FOUND:
        columns[name] = [level for each in found for level in _of_results(each, name)]
    kept = {name: column for name, column in columns.items() if len(set(column)) > 1}
    if not kept:
        return None
    utc = np.concatenate([each.repeats.utc for each in found])
    order = np.argsort(utc, kind="stable")
    cells = [place for place, each in enumerate(found) for _ in each.times]
    return _Table(
        title=_title([each.cell for each in found]),
        times=np.concatenate([each.times for each in found])[order],
        factors={name: [column[i] for i in order] for name, column in kept.items()},
        levels={name: list(dict.fromkeys(column)) for name, column in kept.items()},
        cells=[cells[i] for i in order],
        ids=tuple(each.cell.id for each in found),
    )


def _title(cells: Sequence[Cell]) -> str:
    """``FT``, ``memory.stream op=triad``, or, of several sets of parameters, ``memory.stream``."""
    kernel = cells[0].kernel
    shared = {title_of(cell) for cell in cells}
    return TITLES.get(kernel) or (shared.pop() if len(shared) == 1 else kernel)


def _of_cell(varied: Varied) -> dict[str, str]:
    """The levels that a cell has, by factor."""
    cell, placement = varied.cell, varied.cell.placement
    return {
        **{name: f"{value}" for name, value in cell.parameters.items()},
        "nodes": counted(placement.nodes, "node"),
        "ppn": f"{placement.ppn} per node",
        "threads": counted(placement.threads, "thread"),
        "order": placement.order,
        "binding": placement.binding,
        "adapter": placement.adapter or "any adapter",
        "node set": f"node set {placement.node_set}",
        "toolchain": cell.toolchain,
    }


def _of_results(varied: Varied, name: str) -> list[str]:
    """The levels of a factor that each result has of its own."""
    if name == "session":
        return [f"session {number}" for number in sessions(varied.repeats)]
    if name == "hosts":
        return [hosts or "unknown hosts" for hosts in varied.repeats.hosts]
    if np.ptp(varied.repeats.utc) < _DAY:  # within a day, hours and the passing of time are one
        return [""] * len(varied.times)
    hours = [datetime.datetime.fromtimestamp(t, datetime.UTC).hour for t in varied.repeats.utc]
    return [_QUARTERS[hour // 6] for hour in hours]


def _compare(table: _Table, factor: str) -> tuple[Difference, Difference | None] | str:
    """Both differences over a factor's levels; a sentence where they can't be compared.

    Only where everything else is equal: results are taken relative to those of their own cell (for
    the spread) or to those of all levels that share the rest (for the location).
    """
    from assay.stats.compare import location_differs, spread_differs

    column, levels = table.factors[factor], table.levels[factor]
    where = f"{table.title}, {factor}"
    if len(levels) > _MOST_LEVELS:
        return f"{where}: {len(levels)} levels are too many to be held side by side."
    rest = _rest(table, factor)
    spread: dict[str, list[Floats]] = {level: [] for level in levels}
    place: dict[str, list[Floats]] = {level: [] for level in levels}
    places: dict[tuple[str, ...], dict[str, list[int]]] = {}
    for i, (which, level) in enumerate(zip(rest, column, strict=True)):
        places.setdefault(which, {}).setdefault(level, []).append(i)
    groups = len(places)
    for by_level in places.values():
        parts = {level: table.times[by_level.get(level, [])] for level in levels}
        if min(part.size for part in parts.values()) < _LEAST_RESULTS:
            continue
        centre = float(np.mean([np.median(part) for part in parts.values()]))
        for level, part in parts.items():
            part = part[_thinned(part.size, _MOST_RESULTS // (len(levels) * groups))]
            spread[level].append(part / np.median(part))
            place[level].append(part / centre)
    if not spread[levels[0]]:
        return (
            f"{where}: no {_LEAST_RESULTS} results of each level with everything else equal, so "
            "its effect can't be told from that of other factors."
        )
    differs = spread_differs({level: np.concatenate(each) for level, each in spread.items()})
    if factor not in LOCATED:
        return differs, None
    return differs, location_differs({level: np.concatenate(each) for level, each in place.items()})


def _rest(table: _Table, factor: str) -> list[tuple[str, ...]]:
    """Of each result the levels of all other factors of its cell."""
    others = [
        column for name, column in table.factors.items() if name != factor and name not in _FOUND
    ]
    return list(zip(*others, strict=True)) if others else [()] * len(table.cells)


def _variance(table: _Table) -> Variance | None:
    """ANOVA of the logarithms, those of what changes the work set on their own medians."""
    from assay.stats.anova import anova

    names = [
        name
        for name, column in table.factors.items()
        if (name in LOCATED or name in ("nodes", "ppn", "threads"))
        and len(set(column)) <= _MOST_LEVELS
    ][:_MOST_FACTORS]
    if not names:
        return None
    blocks: dict[tuple[str, ...], list[int]] = {}
    others = [
        column for name, column in table.factors.items() if name not in names and name not in _FOUND
    ]
    keys = list(zip(*others, strict=True)) if others else [()] * len(table.cells)
    for place, key in enumerate(keys):
        blocks.setdefault(key, []).append(place)
    values = np.log(table.times)
    for members in blocks.values():
        values[members] -= np.median(values[members])
    kept = _thinned(values.size, _MOST_RESULTS)
    return Variance(
        table.title,
        anova(
            values[kept],
            {name: [table.factors[name][i] for i in kept] for name in names},
            log=False,
        ),
    )


def _thinned(size: int, most: int) -> list[int]:
    """Evenly spaced places, about so many or all: of more, tests tell no more and take long."""
    step = -(-size // max(most, _LEAST_RESULTS))
    return list(range(0, size, step))
