"""The part of the answer on causes: why each work loses time."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import layout_text
from assay.models.placement.components import BETWEEN, CONTENTION
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part, merge
from assay.questions.common.ratios import Ratio, range_text
from assay.questions.common.selection import quantity_text
from assay.questions.placement.causes.breakdown import WorkBreakdown
from assay.questions.placement.causes.cpu_time_answer import cpu_time_part
from assay.questions.placement.causes.findings import CausesFindings
from assay.questions.placement.causes.forecasts_answer import forecasts_part
from assay.questions.placement.causes.losses import MIN_CAUSE, TimeLoss
from assay.units import counted, format_share

# Minimum share of the bandwidth at which memory is reported as saturated.
_SATURATED = 0.75
# Maximum possible share. If the share is larger, the formula's traffic includes accesses that
# caches served.
_POSSIBLE = 1.10

METHOD = (
    "Why: the ranks' phase timers break the time down. Computing time is compared with the "
    "computing time of one rank, divided by the cores. Time above it is memory contention, up to "
    "the slowdown of streams and other access patterns on the same number of cores; the rest of it "
    "is unexplained. Time below it is the cache effect. Waiting for the rank that computes longest "
    "is imbalance; the other time in communication phases is messages. Threads are compared with "
    "ranks of one thread on the same cores: additional computing time counts as threads. Shared "
    "cores are the effect of hardware threads that share a core. Intervals come from a bootstrap "
    "over launches. A cause is named if it is significantly the largest part of the loss and "
    f"exceeds {MIN_CAUSE:.0%} of the time."
)
_LIMIT_WAITING = (
    "Waiting within communication phases counts as messages if the late rank changes from phase to "
    "phase."
)
_LIMIT_IMBALANCE = (
    "Not all placements recorded the computing time of the slowest rank. Without this time, "
    "waiting for that rank counts as messages."
)
_LIMIT_STREAMS = (
    "No saturation curve of the memory was measured. Without it, memory contention can't be "
    "separated from other slowdowns with more ranks."
)
_LIMIT_NONE = (
    "The reasons for differences between placements were not measured: no work recorded its phases "
    "both at one rank per node and at several."
)


def part(found: CausesFindings) -> Part:
    """The causes. ``remark`` is the verdict's sentence; it is empty if nothing is known."""
    seen = [cpu_time_part(found.commands), forecasts_part(found.forecasts)]
    commands = merge(seen)
    commands.remark = " ".join(one.remark for one in seen if one.remark)
    if not found.works:
        if not commands.remark:
            commands.limits.append(_LIMIT_NONE)
        return commands
    works = found.works
    imbalance_known = all(one.split.imbalance_known for work in works for one in work.plain)
    causes = Part(
        evidence=[row for work in works for row in _evidence_rows(work)],
        method=[METHOD, *_prediction_method(found)],
        limits=[
            _LIMIT_WAITING,
            *([] if imbalance_known else [_LIMIT_IMBALANCE]),
            *_unsplit(works),
            *([] if works[0].streams_known else [_LIMIT_STREAMS]),
        ],
    )
    merged = merge([commands, causes])
    merged.remark = " ".join(filter(None, (_sentence(works), commands.remark)))
    return merged


def _sentence(works: Sequence[WorkBreakdown]) -> str:
    """The cause for each work on the most nodes; works without a known cause are combined."""
    most: dict[str, WorkBreakdown] = {}
    for work in works:
        most[work.name] = work  # the last one has the most nodes
    clauses: list[str] = []
    small: list[str] = []
    few: list[str] = []
    unclear: list[str] = []
    for work in most.values():
        causes = [cause_clause(work), across_clause(work)]
        clauses += [clause for clause in (*causes, choice_clause(work)) if clause]
        if None in causes:
            (unclear if work.certain else few).append(work.name)
        elif not any(causes):
            small.append(work.name)
    if small:
        clauses.append(f"{', '.join(small)}: close to perfect scaling")
    if unclear:
        clauses.append(f"{', '.join(unclear)}: unclear")
    if few:
        clauses.append(f"{', '.join(few)}: unclear, too few launches")
    return f"Why: {'; '.join(clauses)}."


def cause_clause(work: WorkBreakdown) -> str | None:
    """The cause that limits the gain of more ranks per node; empty if the loss is small, None if
    the cause is unclear.
    """
    loss = work.loss
    if loss is None or loss.small:
        return ""
    if loss.cause is None:
        return None
    more = work.beyond_knee
    if more is not None and more.ci95 is not None:
        return f"{_beyond_knee(work, more)}: {_cause_text(loss)}"
    return f"{work.name} loses {loss.cause.share.value:.0%} of its time: {_cause_text(loss)}"


def _beyond_knee(work: WorkBreakdown, more: Ratio) -> str:
    """``CG on 4 ranks runs at 0.99 to 1.02 of its speed on 2 ranks, which is not …``."""
    node = " per node" if work.nodes > 1 else ""
    most = work.full.placement.ppn
    few = counted(work.knee, "rank") + node
    found = more.compared()
    if found.direction == "open":
        return (
            f"{work.name} on {most} ranks{node} is not distinguishable from {few} "
            f"({range_text(found, more.ci95)} of the speed)"
        )
    speed = quantity_text(more.value, "", more.ci95)
    return f"{work.name} on {most} ranks{node} runs at {speed} its speed on {few}"


