"""Figures of the time of placements by component, and the contention model's predictions."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.columns import DataColumn, statistics_columns
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec, colour
from assay.charts.plot import Plot, fixed
from assay.kernels.naming import cell_name
from assay.models.placement.components import COMPONENTS, COMPUTE, UNEXPLAINED
from assay.questions.placement.causes.breakdown import PlacedWork, WorkBreakdown
from assay.questions.placement.causes.cpu_time import PARTS, CpuTimeShares
from assay.questions.placement.causes.findings import CausesFindings
from assay.questions.placement.causes.threads_figures import threads_figure
from assay.units import counted, listed

# A component is left out if its share is below this everywhere, relative to the time at one rank
# per node.
LEAST = 0.005
# The unexplained part has no colour of its own.
_GREY = "#8a8f98"


def figures(found: CausesFindings) -> list[Figure]:
    """Two figures for each number of nodes, and one for the users' commands."""
    drawn: list[Figure | None] = []
    for nodes in sorted({work.nodes for work in found.works}):
        works = [work for work in found.works if work.nodes == nodes]
        drawn += [_time_figure(works), threads_figure(works, hue_of_components, LEAST)]
    drawn.append(_cpu_time_figure(found.commands))
    return [figure for figure in drawn if figure is not None]


def _time_figure(works: Sequence[WorkBreakdown]) -> Figure:
    """Bars of time × cores by component, relative to one rank per node, on one number of nodes."""
    nodes = counted(works[0].nodes, "node")
    rows = [row for work in works for placed in work.plain for row in _rows(work, placed)]
    kept = {row["part"] for row in rows if abs(float(row["cost"] or 0.0)) >= LEAST}
    rows = [row for row in rows if row["part"] in kept]
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    wholes = [float(row["whole"] or 0.0) for row in rows]
    compute = str(COMPUTE)
    columns = [
        DataColumn("work", "benchmark and class", kind="name"),
        DataColumn("ppn", "ranks per node", title="ranks per node", kind="rank"),
        DataColumn("part", "component of the time", title="component", kind="name"),
        DataColumn("cost", "component × cores over whole time × cores at 1 rank per node"),
        DataColumn("whole", "whole time × cores relative to 1 rank per node"),
        DataColumn("predicted", "whole time by the contention model; empty if not predicted", "s",
                   "predicted (s)", ".4~g"),
        DataColumn("foreseen", "predicted time × cores over time × cores at 1 rank per node"),
        *statistics_columns("s"),
    ]  # fmt: skip
    title = "time × cores, 1 rank per node = 1"
    plot = _stacked(columns, rows, parts, height=280, title=title, hue=hue_of_components(rows))
    _ranks(plot, compute)
    _predicted(plot, compute)
    plot.level(y=1.0)
    return plot.figure(
        f"placement-why-{works[0].nodes}",
        f"Time by component, {nodes}",
        caption="Numbers above bars: ranks per node. Dashed line: perfect scaling from one rank "
        "per node; time above it is lost. Below 0: savings by caches. Grey: unexplained. Diamonds: "
        "the contention model's predictions for placements that it was not fitted to.",
        alt=f"Stacked bars of time by {listed(parts)} on {nodes}; time × cores is "
        f"{min(wholes):.2f} to {max(wholes):.2f} of one rank per node's.",
    )


def _rows(work: WorkBreakdown, placed: PlacedWork) -> list[Row]:
    """A row for each component of a placement's time."""
    per = work.plain[0].time / placed.cores  # relative to time × cores at one rank per node
    predicted = None if placed.predicted is None else placed.predicted.time
    above = sum(max(seconds.value, 0.0) for seconds in placed.seconds.values())
    top = max(placed.time, above, predicted or 0.0) / per  # upper end of bar and diamond
    rows: list[Row] = []
    for component in COMPONENTS:
        seconds = placed.seconds[component]
        low, high = seconds.ci95 or (None, None)
        rows.append(
            {
                "work": work.name,
                "ppn": placed.placement.ppn,
                "part": str(component),
                "cost": seconds.value / per,
                "whole": placed.time / per,
                "top": top,
                "predicted": predicted,
                "foreseen": None if predicted is None else predicted / per,
                "median": seconds.value,
                "low": low,
                "high": high,
                "launches": placed.launches,
            }
        )
    return rows


