"""Messages between two ranks: latency, bandwidth, and the model that explains both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.answers.message_limits import Limit, message_limit, published_text
from assay.answers.messages import METHOD
from assay.answers.model import Evidence
from assay.answers.select import Part, Point, evidence, points, quantity_text, ratio, scaled
from assay.answers.sweeps import KERNEL, MessageSweep, size_of, sweeps
from assay.answers.tuning import threshold_variable
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted, format_memory, format_quantity, format_share, format_size

if TYPE_CHECKING:
    from assay.models.dips import Dip
    from assay.models.loggp import Change, Estimate, LogGP

# Below this share of the link's speed something other than the link decides: 87% of Fast Ethernet
# and 95% of Gigabit Ethernet are what the link leaves (Barczak, Messom & Johnson 2003, 3.2; Pepper
# & Gupta 2005), the 59% of Helix's Gigabit Ethernet are not.
LOW_SHARE = 0.7
# A rate this much worse is worth a sentence.
_NOTABLE = 1.1


def pingpong_part(cells: Sequence[CellSummary], run: RunData) -> Part | None:
    """Messages' part of the network's answer; None if no usable cell measured a ping-pong."""
    found = sweeps(cells, run)
    if not found:
        return None
    part = Part()
    clauses: list[str] = []
    for reach in dict.fromkeys(sweep.reach for sweep in found):
        lead, *others = (sweep for sweep in found if sweep.reach == reach)
        limit = message_limit(lead, cells)
        clauses.append(_lead(part, lead, limit, full=not clauses))
        for other in others:
            if other.one_way and lead.one_way:
                clauses.append(_compare(part, other, lead))
            elif other.widest is not None:
                _bandwidth(part, other, other.widest, None)  # a put or get may stay in the cache
    _gap(part, cells)
    _say_method(part, found)
    part.remark = "; ".join(clause for clause in clauses if clause)
    return part


def _lead(part: Part, sweep: MessageSweep, limit: Limit | None, *, full: bool) -> str:
    """Evidence and advice of the sweep that leads its reach, and its clause of the verdict.

    ``full``: with what the model found.
    """
    where, clauses = sweep.reach, []
    if sweep.one_way:
        first, size = sweep.points[0], format_size(sweep.sizes[0])
        part.headline.append(first)
        part.evidence.append(
            evidence(f"Latency {where}, {size}", first, "latency", note=sweep.name)
        )
        clauses.append(f"a message of {size} takes {_measured(first)}")
    widest = sweep.widest
    if widest is not None:
        part.headline.append(widest)
        _bandwidth(part, sweep, widest, limit)
        kind = "one" if clauses else "a message"
        told = f"{kind} of {format_size(size_of(widest))} moves at {_measured(widest)}"
        share = widest.metric.median / limit.bandwidth if limit else 2.0
        told += f", {share:.0%} of {limit.short}" if limit and share <= 1 else ""
        clauses.append(told)
        if limit is not None:
            _judge_share(part, sweep, widest, limit)
    words = ""
    if sweep.model is not None:
        _model(part, sweep, sweep.model)
        words = _model_words(sweep.model) if full else ""
    return f"{where} {' and '.join(clauses)}{words}"


def _bandwidth(part: Part, sweep: MessageSweep, widest: Point, limit: Limit | None) -> None:
    part.evidence.append(
        evidence(
            f"Bandwidth {sweep.reach}, {format_size(size_of(widest))}",
            widest,
            "bandwidth",
            limit=limit.bandwidth if limit else None,
            limit_source=limit.source if limit else None,
            note=f"the best size; {sweep.name}",
        )
    )


def _measured(point: Point) -> str:
    metric = point.metric
    if metric.ci95 is None:
        return f"{quantity_text(metric.median, metric.unit)} ({counted(metric.n, 'launch')})"
    return quantity_text(metric.median, metric.unit, metric.ci95)


def _judge_share(part: Part, sweep: MessageSweep, widest: Point, limit: Limit) -> None:
    share = widest.metric.median / limit.bandwidth
    part.limits.append(f"Bandwidth {sweep.reach}: {limit.source}.")
    if sweep.reach == "between nodes" and share < LOW_SHARE:
        told = format_share(share, scaled(widest.metric.ci95, 1 / limit.bandwidth))
        part.advice.append(
            f"Messages between nodes reach only {told} of {limit.short}: check that the "
            "MPI library uses this adapter and its fast transport, and the adapter's MTU, driver "
            "and slot; Barczak, Messom & Johnson (2003) reached 59% of Gigabit Ethernet and 87% of "
            "Fast Ethernet."
        )


def _model(part: Part, sweep: MessageSweep, model: LogGP) -> None:
    """The model's parameters as evidence, and what follows from them."""
    where, cells = sweep.reach, [point.summary.id for point in sweep.points]

    def row(label: str, metric: str, unit: str, found: Estimate, note: str) -> None:
        part.evidence.append(
            Evidence(label, metric, unit, found.value, found.ci95, None, None, None, None, cells,
                     f"{note}; {sweep.name}")
        )  # fmt: skip

    for piece in model.pieces:
        span = f"{where}, {format_size(piece.first)} to {format_size(piece.last)}"
        rate = _rate(piece.gap)
        told = f"1/G = {quantity_text(rate.value, 'B/s', rate.ci95)}" if rate else "G unknown"
        if _above_zero(piece.latency):
            row(f"L + 2o {span}", "latency", "s", piece.latency, f"{told}; LogGP")
        elif rate:
            row(f"1/G {span}", "bandwidth", "B/s", rate, "LogGP; too far from 0 B to tell L + 2o")
    if model.bandwidth:
        row(f"Asymptotic bandwidth {where}", "bandwidth", "B/s", model.bandwidth,
            f"1/G of the last of {len(model.pieces)} lines")  # fmt: skip
    if model.half_size:
        row(f"n½ {where}", "half size", "B", model.half_size,
            "the smallest message with half of the asymptotic bandwidth")  # fmt: skip
        part.advice.append(
            f"Messages {where} under n½ = {format_memory(model.half_size.value)} get less than "
            "half of the bandwidth: put small ones together, for each costs "
            f"{format_quantity(model.pieces[0].latency.value, 's')} however little it carries."
        )
    for change in model.changes:
        if change.protocol:
            row(f"Change of protocol {where}, at", "threshold", "B", _place(change),
                f"above {format_size(change.below)}; time steps {_step(change)} there")  # fmt: skip
    if model.threshold:
        _advise_threshold(part, sweep, model.threshold)
    for dip in model.dips:
        _dip(part, sweep, dip)


