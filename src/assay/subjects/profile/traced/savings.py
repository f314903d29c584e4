"""Savings in words: by changes of the program according to its trace, and of the network."""

from __future__ import annotations

from assay.subjects.profile.advice import PossibleGain
from assay.subjects.profile.traced.model import (
    DelayOrigin,
    MessagesInARow,
    NetworkSensitivity,
    RunTimeOn,
    TraceFindings,
    TransferOverlap,
)
from assay.trace.calls import WAITS
from assay.units import counted, format_duration, format_share, format_size

# Share of waiting above which its origin is worth a look, and efficiency below which it is.
_MUCH, _POOR = 0.05, 0.85
_FAST = "InfiniBand"


def savings(found: TraceFindings) -> list[PossibleGain]:
    """The possible savings, unordered. Each is an upper bound; they don't add up."""
    return [
        *_origins(found),
        *(PossibleGain(one.share, _joined(one), ("model saving",)) for one in found.in_a_row),
        *(PossibleGain(one.share, _hidden(one), ("saving",)) for one in found.overlaps),
        *_ideal(found),
    ]


def named(origin: DelayOrigin) -> str:
    """The late rank, its activity, place and phase."""
    phase = f", {origin.phase}" if origin.phase else ""
    doing = "computing from" if origin.kind == "computing" else "in"
    return f"rank {origin.rank} {doing} {origin.place}{phase}"


def _origins(found: TraceFindings) -> list[PossibleGain]:
    if found.waiting <= _MUCH or not found.origins:
        return []
    origin = found.origins[0]
    waiting = format_duration(origin.direct + origin.handed_on)
    sentence = (
        f"Look at {named(origin)} first: it causes {waiting} of waiting of all ranks together"
    )
    if origin.gain is None:
        return [PossibleGain(origin.share * found.waiting, f"{sentence}.", ("origin",))]
    share = origin.gain / found.wall
    sentence += f"; without this delay, the run would save up to {format_share(share)} of its time."
    return [PossibleGain(share, sentence, ("origin", "saving"))]


def _joined(one: MessagesInARow) -> str:
    size = format_size(one.size)
    save = f"would save up to {format_share(one.share)} of the run time"
    if one.collective:
        return (
            f"{one.function} in {one.place} is called {one.in_a_row:,} times in a row with {size}: "
            f"one call with all data {save}, if no call needs the result of the previous call."
        )
    if one.answered:
        return (
            f"{one.function} in {one.place} sends {one.in_a_row:,} messages of {size} to the same "
            "rank and receives between them, with hardly any computing: one message instead of "
            f"them {save}, if none depends on a message that is received before it."
        )
    return (
        f"{one.function} in {one.place} sends {one.in_a_row:,} messages of {size} in a row to the "
        f"same rank: one message instead of them {save}."
    )


def _hidden(one: TransferOverlap) -> str:
    how = (
        "waiting after the computing"
        if one.function in WAITS
        else "a non-blocking call, completed after the computing"
    )
    return (
        f"{one.function} in {one.place} takes {format_duration(one.transfer)} for its transfer, "
        f"right before {format_duration(one.computing)} of computing "
        f"({counted(one.calls, 'call')} on the critical path): {how} that doesn't need the data "
        f"would save up to {format_share(one.share)} of the run time."
    )


def _ideal(found: TraceFindings) -> list[PossibleGain]:
    """The savings of a perfect network, and the time that no network would save."""
    of, gains = found.efficiencies, []
    if of.transfer is not None and of.transfer < _POOR:
        share = 1.0 - of.transfer
        sentence = f"{format_share(share)} of the time is transfer"
        best = None if found.network is None else _fast(found.network)
        if best is not None and not best.doubt and best.high < found.wall:
            sentence += (
                f": with {best.interconnect} the run would take {format_duration(best.low)} to "
                f"{format_duration(best.high)} instead of {format_duration(found.wall)}"
            )
        gains.append(PossibleGain(share, f"{sentence}.", ("ideal", "run time")))
    if of.serialisation is not None and of.serialisation < _POOR:
        share = 1.0 - of.serialisation
        sentence = (
            f"{format_share(share)} of the time on an ideal network is caused by dependencies "
            "between ranks. No network would save this time."
        )
        gains.append(PossibleGain(share, sentence, ("ideal",)))
    return gains


def _fast(network: NetworkSensitivity) -> RunTimeOn | None:
    return next((one for one in network.predictions if one.interconnect.startswith(_FAST)), None)
