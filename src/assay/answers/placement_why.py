"""Why one placement is quicker than another: the cause of each work, where the evidence holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.answers.model import Evidence
from assay.answers.placement_data import how_text
from assay.answers.placement_outside import outside_part
from assay.answers.placement_why_data import Spot, Why, whys
from assay.answers.select import Part
from assay.kernels import known_kernel
from assay.plans.model import Placement
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted, format_share

if TYPE_CHECKING:
    from assay.models.placement_time import Loss, Split

# A part of the time under which it is not looked for a cause.
LITTLE = 0.02
# What is lost of the time below which a work is told to need no explanation.
_SCALES = 0.10
# From this share of the bandwidth on memory is called its limit.
_SATURATED = 0.75
# Above this the traffic can't have come from memory: the formula counts what caches kept.
_POSSIBLE = 1.10

# Times what ping-pong says from which on communication is waiting more than messages.
_FAR_MORE = 5.0

METHOD = (
    "Why: time is split by the ranks' own phase timers. Computing beyond one rank's share of it is "
    "memory contention as far as streams and other patterns of access slow each other down on as "
    "many cores, and unexplained beyond; computing that shrinks by more than its share is the "
    "caches' effect; what the ranks wait for the one that computes most is imbalance; the rest of "
    "their phases of communication is messages. Threads are held against ranks of one thread on "
    "the same cores: what they take longer to compute is threads, what threads that share a core "
    "change is shared cores. Intervals are by bootstrap over launches. A cause is named if it is "
    f"surely the greatest part of what is lost, and more than {LITTLE:.0%} of the time."
)
_LIMIT_WAITING = (
    "Ranks that are late in turn, not always the same, make others wait within phases of "
    "communication: that waiting counts as messages."
)
_LIMIT_SPREAD = (
    "How unevenly ranks compute was not told by all: what they wait for their slowest counts as "
    "messages."
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
            part.evidence += _evidences(why)
        part.method.append(METHOD)
        part.method += _prediction_method(found)
        part.limits.append(_LIMIT_WAITING)
        if not all(spot.split.spread_known for why in found for spot in why.spots):
            part.limits.append(_LIMIT_SPREAD)
        part.limits += _unsplit(found)
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
    clauses: list[str] = []
    fine: list[str] = []
    few: list[str] = []
    unclear: list[str] = []
    for why in most.values():
        told = [cause_clause(why), across_clause(why)]
        clauses += [clause for clause in (*told, choice_clause(why)) if clause]
        if None in told:
            (unclear if why.certain else few).append(why.name)
        elif not any(told):
            fine.append(why.name)
    if fine:
        clauses.append(f"{', '.join(fine)}: little is lost")
    if unclear:
        clauses.append(f"{', '.join(unclear)}: unclear")
    if few:
        clauses.append(f"{', '.join(few)}: unclear, too few launches")
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
    return f"{why.name} loses {share.value:.0%} of its time on {nodes}: {cause}"


def choice_clause(why: Why) -> str:
    """What the quickest placement saves over a rank on every core; empty where nobody knows, or
    it is placed the plainest way.
    """
    better = why.better
    if better is None:
        return ""
    leading = better.leading(LITTLE)
    saving = None if leading is None else _SAVINGS[leading]
    if saving is None:
        return ""
    quickest, most = why.ways[0].placement, counted(why.full.placement.ppn, "rank")
    return (
        f"with {how_text(quickest)} {why.name} takes {better.whole.value:.0%} less time than with "
        f"{most}{' a node' if why.nodes > 1 else ''}: {saving}"
    )


def _memory(why: Why, spot: Spot, loss: Loss) -> str | None:
    """Contention: named as the memory's only where a curve says that it can be."""
    from assay.models.placement_time import COMPUTE, CONTENTION

    used = why.used.get(spot.placement.ppn)
    if spot.crowded or used is None or why.machine.slowed(spot.split.placed) is None:
        return None
    if _SATURATED <= used <= _POSSIBLE:
        return f"memory bandwidth is saturated at {min(used, 1.0):.0%}"
    computing = spot.split.component(COMPUTE).value
    grown = spot.split.component(CONTENTION).value / computing
    return f"ranks that share memory take {1.0 + grown:.2f} times as long to compute"


def _imbalance(why: Why, spot: Spot, loss: Loss) -> str | None:
    return "ranks wait for the one that computes most"


def _within(why: Why, spot: Spot, loss: Loss) -> str | None:
    return _waiting(why, spot, loss) or "messages within the node"


def _between(why: Why, spot: Spot, loss: Loss) -> str | None:
    by = "messages between nodes"
    if spot.placement.ppn > 1:
        by = "messages over the adapter that a node's ranks share"
    return _waiting(why, spot, loss) or by


def _messages(why: Why, spot: Spot, loss: Loss) -> str | None:
    return _waiting(why, spot, loss) or "messages, within nodes and between them"


