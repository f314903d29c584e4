"""Factors that change variation: comparison of cells that differ in one factor only.

Spreads are compared for all factors. Medians are compared only for factors that keep the work and
the cores: adapters, orders, toolchains, node sets, sessions. A factor that changes the work or the
cores (ppn, a class) is expected to change the time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from assay.arrays import Floats, Ints
from assay.hostnames import natural
from assay.kernels.naming import cell_name, kernel_code
from assay.model.cell import Cell
from assay.questions.steadiness.variation.cells import CellVariation
from assay.questions.steadiness.variation.findings import VariationFindings
from assay.stats.compare.directions import compared
from assay.stats.compare.levels import combined, numbered, places_of, relative
from assay.stats.core.intervals import quantile_interval
from assay.stats.repeats.session_labels import sessions
from assay.units import Interval, counted

if TYPE_CHECKING:
    from assay.stats.compare.anova import Anova
    from assay.stats.compare.groups import GroupDifference
    from assay.stats.repeats.repeats import Repeats

# Factors that do not change the work: medians are compared, too.
LOCATED = (
    "adapter", "order", "toolchain", "node set", "binding", "smt", "hosts", "CPUs", "beside",
    "session",
    "time of day",
)  # fmt: skip
# Factors that a user sets.
CHOSEN = ("adapter", "order", "toolchain", "binding", "smt")
# Factors that change the work of a core; the analysis of variance includes them, too.
_SIZED = ("nodes", "ppn", "threads")
# Quantile of run times by which a level is chosen; it depends on their mean and their variation.
_SLOWER = 0.95
# Maximum number of levels (a sweep has more, and is expected to differ); minimum number of results
# of a level.
_MAX_LEVELS, _MIN_RESULTS = 8, 5
# Maximum number of results of all levels together: for a test; for an analysis of variance, which
# may permute them two thousand times.
_MAX_RESULTS, _MAX_PERMUTED = 2000, 500
_DAY = 86400.0
_QUARTERS = ("00 to 06 h UTC", "06 to 12 h UTC", "12 to 18 h UTC", "18 to 24 h UTC")
# Maximum number of factors of an analysis of variance.
_MAX_FACTORS = 4


@dataclass(frozen=True)
class LevelTail:
    """How long the slower runs of a factor's level take."""

    #: Name of the level.
    level: str
    #: Number of results.
    n: int
    #: Median time relative to the centre of all levels.
    median: float
    #: 95th percentile of the times relative to the centre of all levels. It depends on speed and on
    #: steadiness.
    p95: float
    #: 95% interval of ``p95``; None with fewer than 72 results.
    p95_ci95: Interval | None


@dataclass(frozen=True)
class FactorComparison:
    """One factor's levels over the cells of one kernel, with all other factors equal."""

    #: Kernel, and the parameters that its cells share.
    title: str
    #: Name of the factor.
    factor: str
    #: Tests of spread, of times relative to the results of the same cell.
    spread: GroupDifference
    #: Tests of location, of times relative to the results of all levels; None if the factor changes
    #: the work.
    location: GroupDifference | None
    #: Ids of the cells.
    cells: tuple[str, ...]
    #: Slower runs of each level; empty if ``location`` is None.
    tails: tuple[LevelTail, ...] = ()
    #: Number of comparisons of the answer, of spreads and of locations.
    comparisons: int = 1

    @property
    def steadiest(self) -> tuple[LevelTail, LevelTail] | None:
        """The level with the least 95th percentile, which counts mean and variation, and the next
        level.

        None if the two are within the margin of each other, or if no difference was found. Also
        None for a factor that users don't choose, such as the time of day.
        """
        chosen = self.factor in CHOSEN and self.differs and self.location is not None
        if not chosen or len(self.tails) < 2 or self.location is None:
            return None
        best, other = sorted(self.tails, key=lambda tail: tail.p95)[:2]
        return (best, other) if other.p95 > best.p95 * (1.0 + self.location.margin) else None

    @property
    def name(self) -> str:
        """``FT, adapter``."""
        return f"{self.title}, {self.factor}"

    @property
    def spread_differs(self) -> bool:
        """Whether the spreads of the levels differ, two of them beyond the range of their ratio."""
        return self.spread.verdict == "differs" and self._apart(self.spread)

    def _apart(self, difference: GroupDifference) -> bool:
        """Whether the range of any pair's ratio excludes 1, among all pairs of the answer."""
        sizes = {group.name: group.n for group in difference.groups}
        return any(
            pair.ratio is not None
            and compared(
                pair.ratio,
                pair.ratio_ci95,
                launches=sizes[pair.one] + sizes[pair.other],
                comparisons=self.comparisons * len(difference.pairs),
            ).direction
            != "open"
            for pair in difference.pairs
        )

    @property
    def median_unchanged(self) -> bool:
        """Whether the 95% intervals show all medians within the margin (1%) of each other."""
        location = self.location
        if location is None or not location.pairs:
            return False
        least, most = 1.0 / (1.0 + location.margin), 1.0 + location.margin
        return all(
            pair.ratio_ci95 is not None
            and least <= pair.ratio_ci95[0]
            and pair.ratio_ci95[1] <= most
            for pair in location.pairs
        )

    @property
    def median_changes(self) -> bool:
        """Whether medians differ significantly, beyond the range of a ratio, and are not all within
        the margin.

        With thousands of runs a difference of 0.1% is significant but irrelevant.
        """
        if self.location is None or self.location.verdict != "differs":
            return False
        return self._apart(self.location) and not self.median_unchanged

    @property
    def differs(self) -> bool:
        """Whether a difference of spread or location was found."""
        return self.spread_differs or self.median_changes