def hue_of_components(rows: Sequence[Row]) -> Spec:
    """A colour for each component of the time, the same in all figures; grey: unexplained."""
    by_hue = {one.hue: str(one) for one in COMPONENTS if one.hue is not None}
    coloured = [by_hue[place] for place in sorted(by_hue)]
    hue = colour("part", rows)
    present = {row["part"] for row in rows}
    hue["scale"] = {"domain": coloured}
    if hue["legend"] is not None:
        hue["legend"] = {**hue["legend"], "values": [one for one in coloured if one in present]}
    hue["condition"] = {"test": f"datum.part === '{UNEXPLAINED}'", "value": _GREY}
    return hue


def _stacked(
    columns: Sequence[DataColumn],
    rows: Sequence[Row],
    parts: Sequence[str],
    height: int,
    title: str,
    hue: Spec,
) -> Plot:
    """Bars stacked in the order of ``parts``, side by side for each work."""
    drawn = [DataColumn("top"), DataColumn("order", shown=f"indexof({list(parts)!r}, datum.part)")]
    plot = Plot([*columns, *drawn], rows, height=height)
    plot.share(
        x=plot.names("work", label_angle=0, ticks=False, label_padding=8, label_limit=240,
                     padding_inner=0.25, padding_outer=0.12),
        beside_x=plot.beside("ppn", sort="ascending", padding_inner=0.12),
    )  # fmt: skip
    y = plot.axis("cost", title, tick_count=6)
    tips = ("work", "ppn", "part", "median", "interval", "launches")
    return plot.bars(y=y, colour=hue, order="order", tips=tips)


def _ranks(plot: Plot, part: str) -> None:
    """The ranks per node above each bar; drawn once, from the rows of ``part``."""
    plot.text("ppn", only=f"datum.part === {part!r}", y="top", dy=-14, font_size=10)


def _predicted(plot: Plot, part: str) -> None:
    """A diamond at the predicted time; drawn once, from the rows of ``part``."""
    plot.rings(
        only=f"datum.part === {part!r} && isValid(datum.foreseen)", y="foreseen", shape="diamond",
        size=90, stroke_width=2, stroke=fixed(_GREY), tips=("work", "ppn", "predicted"),
    )  # fmt: skip


def _cpu_time_figure(commands: Sequence[Sequence[CpuTimeShares]]) -> Figure | None:
    """Bars of the use of the cores during each user's command."""
    rows: list[Row] = []
    for one in (one for group in commands for one in group):
        for number, part in enumerate(PARTS):
            share = float(one.shares[number])
            low, high = (None, None) if one.intervals is None else one.intervals[number]
            rows.append(
                {
                    "work": cell_name(one.point.summary.cell),
                    "ppn": one.placement.ppn,
                    "part": part.name,
                    "cost": share,
                    "whole": 1.0,
                    "top": 1.0,
                    "median": share,
                    "low": low,
                    "high": high,
                    "launches": one.point.metric.n,
                }
            )
    if not rows:
        return None
    names = [part.name for part in PARTS]
    columns = [
        DataColumn("work", "the command", kind="name"),
        DataColumn("ppn", "ranks per node", title="ranks per node", kind="rank"),
        DataColumn("part", "the use of the cores", title="component", kind="name"),
        DataColumn("cost", "share of own time × cores"),
        DataColumn("whole", "own time × cores; always 1"),
        *statistics_columns(""),
    ]
    hue = colour("part", rows)
    hue["legend"]["offset"] = 28  # room for the numbers
    plot = _stacked(columns, rows, names, height=240, title="share of own time × cores", hue=hue)
    _ranks(plot, names[0])
    return plot.figure(
        "placement-outside",
        "Use of the cores, measured from outside",
        caption="Shares of own time × cores in use (wall time if a command states no time). "
        "Numbers above bars: ranks. From outside, assay can't tell what CPU time is spent on.",
        alt=f"Stacked bars of {listed(names)} for {counted(len(commands), 'command')}.",
        width="half",
    )