def across_clause(work: WorkBreakdown) -> str | None:
    """The cause that limits the gain of more nodes; empty if the loss is small, None if unclear."""
    loss = work.across
    if loss is None or loss.small:
        return ""
    if loss.cause is None:
        return None
    nodes = counted(work.nodes, "node")
    share = loss.cause.share.value
    return f"{work.name} loses {share:.0%} of its time on {nodes}: {_cause_text(loss)}"


def choice_clause(work: WorkBreakdown) -> str:
    """The time that the fastest placement saves over one rank per core; empty if unclear, or if the
    fastest is a plain placement.
    """
    loss = work.saving
    saving = None if loss is None or loss.leading is None else loss.leading.saving
    if loss is None or saving is None:
        return ""
    ranks = counted(loss.placement.ppn, "rank") + (" per node" if work.nodes > 1 else "")
    return (
        f"with {layout_text(loss.against)} {work.name} takes {loss.whole.value:.0%} less time than "
        f"with {ranks}: {saving}"
    )


def _cause_text(loss: TimeLoss) -> str:
    """The cause of a loss, with the number that supports it."""
    cause = loss.cause
    assert cause is not None and cause.component.cause is not None
    if cause.waiting is not None:
        return (
            f"ranks wait in communication {cause.waiting:.0f} times as long as their messages take "
            "in a ping-pong"
        )
    if cause.component is CONTENTION and cause.bandwidth is not None:
        if _SATURATED <= cause.bandwidth <= _POSSIBLE:
            return f"memory bandwidth is saturated at {min(cause.bandwidth, 1.0):.0%}"
        return cause.component.cause.format(slowdown=cause.slowdown)
    if cause.component is BETWEEN and loss.placement.ppn > 1:
        return "messages over the adapter that a node's ranks share"
    return cause.component.cause


def _evidence_rows(work: WorkBreakdown) -> list[Evidence]:
    """The losses of the most ranks per node, of more nodes, and of threads and bindings."""
    rows = []
    for loss, against in ((work.across, "on 1 node"), (work.loss, "with 1 rank per node")):
        if loss is not None:
            ranks, nodes = counted(loss.placement.ppn, "rank"), counted(work.nodes, "node")
            rows.append(
                _evidence(
                    loss,
                    f"{work.name}, time lost with {ranks} per node on {nodes}",
                    f"compared with the time {against}, scaled by the number of cores",
                )
            )
    for loss in (work.saving, work.threads):
        if loss is not None:
            one, other = layout_text(loss.placement), layout_text(loss.against)
            rows.append(
                _evidence(
                    loss,
                    f"{work.name} on {counted(work.nodes, 'node')}, {one}: additional time "
                    f"compared with {other}",
                    "difference of the two times over the time",
                )
            )
    return rows


def _evidence(loss: TimeLoss, label: str, against: str) -> Evidence:
    """A loss, its components, and the cells that it was computed from."""
    parts = [
        f"{component} {format_share(share.value, share.ci95)}"
        for component, share in sorted(loss.shares.items(), key=lambda item: -abs(item[1].value))
        if abs(share.value) >= MIN_CAUSE / 2
    ]
    if loss.bandwidth is not None and loss.bandwidth <= _POSSIBLE:
        parts.append(
            f"its traffic while computing (by formula) is {loss.bandwidth:.0%} of STREAM's best "
            "rate"
        )
    if loss.domains is not None and loss.domains > 1:
        parts.append(f"a rank's threads are on {loss.domains:g} NUMA nodes")
    return Evidence(
        label=label,
        metric="share of the time",
        unit="1",
        value=loss.whole.value,
        ci95=loss.whole.ci95,
        cells=list(loss.cells),
        note=against + (f"; of the time: {', '.join(parts)}" if parts else ""),
    )


def _unsplit(works: Sequence[WorkBreakdown]) -> list[str]:
    """The number of placements with threads or bindings that are not broken down, and why."""
    reasons: dict[str, int] = {}
    for work in works:
        for reason, count in work.unsplit.items():
            reasons[reason] = reasons.get(reason, 0) + count
    if not reasons:
        return []
    left = sum(reasons.values())
    all_ = left + sum(len(work.others) for work in works)
    listed = "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
    return [
        f"The time of {left} of {counted(all_, 'placement')} with threads, or another binding or "
        f"order, is not broken down: {listed}."
    ]


def _prediction_method(found: CausesFindings) -> list[str]:
    errors = found.errors
    if errors is None:
        return []
    return [
        "Predictions: a part of computing slows down as streams do when cores share memory; the "
        "rest scales with cores. Messages cost their ping-pong times, and all ranks of a node "
        "share its adapter. The model is fitted to one rank per node, and to the most ranks per "
        "node if another placement remains to be predicted. Its cost of threads is fitted to the "
        "most threads on the same number of cores. Errors over "
        f"{counted(errors.count, 'placement')}: median {errors.median:.0%}, maximum "
        f"{errors.most:.0%}."
    ]
