"""The answer on messages between two ranks: latency, bandwidth, and the model of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.models.network.minimum import DETERMINED
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part, merge
from assay.questions.common.ratios import ratio_row
from assay.questions.common.selection import Point, evidence, measured_text, quantity_text
from assay.questions.network.messages.findings import (
    MessageGap,
    PingpongFindings,
    ReachFindings,
    SweepComparison,
)
from assay.questions.network.messages.message_limits import LinkLimit, published_text
from assay.questions.network.messages.sweeps import MessageSweep
from assay.questions.network.parameters import message_bytes
from assay.questions.speed.messages import METHOD
from assay.units import counted, format_memory, format_quantity, format_share, format_size, listed

if TYPE_CHECKING:
    from assay.models.network.dips import Dip
    from assay.models.network.message_model import (
        LogGP,
        ParameterEstimate,
        Piece,
        ProtocolChange,
    )

# Below this share of the link's speed the link is not the limit. Fast Ethernet reaches 87% and
# Gigabit Ethernet 95% (Barczak, Messom & Johnson 2003, 3.2; Pepper & Gupta 2005); Helix's Gigabit
# Ethernet, at 59%, is below it.
LOW_SHARE = 0.7
# Edmundsson et al. (2004) found a dip at 128 KB; dips within a factor of two count as the same.
_SETH_DIP = (64 << 10, 256 << 10)


def part(found: PingpongFindings) -> Part:
    """The part on messages of the network's answer."""
    parts: list[Part] = []
    for reach in found.reaches:
        parts.append(_lead(reach, with_model=not parts))
        for other in reach.others:
            if other.smallest is not None:
                parts.append(_compare(other, reach))
            elif not (other.sweep.one_way and reach.lead.one_way) and other.sweep.widest:
                # No limit: the data of a put or get may stay in the cache.
                row = _bandwidth_row(other.sweep, other.sweep.widest, None)
                parts.append(Part(evidence=[row]))
    messages = merge(parts)
    _gap(messages, found.gap)
    _describe_method(messages, found.sweeps)
    return messages


def _lead(found: ReachFindings, *, with_model: bool) -> Part:
    """Evidence and advice on the leading sweep of a reach; the remark is its clause of the verdict.

    ``with_model``: whether the clause includes results of the model.
    """
    part = Part()
    sweep, limit, clauses = found.lead, found.limit, []
    if sweep.one_way:
        first, size = sweep.points[0], format_size(sweep.sizes[0])
        part.headline.append(first)
        part.evidence.append(
            evidence(f"Latency {sweep.reach}, {size}", first, "latency", note=sweep.name)
        )
        clauses.append(f"a message of {size} takes {measured_text(first)}")
    if sweep.widest is not None:
        part.headline.append(sweep.widest)
        part.evidence.append(_bandwidth_row(sweep, sweep.widest, limit))
        size = format_size(message_bytes(sweep.widest))
        clause = f"bandwidth at {size} is {measured_text(sweep.widest)}"
        # A share without an interval is evidence, but not part of the verdict.
        if limit is not None and found.share is not None and found.share_ci95 and found.share <= 1:
            clause += f", {found.share:.0%} of {limit.short}"
        clauses.append(clause)
        _judge_share(part, found)
    modelled = ""
    if sweep.model is not None:
        _model(part, found, sweep.model)
        modelled = _model_text(sweep.model) if with_model else ""
    part.remark = f"{sweep.reach} {' and '.join(clauses)}{modelled}"
    return part


def _bandwidth_row(sweep: MessageSweep, widest: Point, limit: LinkLimit | None) -> Evidence:
    return evidence(
        f"Bandwidth {sweep.reach}, {format_size(message_bytes(widest))}",
        widest,
        "bandwidth",
        limit=limit.bandwidth if limit else None,
        limit_source=limit.source if limit else None,
        note=f"the best size; {sweep.name}",
        bound=limit.bound if limit else "",
    )