@dataclass(frozen=True)
class FactorVariance:
    """The analysis of variance of one kernel's times."""

    #: Kernel, and the parameters that its cells share.
    title: str
    #: Analysis of variance with the effects of factors.
    anova: Anova


@dataclass(frozen=True)
class FactorFindings:
    """Effects of factors on spread and median."""

    #: One comparison per kernel and factor, the most significant first. p-values are corrected for
    #: their number.
    comparisons: tuple[FactorComparison, ...]
    #: The analysis of variance of each kernel.
    variances: tuple[FactorVariance, ...]
    #: Sentences on factors that could not be compared.
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Column:
    """One factor: the level of each result as a number; ``levels`` are in the plan's order."""

    codes: Ints
    levels: tuple[str, ...]
    #: Whether the factor is a property of results, such as the hosts, and not of cells.
    observed: bool = False


@dataclass(frozen=True)
class _Table:
    """A kernel's results in order of time, with the factors in which they differ."""

    title: str
    times: Floats
    columns: Mapping[str, _Column]
    ids: tuple[str, ...]

    def blocks(self, without: Collection[str]) -> Ints:
        """The number of each result's combination of planned factors, ``without`` some."""
        kept = [
            column.codes
            for name, column in self.columns.items()
            if name not in without and not column.observed
        ]
        return combined(kept, self.times.size)


def find(variation: VariationFindings) -> FactorFindings | None:
    """Compare the factors in which the cells differ; None if none can be compared."""
    from assay.stats.compare.groups import correct

    found: list[FactorComparison] = []
    variances: list[FactorVariance] = []
    left_out: list[str] = []
    for table in _tables(variation.varied):
        for factor, column in table.columns.items():
            compared = _compare(table, factor)
            if isinstance(compared, str):
                if not column.observed:  # reported only for factors that the plan varies
                    left_out.append(compared)
            else:
                found.append(compared)
        variance = _variance(table)
        if variance is not None:
            variances.append(variance)
    if not found:
        return None
    # One family for the spreads and one for the locations, each at 5%.
    spreads = correct([each.spread for each in found])
    places = [place for place, each in enumerate(found) if each.location is not None]
    located = [each.location for each in found if each.location is not None]
    locations = dict(zip(places, correct(located), strict=True))
    comparisons = [
        replace(
            each,
            spread=spreads[place],
            location=locations.get(place),
            comparisons=len(spreads) + len(located),
        )
        for place, each in enumerate(found)
    ]
    return FactorFindings(
        tuple(sorted(comparisons, key=_significance)),
        tuple(variances),
        tuple(dict.fromkeys(left_out)),
    )


def _significance(comparison: FactorComparison) -> tuple[float, float]:
    location = comparison.location.p_corrected if comparison.location else 1.0
    return (
        comparison.spread.p_corrected or 0.0,
        1.0 if location is None else location,
    )


def _tables(varied: Sequence[CellVariation]) -> Iterator[_Table]:
    kernels: dict[str, list[CellVariation]] = {}
    for each in varied:
        kernels.setdefault(each.cell.kernel, []).append(each)
    for found in kernels.values():
        table = _table(found)
        if table is not None:
            yield table


def _table(found: Sequence[CellVariation]) -> _Table | None:
    """The table of one kernel's cells; None if they differ in no factor."""
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
    # A property that the cell determines is not another factor: CPUs follow from the ranks.
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
    """``FT``, ``memory.stream op=triad``, or ``memory.stream`` for several sets of parameters."""
    kernel = cells[0].kernel
    shared = {cell_name(cell) for cell in cells}
    return kernel_code(kernel) or (shared.pop() if len(shared) == 1 else kernel)


