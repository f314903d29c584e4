"""What changes variation: cells that differ in one factor held side by side, others kept equal.

Spread is the question. Where a factor changes the work or the cores (ppn, a class), that it changes
the time is no news and is not told; of adapters, orders, toolchains, node sets and sessions both
are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from assay.answers.benchmarks import TITLES
from assay.answers.study import Study, Varied, title_of
from assay.hostnames import natural
from assay.plans.model import Cell
from assay.stats.intervals import Floats
from assay.stats.levels import Ints, combined, numbered, places_of, relative
from assay.stats.sessions import sessions
from assay.units import counted

if TYPE_CHECKING:
    from assay.stats.anova import Anova
    from assay.stats.compare import Difference
    from assay.stats.repeats import Repeats

# Factors that leave the work as it is, so that where the times lie is a question, too.
LOCATED = (
    "adapter", "order", "toolchain", "node set", "binding", "smt", "hosts", "CPUs", "beside",
    "session",
    "time of day",
)  # fmt: skip
# Factors that change what each core has to do, and that the analysis of variance knows too.
_SIZED = ("nodes", "ppn", "threads")
# More levels are a sweep, whose differences are no finding; fewer results make no level.
_MOST_LEVELS, _LEAST_RESULTS = 8, 5
# Results that a test looks at, of all levels together, and an analysis of variance, which may have
# to permute them two thousand times.
_MOST_RESULTS, _MOST_PERMUTED = 2000, 500
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
class _Column:
    """One factor: of each result the number of its level; ``levels`` stand in the plan's order.

    ``found``: it belongs to the results and not to their cells.
    """

    codes: Ints
    levels: tuple[str, ...]
    found: bool = False


@dataclass(frozen=True)
class _Table:
    """A kernel's results in order of time, with the factors in which they differ."""

    title: str
    times: Floats
    columns: Mapping[str, _Column]
    ids: tuple[str, ...]

    def blocks(self, without: Collection[str]) -> Ints:
        """Of each result the number of its combination of all cells' factors but some."""
        kept = [
            column.codes
            for name, column in self.columns.items()
            if name not in without and not column.found
        ]
        return combined(kept, self.times.size)


def factors_of(study: Study) -> Factors | None:
    """What the cells of a study tell of their factors; None where nothing differs in any."""
    from assay.stats.compare import correct

    found: list[tuple[str, str, Difference, Difference | None, tuple[str, ...]]] = []
    variances: list[Variance] = []
    left_out: list[str] = []
    for table in _tables(study):
        for factor, column in table.columns.items():
            compared = _compare(table, factor)
            if isinstance(compared, str):
                if not column.found:  # what nobody varied on purpose is not missed
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
    repeats = [each.repeats for each in found]
    sizes = [len(each) for each in repeats]
    utc = np.concatenate([each.utc for each in repeats])
    order = np.argsort(utc, kind="stable")
    cells = [_of_cell(each.cell) for each in found]
    columns = {}
    for name in dict.fromkeys(name for cell in cells for name in cell):
        codes, names = numbered([cell.get(name, "") for cell in cells])
        if len(names) > 1:
            columns[name] = _Column(np.repeat(codes, sizes)[order], names)
    of_cells = combined([column.codes for column in columns.values()], order.size)
    # What follows from the cell, as the CPUs do from the number of ranks, is no factor beside it.
    columns |= {
        name: column
        for name, column in _of_results(repeats, utc[order], order).items()
        if combined([of_cells, column.codes], order.size).max() > of_cells.max()
    }
    if not columns:
        return None
    return _Table(
        title=_title([each.cell for each in found]),
        times=np.concatenate([each.times for each in found])[order],
        columns=columns,
        ids=tuple(each.cell.id for each in found),
    )


def _title(cells: Sequence[Cell]) -> str:
    """``FT``, ``memory.stream op=triad``, or, of several sets of parameters, ``memory.stream``."""
    kernel = cells[0].kernel
    shared = {title_of(cell) for cell in cells}
    return TITLES.get(kernel) or (shared.pop() if len(shared) == 1 else kernel)


def _of_cell(cell: Cell) -> dict[str, str]:
    """The levels that a cell has, by factor."""
    placement = cell.placement
    return {
        **{name: f"{value}" for name, value in cell.parameters.items()},
        "nodes": counted(placement.nodes, "node"),
        "ppn": f"{placement.ppn} per node",
        "threads": counted(placement.threads, "thread"),
        "order": placement.order,
        "binding": placement.binding,
        "adapter": placement.adapter or "any adapter",
        "node set": f"node set {placement.node_set}",
        "smt": placement.smt,
        "toolchain": cell.toolchain,
    }


