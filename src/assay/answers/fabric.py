"""The fabric's part of the network's answer: groups, slow nodes and cables, hops, cuts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.answers.fabric_data import (
    BISECTION,
    Floats,
    Hop,
    PairMatrix,
    RingHops,
    active_pairs,
    cut_of,
    is_lone,
    message_bytes,
    pair_matrices,
    ring_hops,
)
from assay.answers.model import Evidence
from assay.answers.select import Interval, Part, Point, evidence, points, ratio, scaled
from assay.models.topology import FALSE_ALARMS, FEWEST, Level
from assay.records.model import RunData
from assay.reference.bisections import HELIX
from assay.stats.intervals import median_interval
from assay.stats.model import CellSummary
from assay.units import counted, format_quantity, format_share, format_size

# Below this share of what pairs have alone the middle of the network, and not its ends, decides.
FULL_BISECTION = 0.8
_CUTS = ("worst", "random", "given", "best")
_MOST_NAMED = 8


def fabric_part(cells: Sequence[CellSummary], run: RunData) -> Part | None:
    """What pairs, rings and bisections tell; None if no usable cell measured any of them."""
    part = Part()
    remarks = [
        *_pairs(part, pair_matrices(cells, run)),
        *_rings(part, ring_hops(cells, run)),
        *_bisections(part, cells),
    ]
    part.limits = list(dict.fromkeys(part.limits))
    part.remark = "; ".join(dict.fromkeys(remarks))
    return part if part.evidence else None


def _pairs(part: Part, matrices: Sequence[PairMatrix]) -> list[str]:
    remarks: list[str] = []
    grouped: list[str] = []
    told: set[str] = set()
    for found in matrices:
        size = format_size(message_bytes(found.point))
        unit = _unit(found)
        together = " together" if found.point.parameter("concurrent") == "yes" else ""
        part.headline.append(found.point)
        part.evidence.append(
            evidence(
                f"Median of all pairs{together}, {size}",
                found.point,
                "latency",
                note=f"{counted(len(found.names), unit)}, half a round trip",
            )
        )
        slowest = found.point.summary.metrics.get("slowest")
        if slowest is not None:
            part.evidence.append(
                evidence(
                    f"Slowest pair{together}, {size}",
                    Point(found.point.summary, slowest),
                    "slowest",
                    note="of each pass",
                )
            )
        _across_nodes(part, found, size)
        grouped.append(_groups(part, found, size, unit))
        for sentence in (*_slow_nodes(part, found, size), *_slow_pairs(part, found, size)):
            subject = sentence.partition(":")[0]
            if subject not in told:
                told.add(subject)
                part.advice.append(sentence)
                remarks.append(subject)
        _say_what_was_not_looked_at(part, found, unit)
    if matrices:
        part.method.append(
            "Pairs: ping-pong between every two, one pair at a time unless it says together; half "
            "a round trip of each, median over passes and launches. Groups, slow nodes and slow "
            "pairs are named only where chance would do so in at most "
            f"{FALSE_ALARMS:.0%} of fabrics without any."
        )
    showing = [words for words in grouped if words and not words.startswith("no ")]
    return [*(showing or [words for words in grouped if words])[:1], *remarks]


def _unit(found: PairMatrix) -> str:
    return "node" if found.point.parameter("between") == "nodes" else "rank"


def _groups(part: Part, found: PairMatrix, size: str, unit: str) -> str:
    levels = found.topology.levels
    if not levels:
        among = f"no groups show among {counted(len(found.names), unit)}"
        return among if found.topology.searched else ""
    for level in levels:
        same = _same_group(level, len(found.names))
        value, interval = _over_launches(
            [_median(times, ~same) / _median(times, same) for times in found.launches],
            level.between / level.within,
        )
        groups = counted(len(level.groups), "group")
        part.evidence.append(
            _factor(f"Between {groups} against within, {size}", found, value, interval)
        )
        part.advice.append(
            f"The {unit}s fall into {groups} ({_named_groups(level, found.names)}): messages of "
            f"{size} take {value:.2f} times as long between them. Put ranks that talk most to each "
            "other into one group."
        )
    level = levels[-1]
    times = level.between / level.within
    groups = counted(len(level.groups), "group")
    among = counted(len(found.names), unit)
    return f"{groups} show among {among}, {times:.2f} times as slow between them"


def _across_nodes(part: Part, found: PairMatrix, size: str) -> None:
    """Between nodes against within, which the placement tells without any clustering."""
    hosts = np.array(found.hosts)
    same = hosts[:, None] == hosts[None, :]
    np.fill_diagonal(same, False)
    inside, outside = _median(found.times, same), _median(found.times, ~same)
    if np.isnan(inside) or np.isnan(outside):
        return
    value, interval = _over_launches(
        [_median(times, ~same) / _median(times, same) for times in found.launches],
        outside / inside,
    )
    part.evidence.append(_factor(f"Between nodes against within, {size}", found, value, interval))


def _same_group(level: Level, n: int) -> np.ndarray:
    same = np.zeros((n, n), dtype=bool)
    for group in level.groups:
        same[np.ix_(group, group)] = True
    return same


def _median(times: Floats, where: np.ndarray) -> float:
    values = times[where & ~np.isnan(times)]
    return float(np.median(values)) if values.size else float("nan")


def _slow_nodes(part: Part, found: PairMatrix, size: str) -> list[str]:
    advice = []
    for slow in found.topology.slow_nodes:
        name = found.names[slow.node]
        changes = [_median(times / found.times, _row(slow.node, times)) for times in found.launches]
        value, interval = _over_launches([slow.ratio * change for change in changes], slow.ratio)
        part.evidence.append(
            _factor(f"All pairs of {name} against the others', {size}", found, value, interval)
        )
        advice.append(
            f"{name} is slow with everybody: its messages of {size} take {value:.2f} times as "
            "long. Look at its cable, its switch port, and its adapter's speed and error counters."
        )
    return advice


def _row(node: int, times: Floats) -> np.ndarray:
    row = np.zeros(times.shape, dtype=bool)
    row[node] = True
    return row


def _slow_pairs(part: Part, found: PairMatrix, size: str) -> list[str]:
    advice = []
    for slow in found.topology.slow_pairs:
        one, other = found.names[slow.one], found.names[slow.other]
        here = (slow.one, slow.other)
        changes = [float(times[here] / found.times[here]) for times in found.launches]
        value, interval = _over_launches([slow.ratio * change for change in changes], slow.ratio)
        part.evidence.append(
            _factor(f"{one} with {other} against other pairs, {size}", found, value, interval)
        )
        advice.append(
            f"{one} and {other} are slow with each other: messages of {size} take {value:.2f} "
            "times as long as between others, though both are well with everybody else. Look at "
            "the way between them: routes, links between switches."
        )
    return advice


def _say_what_was_not_looked_at(part: Part, found: PairMatrix, unit: str) -> None:
    n = len(found.names)
    if found.topology.searched:
        return
    if n < FEWEST:
        part.limits.append(f"Among fewer than {FEWEST} {unit}s no groups can be told from chance.")
        return
    measured = int((~np.isnan(found.times)).sum()) // 2
    part.limits.append(
        f"{measured:,} of {n * (n - 1) // 2:,} pairs were measured, a random part with equally "
        f"many for each {unit}: enough for slow {unit}s, not for groups."
    )


def _rings(part: Part, rings: Sequence[RingHops]) -> list[str]:
    remarks = []
    for ring in rings:
        point = ring.point
        size = format_size(message_bytes(point))
        mode, route = point.parameter("mode"), point.parameter("route")
        way = "all at once" if mode == "together" else "token"
        part.evidence.append(
            evidence(
                f"Ring, {way}, {route} order, {size}",
                point,
                "time",
                note=f"{counted(len(ring.hops), 'hop')}; {_kinds(ring.hops)}",
            )
        )
        odd = [hop for hop in ring.hops if hop.stands_out]
        for hop in odd:
            value, interval = _over_launches(
                [hop.ratio * time / hop.time for time in hop.times], hop.ratio
            )
            part.evidence.append(
                Evidence(
                    label=f"Hop from {hop.sender} to {hop.receiver} against others of its kind",
                    metric="ratio",
                    unit="",
                    value=value,
                    ci95=interval,
                    limit=None,
                    limit_source=None,
                    share=None,
                    share_ci95=None,
                    cells=[point.summary.id],
                    note=f"ring, {way}, {route} order, {size}",
                )
            )
        if odd:
            names = _listed([f"{hop.sender} to {hop.receiver}" for hop in odd])
            stands = f"{'stands' if len(odd) == 1 else 'stand'} out: {names}"
            hops = counted(len(odd), "hop")
            part.advice.append(
                f"In the ring ({way}, {route} order, {size}) {hops} {stands}. Expect a switch "
                "boundary or a slow cable there."
            )
            remarks.append(f"{hops} of the ring {stands}")
    if rings:
        part.method.append(
            "Ring: each rank to the next. A token's hops are timed one by one as half of a round "
            "trip between neighbours; all at once, from the receiver's start after a barrier until "
            "the message is whole. No two clocks are compared. On Helix a ring of 127 KB messages "
            "showed nothing of the switches (Barczak, Messom & Johnson 2003, 3.3)."
        )
    return remarks


def _kinds(hops: Sequence[Hop]) -> str:
    """``median hop 1.2 µs within a node, 8.1 µs between nodes``."""
    words = []
    for crosses, where in ((False, "within a node"), (True, "between nodes")):
        times = [hop.time for hop in hops if hop.crosses == crosses]
        if times:
            words.append(f"{format_quantity(float(np.median(times)), 's')} {where}")
    return f"median hop {', '.join(words)}"


def _bisections(part: Part, cells: Sequence[CellSummary]) -> list[str]:
    found = points(cells, BISECTION, "bandwidth")
    whole = [point for point in found if not is_lone(point)]
    remarks: list[str] = []
    for point in sorted(whole, key=lambda p: (_CUTS.index(cut_of(p)), message_bytes(p))):
        pairs = active_pairs(point)
        row, alone = _share(point, cells, pairs)
        part.evidence.append(row)
        if cut_of(point) == "worst":
            part.headline.append(point)
        if row.share is None or cut_of(point) == "best":
            continue
        share = format_share(row.share, row.share_ci95)
        if cut_of(point) == "worst":  # the largest message comes last
            remarks = [f"across the middle pairs keep {share} of what one has alone"]
        if row.share < FULL_BISECTION and point.summary.cell.placement.nodes > 1:
            part.advice.append(
                f"When {counted(pairs, 'pair')} exchange at once across the {cut_of(point)} cut "
                f"({format_size(message_bytes(point))}), each keeps {share} of {alone}: codes that "
                "exchange everything with everybody will not scale as their messages alone would."
            )
    if whole:
        part.method.append(
            "Bisection: each rank of one half exchanges with one of the other, all at the same "
            "time; bytes both ways over the slowest pair's time. Worst: first half of the nodes "
            "with the second; best: neighbours."
        )
        part.limits.append(
            f"For comparison: {HELIX.cluster} ({HELIX.interconnect}) exchanged "
            f"{format_quantity(HELIX.both_ways, 'B/s')} a processor both ways across its middle "
            f"({HELIX.source})."
        )
    return remarks


def _share(point: Point, cells: Sequence[CellSummary], pairs: int) -> tuple[Evidence, str]:
    """The aggregate bandwidth against so many lone pairs', and what these are in words."""
    each = point.metric.median / (2 * pairs)
    note = f"{counted(pairs, 'pair')}, {format_quantity(each, 'B/s')} a rank each way"
    label = f"Bisection, {cut_of(point)} cut, {format_size(message_bytes(point))}"
    row = evidence(label, point, "bandwidth", note=note)
    base = _alone(point, cells)
    if base is None:
        return row, ""
    lone, ways, words = base
    share, interval = ratio(point.metric, lone.metric)
    lone_pairs = pairs * ways
    return (
        Evidence(
            label=label,
            metric="bandwidth",
            unit=row.unit,
            value=row.value,
            ci95=row.ci95,
            limit=lone.metric.median * lone_pairs,
            limit_source=f"{words}, times {lone_pairs}",
            share=share / lone_pairs,
            share_ci95=scaled(interval, 1 / lone_pairs),
            cells=[point.summary.id, lone.summary.id],
            note=note,
        ),
        words,
    )


