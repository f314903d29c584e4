"""Matching: pairs of results that measure the same cell, and what counts as one value of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.model.cell import Cell
from assay.questions.common.code_factors import CellFactor
from assay.questions.common.contention import disturbs
from assay.stats.cells.contention import Contention
from assay.stats.compare.run_scatter import RunScatter, RunStep
from assay.stats.compare.verdicts import SidePair
from assay.subjects.compare.codes import CodeRatio, code_ratio, side_factors
from assay.subjects.compare.model import CompareUnit
from assay.subjects.compare.other_runs import OtherRuns
from assay.subjects.compare.published import PublishedSide
from assay.subjects.compare.results import SideResult, best_of
from assay.subjects.compare.run_results import RunResults
from assay.subjects.compare.sides import AnySide, Side

# Minimum number of sessions or nodes per side for verdicts from the scatter between them.
MIN_UNITS = 3


@dataclass(frozen=True)
class MatchedResult:
    """One cell on the reference and on another side, whose letter is ``side``."""

    side: str
    one: SideResult
    other: SideResult
    unit: CompareUnit
    #: The ratio of both codes; None if the codes are the same or the ratio is unknown.
    codes: CodeRatio | None
    #: Whether they are different runs of assay.
    separate: bool = False
    #: Scatter of this cell between runs of the machine. None if it is unknown or if both are
    #: results of one run.
    scatter: RunScatter | None = None
    #: The change of this cell's level between the runs, by the history of their machine; None if
    #: there is none.
    step: RunStep | None = None
    #: Whether other processes disturbed either result, during the cell or on average over the run.
    disturbed: bool = False

    @property
    def same_code(self) -> bool:
        """Whether both were measured with the same code."""
        return self.one.code == self.other.code != ""

    @property
    def values(self) -> tuple[Floats, Floats]:
        """The values of the reference and of the other side, one per unit."""
        return unit_values(self.one, self.unit), unit_values(self.other, self.unit)

    def pair(self) -> SidePair:
        """The values, ordered so that second / first is the speed factor."""
        one, other = self.values
        step = self.step
        if self.one.better == "less":
            one, other = other, one
            step = None if step is None else step.inverse()
        comparable = self.same_code or self.codes is not None
        factor = self.codes.estimate if self.codes is not None else None
        return SidePair(
            one,
            other,
            comparable,
            factor,
            self.unit,
            separate=self.separate,
            scatter=self.scatter,
            step=step,
            disturbed=self.disturbed,
        )


@dataclass(frozen=True)
class SideResults:
    """The results of a side: for their main metrics, and for any metric."""

    side: AnySide
    main: Sequence[SideResult]
    of: Callable[[str], Sequence[SideResult]]
    sessions: int
    clock: float | None
    #: Speeds of assay's code relative to other codes, as measured by the side's runs.
    factors: Sequence[CellFactor] = ()
    #: Contention by other processes over all measurements of the side.
    contention: Contention | None = None


def results_of(side: AnySide) -> SideResults:
    """The results of a run, of a part of it, or of published figures."""
    if isinstance(side, PublishedSide):
        published = side.results
        return SideResults(
            side,
            published,
            lambda metric: [each for each in published if each.metric == metric],
            0,
            side.clock,
        )
    found = RunResults(side)
    main = found.main
    if side.run.manifest.imported:
        return SideResults(
            side, main, lambda metric: [each for each in main if each.metric == metric], 0, None
        )
    return SideResults(
        side=side,
        main=main,
        of=found.of,
        sessions=found.sessions(),
        clock=found.clock(),
        factors=side_factors(side),
        contention=found.contention(),
    )


def across_toolchains(sides: Sequence[SideResults]) -> bool:
    """Whether the runs have no toolchain in common although each has a single one."""
    measured = [
        {each.cell.toolchain for each in side.main if not each.foreign}
        for side in sides
        if any(not each.foreign for each in side.main)
    ]
    if len(measured) < 2:
        return False
    return all(len(names) == 1 for names in measured) and not set.intersection(*measured)


def matched(
    letter: str,
    reference: SideResults,
    other: SideResults,
    across: bool,
    others: OtherRuns | None = None,
) -> list[MatchedResult]:
    """Pairs of results of both sides that measure the same cell.

    Cells of assay match by kernel, parameters, placement and (unless ``across``) toolchain.
    Imported cells match by code, version and parameters. Imported and published results are also
    compared with the best result of the other side that they fit (``results.fits``). ``others``:
    other runs of the sides' machines.
    """
    keyed = {_key(each, across): each for each in other.main}
    pairs = [(each, keyed[key]) for each in reference.main if (key := _key(each, across)) in keyed]
    taken = {id(result) for pair in pairs for result in pair}
    for each in other.main:
        if each.foreign and each.subject is not None and id(each) not in taken:
            best = best_of(each.subject, reference.of(each.metric))
            if best is not None:
                pairs.append((best, each))
                taken |= {id(best), id(each)}
    for each in reference.main:
        if each.foreign and each.subject is not None and id(each) not in taken:
            candidates = [one for one in other.of(each.metric) if not one.foreign]
            best = best_of(each.subject, candidates)
            if best is not None:
                pairs.append((each, best))
    return [
        _matched(letter, reference, other, (one, two), others or OtherRuns()) for one, two in pairs
    ]


def _matched(
    letter: str,
    reference: SideResults,
    other: SideResults,
    pair: tuple[SideResult, SideResult],
    others: OtherRuns,
) -> MatchedResult:
    one, two = pair
    sides = (reference.side, other.side)
    separate = (
        all(isinstance(side, Side) for side in sides)
        and not (one.foreign or two.foreign)
        and len({side.title for side in sides if isinstance(side, Side)}) > 1
    )
    same = one.cell.id == two.cell.id
    unit = _unit(*sides, one, two)
    contention = (one.contention, two.contention, reference.contention, other.contention)
    return MatchedResult(
        side=letter,
        one=one,
        other=two,
        unit=unit,
        codes=code_ratio(one, reference.factors, two, other.factors),
        separate=separate,
        scatter=others.scatter(one.cell.id, *sides) if separate and same else None,
        step=others.step(one.cell.id, *sides) if separate and same else None,
        disturbed=separate and unit == "launches" and any(map(disturbs, contention)),
    )


def _key(result: SideResult, across: bool) -> tuple[str, str]:
    cell = result.cell
    if across and not result.foreign:
        cell = Cell(cell.kernel, cell.parameters, cell.placement, "")
    return cell.id, result.metric


def _unit(first: AnySide, second: AnySide, one: SideResult, other: SideResult) -> CompareUnit:
    """What counts as one value: nodes, sessions, or (if there are too few of these) launches."""
    nodes = all(isinstance(side, Side) and side.nodes is not None for side in (first, second))
    if nodes and all(len(set(each.hosts)) >= MIN_UNITS for each in (one, other)):
        return "nodes"
    if all(np.unique(each.session[each.session >= 0]).size >= MIN_UNITS for each in (one, other)):
        return "sessions"
    return "launches"


def unit_values(result: SideResult, unit: CompareUnit) -> Floats:
    """The values by unit: launches, or medians of sessions or nodes."""
    if unit == "launches":
        return result.values
    of = np.array(result.hosts) if unit == "nodes" else result.session
    known = np.unique(of[of >= 0]) if unit == "sessions" else np.unique(of)
    return np.array([float(np.median(result.values[of == each])) for each in known])
