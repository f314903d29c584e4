"""The answer on the fabric: groups of nodes, slow nodes and pairs, hops of rings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.hostnames import compress_hosts
from assay.models.network.topology import FALSE_ALARMS, MIN_NODES, PairSample
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part, merge
from assay.questions.common.selection import Point, evidence, quantity_text
from assay.questions.network.fabric.bisections_answer import bisections_part
from assay.questions.network.fabric.findings import (
    FabricFindings,
    GroupLevel,
    PairFindings,
    SlowLink,
    SlowMember,
)
from assay.questions.network.fabric.matrices import LaunchRatio, RingHops
from assay.questions.network.fabric.ring_groups import NOTICED, RingGroups
from assay.questions.network.parameters import message_bytes
from assay.stats.compare.chosen import chosen_interval
from assay.stats.core.intervals import Estimate
from assay.units import counted, format_duration, format_quantity, format_size

_MAX_NAMED, _MAX_LENGTH = 8, 60  # names; characters of compressed names
_METHOD_OF_SAMPLES = (
    " In a sample of all pairs, groups are communities of nodes whose pairs are fast, also in "
    "launches that the search did not use."
)


def part(found: FabricFindings) -> Part | None:
    """The part on pairs, rings and bisections; None if it has no evidence."""
    fabric = merge(
        [
            _pairs(found.pairs),
            _rings(found.rings),
            _ring_groups(found.ring_groups),
            bisections_part(found.cuts),
        ]
    )
    fabric.limits = list(dict.fromkeys(fabric.limits))
    return fabric if fabric.evidence else None


def plain_remark(found: FabricFindings) -> str:
    """The clause of the verdict if no result stands out."""
    rings = [ring for ring in found.rings if ring.point.parameter("mode") == "token"]
    if rings:
        ring = rings[0]
        size = format_size(message_bytes(ring.point))
        time = format_duration(ring.point.metric.median)
        hops = [hop.time for hop in ring.hops]
        span = f"{format_duration(min(hops))} to {format_duration(max(hops))} per hop"
        return (
            f"a message of {size} takes {time} around the ring, {span}; no hop and no group of "
            "nodes deviates beyond chance"
        )
    return "no node, pair or hop deviates beyond chance"


def _pairs(matrices: Sequence[PairFindings]) -> Part:
    """Evidence and advice on pairs; the remark names groups and each slow node or pair."""
    part = Part()
    clauses: dict[str, None] = {}
    for found in matrices:
        part.headline.append(found.point)
        part.evidence += _pair_rows(found)
        for level in found.levels:
            _level(part, found, level)
        for slow in (
            *(_slow_member(found, one) for one in found.slow_members),
            *(_slow_link(found, one) for one in found.slow_links),
        ):
            part.evidence += slow.evidence
            if slow.remark not in clauses:
                clauses[slow.remark] = None
                part.advice += slow.advice
        _limit_of_pairs(part, found)
    if matrices:
        rate = (
            f" The probability of a false alarm is at most {FALSE_ALARMS:.0%} for groups, and as "
            "much for slow nodes and slow pairs in total."
        )
        few = all(found.too_few_launches for found in matrices)
        whole = any(found.levels and found.sample is None for found in matrices)
        agreed = " Each launch shows the reported groups by itself."
        part.method.append(
            "Pairs: ping-pong between every two members, one pair at a time unless marked "
            "concurrent; the time is half a round trip, median over passes and launches."
            + ("" if few else rate)
            + (agreed if few and whole else "")
            + (_METHOD_OF_SAMPLES if any(found.sample for found in matrices) else "")
        )
    grouped = [found for found in matrices if found.levels]
    searched = [found for found in matrices if found.searched]
    of_groups = [_groups_clause(found) for found in (grouped or searched)[:1]]
    part.remark = "; ".join([*of_groups, *clauses])
    return part


def _pair_rows(found: PairFindings) -> list[Evidence]:
    """Evidence on all pairs, the slowest pair, and pairs between nodes against pairs within."""
    size = format_size(found.bytes)
    concurrent = " (concurrent)" if found.together else ""
    rows = [
        evidence(
            f"Median of all pairs{concurrent}, {size}",
            found.point,
            "latency",
            note=f"{counted(len(found.names), found.unit)}, half a round trip",
        )
    ]
    if found.slowest is not None:
        label = f"Slowest pair{concurrent}, {size}"
        rows.append(evidence(label, found.slowest, "slowest", note="of each pass"))
    if found.across_nodes is not None:
        label = f"Pairs between nodes against pairs within, {size}"
        rows.append(_ratio_row(label, found.point, found.across_nodes))
    return rows


def _groups_clause(found: PairFindings) -> str:
    members = counted(len(found.names), found.unit)
    sample = found.sample
    part = f" in {_share_of_pairs(sample)}" if sample else ""
    if sample and sample.groups == "open":
        return f"it is undecided whether {members} form groups: {_more(found, sample)}"
    if not found.levels:
        return f"no groups were found among {members}{part}"
    level = found.levels[-1]
    groups = counted(len(level.groups), "group")
    return (
        f"{groups} were found among {members}{part}; messages take {_times(level.times)} as long "
        "between groups"
    )


def _share_of_pairs(sample: PairSample) -> str:
    return f"{sample.pairs:,} of {sample.in_all:,} pairs"


def _more(found: PairFindings, sample: PairSample) -> str:
    """The number of further pairs that would decide it, and the rounds and launches they take."""
    rounds = math.ceil(sample.more / (len(found.names) // 2))
    each = sample.pairs / max(len(found.matrix.pairs.launches), 1)
    launches = counted(math.ceil(sample.more / each), "launch")
    return (
        f"{sample.more:,} more pairs would decide it ({counted(rounds, 'round')}, or {launches} "
        "of the same size as before)"
    )


def _level(part: Part, found: PairFindings, level: GroupLevel) -> None:
    groups, size = counted(len(level.groups), "group"), format_size(found.bytes)
    label = f"Pairs between {groups} against pairs within, {size}"
    part.evidence.append(_ratio_row(label, found.point, level.times))
    part.advice.append(
        f"The {found.unit}s form {groups} ({_named_groups(level)}): messages of {size} take "
        f"{_times(level.times)} as long between groups. Place ranks that communicate most with "
        "each other in one group."
    )


def _times(times: LaunchRatio) -> str:
    return quantity_text(times.value, "", times.ci95)


def _slow_member(found: PairFindings, slow: SlowMember) -> Part:
    """Evidence and advice on a slow member; the remark names it."""
    size = format_size(found.bytes)
    label = f"All pairs of {slow.name} against other pairs, {size}"
    remark = f"{slow.name} is slow in all its pairs"
    return Part(
        remark=remark,
        evidence=[_ratio_row(label, found.point, slow.times)],
        advice=[
            f"{remark}: its messages of {size} take {_times(slow.times)} as long. Check its "
            "cable, its switch port, and its adapter's speed and error counters."
        ],
    )


def _slow_link(found: PairFindings, slow: SlowLink) -> Part:
    """Evidence and advice on a slow pair; the remark names it."""
    size = format_size(found.bytes)
    label = f"{slow.one} with {slow.other} against other pairs, {size}"
    remark = f"{slow.one} and {slow.other} are slow with each other"
    return Part(
        remark=remark,
        evidence=[_ratio_row(label, found.point, slow.times)],
        advice=[
            f"{remark}: messages of {size} take {_times(slow.times)} as long as in other pairs, "
            "although neither is slow in its other pairs. Check the path between them: routes, "
            "links between switches."
        ],
    )


def _limit_of_pairs(part: Part, found: PairFindings) -> None:
    """Why groups were not searched for, or what a sample of the pairs can't show."""
    if found.too_few and not found.too_few_launches:
        part.limits.append(
            f"With fewer than {MIN_NODES} {found.unit}s, groups can't be distinguished from chance."
        )
    sample = found.sample
    if sample is None:
        return
    measured = (
        f"{_share_of_pairs(sample)} were measured, a random sample with the same number of pairs "
        f"for each {found.unit}"
    )
    if sample.groups == "open":
        part.limits.append(f"{measured}: too few to decide on groups. {_more(found, sample)}.")
        return
    alone = counted(sample.alone, found.unit)
    part.limits.append(
        f"{measured}: the sample can't show groups of fewer than about {sample.smallest} "
        f"{found.unit}s."
        + (f" {alone} could not be assigned to a group." if found.levels and sample.alone else "")
    )