def _judge_share(part: Part, found: ReachFindings) -> None:
    if found.limit is None or found.share is None:
        return
    part.limits.append(f"Bandwidth {found.reach}: {found.limit.source}.")
    if found.reach != "between nodes" or found.share_ci95 is None:
        return
    if found.limit.strict and found.compared(1.0).direction == "more":
        part.caveats.append(
            f"Messages between nodes are faster than {found.limit.short}: either they used "
            "further links, or the reported speed of this link is wrong."
        )
    if found.compared(LOW_SHARE).direction == "less":
        part.advice.append(
            "Messages between nodes reach only "
            f"{format_share(found.share, found.share_ci95)} of {found.limit.short}: check that "
            "the MPI library uses this adapter and its fast transport; also check the adapter's "
            "MTU, driver and slot. Barczak, Messom & Johnson (2003) reached 59% of Gigabit "
            "Ethernet and 87% of Fast Ethernet."
        )


def _model(part: Part, found: ReachFindings, model: LogGP) -> None:
    """The parameters of the model as evidence, and the advice that follows from them."""
    sweep, where = found.lead, found.reach
    cells = [point.summary.id for point in sweep.points]

    def row(label: str, metric: str, unit: str, value: ParameterEstimate, note: str) -> None:
        part.evidence.append(
            Evidence(
                label, metric, unit, value.value, value.ci95,
                cells=cells, note=f"{note}; {sweep.name}",
            )
        )  # fmt: skip

    for piece in model.pieces:
        _line_row(row, piece, where)
    if model.bandwidth:
        lines = len(model.pieces)
        note = f"1/G of the last of {lines} lines" if lines > 1 else "1/G of the line"
        row(f"Asymptotic bandwidth {where}", "bandwidth", "B/s", model.bandwidth, note)
    if model.half_size:
        note = "smallest message that reaches half of the asymptotic bandwidth"
        row(f"n½ {where}", "half size", "B", model.half_size, note)
        latency = model.pieces[0].latency
        cost = f" of {format_quantity(latency.value, 's')}" if latency else ""
        part.advice.append(
            f"Messages {where} below n½ = {format_memory(model.half_size.value)} reach less than "
            "half of the asymptotic bandwidth: aggregate small messages, since each has a fixed "
            f"cost{cost}."
        )
    _undetermined(part, found, model)
    for change in model.changes:
        if change.protocol:
            label = f"Protocol change {where}"
            note = f"above {format_size(change.below)}; the time steps {_step(change)} there"
            row(label, "threshold", "B", change.place, note)
    if model.threshold:
        _advise_threshold(part, found, model.threshold)
    for dip in model.dips:
        _dip(part, sweep, dip)


def _line_row(row: Callable[..., None], piece: Piece, where: str) -> None:
    """L + 2o of a line with its 1/G, or only 1/G if the line does not resolve L + 2o."""
    span = f"{where}, {format_size(piece.first)} to {format_size(piece.last)}"
    rate = piece.rate
    if piece.latency is not None:
        gap = f"1/G = {quantity_text(rate.value, 'B/s', rate.ci95)}" if rate else "G unknown"
        row(f"L + 2o {span}", "latency", "s", piece.latency, f"{gap}; LogGP")
    elif rate:
        row(f"1/G {span}", "bandwidth", "B/s", rate, "LogGP; too far from 0 B to resolve L + 2o")


def _undetermined(part: Part, found: ReachFindings, model: LogGP) -> None:
    """A sentence on the parameters that the fit does not determine."""
    if found.above_limit and found.limit is not None:
        part.limits.append(
            f"The fitted asymptotic bandwidth {found.reach} is above {found.limit.short} and is "
            "not reported."
        )
    parameters = (
        ("L + 2o", model.pieces[0].latency is None),
        ("asymptotic bandwidth", model.bandwidth is None and not found.above_limit),
        ("n½", model.half_size is None and not found.above_limit),
    )
    names = [name for name, unknown in parameters if unknown]
    if names:
        part.limits.append(
            f"Not determined {found.reach} (the 95% interval spans more than a factor of "
            f"{DETERMINED:.0f}): {listed(names)}."
        )


def _advise_threshold(part: Part, found: ReachFindings, change: ProtocolChange) -> None:
    variable = found.threshold_variable
    how = f"{variable} sets it." if variable else "The MPI library's manual says how to set it."
    gain = (
        "Codes that send messages of this size gain from smaller or much larger messages."
        if change.share > 0
        else "A lower threshold would speed up the sizes just below it."
    )
    part.advice.append(
        f"The protocol {found.reach} changes between {format_size(change.below)} and "
        f"{format_size(change.at)} (most likely from eager to rendezvous), where the time of a "
        f"message steps {_step(change)}. {how} {gain}"
    )


