"""Findings from samples of a program's call stacks."""

from __future__ import annotations

import math

import numpy as np

from assay.models.program.origins import wait_origins
from assay.models.program.sampled.counts import SampleCounts, count_samples, line_of
from assay.models.program.sampled.events import CountedEvents, count_events
from assay.models.program.sampled.functions import (
    FunctionExcess,
    FunctionTime,
    function_times,
    rank_excess,
)
from assay.models.program.sampled.owed import waiting_owed
from assay.models.program.sampled.threads import process_times, thread_times
from assay.models.program.sampled.tree import call_tree
from assay.models.program.waits import wait_states
from assay.subjects.profile.sampled.model import (
    SAMPLED_SCHEMA,
    CallBox,
    CountedFunction,
    OwedFunction,
    OwedWaits,
    ProcessFunction,
    RankFunction,
    SampledCode,
    SampledCounters,
    SampledExcess,
    SampledFindings,
    SampledProcess,
    SampledThread,
    SlowestRank,
)
from assay.trace.matching import MatchedTrace
from assay.trace.samples.model import Activity, ProgramSamples
from assay.units import counted, format_duration, format_share

# Maximum number of functions and lines; of functions and ranks of a matrix.
_MOST, _MOST_FUNCTIONS, _MOST_RANKS = 1000, 12, 128
# Share of the waiting below which a function is left out.
_LEAST_OWED = 0.001
# Clocks whose samples stand for CPU time.
_TIMES = ("cpu-clock", "task-clock")
# Difference between a thread's CPU time and its samples that is worth a sentence.
_UNSAMPLED = 0.1


def find_samples(samples: ProgramSamples, events: MatchedTrace | None = None) -> SampledFindings:
    """The findings. ``events``: the trace of the same launch, whose waiting is attributed."""
    counts = count_samples(samples)
    functions = function_times(counts)
    lines = function_times(count_samples(samples, line_of))
    kinds = counts.activities.sum(axis=0)
    whole = int(kinds.sum())
    seconds = float((counts.activities.sum(axis=1) * counts.seconds).sum())
    cost = samples.cost / seconds if seconds > 0.0 and not math.isnan(samples.cost) else None
    return SampledFindings(
        schema=SAMPLED_SCHEMA,
        period=samples.period,
        clock=samples.clock,
        samples=whole,
        lost=sum(one.lost for one in samples.threads),
        ranks=len(counts.ranks),
        seconds=seconds,
        computing=int(kinds[Activity.COMPUTING]) / max(whole, 1),
        mpi=int(kinds[Activity.MPI]) / max(whole, 1),
        waiting=int(kinds[Activity.WAITING]) / max(whole, 1),
        functions=[_code(one) for one in functions[:_MOST]],
        lines=[_code(one) for one in lines[:_MOST] if one.samples],
        found=len(functions),
        slowest=_slowest(counts),
        by_rank=_by_rank(counts, functions),
        threads=[
            SampledThread(
                rank=one.rank,
                thread=one.thread,
                name=one.name,
                computing=one.computing,
                mpi=one.mpi,
                waiting=one.waiting,
                function=one.busiest.name if one.busiest else "",
            )
            for one in thread_times(samples)
        ],
        processes=_processes(samples),
        counters=_counters(count_events(samples)),
        owed=None if events is None or events.trace.cut else _owed(samples, events),
        tree=[
            CallBox(
                function=box.place.name,
                module=box.place.module,
                depth=box.depth,
                begin=box.begin,
                end=box.end,
                own=box.own,
            )
            for box in call_tree(samples)
        ],
        cost=cost,
        unknown=[*_unknown(samples), *_unmatched(events), *samples.doubts],
    )


def _processes(samples: ProgramSamples) -> list[SampledProcess]:
    if not any(one.parent for one in samples.threads):
        return []
    every = sorted(process_times(samples), key=lambda one: -one.computing)
    return [
        SampledProcess(
            rank=one.rank,
            host=one.host,
            process=one.process,
            parent=one.parent,
            threads=one.threads,
            samples=one.samples,
            computing=one.computing,
            mpi=one.mpi,
            waiting=one.waiting,
            functions=[ProcessFunction(place.name, spent) for place, spent in one.functions],
        )
        for one in every[:_MOST]
    ]


