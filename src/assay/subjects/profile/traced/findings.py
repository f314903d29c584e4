"""Findings from the trace of a program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from assay.errors import AssayError
from assay.models.program.critical_path import CriticalPath, critical_path, critical_shares
from assay.models.program.efficiency import computing_times, efficiencies
from assay.models.program.origins import DelayCost, wait_origins
from assay.models.program.prediction import ModelledRun, model_run
from assay.models.program.waits import CAUSES, WaitStates, wait_states
from assay.reference.interconnects import InterconnectClass
from assay.subjects.profile.places import place_name, span_name
from assay.subjects.profile.traced.changes import in_a_row, overlaps, with_gains
from assay.subjects.profile.traced.coverage import Coverage, coverage_of
from assay.subjects.profile.traced.model import (
    TRACE_SCHEMA,
    CriticalPlace,
    DelayOrigin,
    NetworkSensitivity,
    PopEfficiencies,
    SkippedCalls,
    TraceFindings,
    WaitPlace,
    WaitShare,
    WorstWait,
)
from assay.subjects.profile.traced.network import sensitivity_of
from assay.subjects.profile.traced.phases import TracePhases, phases_of
from assay.trace.events import Trace
from assay.trace.matching import MatchedTrace, match
from assay.units import counted, listed

_MOST_WORST = 20
_MOST_NAMED = 8  # maximum number of ranks in a sentence
# Places with a smaller share of the waiting or of the critical path are left out.
_LEAST_SHARE = 0.001


def find_trace(
    of: Trace | MatchedTrace, networks: Sequence[InterconnectClass] = ()
) -> TraceFindings:
    """The findings of one traced run, which may already be matched.

    ``networks``: the user's networks, for which run times are predicted.

    Raises AssayError if no time passed between the begin and the end of MPI.
    """
    trace = of.trace if isinstance(of, MatchedTrace) else of
    wall = trace.end - trace.begin
    if wall <= 0.0:
        raise AssayError(
            "No time passed between the begin and the end of MPI.",
            where=trace.run.folder,
            fix="Trace a program that works between MPI_Init and MPI_Finalize.",
        )
    matched = of if isinstance(of, MatchedTrace) else match(of)
    waits = wait_states(matched)
    phases = phases_of(matched, waits)
    run, network, unmodelled = _modelled(matched, waits, phases, networks)
    whole = sum(rank.wall for rank in trace.ranks)
    covered = coverage_of(matched, waits)
    parts = efficiencies(trace, None if run is None else run.ideal)
    origins, unexplained, followed = _origins(matched, waits, phases)
    path = critical_path(matched.flat, waits)
    critical = _critical(matched, path)
    return TraceFindings(
        schema=TRACE_SCHEMA,
        ranks=len(trace.ranks),
        hosts=len(set(trace.hosts)),
        events=len(trace),
        wall=wall,
        messages=len(matched.messages),
        clock_error=trace.clock_error,
        incomplete=[rank.rank for rank in trace.ranks if not rank.complete],
        efficiencies=PopEfficiencies(
            parts.parallel,
            parts.load_balance,
            parts.communication,
            parts.serialisation,
            parts.transfer,
        ),
        inside=covered.inside,
        analysed=covered.share,
        skipped=_skipped(covered, whole),
        waiting=float(waits.seconds.sum()) / whole,
        causes=_causes(waits, whole),
        places=_places(matched, waits, whole),
        origins=with_gains(origins, matched, waits, run, critical),
        unexplained=unexplained,
        followed=followed,
        worst=_worst(matched, waits),
        phases=phases.phases,
        iterations=phases.iterations,
        critical=critical,
        network=network,
        unknown=[*_unknown(matched), *unmodelled],
        cut=trace.cut,
        launches=trace.run.launches,
        in_a_row=in_a_row(run, wall),
        overlaps=overlaps(matched, path, run, wall),
        cpu_wait=trace.cpu_wait,
        unmatched=_without_partner(matched),
    )


def _modelled(
    matched: MatchedTrace,
    waits: WaitStates,
    phases: TracePhases,
    networks: Sequence[InterconnectClass],
) -> tuple[ModelledRun | None, NetworkSensitivity | None, list[str]]:
    try:
        run = model_run(matched, waits, phases.by_rank)
    except AssayError as error:
        return None, None, [str(error)]
    return run, sensitivity_of(run, networks) if len(matched.trace.ranks) > 1 else None, []


def _skipped(covered: Coverage, whole: float) -> list[SkippedCalls]:
    rest = sorted(covered.rest.items(), key=lambda item: -item[1])
    return [
        SkippedCalls(function, time, time / whole)
        for function, time in rest
        if time >= _LEAST_SHARE * covered.inside
    ]


def _causes(waits: WaitStates, whole: float) -> list[WaitShare]:
    calls = np.bincount(waits.cause, minlength=len(CAUSES))
    found = [
        WaitShare(cause, time, time / whole, int(calls[CAUSES.index(cause)]))
        for cause, time in waits.by_cause().items()
    ]
    return sorted(found, key=lambda one: -one.time)


def _places(matched: MatchedTrace, waits: WaitStates, whole: float) -> list[WaitPlace]:
    flat, trace = matched.flat, matched.trace
    if not len(waits):
        return []
    # Each row becomes one number: sorting unique rows field by field takes ten times as long.
    sites, causes = len(trace.sites), len(CAUSES)
    code = flat.function[waits.event].astype(np.int64) * sites + flat.site[waits.event]
    code = code * causes + waits.cause
    every = np.bincount(code, minlength=len(trace.functions) * sites * causes)
    kinds = np.flatnonzero(every)
    calls, times = every[kinds], np.bincount(code, weights=waits.seconds)[kinds]
    found = [
        WaitPlace(
            function=trace.functions[kinds[i] // (sites * causes)],
            place=place_name(trace.sites[kinds[i] // causes % sites]),
            cause=CAUSES[kinds[i] % causes],
            time=float(times[i]),
            share=float(times[i]) / whole,
            calls=int(calls[i]),
        )
        for i in np.argsort(-times, kind="stable")
    ]
    return [one for one in found if one.time >= _LEAST_SHARE * times.sum()]


def _origins(
    matched: MatchedTrace, waits: WaitStates, phases: TracePhases
) -> tuple[list[DelayOrigin], float, float]:
    found = wait_origins(matched, waits)
    trace = matched.trace
    whole = found.covered or 1.0
    sums: dict[tuple[int, str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for cost in found.costs:
        key = (
            trace.ranks[cost.rank].rank,
            cost.kind,
            span_name(trace.sites, cost.kind, cost.after, cost.before),
            _phase_of(phases, cost),
        )
        sums[key][0] += cost.direct
        sums[key][1] += cost.handed_on
    origins = [
        DelayOrigin(
            rank=rank,
            kind=kind,
            place=place,
            phase=phase,
            direct=direct,
            handed_on=later,
            share=(direct + later) / whole,
        )
        for (rank, kind, place, phase), (direct, later) in sums.items()
    ]
    origins.sort(key=lambda one: -one.share)
    kept = [one for one in origins if one.share >= _LEAST_SHARE]
    total = float(waits.seconds.sum())
    return kept, found.unknown / whole, found.covered / total if total else 1.0


def _phase_of(phases: TracePhases, cost: DelayCost) -> str:
    return phases.of_site.get((cost.rank, cost.before), "")


def _worst(matched: MatchedTrace, waits: WaitStates) -> list[WorstWait]:
    flat, trace = matched.flat, matched.trace
    return [
        WorstWait(
            rank=trace.ranks[flat.rank[waits.event[i]]].rank,
            begin=float(flat.begin[waits.event[i]]) - trace.begin,
            time=float(waits.seconds[i]),
            cause=CAUSES[waits.cause[i]],
            place=place_name(trace.sites[flat.site[waits.event[i]]]),
            late=trace.ranks[flat.rank[waits.late[i]]].rank,
        )
        for i in np.argsort(-waits.seconds, kind="stable")[:_MOST_WORST]
    ]


def _critical(matched: MatchedTrace, path: CriticalPath) -> list[CriticalPlace]:
    trace = matched.trace
    length = path.seconds
    sums: dict[tuple[int, str, str], float] = defaultdict(float)
    for one in critical_shares(matched.flat, path):
        place = span_name(trace.sites, one.kind, one.after, one.before)
        sums[trace.ranks[one.rank].rank, one.kind, place] += one.seconds
    found = [
        CriticalPlace(rank, kind, place, time, time / length)
        for (rank, kind, place), time in sorted(sums.items(), key=lambda item: -item[1])
    ]
    return [one for one in found if one.share >= _LEAST_SHARE]


def _without_partner(matched: MatchedTrace) -> float:
    lost = sum(one.count for one in matched.unmatched)
    lost += sum(2 * one.count for one in matched.left_out)
    return min(lost / max(len(matched.trace), 1), 1.0)


def _some(ranks: Sequence[int]) -> str:
    words = [str(rank) for rank in ranks[:_MOST_NAMED]]
    return listed(words if len(ranks) <= _MOST_NAMED else [*words, "others"])


def _unknown(matched: MatchedTrace) -> list[str]:
    trace = matched.trace
    if trace.left_out:
        # Calls at the end of the analysed part may have partners after it.
        found = [
            f"Only the first {len(trace):,} calls are analysed, to limit memory; "
            f"{trace.left_out:,} after them are not."
        ]
    else:
        found = [
            f"{one.count:,} {one.what} have no partner in the trace." for one in matched.unmatched
        ]
    for one in matched.left_out:
        found.append(
            f"{counted(one.count, 'message')} on {one.communicator} between ranks "
            f"{_some(one.ranks)} {'is' if one.count == 1 else 'are'} left out: the record "
            "doesn't show which receive got which message."
        )
    cut = [rank.rank for rank in trace.ranks if not rank.complete]
    if cut:
        found.append(
            f"The trace of {counted(len(cut), 'rank')} ends early, because the program was "
            "killed or the disk was full. Results cover the time up to this point."
        )
    if computing_times(trace).sum() <= 0.0:
        found.append("No rank was ever outside of MPI, so nothing was computed.")
    return found
