"""Figures on samples of call stacks: the call tree, and the main functions by rank."""

from __future__ import annotations

from collections import Counter

from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row, scale_of
from assay.charts.plot import Plot
from assay.subjects.profile.sampled.model import CallBox, SampledFindings
from assay.subjects.profile.sampled.words import shortened
from assay.units import counted, format_share

# Height of a box, px; maximum number of levels, which are the outermost.
_HEIGHT, _LEVELS = 19, 40
# Modules with a colour of their own.
_MODULES = 5
# Characters of a name that fit into a box: its width, less the margins, over the width of one.
_ROOM = "floor((datum.end - datum.begin) * width / 6.6 - 1)"
_LABEL = f"{_ROOM} < 3 ? '' : truncate(datum.function, {_ROOM})"
_MOST_NAMED = 32


def figures(found: SampledFindings) -> list[Figure]:
    """The figures for which there are samples."""
    drawn = [icicle(found), by_rank(found)]
    return [figure for figure in drawn if figure is not None]


def icicle(found: SampledFindings) -> Figure | None:
    """The call tree, callers above their callees; None without samples."""
    if not found.tree:
        return None
    boxes = [box for box in found.tree if box.depth < _LEVELS]
    shares: Counter[str] = Counter()
    for box in boxes:
        shares[box.module] += round(box.own * 1e9)
    named = {module for module, _ in shares.most_common(_MODULES)}
    levels = max(box.depth for box in boxes) + 1
    rows: list[Row] = [_row(box, named) for box in boxes]
    columns = [
        DataColumn("function", "function", kind="name"),
        DataColumn("module", "executable or library; python: a Python program", kind="name"),
        DataColumn("part", "module, or other modules together", title="module", kind="name"),
        DataColumn("depth", "number of callers"),
        DataColumn("below", "lower edge of its box"),
        in_percent("begin", "begin of its span", "share of the CPU time (%)"),
        in_percent("end", "end of its span", "end (%)"),
        in_percent("share", "share of all samples, with callees", "with callees (%)"),
        in_percent("own", "share of all samples in the function itself", "itself (%)"),
        DataColumn("middle", shown="(datum.begin + datum.end) * 50"),
        DataColumn("level", shown="datum.depth + 0.5"),
        DataColumn("label", shown=_LABEL),
    ]
    plot = Plot(columns, rows, height=_HEIGHT * levels + 30)
    x = plot.axis("begin", "share of the CPU time (%)", tick_count=5, domain=[0, 100], nice=False,
                  grid=False)  # fmt: skip
    y = plot.axis("depth", "", labels=False, ticks=False, grid=False, reverse=True,
                  domain=[0, levels], nice=False, domain_line=False)  # fmt: skip
    plot.boxes(
        x=x,
        x2="end",
        y=y,
        y2="below",
        colour=plot.hue("part"),
        fill_opacity=0.4,
        stroke="white",
        stroke_width=0.75,
        tips=("function", "module", "share", "own"),
    )
    plot.text(
        "label",
        x=plot.same(x, "middle"),
        y=plot.same(y, "level"),
        style="on-box",
        font_size=11,
        tips=("function", "module", "share", "own"),
    )
    top = max(found.tree, key=lambda box: box.own)
    return plot.figure(
        "sampled-tree",
        "Calls",
        caption="Callers are above the functions that they call; the width of a box is its share "
        "of all samples. Functions with less than 0.2% are left out.",
        alt=f"Icicle of {counted(len(boxes), 'function call')} in {counted(levels, 'level')}; most "
        f"samples are in {shortened(top.function)}, {format_share(top.own)}.",
    )


def _row(box: CallBox, named: set[str]) -> Row:
    return {
        "function": shortened(box.function, 120),
        "module": box.module,
        "part": (box.module or "unknown") if box.module in named else "other modules",
        "depth": box.depth,
        "below": box.depth + 1,
        "begin": box.begin,
        "end": box.end,
        "share": box.end - box.begin,
        "own": box.own,
    }


def by_rank(found: SampledFindings) -> Figure | None:
    """Time of the main functions on each rank; None for one or very many ranks."""
    if not found.by_rank:
        return None
    names = list(dict.fromkeys(one.function for one in found.by_rank))
    ranks = sorted({one.rank for one in found.by_rank})
    factor, prefix = scale_of([max(one.seconds for one in found.by_rank)])
    columns = [
        DataColumn("function", "function", kind="name",
                   of=lambda one: shortened(one.function, 40)),
        DataColumn("rank", "rank", kind="rank", of=lambda one: one.rank),
        DataColumn("time", "computing time in the function", "s", f"time ({prefix}s)", ".4~g",
                   factor=factor, of=lambda one: one.seconds),
    ]  # fmt: skip
    plot = Plot.of(found.by_rank, columns, step=24)
    apart = {"label_separation": 12} if len(ranks) > _MOST_NAMED else {}
    plot.boxes(
        x=plot.axis("rank", "rank", label_angle=0, label_overlap="greedy", ticks=False, grid=False,
                    **apart),
        y=plot.names("function", label_limit=260, ticks=False, grid=False),
        colour=plot.shade("time", f"{prefix}s", scheme="viridis", domain_min=0),
        tips=("function", "rank", "time"),
    )  # fmt: skip
    most = max(found.by_rank, key=lambda one: one.seconds)
    return plot.figure(
        "sampled-ranks",
        "Functions by rank",
        caption="Computing time of each rank in the functions with the most time.",
        alt=f"Matrix of {counted(len(names), 'function')} and {counted(len(ranks), 'rank')}; the "
        f"longest time is in {shortened(most.function)} on rank {most.rank}.",
    )
