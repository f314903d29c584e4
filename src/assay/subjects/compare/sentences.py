"""The verdict of a comparison as one sentence per side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.stats.compare.chosen import chosen_interval
from assay.stats.core.intervals import Estimate
from assay.subjects.compare.model import (
    ComparedCell,
    ComparedRun,
    ComparedVariation,
    CompareFindings,
)
from assay.subjects.compare.tables import nodes_text, single_number, speed_text
from assay.units import counted, format_limit, listed

# What a verdict that holds for two runs only begins with.
_TWO_RUNS = "in these two runs "


def side_name(run: ComparedRun) -> str:
    """``RUN``, with its nodes if it was limited to some: ``RUN, nodes n[1-4]``."""
    nodes = nodes_text(run)
    return f"{run.run}, nodes {nodes}" if nodes else run.run


def verdict_of(run: ComparedRun, found: CompareFindings) -> str:
    """What is slower, faster, the same and undecided on a side.

    Verdicts that hold for two runs only, and not for their machines, say so.
    """
    cells = [cell for cell in found.cells if cell.side == run.name]
    shared = counted(len(cells), "shared cell")
    whose = f"{run.name} ({side_name(run)})"
    if all(cell.verdict == "open" and cell.if_exact is None for cell in cells):
        return f"Whether {whose} is faster or slower is undecided in {shared}{_in_runs(cells)}."
    decided = [cell for cell in cells if cell.verdict not in ("open", "none")]
    of_two = [cell for cell in decided if cell.of_two_runs]
    alone = bool(of_two) and len(of_two) == len(decided)
    parts = list(_decided(decided if alone else _without(decided, of_two), cells, found.margin))
    if not alone:
        parts += [f"{_TWO_RUNS}{each}" for each in _decided(of_two, cells, found.margin)]
    parts += _conditional(cells)
    for verdict, words in (
        ("open", "undecided in"),
        ("none", "not comparable (different codes) in"),
    ):
        those = [each for each in cells if each.verdict == verdict and each.if_exact is None]
        if those:
            parts.append(f"{words} {len(those)}{_in_runs(those)}")
    opening = f"{_TWO_RUNS.strip().capitalize()}, of" if alone else "Of"
    return f"{opening} {shared} {whose} is {listed(parts)}."


def variation_of(found: ComparedVariation) -> str:
    """``The launches of B vary 1.80 [1.31, 2.42] times as much as those of A (24 cells).``"""
    return (
        f"The launches of {found.side} vary {speed_text(found.ratio, found.ratio_ci95)} times as "
        f"much as the launches of A ({counted(found.cells, 'cell')})."
    )


def _without(cells: Sequence[ComparedCell], left_out: Sequence[ComparedCell]) -> list[ComparedCell]:
    return [cell for cell in cells if cell not in left_out]


def _decided(
    cells: Sequence[ComparedCell], of_side: Sequence[ComparedCell], margin: float
) -> Iterator[str]:
    """``slower in 2 (…)``, ``faster in 1 (…)``, ``the same within 1% in 4``."""
    for verdict in ("slower", "faster"):
        those = [cell for cell in cells if cell.verdict == verdict]
        if those:
            yield f"{verdict} in {len(those)}{_extreme(those, of_side)}"
    same = sum(cell.verdict == "same" for cell in cells)
    if same:
        yield f"the same within {format_limit(margin)} in {same}"


def _conditional(cells: Sequence[ComparedCell]) -> Iterator[str]:
    """``slower, if published numbers are exact, in 2 (…)``."""
    for verdict in ("slower", "faster"):
        those = [cell for cell in cells if cell.if_exact == verdict]
        if those:
            numbers = listed(sorted({single_number(cell) for cell in those}))
            condition = f", if {numbers} numbers are exact,"
            yield f"{verdict}{condition} in {len(those)}{_extreme(those, cells)}"


def _in_runs(cells: Sequence[ComparedCell]) -> str:
    """`` (in these two runs slower in 2 and faster in 1)``; empty if there is none.

    Without other runs, a verdict on the two runs needs more than a difference of their launches.
    """
    words = []
    for alone in (False, True):
        seen = [
            f"{verdict} in {count}"
            for verdict in ("slower", "faster")
            if (count := sum(c.in_runs == verdict for c in cells if c.by_launches_only == alone))
        ]
        if seen:
            said = listed(seen)
            words.append(f"{said} by launches only" if alone else f"{_TWO_RUNS}{said}")
    return f" ({listed(words)})" if words else ""


def _extreme(cells: Sequence[ComparedCell], of_side: Sequence[ComparedCell]) -> str:
    """`` (most: LU class A, ..., 0.912 [0.900, 0.925] times as fast)``.

    It is chosen among the cells of the side, and its interval allows for this choice.
    """
    known = [cell for cell in cells if cell.speed]
    if not known:
        return ""
    first = known[0]
    among = [cell for cell in of_side if cell.speed and cell.speed_ci95 is not None]
    interval = first.speed_ci95
    if first in among:
        speeds = [Estimate(cell.speed or 1.0, cell.speed_ci95) for cell in among]
        interval, _ = chosen_interval(speeds, among.index(first))
    most = "" if len(known) == 1 else "most: "
    return f" ({most}{first.name}, {speed_text(first.speed, interval)} times as fast)"
