"""Figures of the fabric: matrices of pairs, hops of rings, bisections by cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.charts.builder import STATISTICS, Chart, named
from assay.charts.columns import DataColumn
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, data_fields, scale_of
from assay.charts.plot import Plot
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import Point
from assay.questions.network.fabric.bisections import active_pairs, cut_of, is_single
from assay.questions.network.fabric.findings import FabricFindings, PairFindings
from assay.questions.network.fabric.matrices import Hop, RingHops
from assay.questions.network.fabric.ring_groups import RingGroups, hop_kind
from assay.questions.network.parameters import message_bytes
from assay.units import format_size

_BOTH_TRIANGLES = 64  # members; larger matrices get only one triangle, to keep the report small
_MOST_DRAWN = 128  # members; larger matrices are drawn in blocks
_BLOCKS = 64
_MAX_NAMED = 40  # members or hops whose names fit an axis
_DECADES = 10.0  # ratio of times above which the colour scale is logarithmic
_BARS_IN_HALF = 16


def figures(found: FabricFindings) -> list[Figure]:
    """A heat map for each matrix, bars for each ring, and the bisections in one figure."""
    return [
        *(_matrix_figure(pairs, k) for k, pairs in enumerate(found.pairs, 1)),
        *(_ring_figure(ring, k) for k, ring in enumerate(found.rings, 1)),
        *(
            _way_figure(ring, _groups_of(ring, found), k)
            for k, ring in enumerate(found.rings, 1)
            if ring.point.parameter("mode") == "token"
        ),
        *([_bisection_figure(found.bisections)] if found.bisections else []),
    ]


def _matrix_figure(found: PairFindings, number: int) -> Figure:
    """The time of every pair as a colour, with similar members adjacent."""
    size = format_size(found.bytes)
    order = found.matrix.topology.order
    drawn = len(order) <= _MOST_DRAWN
    rows = _pair_rows(found) if drawn else _block_rows(found)
    times = [float(row["time"] or 0.0) for row in rows]
    factor, prefix = scale_of([float(np.median(times))])
    with_names = len(order) <= _MAX_NAMED
    unit = f"{found.unit}s"
    blocks = "" if drawn else f" Each cell is the median between two blocks of {unit}."
    groups = f"{len(found.levels[-1].groups)} groups" if found.levels else "no groups"
    results = (
        f"{groups} were found, {len(found.slow_members)} slow {unit} and "
        f"{len(found.slow_links)} slow pairs"
    )
    if found.too_few_launches:
        known = found.levels or found.sample is not None
        sought = "slow pairs" if known else "groups and slow pairs"
        results = f"{groups} were found; " if known else ""
        results += f"too few launches to search for {sought}"
    if found.sample is not None:
        results += f"; {found.pairs:,} of {found.pairs_in_all:,} pairs were measured"
    adjacent = ""
    if found.sample is not None and found.levels:
        adjacent = f" {unit.capitalize()} of a group are adjacent."
    elif found.sample is None and found.searched:
        adjacent = f" Similar {unit} are adjacent, in the order of average linkage."
    columns = [
        DataColumn("one", "one member", kind="name"),
        DataColumn("other", "the other member", kind="name"),
        DataColumn("time", "half a round trip between them, median over launches", "s",
                   f"one way ({prefix}s)", ".4~g", factor=factor),
        DataColumn("one_place", "position of the one member in the figure, from 0"),
        DataColumn("other_place", "position of the other member"),
    ]  # fmt: skip
    plot = Plot(columns, rows, **({"step": 14} if with_names else {"height": 420}))
    wide = max(times) > _DECADES * min(times)
    plot.boxes(
        x=_members("other", with_names, by="other_place"),
        y=_members("one", with_names, by="one_place"),
        colour=plot.shade("time", f"{prefix}s", scheme="viridis", reverse=True,
                          scale="log" if wide else "linear", zero=False),
        tips=("one", "other", "time"),
    )  # fmt: skip
    concurrent = ", several pairs concurrently" if found.together else ""
    return plot.figure(
        f"pairs-{number}",
        f"All pairs of {unit}: {size}{concurrent}",
        caption=f"Half a round trip, median over launches; darker is slower.{blocks}{adjacent}",
        alt=f"Heat map of the times between {len(order)} {unit}; {results}.",
    )


def _pair_rows(found: PairFindings) -> list[Row]:
    """A row per pair, in both triangles of a small matrix."""
    order, seconds = found.matrix.topology.order, found.matrix.times
    both = len(order) <= _BOTH_TRIANGLES
    return [
        {
            "one": found.names[one],
            "other": found.names[other],
            "time": float(seconds[one, other]),
            "one_place": k,
            "other_place": j,
        }
        for k, one in enumerate(order)
        for j, other in enumerate(order)
        if (j > k or (both and j < k)) and not np.isnan(seconds[one, other])
    ]


def _block_rows(found: PairFindings) -> list[Row]:
    """The medians between blocks of members that are adjacent in the order."""
    order, pairs = found.matrix.topology.order, found.matrix.pairs
    count = len(order)
    blocks = np.arange(count) * _BLOCKS // count
    block_of = np.empty(count, dtype=np.int64)
    block_of[list(order)] = blocks
    ends = [np.flatnonzero(blocks == block)[[0, -1]] for block in range(_BLOCKS)]
    names = [" … ".join(found.names[order[place]] for place in each) for each in ends]
    one, other = block_of[pairs.ones], block_of[pairs.others]
    key = np.minimum(one, other) * _BLOCKS + np.maximum(one, other)
    sorting = np.argsort(key, kind="stable")
    cells, begins = np.unique(key[sorting], return_index=True)
    rows: list[Row] = []
    for cell, seconds in zip(cells, np.split(pairs.seconds[sorting], begins[1:]), strict=True):
        a, b = divmod(int(cell), _BLOCKS)
        for k, j in {(a, b), (b, a)}:
            rows.append(
                {
                    "one": names[k],
                    "other": names[j],
                    "time": float(np.median(seconds)),
                    "one_place": k,
                    "other_place": j,
                }
            )
    return rows


def _ring_figure(found: RingHops, number: int) -> Figure:
    """The hops as bars in the ring's order, with outliers marked."""
    size = format_size(message_bytes(found.point))
    rows = [_hop_row(hop) for hop in found.hops]
    chart = Chart(
        rows,
        _members("hop", len(rows) <= _MAX_NAMED),
        "hop",
        "s",
        hue="kind",
        names=[("hop", "hop"), ("kind", "kind")],
        height=240,
    )
    mode, route = found.point.parameter("mode"), found.point.parameter("route")
    slow = sum(hop.stands_out for hop in found.hops)
    return (
        chart.bars()
        .whiskers()
        .figure(
            f"ring-{number}",
            f"Ring, {'concurrent' if mode == 'together' else 'token'}, {route} order: {size}",
            caption=f"Each hop, median over launches. {intervals_text(rows, 'whiskers')} A hop "
            "across a switch, or over a slow cable, takes longer.",
            alt=f"Bar chart of {len(rows)} hops around a ring; {slow} of them are outliers.",
            fields=[
                Field("hop", "", "from sender to receiver"),
                Field("kind", "", "within a node or between nodes, and whether it is an outlier"),
                STATISTICS,
                Field("stands_out", "", "whether it is an outlier among hops of its kind"),
            ],
            width="half" if len(rows) <= _BARS_IN_HALF else "full",
        )
    )


