"""Changes of the program that would save time according to a trace, and their maximum savings."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

from assay.models.program.critical_path import CriticalPath
from assay.models.program.gains.delays import longest_waiting, without_delay
from assay.models.program.gains.overlap import transfers_before_computing
from assay.models.program.gains.small_messages import small_messages
from assay.models.program.links import BETWEEN, WITHIN
from assay.models.program.prediction import ModelledRun
from assay.models.program.waits import WaitStates
from assay.subjects.profile.places import place_name, span_name
from assay.subjects.profile.traced.model import (
    CriticalPlace,
    DelayOrigin,
    MessagesInARow,
    TransferOverlap,
)
from assay.trace.matching import MatchedTrace

# Maximum number of findings of each kind, and of origins with an estimated gain.
_MOST, _MOST_ORIGINS = 10, 3


def in_a_row(run: ModelledRun | None, wall: float) -> list[MessagesInARow]:
    """Small messages in a row in a run of ``wall`` s; none without a model of the run."""
    if run is None:
        return []
    trace = run.matched.trace
    return [
        MessagesInARow(
            function=trace.functions[one.function],
            place=place_name(trace.sites[one.site]),
            collective=one.collective,
            answered=one.answered,
            ranks=one.ranks,
            calls=round(one.calls * run.factor),
            in_a_row=one.in_a_row,
            size=one.size,
            gain=one.seconds,
            share=one.seconds / wall,
        )
        for one in small_messages(run)[:_MOST]
    ]


def overlaps(
    matched: MatchedTrace, path: CriticalPath, run: ModelledRun | None, wall: float
) -> list[TransferOverlap]:
    """Transfers on the critical ``path`` that computing follows."""
    trace = matched.trace
    overhead = 0.0
    if run is not None:
        found = run.calibrated
        link = BETWEEN if len(set(trace.hosts)) > 1 else WITHIN
        overhead = (found.within, found.between)[link].parameters.overhead
    return [
        TransferOverlap(
            function=trace.functions[one.function],
            place=place_name(trace.sites[one.site]),
            ranks=one.ranks,
            calls=one.calls,
            transfer=one.transfer,
            computing=one.computing,
            gain=one.seconds,
            share=one.seconds / wall,
        )
        for one in transfers_before_computing(matched, path, overhead)[:_MOST]
    ]


def with_gains(
    origins: Sequence[DelayOrigin],
    matched: MatchedTrace,
    waits: WaitStates,
    run: ModelledRun | None,
    critical: Sequence[CriticalPlace],
) -> list[DelayOrigin]:
    """The origins of waiting. Gains are estimated for the first ones.

    A gain is at most the place's time on the ``critical`` path, the waiting caused by the origin,
    and the waiting of any other rank.
    """
    trace = matched.trace
    longest = longest_waiting(matched.flat, waits)
    places = {one.rank: number for number, one in enumerate(trace.ranks)}
    on_path: dict[tuple[int, str, str], float] = defaultdict(float)
    for part in critical:
        on_path[part.rank, part.kind, part.place] += part.time

    def gain(origin: DelayOrigin) -> float:
        number = places[origin.rank]
        bounds = [
            on_path[origin.rank, origin.kind, origin.place],
            origin.direct + origin.handed_on,
            float(longest[number]),
        ]
        if run is not None and origin.kind == "computing":
            spans = _spans(run.matched, number, origin.place)
            if spans:  # otherwise it isn't in the modelled part of the run
                bounds.append(without_delay(run, number, spans))
        return min(bounds)

    first = [dataclasses.replace(one, gain=gain(one)) for one in origins[:_MOST_ORIGINS]]
    return [*first, *origins[_MOST_ORIGINS:]]


def _spans(matched: MatchedTrace, number: int, place: str) -> set[tuple[int, int]]:
    """The pairs of call sites with this name between which a rank computes."""
    flat = matched.flat
    sites = flat.site[int(flat.first[number]) : int(flat.first[number + 1])].astype(int).tolist()
    pairs = set(zip([-1, *sites], sites, strict=False))
    return {pair for pair in pairs if span_name(matched.trace.sites, "computing", *pair) == place}
