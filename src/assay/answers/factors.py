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

from assay.answers.model import Evidence
from assay.answers.select import Part, counted
from assay.answers.study import Study, Varied, sessions, title_of
from assay.stats.intervals import Floats
from assay.units import format_share

if TYPE_CHECKING:
    from assay.stats.anova import Anova
    from assay.stats.compare import Difference, Pair

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
# Factors whose interactions are looked at together; sentences in the verdict.
_MOST_FACTORS, _SAID = 4, 3
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


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
        """``FT class W, adapter``."""
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

    ``cells``: the number of each result's cell, in ``ids``.
    """

    title: str
    times: Floats
    factors: Mapping[str, list[str]]
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
    return (_p(comparison.spread), 1.0 if location is None else location)


def _p(difference: Difference) -> float:
    return difference.p if difference.p_corrected is None else difference.p_corrected


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
    shared = {title_of(each.cell) for each in found}
    title = shared.pop() if len(shared) == 1 else title_of(found[0].cell).split(" ")[0]
    return _Table(
        title=title,
        times=np.concatenate([each.times for each in found])[order],
        factors={name: [column[i] for i in order] for name, column in kept.items()},
        cells=[cells[i] for i in order],
        ids=tuple(each.cell.id for each in found),
    )


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

    column = table.factors[factor]
    levels = list(dict.fromkeys(column))
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
            part = part[_thinned(part.size * len(levels) * groups)]
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
        column
        for name, column in table.factors.items()
        if name != factor and name not in _FOUND
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
        column
        for name, column in table.factors.items()
        if name not in names and name not in _FOUND
    ]
    keys = list(zip(*others, strict=True)) if others else [()] * len(table.cells)
    for place, key in enumerate(keys):
        blocks.setdefault(key, []).append(place)
    values = np.log(table.times)
    for members in blocks.values():
        values[members] -= np.median(values[members])
    kept = _thinned(values.size)
    return Variance(
        table.title,
        anova(
            values[kept],
            {name: [table.factors[name][i] for i in kept] for name in names},
            log=False,
        ),
    )


def _thinned(size: int) -> list[int]:
    """Places of so many results, evenly, or of all: of more, tests tell no more and take long."""
    step = -(-size // _MOST_RESULTS)
    return list(range(0, size, max(step, 1)))


def factors_part(factors: Factors) -> Part:
    """The part of the factors: what raises or lowers variation, and what moves the median."""
    told = [each for each in factors.comparisons if finds(each)]
    part = Part(remark="; ".join(sentence(each) for each in told[:_SAID]))
    part.evidence = [_evidence(each) for each in told]
    part.method = [
        "Factors: results of cells that differ in one factor alone, each relative to its cell's "
        "median, so that spreads are coefficients of variation. F test of the logarithms where "
        "they may be normal, Brown & Forsythe's otherwise; medians by Welch's, Mann & Whitney's, "
        "Kruskal & Wallis' or Brunner & Munzel's test. Holm's correction over "
        f"{counted(len(factors.comparisons), 'comparison')}: a run without any effect shows one "
        "once in twenty. A median is left alone if its 95% interval stays within 1%.",
    ]
    part.limits = list(factors.left_out)
    if not told:
        names = dict.fromkeys(each.factor for each in factors.comparisons)
        part.limits.append(
            f"No effect of {', '.join(names)} on variation could be shown; that is no proof that "
            "there is none: the table has what could have been seen."
        )
    return part


def finds(comparison: Comparison) -> bool:
    """Whether a difference was found, of spread or of location."""
    location = comparison.location
    return comparison.spread.verdict == "differs" or (
        location is not None and location.verdict == "differs"
    )


def sentence(comparison: Comparison) -> str:
    """``two adapters raise FT's variation (p = 0.003, CoV 1.1% → 2.9%) and leave its median
    alone``.
    """
    spread, location = comparison.spread, comparison.location
    if len(spread.groups) > 2:
        return _of_several(comparison)
    one, other = spread.groups
    subject, plural = level_words(comparison.factor, other.name, one.name)
    if spread.verdict == "differs":
        more = (other.cov or 0.0) > (one.cov or 0.0)
        verb = _verb("raise" if more else "lower", plural)
        told = (
            f"{subject} {verb} {comparison.title}'s variation ({p_text(_p(spread))}, CoV "
            f"{format_share(one.cov)} → {format_share(other.cov)})"
        )
        if location is None:
            return told
        return f"{told} and {_median_words(location, plural, 'its')}"
    assert location is not None
    words = _median_words(location, plural, f"{comparison.title}'s")
    alone = "leave" if plural else "leaves"
    tail = (
        f" and {alone} its variation alone"
        if spread.verdict == "alike"
        else "; whether its variation changes can't be told"
    )
    return f"{subject} {words}{tail}"


def _median_words(location: Difference, plural: bool, whose: str) -> str:
    """What becomes of the median: moved, left alone, or not to be told; with numbers."""
    pair = location.pairs[0]
    if location.verdict == "differs" and pair.shift is not None:
        change = _change(pair)
        slower = (pair.ratio or 1.0) > 1.0
        verb = _verb("raise" if slower else "lower", plural)
        return f"{verb} {whose} median by {change} ({p_text(_p(location))})"
    if location.verdict == "alike":
        return f"{'leave' if plural else 'leaves'} {whose} median alone"
    interval = pair.ratio_ci95
    if interval is None:
        return f"{_verb('tell', plural)} nothing of {whose} median"
    low, high = (100.0 * (end - 1.0) for end in interval)
    return f"{_verb('change', plural)} {whose} median by {low:+.2g}% to {high:+.2g}%, if at all"


def _change(pair: Pair) -> str:
    """By how much a median is moved, without sign."""
    if pair.ratio is None:
        return "some"
    size = abs(pair.ratio - 1.0)
    if pair.ratio_ci95 is None:
        return format_share(size)
    ends = sorted(abs(end - 1.0) for end in pair.ratio_ci95)
    return format_share(size, (ends[0], ends[1]))


def _of_several(comparison: Comparison) -> str:
    spread, location = comparison.spread, comparison.location
    words = []
    if spread.verdict == "differs":
        ordered = sorted(
            (group for group in spread.groups if group.cov is not None),
            key=lambda group: group.cov or 0.0,
        )
        low, high = ordered[0], ordered[-1]
        words.append(
            f"{comparison.title}'s variation differs by {comparison.factor} ({p_text(_p(spread))}), "
            f"from CoV {format_share(low.cov)} ({low.name}) to {format_share(high.cov)} "
            f"({high.name})"
        )
    if location is not None and location.verdict == "differs":
        ranked = sorted(location.groups, key=lambda group: group.median)
        fast, slow = ranked[0], ranked[-1]
        whose = "its" if words else f"{comparison.title}'s"
        words.append(
            f"{whose} median differs by {comparison.factor} ({p_text(_p(location))}): {slow.name} "
            f"is {format_share(slow.median / fast.median - 1.0)} slower than {fast.name}"
        )
    elif location is not None and location.verdict == "alike":
        words.append("its median stays the same")
    return ", ".join(words)


def level_words(factor: str, level: str, base: str) -> tuple[str, bool]:
    """A level as the subject of a sentence, and whether that is a plural."""
    if factor == "adapter":
        number, before = len(level.split(",")), len(base.split(","))
        if number != before and "any" not in level and number < len(_NUMBERS):
            return f"{_NUMBERS[number]} adapter{'s' if number > 1 else ''}", number > 1
        return f"adapter {level}" if "any" not in level else "the library's own adapter", False
    if factor == "order":
        return f"{level} order", False
    if factor == "binding":
        return f"{level} binding", False
    if factor == "ppn":
        return f"{level.split(' ')[0]} rank{'s' if level[:2] != '1 ' else ''} per node", (
            level[:2] != "1 "
        )
    if factor in ("nodes", "threads"):
        return level, not level.startswith("1 ")
    if factor in ("session", "node set", "time of day"):
        return level, False
    return f"{factor} {level}", False


def _verb(stem: str, plural: bool) -> str:
    return stem if plural else f"{stem}s"


def p_text(p: float) -> str:
    """``p = 0.003``, ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.095 else f"p = {p:.1g}"


def _evidence(comparison: Comparison) -> Evidence:
    spread = comparison.spread
    pair = spread.pairs[0] if len(spread.pairs) == 1 else None
    return Evidence(
        label=f"{comparison.name}: greatest CoV over the least",
        metric="spread_ratio",
        unit="",
        value=spread.effect or 1.0,
        ci95=_upwards(pair),
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=list(comparison.cells),
        note=sentence(comparison),
    )


def _upwards(pair: Pair | None) -> tuple[float, float] | None:
    """The interval of the greater CoV over the lesser."""
    if pair is None or pair.ratio is None or pair.ratio_ci95 is None:
        return None
    low, high = pair.ratio_ci95
    return (low, high) if pair.ratio >= 1.0 else (1.0 / high, 1.0 / low)