def _alone(point: Point, cells: Sequence[CellSummary]) -> tuple[Point, int, str] | None:
    """What a pair has alone: the same exchange by one pair, or else twice a ping-pong's."""
    here = point.summary.cell
    exchanging = [
        lone
        for lone in points(cells, BISECTION, "bandwidth")
        if is_lone(lone)
        and lone.summary.cell.placement == here.placement
        and lone.summary.cell.toolchain == here.toolchain
        and message_bytes(lone) == message_bytes(point)
    ]
    same_cut = [lone for lone in exchanging if cut_of(lone) == cut_of(point)]
    if same_cut:
        return same_cut[0], 1, "a lone pair's exchange"
    for kernel in ("network.pairs", "network.pingpong"):
        for lone in points(cells, kernel, "bandwidth"):
            cell = lone.summary.cell
            undisturbed = lone.parameter("concurrent") != "yes"
            same = (cell.toolchain, cell.placement.nodes > 1, message_bytes(lone)) == (
                here.toolchain,
                here.placement.nodes > 1,
                message_bytes(point),
            )
            if same and undisturbed:
                return lone, 2, "a lone pair's ping-pong bandwidth"
    return None


def _over_launches(values: Sequence[float], otherwise: float) -> tuple[float, Interval | None]:
    """The median over launches and its 95% interval; of one alone no more than the value given."""
    known = np.array([value for value in values if np.isfinite(value)])
    if known.size < 2:
        return otherwise, None
    return float(np.median(known)), median_interval(known)


def _factor(label: str, found: PairMatrix, value: float, interval: Interval | None) -> Evidence:
    return Evidence(
        label=label,
        metric="ratio",
        unit="",
        value=value,
        ci95=interval,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[found.point.summary.id],
    )


def _named_groups(level: Level, names: Sequence[str]) -> str:
    return "; ".join(
        _listed([names[member] for member in group]) for group in level.groups[:_MOST_NAMED]
    ) + ("; …" if len(level.groups) > _MOST_NAMED else "")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"
