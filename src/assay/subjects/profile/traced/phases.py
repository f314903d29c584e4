"""Phases and iterations of a traced program."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from assay.models.program.repetition import IterationTimes, iterations
from assay.models.program.waits import WaitStates
from assay.subjects.profile.places import place_name
from assay.subjects.profile.traced.model import ProgramIterations, ProgramPhase
from assay.trace.events import RankTrace
from assay.trace.matching import MatchedTrace

SETUP, ITERATIONS, END = "setup", "iterations", "end"


@dataclass(frozen=True)
class TracePhases:
    """Phases and iterations of a trace, and the phase of each call site."""

    phases: list[ProgramPhase]
    iterations: ProgramIterations | None
    #: Phase in which a rank (place) calls from a site.
    of_site: dict[tuple[int, int], str]
    #: Iterations.
    by_rank: list[IterationTimes | None]


def phases_of(matched: MatchedTrace, waits: WaitStates) -> TracePhases:
    """The phases, found by the repetition of each rank's calls; none if nothing repeats."""
    trace = matched.trace
    found = [iterations(rank) for rank in trace.ranks]
    common = Counter(one.repetition.times for one in found if one is not None)
    if not common:
        return TracePhases([], None, {}, found)
    times = common.most_common(1)[0][0]
    bounds = [_bounds(rank, one) for rank, one in zip(trace.ranks, found, strict=True)]
    waited = np.zeros(len(matched.flat.begin))
    waited[waits.event] = waits.seconds
    phases = []
    for number, name in enumerate((SETUP, ITERATIONS, END)):
        begin = min(bound[number] for bound in bounds)
        end = max(bound[number + 1] for bound in bounds)
        inside = np.zeros(3)
        for place, rank in enumerate(trace.ranks):
            low, high = bounds[place][number : number + 2]
            inside += _spent(rank, waited[matched.flat.first[place] :], low, high)
        computing, waiting, mpi = (inside / len(trace.ranks)).tolist()
        phases.append(
            ProgramPhase(
                name=name,
                begin=begin - trace.begin,
                end=end - trace.begin,
                computing=computing,
                waiting=waiting,
                mpi=mpi,
            )
        )
    return TracePhases(phases, _iterations(matched, found, times), _sites(matched, found), found)


def _bounds(rank: RankTrace, found: IterationTimes | None) -> tuple[float, float, float, float]:
    if found is None:  # a rank without repetitions is in setup all the time
        return rank.begin, rank.end, rank.end, rank.end
    return rank.begin, float(found.begins[0]), float(found.begins[-1]), rank.end


def _spent(rank: RankTrace, waited: np.ndarray, low: float, high: float) -> np.ndarray:
    """Seconds of computing, of waiting and of other time in MPI between two times."""
    events = rank.events
    inside = (events.begin >= low) & (events.begin < high)
    calls = float((events.end[inside] - events.begin[inside]).sum())
    waiting = float(waited[: len(events)][inside].sum())
    return np.array([max(high - low - calls, 0.0), waiting, calls - waiting])


def _iterations(
    matched: MatchedTrace, found: list[IterationTimes | None], times: int
) -> ProgramIterations:
    trace = matched.trace
    same = [
        (rank, one)
        for rank, one in zip(trace.ranks, found, strict=True)
        if one is not None and one.repetition.times == times
    ]
    # An iteration lasts until all ranks have done it.
    ends = np.max([one.begins for _, one in same], axis=0)
    seconds = np.diff(ends)
    rank, first = same[0]
    repetition = first.repetition
    return ProgramIterations(
        times=times,
        calls=repetition.period,
        inner=repetition.inner.times if repetition.inner else 0,
        median=float(np.median(seconds)),
        cov=float(seconds.std(ddof=1) / seconds.mean()) if seconds.mean() > 0.0 else 0.0,
        longest=float(seconds.max()),
        longest_number=int(seconds.argmax()),
        first=place_name(trace.sites[rank.events.site[repetition.first]]),
        ranks=len(same),
    )


def _sites(matched: MatchedTrace, found: list[IterationTimes | None]) -> dict[tuple[int, int], str]:
    phases: dict[tuple[int, int], str] = {}
    for place, (rank, one) in enumerate(zip(matched.trace.ranks, found, strict=True)):
        sites = rank.events.site
        if one is None:
            continue
        parts = (
            (SETUP, sites[: one.repetition.first]),
            (END, sites[one.repetition.end :]),
            (ITERATIONS, sites[one.repetition.first : one.repetition.end]),
        )
        for name, part in parts:  # a site of several phases belongs to the iterations
            for site in np.unique(part).tolist():
                phases[place, site] = name
    return phases