def _rings(rings: Sequence[RingHops]) -> Part:
    """Evidence and advice on rings; the remark names hops that are outliers."""
    part = Part()
    clauses: dict[str, None] = {}
    for ring in rings:
        size = format_size(message_bytes(ring.point))
        mode, route = ring.point.parameter("mode"), ring.point.parameter("route")
        way = f"{'concurrent' if mode == 'together' else 'token'}, {route} order, {size}"
        hops = f"{counted(len(ring.hops), 'hop')}; {_kinds(ring)}"
        part.evidence.append(evidence(f"Ring, {way}", ring.point, "time", note=hops))
        slow = [(hop, hop.excess) for hop in ring.hops if hop.excess]
        for hop, excess in slow:
            label = f"Hop from {hop.sender} to {hop.receiver} against other hops of its kind"
            part.evidence.append(_ratio_row(label, ring.point, excess, f"ring, {way}"))
        if slow:
            names = _shortened([f"{hop.sender} to {hop.receiver}" for hop, _ in slow])
            outliers = f"{'is an outlier' if len(slow) == 1 else 'are outliers'}: {names}"
            hops = counted(len(slow), "hop")
            part.advice.append(
                f"In the ring ({way}) {hops} {outliers}. Expect a switch boundary or a slow "
                "cable there."
            )
            clauses[f"{hops} of the ring {outliers}"] = None
    if rings:
        part.method.append(
            "Ring: each rank sends to the next. A token's hops are timed one by one, as half of "
            "a round trip between neighbours. Concurrent hops are timed from the receiver's "
            "start after a barrier until the message is complete. A single clock times each hop. "
            "On Helix a ring of 127 KB messages did not resolve the switches (Barczak, Messom & "
            "Johnson 2003, 3.3)."
        )
    part.remark = "; ".join(clauses)
    return part