def _above_zero(found: Estimate) -> bool:
    return found.value > 0 and (found.ci95 is None or found.ci95[0] > 0)


def _rate(gap: Estimate) -> Estimate | None:
    """1/G; None where the sizes span too little to tell G from 0."""
    from assay.models.loggp import Estimate

    return Estimate(1 / gap.value, _inverse(gap.ci95)) if _above_zero(gap) else None


def _inverse(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (1 / interval[1], 1 / interval[0])


def _place(change: Change) -> Estimate:
    """The first size of the new protocol, and between which sizes it begins."""
    from assay.models.loggp import Estimate

    return Estimate(float(change.at), (float(change.surely_after), float(change.latest)))


def _advise_threshold(part: Part, sweep: MessageSweep, change: Change) -> None:
    variable = threshold_variable(sweep)
    how = f" {variable} moves it;" if variable else " The MPI library's manual says how to move it;"
    gain = (
        "codes that send that much gain by staying below it or by going well beyond"
        if change.share > 0
        else "a lower one would speed up the sizes just below it"
    )
    part.advice.append(
        f"The protocol {sweep.reach} changes above {format_size(change.below)} and no later than "
        f"at {format_size(change.at)} (most likely from eager to rendezvous), and the time of a "
        f"message steps {_step(change)} there.{how} {gain}."
    )


def _step(change: Change) -> str:
    """``up by 33.5%``."""
    return f"{'up' if change.share > 0 else 'down'} by {format_share(abs(change.share))}"


def _dip(part: Part, sweep: MessageSweep, dip: Dip) -> None:
    point = sweep.at(dip.bytes)
    metric = point.summary.metrics["bandwidth"]
    expected = "the bandwidth that the sizes to its left and right lead to expect"
    share = 1 - dip.depth
    part.evidence.append(
        Evidence(
            label=f"Dip {sweep.reach} at {format_size(dip.bytes)}",
            metric="bandwidth",
            unit="B/s",
            value=metric.median,
            ci95=metric.ci95,
            limit=dip.expected,
            limit_source=expected,
            share=share,
            share_ci95=(1 - dip.ci95[1], 1 - dip.ci95[0]) if dip.ci95 else None,
            cells=[point.summary.id],
            note=f"between {format_size(dip.left)} and {format_size(dip.right)}; {sweep.name}",
        )
    )
    part.advice.append(
        f"Avoid messages of {format_size(dip.bytes)} {sweep.reach}: their bandwidth lies "
        f"{format_share(dip.depth, dip.ci95)} below that of their neighbours; "
        f"{format_size(dip.left)} and {format_size(dip.right)} do better. Edmundsson et al. (2004) "
        "took such a dip at 128 KB for an effect of the caches in the MPI library's copies."
    )


def _model_words(model: LogGP) -> str:
    """What the model found, as the end of a clause."""
    words = []
    if model.half_size:
        words.append(f"half of the bandwidth is reached at {format_memory(model.half_size.value)}")
    if model.threshold:
        words.append(f"the protocol changes at {format_size(model.threshold.at)}")
    for dip in sorted(model.dips, key=lambda dip: -dip.depth)[:1]:
        more = len(model.dips) - 1
        rest = f" (and at {counted(more, 'more size')})" if more else ""
        words.append(f"bandwidth dips by {dip.depth:.0%} at {format_size(dip.bytes)}{rest}")
    return "".join(f"; {word}" for word in words)


def _compare(part: Part, other: MessageSweep, lead: MessageSweep) -> str:
    """A sweep against the one that leads, at the least and greatest size that both have.

    Its clause of the verdict, empty where it doesn't matter.
    """
    common = [size for size in lead.sizes if size in other.sizes]
    if not common:
        return ""
    told = ""
    this, that = _told_apart(other, lead)
    for size, metric, what in ((common[0], "latency", "Latency"), (common[-1], "latency", "Time")):
        if what == "Time" and size == common[0]:
            break
        mine, its = other.at(size), lead.at(size)
        value, interval = ratio(mine.metric, its.metric)
        part.evidence.append(
            Evidence(
                label=f"{what} {lead.reach} at {format_size(size)}, {this} / {that}",
                metric=metric,
                unit="",
                value=value,
                ci95=interval,
                limit=None,
                limit_source=None,
                share=None,
                share_ci95=None,
                cells=[mine.summary.id, its.summary.id],
                note=f"{_measured(mine)} / {_measured(its)}",
            )
        )
        alike = other.extra == lead.extra  # ways of sending are compared below the verdict
        if what == "Time" and alike and not _NOTABLE > value > 1 / _NOTABLE:
            told = (
                f"{this} takes {quantity_text(value, '', interval)} the time of {that} for "
                f"{format_size(size)}"
            )
    return told


def _told_apart(one: MessageSweep, other: MessageSweep) -> tuple[str, str]:
    """Names for two sweeps by nothing but what differs between them."""

    def words(sweep: MessageSweep, rest: MessageSweep) -> list[str]:
        said = [f"{name}={value}" for name, value in sweep.extra if (name, value) not in rest.extra]
        if sweep.toolchain != rest.toolchain:
            said.insert(0, sweep.toolchain)
        if sweep.placement.adapter != rest.placement.adapter:
            said.insert(0, sweep.placement.adapter or "the library's own adapter")
        return said

    mine, its = words(one, other), words(other, one)
    if not mine and not its:
        return one.name, other.name
    return " ".join(mine) or "the plain ping-pong", " ".join(its) or "the plain ping-pong"


def _gap(part: Part, cells: Sequence[CellSummary]) -> None:
    """g from the message rate with many messages under way, where it was measured."""
    rates = points(cells, KERNEL, "rate")
    if not rates:
        part.limits.append(
            "A ping-pong has one message under way, so o and g can't be told from L: it takes a "
            "message rate with a window of messages to tell g."
        )
        return
    smallest = min(size_of(point) for point in rates)
    point = max((p for p in rates if size_of(p) == smallest), key=lambda p: p.metric.median)
    part.headline.append(point)
    part.evidence.append(
        Evidence(
            label=f"Gap g between messages of {format_size(smallest)}",
            metric="gap",
            unit="s",
            value=1 / point.metric.median,
            ci95=_inverse(point.metric.ci95),
            limit=None,
            limit_source=None,
            share=None,
            share_ci95=None,
            cells=[point.summary.id],
            note=f"1 / message rate; mode={point.parameter('mode')} "
            f"window={point.parameter('window')}",
        )
    )


def _say_method(part: Part, found: Sequence[MessageSweep]) -> None:
    part.method.append(METHOD)
    if any(sweep.model for sweep in found):
        part.method.append(
            "LogGP (Culler et al. 1993; Alexandrov et al. 1995): straight lines through the times "
            "in pieces of the message size, as many as an F test at 1% supports; the intercept is "
            "L + 2o, the slope G. Intervals are across launches, and wider where sizes scatter "
            "around their line."
        )
    if any(sweep.reach == "between nodes" for sweep in found):
        part.limits.append(published_text())
    else:
        part.limits.append("No message left the node: this tells nothing of the links between.")