def _step(change: ProtocolChange) -> str:
    """``up by 33.5%``."""
    return f"{'up' if change.share > 0 else 'down'} by {format_share(abs(change.share))}"


def _dip(part: Part, sweep: MessageSweep, dip: Dip) -> None:
    point = sweep.at(dip.bytes)
    metric = point.summary.metrics["bandwidth"]
    part.evidence.append(
        Evidence(
            label=f"Dip {sweep.reach} at {format_size(dip.bytes)}",
            metric="bandwidth",
            unit="B/s",
            value=metric.median,
            ci95=metric.ci95,
            limit=dip.expected,
            limit_source="bandwidth interpolated between the sizes on either side",
            share=1 - dip.depth,
            share_ci95=(1 - dip.ci95[1], 1 - dip.ci95[0]) if dip.ci95 else None,
            cells=[point.summary.id],
            note=f"between {format_size(dip.left)} and {format_size(dip.right)}; {sweep.name}",
        )
    )
    attributed = (
        " Edmundsson et al. (2004) attributed such a dip at 128 KB to cache effects in the MPI "
        "library's copies."
        if _SETH_DIP[0] <= dip.bytes <= _SETH_DIP[1]
        else ""
    )
    part.advice.append(
        f"Avoid messages of {format_size(dip.bytes)} {sweep.reach}: their bandwidth is "
        f"{format_share(dip.depth, dip.ci95)} below the bandwidth interpolated between "
        f"{format_size(dip.left)} and {format_size(dip.right)}.{attributed}"
    )


def _model_text(model: LogGP) -> str:
    """Results of the model, as the end of a clause."""
    results = []
    if model.half_size:
        half = format_memory(model.half_size.value)
        results.append(f"half of the bandwidth is reached at {half}")
    if model.threshold:
        results.append(f"the protocol changes at {format_size(model.threshold.at)}")
    for dip in sorted(model.dips, key=lambda dip: -dip.depth)[:1]:
        more = len(model.dips) - 1
        rest = f" (and at {counted(more, 'more size')})" if more else ""
        results.append(f"bandwidth dips by {dip.depth:.0%} at {format_size(dip.bytes)}{rest}")
    return "".join(f"; {result}" for result in results)


def _compare(other: SweepComparison, found: ReachFindings) -> Part:
    """Evidence on a sweep against the lead; the remark is a clause of the verdict if notable."""
    part = Part()
    for label, times in (("Latency", other.smallest), ("Time", other.largest)):
        if times is None:
            continue
        size = format_size(message_bytes(times.above))
        part.evidence.append(
            ratio_row(
                f"{label} {found.reach} at {size}, {other.name} / {other.lead_name}",
                times,
                metric="latency",
                above_first=True,
                note=f"{measured_text(times.above)} / {measured_text(times.below)}",
            )
        )
        if label == "Time" and other.notable:
            part.remark = (
                f"{other.name} takes {quantity_text(times.value, '', times.ci95)} the time of "
                f"{other.lead_name} for {size}"
            )
    return part


def _gap(part: Part, gap: MessageGap | None) -> None:
    """Gap g from the message rate with many messages in flight, if it was measured."""
    if gap is None:
        part.limits.append(
            "Ping-pong has one message in flight, so it can't separate o and g from L. To "
            "determine g, measure a message rate with a window of messages."
        )
        return
    part.headline.append(gap.point)
    part.evidence.append(
        Evidence(
            label=f"Gap g between messages of {format_size(gap.bytes)}",
            metric="gap",
            unit="s",
            value=gap.seconds,
            ci95=gap.ci95,
            cells=[gap.point.summary.id],
            note=f"1 / message rate; mode={gap.point.parameter('mode')} "
            f"window={gap.point.parameter('window')}",
        )
    )


def _describe_method(part: Part, sweeps: Sequence[MessageSweep]) -> None:
    part.method.append(METHOD)
    if any(sweep.model for sweep in sweeps):
        part.method.append(
            "LogGP (Culler et al. 1993; Alexandrov et al. 1995): straight lines, piece by piece, "
            "through the time against message size. An F test at 1% determines the number of "
            "pieces. The intercept is L + 2o, the slope G. Intervals are across launches, and "
            "wider if sizes scatter around their line."
        )
    if any(sweep.reach == "between nodes" for sweep in sweeps):
        part.published.append(published_text())
    else:
        part.limits.append("No message left the node: the links between nodes were not measured.")