def _counters(found: CountedEvents | None) -> SampledCounters | None:
    if found is None or not found.functions:
        return None

    def ratio(events: tuple[float, ...], of: str, to: str) -> float | None:
        if of not in found.names or to not in found.names:
            return None
        below = events[found.names.index(to)]
        return events[found.names.index(of)] / below if below > 0.0 else None

    def misses(events: tuple[float, ...]) -> float | None:
        share = ratio(events, "cache-misses", "instructions")
        return None if share is None else 1000.0 * share

    return SampledCounters(
        events=list(found.names),
        totals=list(found.totals),
        seconds=found.seconds,
        counted=None if math.isnan(found.counted) else found.counted,
        functions=[
            CountedFunction(
                function=one.place.name,
                module=one.place.module,
                samples=one.samples,
                seconds=one.seconds,
                events=list(one.events),
                ipc=ratio(one.events, "instructions", "cycles"),
                misses=misses(one.events),
                shared=one.shared,
            )
            for one in found.functions[:_MOST]
        ],
    )


def _code(one: FunctionTime) -> SampledCode:
    place = one.place
    return SampledCode(
        function=place.name,
        module=place.module,
        file=place.file,
        line=place.line,
        samples=one.samples,
        share=one.share,
        ci95=one.interval,
        inclusive=one.inclusive,
        mean=one.mean,
        least=one.least,
        most=one.most,
        imbalance=one.imbalance,
        rank=one.rank,
    )


def _slowest(counts: SampleCounts) -> SlowestRank | None:
    found = rank_excess(counts)
    if found is None:
        return None
    return SlowestRank(
        rank=found.rank,
        seconds=found.seconds,
        mean=found.mean,
        excess=found.excess,
        functions=[_excess(one) for one in found.functions[:_MOST]],
        holder=None if found.holder is None else _excess(found.holder),
    )


def _excess(one: FunctionExcess) -> SampledExcess:
    return SampledExcess(
        function=one.place.name,
        module=one.place.module,
        seconds=one.seconds,
        ci95=one.interval,
        share=one.share,
        p=one.p,
    )


def _by_rank(counts: SampleCounts, functions: list[FunctionTime]) -> list[RankFunction]:
    if not 1 < len(counts.ranks) <= _MOST_RANKS:
        return []
    column = {place: at for at, place in enumerate(counts.places)}
    seconds = counts.own * counts.seconds[:, None]
    return [
        RankFunction(rank, one.place.name, float(seconds[row, column[one.place]]))
        for one in functions[:_MOST_FUNCTIONS]
        if one.samples
        for row, rank in enumerate(counts.ranks)
    ]


def _owed(samples: ProgramSamples, events: MatchedTrace) -> OwedWaits:
    found = wait_origins(events, wait_states(events))
    owed = waiting_owed(events, found.costs, samples)
    return OwedWaits(
        computing=owed.computing,
        asleep=owed.asleep,
        unsampled=owed.unsampled,
        functions=[
            OwedFunction(
                rank=one.rank,
                function=one.place.name,
                module=one.place.module,
                seconds=one.seconds,
                ci95=one.interval,
                share=one.seconds / owed.computing if owed.computing else 0.0,
            )
            for one in owed.functions[:_MOST]
            if one.seconds >= _LEAST_OWED * owed.computing
        ],
    )


def _unmatched(events: MatchedTrace | None) -> list[str]:
    if events is None or not events.trace.cut:
        return []
    return [
        "Waiting is not attributed to functions, because the program switched the trace off for a "
        "part of the run (MPI_Pcontrol)."
    ]


def _unknown(samples: ProgramSamples) -> list[str]:
    taken = sum(len(one.times) for one in samples.threads)
    if not taken:
        return [
            "No thread was sampled: none of them used as much CPU time as lies between two "
            f"samples ({format_duration(samples.period)})."
        ]
    sentences = []
    lost = sum(one.lost for one in samples.threads)
    if lost:
        share = lost / (taken + lost)
        sentences.append(
            f"{counted(lost, 'sample')} ({format_share(share)}) could not be stored. Times assume "
            "that they resemble the stored samples of their rank."
        )
    known = [one for one in samples.threads if not math.isnan(one.cpu_time)]
    used = sum(one.cpu_time for one in known)
    stands = samples.period * sum(len(one.times) + one.lost for one in known)
    # A thread may use almost a period before its first sample.
    room = _UNSAMPLED * used + samples.period * len(known)
    if samples.clock in _TIMES and abs(stands - used) > room:
        sentences.append(
            f"The threads used {format_duration(used)} of CPU time, but their samples stand for "
            f"{format_duration(stands)}. Shares and times are doubtful."
        )
    empty = int(np.sum([len(stack) == 0 for stack in samples.stacks]))
    if empty:
        sentences.append("Some samples have no call stack; they belong to no function.")
    return sentences
