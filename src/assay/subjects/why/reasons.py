"""The reasons that a program isn't faster, each with its cost, its place and the change to try."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from statistics import median

from assay.models.program.losses.turns import SharedTime
from assay.models.program.losses.waiting import WaitKind
from assay.models.program.prediction import BETWEEN_LAUNCHES
from assay.subjects.profile.sampled.model import SampledCode, SampledFindings
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.why.costs import LaunchCost, cost_of, outcome_of
from assay.subjects.why.measures import LateRank, LaunchMeasures
from assay.subjects.why.model import NODE_REASONS, ReasonName, WhyReason
from assay.subjects.why.node import RankNode
from assay.subjects.why.rows import reason_row, unknown_row
from assay.units import capitalised, counted, format_duration, format_share

_WAITS: dict[WaitKind, ReasonName] = {
    "imbalance": "imbalance",
    "late sender": "late sender",
    "serial": "serial part",
    "dependencies": "dependencies",
}


def node_reasons(launches: Sequence[LaunchMeasures], middle: LaunchMeasures) -> list[WhyReason]:
    """What the nodes take, by reason."""
    return [_node_reason(name, launches, middle) for name in NODE_REASONS]


def _node_reason(
    name: ReasonName, launches: Sequence[LaunchMeasures], middle: LaunchMeasures
) -> WhyReason:
    time = middle.seconds
    cost = cost_of(
        [one.scaled(one.parts.node * _node_share(one.nodes, name), time) for one in launches], time
    )
    known = any(one.without_cpu is not None for one in middle.nodes)
    if name == "slow CPU":
        known = any(one.speed is not None for one in middle.nodes)
    if not known:
        alone = name == "slow CPU" and len(middle.nodes) < 2
        why = (
            "One rank has no other CPU to compare with."
            if alone
            else "The ranks recorded nothing of it on their nodes."
        )
        return unknown_row(name, why)
    worst = max(middle.nodes, key=lambda one: _lost(one, name), default=None)
    outcome = outcome_of(cost, time)
    if worst is None or _lost(worst, name) <= 0.0:
        return reason_row(name, outcome, cost, time, evidence=_NODE_NOTHING[name])
    where = f"rank {worst.rank} on {worst.host}"
    if worst.cpus:
        where += f", CPUs {worst.cpus}"
    return reason_row(
        name, outcome, cost, time, where=where, evidence=_node_evidence(name, worst, middle),
        change=_NODE_CHANGES[name], gain=cost.seconds,
    )  # fmt: skip


def _lost(one: RankNode, name: ReasonName) -> float:
    if name == "slow CPU":
        return one.lost_slow
    return one.lost_waiting if one.reason == name else 0.0


def _node_share(nodes: Sequence[RankNode], name: ReasonName) -> float:
    """Share of a reason in what the worst ranks lost. The worst rank delays all others."""
    most = max((one.lost for one in nodes), default=0.0)
    if most <= 0.0:
        return 0.0
    worst = [one for one in nodes if one.lost >= 0.5 * most]
    return sum(_lost(one, name) for one in worst) / sum(one.lost for one in worst)


_NODE_NOTHING: dict[ReasonName, str] = {
    "CPU quota": "No quota held a rank back.",
    "binding": "No more ranks than CPUs share a set of CPUs.",
    "other processes": "The ranks had their CPUs.",
    "slow CPU": "The CPUs of all ranks are equally fast.",
}
_NODE_CHANGES: dict[ReasonName, str] = {
    "CPU quota": "Raise or remove the CPU quota of the control group (cpu.max), or ask the "
    "scheduler for as many CPUs as ranks.",
    "binding": "Give each rank a CPU of its own: change the launcher's binding (--bind-to core) or "
    "start fewer ranks per node.",
    "other processes": "Run on a node without other processes, or end them.",
    "slow CPU": "Run without this node, and examine it with `assay check` and `assay doctor`.",
}


def _node_evidence(name: ReasonName, worst: RankNode, middle: LaunchMeasures) -> str:
    if name == "slow CPU":
        return (
            f"The CPU of rank {worst.rank} runs at {format_share(worst.speed)} of the speed of the "
            "others in a chain of dependent operations."
        )
    had = f"Rank {worst.rank} had no CPU for {format_share(worst.waiting_share)} of its time"
    if name == "CPU quota":
        return f"{had}; its control group was held back for {format_duration(worst.held)}."
    if name == "binding":
        same = [one for one in middle.nodes if (one.host, one.cpus) == (worst.host, worst.cpus)]
        return (
            f"{had}: {counted(len(same), 'rank')} of {worst.host} may use only CPUs {worst.cpus}."
        )
    load = next((one for one in middle.loads if one.host == worst.host), None)
    if load is None:
        return f"{had}."
    return (
        f"{had}: other processes used {load.others:.2g} of the {counted(load.online, 'CPU')} of "
        f"{load.host}."
    )


def waiting_reasons(
    launches: Sequence[LaunchMeasures],
    middle: LaunchMeasures,
    traced: TraceFindings,
    sampled: SampledFindings | None,
) -> list[WhyReason]:
    """Imbalance, late senders, serial parts and dependencies."""
    found = []
    for kind, name in _WAITS.items():
        time = middle.seconds
        cost = cost_of([one.scaled(one.waiting[kind], time) for one in launches], time)
        late = middle.late.get(kind)
        gain = _gain(late, cost, traced)
        found.append(
            reason_row(
                name, outcome_of(cost, time), cost, time,
                where="" if late is None else look_first(late, sampled),
                evidence=_waiting_evidence(kind, late),
                change="" if late is None else _waiting_change(kind, late),
                gain=gain,
            )
        )  # fmt: skip
    return found


def look_first(late: LateRank, sampled: SampledFindings | None) -> str:
    """The rank and the place to look at first.

    The place is known by the calls of MPI around the computing. Samples show the function that the
    waiting for this rank is owed to, and the line of it with the most time.
    """
    text = f"rank {late.rank} on {late.host}, computing from {late.place}"
    owed = [] if sampled is None or sampled.owed is None else sampled.owed.functions
    function = next((one for one in owed if one.rank == late.rank and one.ci95[0] > 0.0), None)
    if sampled is None or function is None:
        return text
    line = next(
        (
            one
            for one in sampled.lines
            if (one.function, one.module) == (function.function, function.module)
        ),
        None,
    )
    return f"{text}, in {function.function if line is None else code_text(line)}"


def code_text(code: SampledCode) -> str:
    """A function and its line."""
    if not code.line:
        return code.function
    return f"{code.function} ({PurePath(code.file).name}:{code.line})"


def _gain(late: LateRank | None, cost: LaunchCost, traced: TraceFindings) -> float:
    """The gain by the execution graph, where it was estimated for this place."""
    for origin in traced.origins:
        if late is None or (origin.rank, origin.place) != (late.rank, late.place):
            continue
        if origin.gain is not None:
            return min(origin.gain, cost.seconds)
    return cost.seconds


def _waiting_evidence(kind: WaitKind, late: LateRank | None) -> str:
    if late is None:
        return "No rank waits for this."
    own, others = format_duration(late.own), format_duration(late.others)
    if kind == "imbalance":
        return f"Rank {late.rank} computes for {own} there, the others for {others} on average."
    if kind == "dependencies":
        return "The ranks compute there for equally long, but one after another."
    waits = "wait for its message" if kind == "late sender" else "wait"
    return f"Rank {late.rank} computes for {own} there; the others compute {others} and {waits}."


def _waiting_change(kind: WaitKind, late: LateRank) -> str:
    if kind == "imbalance":
        return f"Give rank {late.rank} less of this work, so that all ranks compute equally long."
    if kind == "late sender":
        return (
            f"Send earlier in {late.call}: compute what the message doesn't need after it, or "
            "share this work."
        )
    if kind == "serial":
        return f"Share the work that only rank {late.rank} does before {late.call}."
    return "Let ranks begin without the others' results: smaller blocks, or another order."


def memory_reason(shared: Sequence[SharedTime], middle: LaunchMeasures, problem: str) -> WhyReason:
    """What ranks of a node take from each other while they compute.

    ``shared``: a comparison with each plain launch; ``problem``: why there is none, as a sentence.
    """
    name: ReasonName = "memory bandwidth"
    time, computing = middle.seconds, middle.parts.computing
    known = [one for one in shared if not one.problem]
    if not known:
        return unknown_row(name, f"{capitalised(shared[0].problem)}." if shared else problem)
    cost = cost_of([one.share * computing for one in known], time)
    # One launch in turn doesn't show how such launches vary.
    more = BETWEEN_LAUNCHES * computing
    cost = LaunchCost(cost.seconds, max(cost.low - more, 0.0), cost.high + more)
    ratio = median([one.alone / one.together for one in known])
    evidence = f"Computing takes {format_share(ratio)} of its time when ranks compute in turn."
    outcome = outcome_of(cost, time)
    if outcome == "stands out":
        evidence += " The ranks of a node take memory bandwidth or a cache from each other."
    return reason_row(
        name, outcome, cost, time,
        evidence=evidence,
        change="Start fewer ranks per node, or let each pass over memory do more work (blocking, "
        "smaller data types). Keep what several ranks write in different cache lines.",
        gain=cost.seconds,
    )  # fmt: skip


def ranks_reason(launches: Sequence[LaunchMeasures], middle: LaunchMeasures) -> WhyReason:
    """Whether fewer ranks would be faster, if the work is divided among them."""
    name: ReasonName = "too many ranks"
    time = middle.seconds
    if middle.grain is None:
        return unknown_row(name, middle.unmodelled or "The run wasn't modelled.")
    ranks = middle.grain.ranks
    choices = [ranks >> power for power in range(1, ranks.bit_length())]
    if not choices:
        return reason_row(
            name, "small", LaunchCost(0.0, 0.0, 0.0), time, evidence="There is one rank."
        )
    best = min(choices, key=lambda number: _with_ranks(middle, number))
    cost = cost_of(
        [one.scaled(one.seconds - _with_ranks(one, best), time) for one in launches], time
    )
    outcome = outcome_of(cost, time)
    predicted = format_duration(max(time - cost.seconds, 0.0))
    return reason_row(
        name, outcome, cost, time,
        evidence=f"With {counted(best, 'rank')} the run would take {predicted}, if the same work "
        "is divided among them."
        if cost.seconds > 0.0
        else "With fewer ranks the run would take longer.",
        change=f"Run with {counted(best, 'rank')}.",
        gain=cost.seconds,
    )  # fmt: skip


def _with_ranks(one: LaunchMeasures, number: int) -> float:
    """Run time with another number of ranks, s: computing is divided, waiting stays."""
    if one.grain is None:
        return one.seconds
    computing = one.parts.computing * one.grain.ranks / number
    if number == 1:
        return computing
    ratio = one.grain.at(number).ratio
    return computing + one.parts.waiting + (computing / ratio if ratio > 0.0 else 0.0)