def _ring_groups(rings: Sequence[RingGroups]) -> Part:
    """Evidence on each ring; the remark says whether the topology shows in any of them."""
    part = Part()
    for found in rings:
        size = format_size(message_bytes(found.point))
        mode, route = found.point.parameter("mode"), found.point.parameter("route")
        way = f"{'concurrent' if mode == 'together' else 'token'}, {route} order, {size}"
        label = f"Hops between groups against hops within, ring {way}"
        note = (
            f"{format_quantity(found.between, 's')} against {format_quantity(found.within, 's')}; "
            f"{counted(len(found.groups), 'group')} of pairs with {format_size(found.pair_bytes)}"
        )
        part.evidence.append(_ratio_row(label, found.point, found.times, note))
    if not rings:
        return part
    part.method.append(
        "Topology in a ring: hops between nodes of different groups are compared with hops "
        "between nodes of one group, per launch; all pairs define the groups. The topology shows "
        f"if the ratio is above {NOTICED} beyond the range of its launches, and is hidden if its "
        "95% interval is below."
    )
    shown = [found for found in rings if found.shown == "shows"]
    if shown:
        most = max(shown, key=lambda found: found.times.value)
        ends, among = chosen_interval(
            [Estimate(found.times.value, found.times.ci95) for found in shown], shown.index(most)
        )
        part.remark = (
            "the topology shows in the ring: hops between groups take "
            f"{quantity_text(most.times.value, '', ends)} as long as within"
            f"{f' (the most of {among} similar rings)' if among > 1 else ''}"
        )
    elif all(found.shown == "hidden" for found in rings):
        part.remark = "the topology doesn't show in the ring, as on Helix"
    else:
        part.limits.append(
            "It is undecided whether the topology shows in the ring: hops vary too much."
        )
    return part


def _kinds(ring: RingHops) -> str:
    """``median hop 1.2 µs within a node, 8.1 µs between nodes``."""
    kinds = ((ring.within, "within a node"), (ring.between, "between nodes"))
    medians = [f"{format_quantity(time, 's')} {where}" for time, where in kinds if time is not None]
    return f"median hop {', '.join(medians)}"


def _ratio_row(label: str, point: Point, times: LaunchRatio, note: str = "") -> Evidence:
    return Evidence(
        label=label,
        metric="ratio",
        unit="",
        value=times.value,
        ci95=times.ci95,
        cells=[point.summary.id],
        note=note,
    )


def _named_groups(level: GroupLevel) -> str:
    groups = "; ".join(_in_short(group) for group in level.groups[:_MAX_NAMED])
    return groups + ("; …" if len(level.groups) > _MAX_NAMED else "")


def _in_short(names: Sequence[str]) -> str:
    """Names of hosts such as ``node[33-64]`` if they are short, else the first names."""
    compressed = compress_hosts(list(names))
    fits = len(names) > _MAX_NAMED and len(compressed) <= _MAX_LENGTH
    return compressed if fits else _shortened(names)


def _shortened(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMED])
    return shown if len(names) <= _MAX_NAMED else f"{shown} and {len(names) - _MAX_NAMED} more"
