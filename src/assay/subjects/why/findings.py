"""Findings on why a program isn't faster, from its launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from assay.models.program.losses.turns import SharedTime
from assay.subjects.profile.sampled.model import SampledFindings
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.why.costs import FEW, LEAST, cost_of
from assay.subjects.why.measures import LaunchMeasures
from assay.subjects.why.model import (
    NODE_REASONS,
    REASONS,
    WHY_FINDINGS_SCHEMA,
    WhyFindings,
    WhyLaunchTime,
    WhyRank,
    WhyReason,
)
from assay.subjects.why.network import network_reasons
from assay.subjects.why.reasons import (
    memory_reason,
    node_reasons,
    ranks_reason,
    waiting_reasons,
)
from assay.trace.launches import OtherProcess, WhyRun
from assay.trace.model import NO_CPU, ProgramProfile
from assay.units import counted, counted_verb, format_share

# Launches whose run times differ by more than this share of their median don't agree.
_DIFFERENT = 0.25
# Share of its time without a CPU, of the rank with the most, from which a machine is busy.
_BUSY = 0.15
# Share of the most without a CPU from which the other ranks are disturbed, too.
_EVERYWHERE = 0.5
_MOST_OTHERS = 5


def find(
    run: WhyRun,
    profile: ProgramProfile,
    traced: TraceFindings,
    launches: Sequence[LaunchMeasures],
    shared: Sequence[SharedTime],
    turn_seconds: Sequence[float] = (),
    sampled: SampledFindings | None = None,
) -> WhyFindings:
    """The findings.

    ``run``: all launches; ``launches``: measures of the plain ones. ``profile``, ``traced`` and
    ``sampled``: of the median plain launch. ``shared``: each plain launch compared with the launch
    in which ranks computed in turn; empty without one. ``turn_seconds``: run times of such
    launches, s.
    """
    middle = median_launch(launches)
    no_time = next((text for text in run.left_out if "in turn" in text), _NO_TURNS)
    problem = "" if shared else no_time
    reasons = [
        *node_reasons(launches, middle),
        *network_reasons(launches, middle, traced),
        *waiting_reasons(launches, middle, traced, sampled),
        memory_reason(shared, middle, problem),
        ranks_reason(launches, middle),
    ]
    reasons.sort(key=lambda one: REASONS.index(one.name))
    undecided = _undecided(launches, middle, reasons)
    first = "" if undecided else _first(reasons, traced)
    seconds = [one.seconds for one in launches]
    time = cost_of(seconds, middle.seconds)
    return WhyFindings(
        schema=WHY_FINDINGS_SCHEMA,
        command=run.command,
        status=profile.run.status,
        utc=run.utc,
        mpi=profile.run.mpi,
        ranks=traced.ranks,
        hosts=traced.hosts,
        seconds=middle.seconds,
        low=time.low,
        high=time.high,
        computing=median([one.scaled(one.parts.computing, middle.seconds) for one in launches]),
        launches=_launch_times(run, seconds, turn_seconds),
        budget=run.budget,
        first=first,
        undecided=undecided,
        reasons=_sure(reasons, first, undecided),
        hottest=sampled.lines[0] if sampled is not None and sampled.lines else None,
        by_rank=_ranks(profile, middle),
        others=_others(run),
        unknown=[
            *(text for text in run.left_out if text != problem),
            *_unknown(profile, traced, launches),
        ],
    )


_NO_TURNS = "No launch let the ranks of a node compute in turn."


def median_launch(launches: Sequence[LaunchMeasures]) -> LaunchMeasures:
    """The launch of median run time; of an even number the shorter of the middle two."""
    return sorted(launches, key=lambda one: one.seconds)[(len(launches) - 1) // 2]


def _first(reasons: Sequence[WhyReason], traced: TraceFindings) -> str:
    """The first reason: of the node, since it touches all other times, else the greatest cost.

    Fewer ranks are an alternative to the cure of latency, not a further cost. They come first
    where small messages can't be joined.
    """
    out = [one for one in reasons if one.outcome == "stands out"]
    nodes = [one for one in out if one.name in NODE_REASONS]
    if nodes:
        return _costliest(nodes).name
    ranks = next((one for one in out if one.name == "too many ranks"), None)
    others = [one for one in out if one is not ranks]
    if not others:
        return ranks.name if ranks else ""
    first = _costliest(others)
    if ranks is not None and first.name in ("latency", "dependencies"):
        joined = traced.in_a_row[0].gain if traced.in_a_row else 0.0
        if joined < 0.5 * (first.seconds or 0.0):
            return ranks.name
    return first.name


def _sure(reasons: Sequence[WhyReason], first: str, undecided: str) -> list[WhyReason]:
    """Nothing else stands out where the node changes all times, or where nothing is decided."""
    if not undecided and first not in NODE_REASONS:
        return list(reasons)
    kept = () if undecided else NODE_REASONS
    return [
        replace(one, outcome="undecided", change="", gain=None)
        if one.outcome == "stands out" and one.name not in kept
        else one
        for one in reasons
    ]


def _costliest(reasons: Sequence[WhyReason]) -> WhyReason:
    return max(reasons, key=lambda one: one.seconds or 0.0)


def _undecided(
    launches: Sequence[LaunchMeasures], middle: LaunchMeasures, reasons: Sequence[WhyReason]
) -> str:
    """Why nothing is decided, as a clause; "" if it is.

    Other processes that disturb one rank or one host in every launch are a reason. If they disturb
    all ranks, or others in each launch, the machine was busy.
    """
    node = next(one for one in reasons if one.name == "other processes")
    caused = (
        any(one.outcome == "stands out" for one in reasons if one.name in NODE_REASONS[:2])
        or next(one for one in reasons if one.name == "slow CPU").outcome == "stands out"
    )
    cost = median([one.scaled(one.parts.node, 1.0) for one in launches])
    waits = median([one.without_cpu for one in launches])
    if not caused and (cost >= LEAST or waits >= _BUSY) and not _steady(launches):
        load = max((one.others for one in middle.loads), default=0.0)
        online = sum(one.online for one in middle.loads)
        share = format_share(max(one.without_cpu for one in launches))
        text = f"the machine was busy: ranks had no CPU for up to {share} of their time"
        return f"{text}; other processes used {load:.2g} of {online} CPUs" if online else text
    seconds = [one.seconds for one in launches]
    spread = (max(seconds) - min(seconds)) / middle.seconds if middle.seconds > 0.0 else 0.0
    if spread > _DIFFERENT and not caused and node.outcome != "stands out":
        return f"launches differ by {format_share(spread)} of the run time"
    return ""


def _steady(launches: Sequence[LaunchMeasures]) -> bool:
    """Whether the same ranks lack their CPUs in every launch, and others have theirs.

    In two launches some ranks do by chance, so they must be all that lack their CPUs in either.
    """
    sets = []
    for one in launches:
        most = one.without_cpu
        if most <= NO_CPU:
            return False
        disturbed = {n.rank for n in one.nodes if n.waiting_share > _EVERYWHERE * most}
        if len(disturbed) == len(one.nodes):
            return False
        sets.append(disturbed)
    return bool(set.intersection(*sets)) and (len(sets) > 2 or sets[0] == sets[-1])


def _launch_times(
    run: WhyRun, seconds: Sequence[float], turns: Sequence[float]
) -> list[WhyLaunchTime]:
    left = {"plain": list(seconds), "in turn": list(turns)}
    return [
        WhyLaunchTime(one.kind, left[one.kind].pop(0), one.wall)
        for one in run.launches
        if left[one.kind]
    ]


def _ranks(profile: ProgramProfile, middle: LaunchMeasures) -> list[WhyRank]:
    nodes = {one.rank: one for one in middle.nodes}
    found = []
    for one in profile.ranks:
        rank = -1 if one.header.rank is None else one.header.rank
        node = nodes.get(rank)
        found.append(
            WhyRank(
                rank=rank,
                host=one.header.host,
                cpus="" if node is None else node.cpus,
                computing=one.computing,
                mpi=one.inside,
                without_cpu=None if node is None else node.without_cpu,
                held=None if node is None else node.held,
                speed=None if node is None else node.speed,
            )
        )
    return found


def _others(run: WhyRun) -> list[OtherProcess]:
    """The busiest other processes over the plain launches."""
    sums: dict[str, float] = {}
    plain = [one for one in run.launches if one.kind == "plain"]
    for launch in plain:
        for process in launch.others:
            sums[process.name] = sums.get(process.name, 0.0) + process.cpus / len(plain)
    ordered = sorted(sums.items(), key=lambda item: -item[1])[:_MOST_OTHERS]
    return [OtherProcess(name, cpus) for name, cpus in ordered]


def _unknown(
    profile: ProgramProfile, traced: TraceFindings, launches: Sequence[LaunchMeasures]
) -> list[str]:
    found = list(traced.unknown)
    if profile.absent:
        found.append(f"{counted(len(profile.absent), 'rank')} wrote no profile.")
    if len(launches) < FEW:
        found.append(
            f"{counted_verb(len(launches), 'plain launch', 'do')} not show how times vary. "
            "Intervals assume that launches differ by 5%."
        )
    return found