def _of_cell(cell: Cell) -> dict[str, str]:
    """The cell's level of each factor."""
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
        "devices": counted(placement.devices, "device"),
        "toolchain": cell.toolchain,
    }


def _of_results(repeats: Sequence[Repeats], utc: Floats, order: Ints) -> dict[str, _Column]:
    """The observed factors of results: where and when they were measured.

    ``utc``: times of all results, ascending; ``order``: index of each in the concatenated repeats.
    """
    found = {
        "hosts": _named(repeats, lambda each: each.hosts, order, "unknown hosts"),
        "CPUs": _named(repeats, lambda each: each.cores, order, "unknown CPUs"),
        "beside": _named(repeats, lambda each: each.beside, order, "alone"),
    }
    number = sessions(repeats)[order]
    levels = tuple(f"session {k}" for k in range(1, int(number.max()) + 1))
    found["session"] = _Column(number - 1, levels, True)
    if np.ptp(utc) >= _DAY:  # within a day, hour and date coincide
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
    """An observed factor with names as levels; ``missing``: the level of results without a name."""
    words = [of(each) or ("",) * len(each) for each in repeats]
    if len({word for each in words for word in dict.fromkeys(each)}) == 1:
        return _Column(np.zeros(order.size, dtype=np.int64), (words[0][0] or missing,), True)
    codes, names = numbered(list(chain.from_iterable(words)))
    rank = sorted(range(len(names)), key=lambda k: natural(names[k]))
    place = np.empty(len(names), dtype=np.int64)
    place[rank] = np.arange(len(names))
    return _Column(place[codes][order], tuple(names[k] or missing for k in rank), True)


def _compare(table: _Table, factor: str) -> FactorComparison | str:
    """Differences of spread and of location over a factor's levels, uncorrected; a sentence if the
    levels can't be compared.

    Other factors are kept equal. For the spread, results are relative to the results of their own
    cell. For the location, they are relative to all results with the same other factors.
    """
    from assay.stats.compare.groups import location_differs, spread_differs

    column = table.columns[factor]
    levels, where = column.levels, f"{table.title}, {factor}"
    if len(levels) > _MAX_LEVELS:
        return f"{where}: {len(levels)} levels are too many to compare."
    spread: dict[str, list[Floats]] = {level: [] for level in levels}
    place: dict[str, list[Floats]] = {level: [] for level in levels}
    blocks, count = table.blocks({factor}), len(levels)
    results = count * (int(blocks.max()) + 1)
    most = _MAX_RESULTS // results
    places = places_of(blocks * count + column.codes, results)
    for first in range(0, results, count):
        if min(each.size for each in places[first : first + count]) < _MIN_RESULTS:
            continue
        parts = [table.times[each] for each in places[first : first + count]]
        centre = float(np.mean([np.median(part) for part in parts]))
        for level, part in zip(levels, parts, strict=True):
            some = part[_thinned(part.size, most)]
            spread[level].append(some / np.median(some))
            place[level].append(some / centre)
    if not spread[levels[0]]:
        return (
            f"{where}: fewer than {_MIN_RESULTS} results of a level with all other factors equal, "
            "so its effect is confounded with theirs."
        )
    differs = spread_differs({level: np.concatenate(each) for level, each in spread.items()})
    compared = FactorComparison(table.title, factor, differs, location=None, cells=table.ids)
    if factor not in LOCATED:
        return compared
    placed = {level: np.concatenate(each) for level, each in place.items()}
    tails = tuple(_tail(level, values) for level, values in placed.items())
    return replace(compared, location=location_differs(placed), tails=tails)


def _tail(level: str, values: Floats) -> LevelTail:
    return LevelTail(
        level,
        int(values.size),
        float(np.median(values)),
        float(np.quantile(values, _SLOWER, method="median_unbiased")),
        quantile_interval(values, _SLOWER),
    )


def _variance(table: _Table) -> FactorVariance | None:
    """ANOVA of the logarithms, relative to the medians of cells that share all other factors."""
    from assay.stats.compare.anova import anova

    names = [
        name
        for name, column in table.columns.items()
        if name in (*LOCATED, *_SIZED) and len(column.levels) <= _MAX_LEVELS
    ][:_MAX_FACTORS]
    if not names:
        return None
    values = relative(np.log(table.times), table.blocks(names))
    kept = _thinned(values.size, _MAX_PERMUTED)
    chosen = {
        name: [table.columns[name].levels[code] for code in table.columns[name].codes[kept]]
        for name in names
    }
    return FactorVariance(table.title, anova(values[kept], chosen, log=False))


def _thinned(size: int, most: int) -> list[int]:
    """Evenly spaced indices, at most ``most`` (or the minimum number of results), to save time."""
    step = -(-size // max(most, _MIN_RESULTS))
    return list(range(0, size, step))