def _waiting(why: Why, spot: Spot, loss: Loss) -> str:
    """Where communication takes far longer than ping-pong says of its messages; empty if not."""
    from assay.models.placed import message_seconds
    from assay.models.placement_time import BETWEEN, WITHIN

    placed = loss.split.placed
    alone = message_seconds(placed, why.machine)
    if not alone:
        return ""
    kernel = known_kernel(why.cell.kernel)
    # Without pairs of their own ranks speak in collectives, which take rounds.
    rounds = 1 if kernel is None or kernel.peers is not None else (placed.ranks - 1).bit_length()
    spent = sum(loss.split.component(number).value for number in (WITHIN, BETWEEN))
    if spent <= _FAR_MORE * rounds * alone:
        return ""
    return (
        f"ranks wait in communication, {spent / alone:.0f} times as long as ping-pong takes for "
        "their messages"
    )


def _pieces(why: Why, spot: Spot, loss: Loss) -> str | None:
    return "smaller pieces take more computing in all"


# By component, and of all messages. Caches only save, what is unexplained explains nothing, and
# plain placements, of which this is told, have no threads.
_CAUSES: tuple[Callable[[Why, Spot, Loss], str | None], ...] = (
    _pieces,
    _memory,
    lambda why, spot, loss: None,
    lambda why, spot, loss: None,
    lambda why, spot, loss: None,
    _imbalance,
    _within,
    _between,
    lambda why, spot, loss: None,
    _messages,
)


# What a placement spends less on than a rank on every core, in the same order.
_SAVINGS: tuple[str | None, ...] = (
    None,
    "its cores wait less for memory",
    "more of its data stay in caches",
    "hardware threads use what a core's one thread leaves idle",
    None,
    "its ranks wait less for each other",
    "messages within the node take less",
    "messages between nodes take less",
    None,
    "messages take less",
)


def _evidences(why: Why) -> list[Evidence]:
    """What most ranks lose, on one node and over nodes, and what threads and bindings change."""
    made = []
    last = why.losses[-1] if why.losses else None
    for loss, against in ((why.across, "on 1 node"), (last, "with 1 rank a node")):
        if loss is not None:
            ranks, nodes = counted(loss.split.placed.ppn, "rank"), counted(why.nodes, "node")
            made.append(
                _evidence(
                    why,
                    loss,
                    f"{why.name}, time lost with {ranks} a node on {nodes}",
                    f"against its share of the time {against}",
                )
            )
    for loss in (why.better, why.by_threads):
        if loss is not None:
            one, other = (how_text(_placement(why, split)) for split in (loss.split, loss.against))
            nodes = counted(why.nodes, "node")
            made.append(
                _evidence(
                    why,
                    loss,
                    f"{why.name} on {nodes}, {one}: time beyond that with {other}",
                    "difference of the times over the time",
                )
            )
    return made


def _placement(why: Why, split: Split) -> Placement:
    return next(spot.placement for spot in (*why.spots, *why.ways) if spot.split is split)


def _evidence(why: Why, loss: Loss, label: str, against: str) -> Evidence:
    """A loss, what it is made of, and the cells that say so."""
    from assay.models.placement_time import COMPONENTS

    placement = loss.split.placed
    whole = loss.whole
    parts = []
    for number, name in sorted(enumerate(COMPONENTS), key=lambda item: -abs(loss.shares[item[0]])):
        share = loss.share(number)
        if abs(share.value) >= LITTLE / 2:
            parts.append(f"{name} {format_share(share.value, share.ci95)}")
    used = why.used.get(placement.ppn) if placement.threads == 1 else None
    if used is not None and used <= _POSSIBLE and loss is not why.across:
        parts.append(f"its traffic by formula is {used:.0%} of STREAM's best while it computes")
    seats = placement.seats
    if placement.threads > 1 and seats is not None and seats.reach > 1:
        parts.append(f"the threads of a rank are on {seats.reach:g} NUMA nodes")
    held = [each.name for each in loss.split.held_against]
    if loss.against.placed.name not in held:
        held += [each.name for each in loss.against.held_against]
    return Evidence(
        label=label,
        metric="share of the time",
        unit="1",
        value=whole.value,
        ci95=whole.ci95,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=list(dict.fromkeys(held)),
        note=against + (f"; of the time: {', '.join(parts)}" if parts else ""),
    )


def _unsplit(found: Sequence[Why]) -> list[str]:
    """How many placements with threads or bindings are not explained, and why."""
    reasons: dict[str, int] = {}
    for why in found:
        for reason, count in why.unsplit.items():
            reasons[reason] = reasons.get(reason, 0) + count
    if not reasons:
        return []
    left = sum(reasons.values())
    of = left + sum(len(why.ways) for why in found)
    told = "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
    return [
        f"Of {counted(of, 'placement')} with threads, bindings or orders of their own, the time of "
        f"{left} is not split: {told}."
    ]


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
        "and the most ranks a node, or from one alone, and for threads from the most threads on as "
        "many cores. Off by "
        f"{sorted(errors)[len(errors) // 2]:.0%} in the median over {len(errors)} placements, "
        f"{max(errors):.0%} at most."
    ]
