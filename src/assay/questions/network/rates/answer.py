"""The answer on message rates: growth with senders, and threads against ranks."""

from __future__ import annotations

from assay.questions.common.parts import Part
from assay.questions.common.ratios import ratio_row
from assay.questions.common.selection import evidence, labeller, quantity_text
from assay.questions.network.rates.findings import (
    RateCurve,
    RateFindings,
    ThreadsAgainstRanks,
    senders,
)
from assay.units import counted, format_size


def part(found: RateFindings) -> Part:
    """The message rates' part of the network's answer."""
    label = labeller(found.points)
    rates = Part(
        headline=[found.head.points[-1]],
        remark=_remark(found.head),
        method=[
            "Message rates: each sender has a window of messages in flight to its partner, which "
            "acknowledges the window; the slowest sender counts. Threads send over communicators "
            "of their own (MPI_THREAD_MULTIPLE)."
        ],
    )
    for curve in found.curves:
        first, last = curve.points[0], curve.points[-1]
        scale = senders(last) / senders(first)
        rates.evidence.append(
            evidence(
                f"Messages of {format_size(curve.bytes)} from {_senders(curve)}, {_where(curve)}",
                last,
                "rate",
                limit=first.metric.median * scale if scale > 1 else None,
                limit_source=f"{scale:g} × the rate of {_count(curve, senders(first))}",
                note=label(last),
            )
        )
    for each in found.threads:
        _add_threads(rates, each)
    return rates


def _where(curve: RateCurve) -> str:
    return "within a node" if curve.nodes == 1 else "between nodes"


def _count(curve: RateCurve, number: int) -> str:
    return counted(number, "rank" if curve.kind == "ranks" else "thread")


def _senders(curve: RateCurve) -> str:
    return _count(curve, senders(curve.points[-1]))


def _remark(curve: RateCurve) -> str:
    metric = curve.points[-1].metric
    text = (
        f"{_senders(curve)} of a node send{'s' if senders(curve.points[-1]) == 1 else ''} "
        f"{quantity_text(metric.median, 'messages/s')} of {format_size(curve.bytes)} "
        f"{_where(curve)}"
    )
    if curve.growth is None or curve.growth.ci95 is None:
        return text
    times = quantity_text(curve.growth.value, "", curve.growth.ci95)
    return f"{text}, {times} the rate of {_count(curve, senders(curve.points[0]))}"


def _add_threads(part: Part, found: ThreadsAgainstRanks) -> None:
    size = format_size(found.bytes)
    part.evidence.append(
        ratio_row(
            f"Messages of {size}: {found.senders} threads against {found.senders} ranks",
            found.rates,
            above_first=True,
        )
    )
    if found.direction == "less":
        part.advice.append(
            f"{found.senders} threads that send messages of {size} reach "
            f"{quantity_text(found.rates.value, '', found.rates.ci95)} the rate of "
            f"{found.senders} ranks: let one thread of each rank communicate, or use more ranks."
        )
