"""Why one placement is quicker than another: the cause of each work, where the evidence holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.answers.model import Evidence
from assay.answers.placement_outside import outside_part
from assay.answers.placement_why_data import Spot, Why, whys
from assay.answers.select import Part, counted
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import format_share

if TYPE_CHECKING:
    from assay.models.placement_time import Loss

# A part of the time under which it is not looked for a cause.
LITTLE = 0.02
# What is lost of the time below which a work is told to need no explanation.
_SCALES = 0.10
# From this share of the bandwidth on memory is called its limit.
_SATURATED = 0.60
# Above this the traffic can't have come from memory: the formula counts what caches kept.
_POSSIBLE = 1.10

METHOD = (
    "Why: time is split by the ranks' own phase timers. Computing beyond one rank's share of it is "
    "memory contention as far as streams and other patterns of access slow each other down on as "
    "many cores, and unexplained beyond; computing that shrinks by more than its share is the "
    "caches' effect; what the ranks wait for the one that computes most is imbalance; the rest of "
    "their phases of communication is messages. Intervals are by bootstrap over launches. A cause "
    "is named if it is surely the greatest part of what is lost, and more than "
    f"{LITTLE:.0%} of the time."
)
_LIMIT_WAITING = (
    "Ranks that are late in turn, not always the same, make others wait within phases of "
    "communication: that waiting counts as messages."
)
_LIMIT_NONE = (
    "Why one placement is quicker than another was not measured here: no work told its phases at "
    "one rank a node and at more."
)


def why_part(cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()) -> Part:
    """The causes; ``remark`` is the verdict's sentence, empty where nothing can be said."""
    found = whys(cells, run, history)
    part = outside_part(cells, run)
    sentences = [part.remark] if part.remark else []
    if found:
        for why in found:
            losses = [*([why.across] if why.across else []), *why.losses]
            part.evidence += [_evidence(why, loss) for loss in losses]
            part.evidence += _predicted(why)
        part.method.append(METHOD)
        part.method += _prediction_method(found)
        part.limits.append(_LIMIT_WAITING)
        if not found[0].machine.streams:
            part.limits.append(
                "No saturation curve of the memory was measured: whether computing slows down with "
                "more ranks by memory's doing can't be told."
            )
        sentences.insert(0, _sentence(found))
    if not sentences:
        part.limits.append(_LIMIT_NONE)
    part.remark = " ".join(sentence for sentence in sentences if sentence)
    return part


def _sentence(found: Sequence[Why]) -> str:
    """What holds each work back on the most nodes; works of which nothing can be said together."""
    most: dict[str, Why] = {}
    for why in found:
        most[why.name] = why  # numbers of nodes ascend
    clauses, fine, unclear = [], [], []
    for why in most.values():
        told = [cause_clause(why), across_clause(why)]
        clauses += [clause for clause in told if clause]
        if None in told:
            unclear.append(why.name)
        elif not any(told):
            fine.append(why.name)
    if fine:
        clauses.append(f"{', '.join(fine)}: little is lost")
    if unclear:
        clauses.append(f"{', '.join(unclear)}: unclear")
    return f"Why: {'; '.join(clauses)}."


def cause_clause(why: Why) -> str | None:
    """What keeps more ranks a node from bringing more; empty if little does, None if unclear."""
    if not why.losses:
        return ""
    last = why.spots[-1]
    loss = why.losses[-1]
    whole = loss.whole
    if whole.ci95 is not None and whole.ci95[1] < _SCALES:
        return ""
    leading = loss.leading(LITTLE)
    cause = None if leading is None else _CAUSES[leading](why, last, loss)
    if cause is None:
        return None
    knee = why.knee
    ranks = counted(knee.placement.ppn, "rank") + (" a node" if why.nodes > 1 else "")
    assert leading is not None
    share = loss.cause_share(leading)
    if knee is not last:
        return f"beyond {ranks} {why.name} gains nothing: {cause}"
    return f"{why.name} loses {share.value:.0%} of its time: {cause}"


def across_clause(why: Why) -> str | None:
    """What keeps more nodes from bringing more; empty if little does, None if unclear."""
    loss = why.across
    if loss is None:
        return ""
    whole = loss.whole
    if whole.ci95 is not None and whole.ci95[1] < _SCALES:
        return ""
    leading = loss.leading(LITTLE)
    cause = None if leading is None else _CAUSES[leading](why, why.spots[0], loss)
    if cause is None or leading is None:
        return None
    share = loss.cause_share(leading)
    nodes = counted(why.nodes, "node")
    return (
        f"{why.name} loses {format_share(share.value, share.ci95)} of its time on {nodes}: {cause}"
    )