def _groups_of(ring: RingHops, found: FabricFindings) -> RingGroups | None:
    return next((each for each in found.ring_groups if each.point == ring.point), None)


def _way_figure(found: RingHops, groups: RingGroups | None, number: int) -> Figure:
    """The token's path around the ring: each hop from its start to its end, as in a timeline."""
    size = format_size(message_bytes(found.point))
    factor, prefix = scale_of([sum(hop.time for hop in found.hops)])
    rows: list[Row] = []
    now = 0.0
    for hop in found.hops:
        kind = hop_kind(hop, groups)
        name = f"{hop.sender} → {hop.receiver}"
        rows.append({"hop": name, "kind": kind, "begin": now, "end": now + hop.time})
        now += hop.time
    with_names = len(rows) <= _MAX_NAMED
    columns = [
        DataColumn("hop", "from sender to receiver", kind="name"),
        DataColumn("kind", "within a node, within a group of nodes or between groups", kind="name"),
        DataColumn("begin", "sum of the medians of all earlier hops", "s", f"begin ({prefix}s)",
                   ".4~g", factor=factor),
        DataColumn("end", "begin plus the hop's median", "s", f"end ({prefix}s)", ".4~g",
                   factor=factor),
    ]  # fmt: skip
    plot = Plot(columns, rows, **({"step": 16} if with_names else {"height": 420}))
    plot.bars(
        y=_members("hop", with_names),
        x=plot.axis("begin", f"time since the token's start ({prefix}s)"),
        x2="end",
        colour=plot.key("kind", {}, sort="ascending"),
        tips=("hop", "kind", "begin", "end"),
    )
    route = found.point.parameter("route")
    return plot.figure(
        f"ring-way-{number}",
        f"The token's path around the ring, {route} order: {size}",
        caption="Each hop begins where the previous one ends; medians over launches, timed hop "
        "by hop. Longer bars are slower hops.",
        alt=f"Timeline of {len(rows)} hops, one after the other, {now:.3g} s in total.",
    )