def _of_results(repeats: Sequence[Repeats], utc: Floats, order: Ints) -> dict[str, _Column]:
    """The factors in which results differ of their own, by where and when they were made.

    ``utc``: of all of them, ascending; ``order``: where each stands among the repeats', one cell
    after the other.
    """
    found = {
        "hosts": _named(repeats, lambda each: each.hosts, order, "unknown hosts"),
        "CPUs": _named(repeats, lambda each: each.cores, order, "unknown CPUs"),
        "beside": _named(repeats, lambda each: each.beside, order, "alone"),
    }
    number = sessions(repeats)[order]
    levels = tuple(f"session {k}" for k in range(1, int(number.max()) + 1))
    found["session"] = _Column(number - 1, levels, True)
    if np.ptp(utc) >= _DAY:  # within a day, hours and the passing of time are one
        quarter = (utc % _DAY // (_DAY / 4)).astype(np.int64)
        met = np.flatnonzero(np.bincount(quarter, minlength=len(_QUARTERS)))
        codes = np.searchsorted(met, quarter)
        found["time of day"] = _Column(codes, tuple(_QUARTERS[k] for k in met), True)
    return {name: column for name, column in found.items() if len(column.levels) > 1}


def _named(
    repeats: Sequence[Repeats],
    of: Callable[[Repeats], tuple[str, ...]],
    order: Ints,
    missing: str,
) -> _Column:
    """A factor that results have as a word; ``missing``: the level of those without one."""
    words = [of(each) or ("",) * len(each) for each in repeats]
    if len({word for each in words for word in dict.fromkeys(each)}) == 1:
        return _Column(np.zeros(order.size, dtype=np.int64), (words[0][0] or missing,), True)
    codes, names = numbered(list(chain.from_iterable(words)))
    rank = sorted(range(len(names)), key=lambda k: natural(names[k]))
    place = np.empty(len(names), dtype=np.int64)
    place[rank] = np.arange(len(names))
    return _Column(place[codes][order], tuple(names[k] or missing for k in rank), True)


def _compare(table: _Table, factor: str) -> tuple[Difference, Difference | None] | str:
    """Both differences over a factor's levels; a sentence where they can't be compared.

    Only where everything else is equal: results are taken relative to those of their own cell (for
    the spread) or to those of all levels that share the rest (for the location).
    """
    from assay.stats.compare import location_differs, spread_differs

    column = table.columns[factor]
    levels, where = column.levels, f"{table.title}, {factor}"
    if len(levels) > _MOST_LEVELS:
        return f"{where}: {len(levels)} levels are too many to be held side by side."
    spread: dict[str, list[Floats]] = {level: [] for level in levels}
    place: dict[str, list[Floats]] = {level: [] for level in levels}
    blocks, count = table.blocks({factor}), len(levels)
    results = count * (int(blocks.max()) + 1)
    most = _MOST_RESULTS // results
    places = places_of(blocks * count + column.codes, results)
    for first in range(0, results, count):
        if min(each.size for each in places[first : first + count]) < _LEAST_RESULTS:
            continue
        parts = [table.times[each] for each in places[first : first + count]]
        centre = float(np.mean([np.median(part) for part in parts]))
        for level, part in zip(levels, parts, strict=True):
            some = part[_thinned(part.size, most)]
            spread[level].append(some / np.median(some))
            place[level].append(some / centre)
    if not spread[levels[0]]:
        return (
            f"{where}: no {_LEAST_RESULTS} results of each level with everything else equal, so "
            "its effect can't be told from that of other factors."
        )
    differs = spread_differs({level: np.concatenate(each) for level, each in spread.items()})
    if factor not in LOCATED:
        return differs, None
    return differs, location_differs({level: np.concatenate(each) for level, each in place.items()})


def _variance(table: _Table) -> Variance | None:
    """ANOVA of the logarithms, those of what changes the work set on their own medians."""
    from assay.stats.anova import anova

    names = [
        name
        for name, column in table.columns.items()
        if name in (*LOCATED, *_SIZED) and len(column.levels) <= _MOST_LEVELS
    ][:_MOST_FACTORS]
    if not names:
        return None
    values = relative(np.log(table.times), table.blocks(names))
    kept = _thinned(values.size, _MOST_PERMUTED)
    chosen = {
        name: [table.columns[name].levels[code] for code in table.columns[name].codes[kept]]
        for name in names
    }
    return Variance(table.title, anova(values[kept], chosen, log=False))


def _thinned(size: int, most: int) -> list[int]:
    """Evenly spaced places, about so many or all: of more, tests tell no more and take long."""
    step = -(-size // max(most, _LEAST_RESULTS))
    return list(range(0, size, step))
