"""The answer on one-sided communication: its cost against messages, and which calls to use."""

from __future__ import annotations

from assay.kernels.naming import placement_text
from assay.questions.common.parts import Part
from assay.questions.common.ratios import Ratio, ratio_row
from assay.questions.common.selection import Point, evidence, quantity_text
from assay.questions.network.onesided.findings import (
    FLUSH,
    OneSidedFindings,
    operation,
    synchronisation,
)
from assay.questions.network.parameters import integer, message_bytes
from assay.units import capitalised, format_quantity, format_size

# An operation that is complete at both ends needs a message and a confirmation, or a request and
# its answer: a round trip, which is twice a ping-pong's latency.
ROUND_TRIP = 2.0
_CALLS = {
    "lock": "between MPI_Win_lock and MPI_Win_unlock",
    "fence": "with MPI_Win_fence",
}
_INSTEAD = {
    "lock": "hold MPI_Win_lock_all and end transfers by MPI_Win_flush",
    "fence": "use MPI_Win_lock_all and MPI_Win_flush where the target need not take part",
}


def part(found: OneSidedFindings) -> Part:
    """The part on one-sided communication."""
    part = Part(
        method=[
            "One-sided: an operation on memory of MPI_Win_allocate and its synchronisation; the "
            "contents of the target's memory are checked (MPI-4.1, chapter 12)."
        ]
    )
    for point in found.single:
        where = placement_text(point.summary.cell.placement)
        part.evidence.append(evidence(capitalised(name_of(point)), point, "time", note=where))
    if found.head is not None:
        part.headline.append(found.head)
        part.remark = _remark(found, found.head)
    _add_messages(part, found)
    _add_synchronisations(part, found)
    _add_windows(part, found)
    return part


def name_of(point: Point) -> str:
    """``put of 8 B with flush``; ``16 puts …`` are ``put of 8 B, 16 per flush``."""
    window, sync = integer(point, "window"), synchronisation(point)
    how = f"with {sync}" if window == 1 else f"{window} per {sync}"
    joint = " " if window == 1 else ", "
    return f"{operation(point)} of {format_size(message_bytes(point))}{joint}{how}"


def _remark(found: OneSidedFindings, head: Point) -> str:
    """The time of the head, or how many times a message it takes."""
    times = next((each for each in found.messages if each.above is head), None)
    if times is None or _direction(found, times) == "open":
        return f"a {name_of(head)} takes {format_quantity(head.metric.median, 's')}"
    return (
        f"a {name_of(head)} takes {quantity_text(times.value, '', times.ci95)} the time of a "
        "message of this size"
    )


def _direction(found: OneSidedFindings, times: Ratio, equal: float = 1.0) -> str:
    return times.compared(comparisons=found.comparisons, equal=equal).direction


def _add_messages(part: Part, found: OneSidedFindings) -> None:
    for times in found.messages:
        label = f"{capitalised(name_of(times.above))} against a message"
        part.evidence.append(ratio_row(label, times, above_first=True))
    if not found.messages:
        return
    part.limits.append(
        "An operation that is complete at both ends needs a round trip, 2 times a message's "
        "latency, unless the memory is shared."
    )
    slow = [each for each in found.messages if _direction(found, each, ROUND_TRIP) == "more"]
    if slow:
        worst = max(slow, key=lambda each: each.value)
        part.advice.append(
            f"A {name_of(worst.above)} takes {quantity_text(worst.value, '', worst.ci95)} the time "
            "of a message, more than a round trip: send messages instead, or end many operations "
            "with one flush."
        )
    quick = [each for each in found.messages if _direction(found, each) == "less"]
    if quick:
        best = min(quick, key=lambda each: each.value)
        part.advice.append(
            f"A {name_of(best.above)} takes {quantity_text(best.value, '', best.ci95)} the time of "
            "a message: use it where the target need not take part."
        )


def _add_synchronisations(part: Part, found: OneSidedFindings) -> None:
    for sync, calls in _CALLS.items():
        own = [each for each in found.synchronisations if synchronisation(each.above) == sync]
        part.evidence += [
            ratio_row(f"{capitalised(name_of(each.above))} against {FLUSH}", each, above_first=True)
            for each in own
        ]
        slow = [each for each in own if _direction(found, each) == "more"]
        if slow:
            worst = max(slow, key=lambda each: each.value)
            part.advice.append(
                f"A {operation(worst.above)} of {format_size(message_bytes(worst.above))} {calls} "
                f"takes {quantity_text(worst.value, '', worst.ci95)} the time with {FLUSH}: "
                f"{_INSTEAD[sync]}."
            )


def _add_windows(part: Part, found: OneSidedFindings) -> None:
    for rate in found.windows:
        label = f"{capitalised(name_of(rate.above))} against a stream of messages"
        part.evidence.append(ratio_row(label, rate, metric="bandwidth ratio", above_first=True))
    slow = [each for each in found.windows if _direction(found, each) == "less"]
    if slow:
        worst = min(slow, key=lambda each: each.value)
        part.advice.append(
            f"A {name_of(worst.above)}, has {quantity_text(worst.value, '', worst.ci95)} the "
            "bandwidth of as many messages: move bulk data by messages."
        )