def _bisection_figure(found: Sequence[Point]) -> Figure:
    """Bandwidth per rank across each cut while all pairs exchange, and of a single pair."""
    rows: list[Row] = []
    for point in found:
        cut = cut_of(point)
        name = f"{cut} {point.parameter('draw')}" if cut == "random" else cut
        rows.append(
            {
                "cut": f"{name}, one pair" if is_single(point) else name,
                "message": format_size(message_bytes(point)),
                "toolchain": point.summary.cell.toolchain,
                **statistics(point, per=2 * active_pairs(point)),
            }
        )
    chart = Chart(
        rows,
        named("cut"),
        "per rank, each way",
        "B/s",
        hue="message",
        hue_title="message",
        names=[("cut", "cut"), ("message", "message"), ("toolchain", "toolchain")],
    )
    low = min(rows, key=lambda row: float(row["median"] or 0.0))
    return (
        chart.bars(beside="message")
        .whiskers()
        .figure(
            "bisection",
            "Bisection: bandwidth per rank while one half exchanges with the other",
            caption=f"The slowest pair's bandwidth, each way. {intervals_text(rows, 'whiskers')}",
            alt=f"Bar chart of bandwidth by cut; the lowest is {low['cut']} with {low['message']}.",
            fields=[
                Field("cut", "", "which ranks exchange"),
                Field("message", "", "message size each way"),
                Field("toolchain", "", "toolchain"),
            ],
            statistics=data_fields("B/s", ", per rank each way"),
            width="half" if len(rows) <= _BARS_IN_HALF else "full",
        )
    )


def _members(field: str, with_names: bool, by: str | None = None) -> Spec:
    """An axis in the order of the rows or of a field; without names if they don't fit."""
    return {
        "field": field,
        "type": "nominal",
        "sort": None if by is None else {"field": by, "op": "min"},
        "title": None,
        "axis": {"ticks": False, "grid": False, "labels": with_names, "labelLimit": 260},
    }


def _hop_row(hop: Hop) -> Row:
    low, high = hop.ci95 or (None, None)
    kind = "between nodes" if hop.crosses else "within a node"
    return {
        "hop": f"{hop.sender} → {hop.receiver}",
        "kind": f"{kind}, outlier" if hop.stands_out else kind,
        "median": hop.time,
        "low": low,
        "high": high,
        "launches": len(hop.times),
        "stands_out": hop.stands_out,
    }
