"""The part of the answer on barriers: the rank that arrives last, and the cost of waiting."""

from __future__ import annotations

from assay.kernels.naming import placement_text
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.selection import choice_note, evidence, scaled
from assay.questions.steadiness.arrivals.findings import ArrivalFindings, Lateness
from assay.units import capitalised, counted, format_quantity, format_share

# Minimum share of waiting time for a recommendation.
_WORTH = 0.01


def part(found: ArrivalFindings) -> Part:
    """The arrivals at barriers."""
    point, latest = found.lost, found.latest
    placement = point.summary.cell.placement
    where = placement_text(placement)
    work = format_quantity(float(point.parameter("quantum") or 0.0), "s")
    rows = [
        evidence(f"Time waited for the last to arrive, steps of {work}", point, "lost", note=where)
    ]
    if found.spread:
        label = "From first to last arrival at a barrier"
        rows.append(evidence(label, found.spread, "spread", note=where))
    if found.barrier:
        label = "From last arrival to leaving the barrier"
        rows.append(evidence(label, found.barrier, "barrier", note=where))
    if latest:
        rows.append(_late_row(latest, found))
    clock = (
        "one clock of the node times all arrivals"
        if found.one_clock
        else "arrivals are computed from each rank's wait, as if all ranks left together"
    )
    return Part(
        headline=[point],
        evidence=rows,
        remark=_remark(found, work),
        advice=_advice(found),
        method=[
            f"Arrivals: {counted(placement.ranks, 'rank')} repeatedly do the same work of {work} "
            f"and enter a barrier; {clock}. Kramer & Ryan (2003), section 13, propose this "
            "experiment."
        ],
    )


def _remark(found: ArrivalFindings, work: str) -> str:
    lost = format_share(found.lost.metric.median)
    cost = f"waiting for the last rank takes {lost} of a step of {work}"
    if found.latest is None:
        return f"at barriers {cost}"
    if found.late is None:
        return f"the ranks are not distinguishable in how often they arrive last, and {cost}"
    share = format_share(found.late.last, found.latest_ci95[0])
    return f"{found.late.place} arrives last at {share} of the barriers, and {cost}"


def _advice(found: ArrivalFindings) -> list[str]:
    late = found.late
    if late is None or found.lost.metric.median < _WORTH:
        return []
    return [
        f"{capitalised(late.place)} delays the others: check whether interrupts or "
        "daemons use its core, and whether the core is slower than the others."
    ]


def _late_row(latest: Lateness, found: ArrivalFindings) -> Evidence:
    ends, among = found.latest_ci95
    chosen = choice_note(among, "chosen among {} comparable ranks")
    return Evidence(
        label=f"Barriers that {latest.place} reaches last",
        metric="last",
        unit="1",
        value=latest.last,
        limit=found.fair,
        limit_source="equal shares of all ranks",
        share=latest.last / found.fair,
        ci95=ends,
        share_ci95=scaled(ends, 1.0 / found.fair),
        cells=[found.lost.summary.id],
        note=f"median {format_quantity(latest.level(0.5), 's')} behind the first rank, "
        f"maximum {format_quantity(latest.worst, 's')}{f'; {chosen}' if chosen else ''}",
    )