def _memory(why: Why, spot: Spot, loss: Loss) -> str | None:
    """Contention: named as the memory's only where a curve says that it can be."""
    from assay.models.placement_time import COMPUTE, CONTENTION

    used = why.used.get(spot.placement.ppn)
    if spot.crowded or used is None or why.machine.slowdown(spot.placement.ppn) is None:
        return None
    if _SATURATED <= used <= _POSSIBLE:
        return f"memory bandwidth is saturated at {min(used, 1.0):.0%}"
    computing = spot.split.component(COMPUTE).value
    grown = spot.split.component(CONTENTION).value / computing
    return f"ranks that share memory take {1.0 + grown:.2f} times as long to compute"


def _imbalance(why: Why, spot: Spot, loss: Loss) -> str | None:
    return "ranks wait for the one that computes most"


def _within(why: Why, spot: Spot, loss: Loss) -> str | None:
    return "messages within the node"


def _between(why: Why, spot: Spot, loss: Loss) -> str | None:
    if spot.placement.ppn == 1:
        return "messages between nodes"
    return "messages over the adapter that a node's ranks share"


def _messages(why: Why, spot: Spot, loss: Loss) -> str | None:
    return "messages, within nodes and between them"


def _pieces(why: Why, spot: Spot, loss: Loss) -> str | None:
    return "smaller pieces take more computing in all"


# By component, and of all messages. Caches only save, and what is unexplained explains nothing.
_CAUSES: tuple[Callable[[Why, Spot, Loss], str | None], ...] = (
    _pieces,
    _memory,
    lambda why, spot, loss: None,
    _imbalance,
    _within,
    _between,
    lambda why, spot, loss: None,
    _messages,
)


def _evidence(why: Why, loss: Loss) -> Evidence:
    """What a placement loses of its time against its share of one rank a node's."""
    from assay.models.placement_time import COMPONENTS

    placement = loss.split.placed
    whole = loss.whole
    parts = []
    for number, name in sorted(enumerate(COMPONENTS), key=lambda item: -abs(loss.shares[item[0]])):
        share = loss.share(number)
        if abs(share.value) >= LITTLE / 2:
            parts.append(f"{name} {format_share(share.value, share.ci95)}")
    used = why.used.get(placement.ppn)
    if used is not None and used <= _POSSIBLE and loss is not why.across:
        parts.append(f"its traffic by formula is {used:.0%} of STREAM's best while it computes")
    alone, apart = loss.split.alone, loss.split.apart
    against = "on 1 node" if loss is why.across else "with 1 rank a node"
    cells = [each.name for each in (placement, alone, apart) if each is not None]
    return Evidence(
        label=f"{why.name}, time lost with {counted(placement.ppn, 'rank')} a node on "
        f"{counted(why.nodes, 'node')}",
        metric="share of the time",
        unit="1",
        value=whole.value,
        ci95=whole.ci95,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=list(dict.fromkeys(cells)),
        note=f"against its share of the time {against}"
        + (f"; of the time: {', '.join(parts)}" if parts else ""),
    )


def _predicted(why: Why) -> list[Evidence]:
    """The model's times beside those measured."""
    made = []
    known = " and ".join(map(str, why.made_from))
    for spot, prediction in why.predictions:
        time = spot.point.metric.median
        made.append(
            Evidence(
                label=f"{why.name}, predicted with {counted(spot.placement.ppn, 'rank')} a node on "
                f"{counted(why.nodes, 'node')}",
                metric="time",
                unit="s",
                value=prediction.time,
                ci95=None,
                limit=time,
                limit_source="the time measured there",
                share=prediction.time / time,
                share_ci95=None,
                cells=[spot.point.summary.id],
                note=f"by the contention model, from {known} a node",
            )
        )
    return made


def _prediction_method(found: Sequence[Why]) -> list[str]:
    errors = [
        abs(prediction.time / spot.point.metric.median - 1.0)
        for why in found
        for spot, prediction in why.predictions
    ]
    if not errors:
        return []
    return [
        "Predictions: cores compute, a part of it as streams do when cores share them; messages "
        "cost what ping-pong says, and all ranks of a node share its adapter; made from the fewest "
        "and the most ranks a node, or from one alone. Off by "
        f"{sorted(errors)[len(errors) // 2]:.0%} in the median over {len(errors)} placements, "
        f"{max(errors):.0%} at most."
    ]
