"""The network as a reason that a program isn't faster: latency, bandwidth, congestion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.models.program.losses.pairs import SlowMessages
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.why.costs import LEAST, LaunchCost, cost_of, outcome_of
from assay.subjects.why.measures import LaunchMeasures
from assay.subjects.why.model import ReasonName, ReasonOutcome, WhyReason
from assay.subjects.why.rows import reason_row, unknown_row
from assay.units import format_size


def network_reasons(
    launches: Sequence[LaunchMeasures], middle: LaunchMeasures, traced: TraceFindings
) -> list[WhyReason]:
    """Latency, bandwidth and congestion."""
    time = middle.seconds
    if middle.unmodelled:
        names: tuple[ReasonName, ...] = ("latency", "bandwidth", "congestion")
        return [unknown_row(name, middle.unmodelled) for name in names]
    latency = cost_of([one.scaled(one.parts.latency, time) for one in launches], time)
    bandwidth = cost_of([one.scaled(one.parts.bandwidth, time) for one in launches], time)
    rest = cost_of([one.scaled(one.parts.unexplained, time) for one in launches], time)
    found = [
        _latency(latency, time, traced),
        _bandwidth(bandwidth, time, traced),
        _congestion(rest, time, traced),
    ]
    return found if middle.slow is None else [_with_pair(one, middle.slow) for one in found]


def _with_pair(one: WhyReason, slow: SlowMessages) -> WhyReason:
    """With the hosts whose messages are slow: if it stands out."""
    if one.outcome != "stands out":
        return one
    evidence = (
        f"{one.evidence} Messages {slow.text} take at least {slow.ratio:.2g} times as long as "
        "those of the same size between other hosts."
    )
    host = slow.sender or slow.receiver
    change = f"Run without {host}, or repair its network; `assay check` compares it with others."
    if slow.sender and slow.receiver and slow.sender != slow.receiver:
        hosts = f"{slow.sender} and {slow.receiver}"
        change = f"Examine the links between {hosts}; `assay check` compares them with others."
    return replace(one, evidence=evidence, change=change)


def _latency(cost: LaunchCost, time: float, traced: TraceFindings) -> WhyReason:
    evidence = "Time of messages that would vanish without latency and overhead."
    row = traced.in_a_row[0] if traced.in_a_row else None
    if row is None or row.gain < 0.2 * cost.seconds:
        place = traced.places[0] if traced.places else None
        return reason_row(
            "latency", outcome_of(cost, time), cost, time,
            where="" if place is None else f"{place.function} in {place.place}",
            evidence=evidence,
            change="Send fewer messages: exchange less often, or join messages to the same rank.",
            gain=cost.seconds,
        )  # fmt: skip
    return reason_row(
        "latency", outcome_of(cost, time), cost, time,
        where=f"{row.function} in {row.place}",
        evidence=f"{evidence} {row.function} is called {row.in_a_row:,} times in a row with "
        f"{format_size(row.size)}.",
        change=f"Send one message instead of {row.in_a_row:,} small ones in {row.place}.",
        gain=min(row.gain, cost.seconds),
    )  # fmt: skip


def _bandwidth(cost: LaunchCost, time: float, traced: TraceFindings) -> WhyReason:
    evidence = "Time of messages that would vanish with an unlimited bandwidth."
    hidden = traced.overlaps[0] if traced.overlaps else None
    if hidden is None or hidden.gain < 0.2 * cost.seconds:
        return reason_row(
            "bandwidth", outcome_of(cost, time), cost, time,
            where="" if hidden is None else f"{hidden.function} in {hidden.place}",
            evidence=evidence,
            change="Send fewer bytes: lower precision in messages, or ranks placed so that "
            "neighbours share a node (`assay run placement`).",
            gain=cost.seconds,
        )  # fmt: skip
    return reason_row(
        "bandwidth", outcome_of(cost, time), cost, time,
        where=f"{hidden.function} in {hidden.place}",
        evidence=evidence,
        change=f"Transfer while computing: start {hidden.function} in {hidden.place} without "
        "blocking, and wait for it after the computing that doesn't need its data.",
        gain=min(hidden.gain, cost.seconds),
    )  # fmt: skip


def _congestion(cost: LaunchCost, time: float, traced: TraceFindings) -> WhyReason:
    if traced.hosts < 2:
        # Within a host this is the operating system's work, or memory that is shared.
        outcome: ReasonOutcome = "small" if cost.seconds < LEAST * time else "undecided"
        return reason_row(
            "congestion", outcome, cost, time,
            evidence="Time of messages that latency and bandwidth don't explain. All ranks are on "
            "one host, so no network carries them.",
        )  # fmt: skip
    return reason_row(
        "congestion", outcome_of(cost, time), cost, time,
        evidence="Time of messages that the latency and bandwidth of an idle network don't "
        "explain: messages share links with each other, or with other jobs.",
        change="Place the ranks on fewer switches, or spread the messages over time; `assay run "
        "congestion` measures the network under load.",
        gain=cost.seconds,
    )  # fmt: skip
