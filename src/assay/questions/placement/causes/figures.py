"""Figures of the time of placements by component, and the contention model's predictions."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, colour, data_fields, level, scaled_fields
from assay.kernels.naming import cell_name
from assay.models.placement.components import COMPONENTS, COMPUTE, UNEXPLAINED
from assay.questions.placement.causes.breakdown import PlacedWork, WorkBreakdown
from assay.questions.placement.causes.cpu_time import PARTS, CpuTimeShares
from assay.questions.placement.causes.findings import CausesFindings
from assay.questions.placement.causes.threads_figures import threads_figure
from assay.units import counted, listed

# A component below this share of the time at one rank per node everywhere is left out.
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
    worst = max(rows, key=lambda row: float(row["whole"] or 0.0))
    compute = str(COMPUTE)
    return Figure(
        id=f"placement-why-{works[0].nodes}",
        title=f"Time by component, {nodes}",
        caption="Numbers above bars: ranks per node. Dashed line: perfect scaling from one rank "
        "per node; above it time is lost. Below 0: savings by caches. Grey: unexplained. Diamonds: "
        "predicted by the contention model, for placements that it was not fitted to.",
        alt=f"Stacked bars of time by {listed(parts)} on {nodes}; time × cores grows most for "
        f"{worst['work']} with {worst['ppn']} ranks per node, to {worst['whole']:.2f} times.",
        fields=[
            Field("work", "", "benchmark and class"),
            Field("ppn", "", "ranks per node"),
            Field("part", "", "component of the time"),
            Field("cost", "", "component × cores over whole time × cores at 1 rank per node"),
            Field("whole", "", "whole time × cores over that at 1 rank per node"),
            Field("predicted", "s", "whole time by the contention model; empty if not predicted"),
            Field("foreseen", "", "predicted time × cores over time × cores at 1 rank per node"),
            *data_fields("s"),
        ],
        rows=rows,
        spec=_stacked(
            parts,
            280,
            _bars(rows, "time × cores, 1 rank per node = 1", hue_of_components(rows)),
            _ranks(compute),
            _predicted(compute),
            level(1.0),
        ),
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


def _stacked(parts: Sequence[str], height: int, *layers: Spec) -> Spec:
    """Bars stacked in the order of ``parts``."""
    return {
        "height": height,
        "transform": [
            {"calculate": f"indexof({list(parts)!r}, datum.part)", "as": "order"},
            *scaled_fields(1.0),
        ],
        "layer": list(layers),
    }


def _place() -> Spec:
    return {
        "x": {
            "field": "work",
            "type": "nominal",
            "sort": None,
            "title": None,
            "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8, "labelLimit": 240},
            "scale": {"paddingInner": 0.25, "paddingOuter": 0.12},
        },
        "xOffset": {
            "field": "ppn",
            "type": "ordinal",
            "sort": "ascending",
            "scale": {"paddingInner": 0.12},
        },
    }


def _bars(rows: Sequence[Row], title: str, hue: Spec) -> Spec:
    return {
        "mark": {"type": "bar"},
        "encoding": {
            **_place(),
            "y": {
                "field": "cost",
                "type": "quantitative",
                "title": title,
                "axis": {"tickCount": 6},
            },
            "color": hue,
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [
                {"field": "work", "title": "work"},
                {"field": "ppn", "title": "ranks per node"},
                {"field": "part", "title": "component"},
                {"field": "y", "type": "quantitative", "title": "median (s)", "format": ".4~g"},
                {"field": "interval", "title": "95% interval (s)"},
                {"field": "launches", "title": "launches"},
            ],
        },
    }


def _ranks(part: str) -> Spec:
    """The ranks per node above each bar; drawn once, from the rows of ``part``."""
    return {
        "transform": [{"filter": f"datum.part === {part!r}"}],
        "mark": {"type": "text", "dy": -14, "fontSize": 10},
        "encoding": {
            **_place(),
            "y": {"field": "top", "type": "quantitative"},
            "text": {"field": "ppn"},
        },
    }


def _predicted(part: str) -> Spec:
    """A diamond at the predicted time; drawn once, from the rows of ``part``."""
    return {
        "transform": [
            {"filter": f"datum.part === {part!r}"},
            {"filter": "isValid(datum.foreseen)"},
        ],
        "mark": {"type": "point", "shape": "diamond", "size": 90, "strokeWidth": 2},
        "encoding": {
            **_place(),
            "y": {"field": "foreseen", "type": "quantitative"},
            "stroke": {"value": _GREY},
            "tooltip": [
                {"field": "work", "title": "work"},
                {"field": "ppn", "title": "ranks per node"},
                {"field": "predicted", "title": "predicted (s)", "format": ".4~g"},
            ],
        },
    }


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
    bars = _bars(rows, "share of own time × cores", colour("part", rows))
    bars["encoding"]["color"]["legend"]["offset"] = 28  # room for the numbers
    return Figure(
        id="placement-outside",
        title="Use of the cores, seen from outside",
        caption="Shares of own time × cores in use (wall time if a command states none); numbers "
        "above bars: ranks. From outside it is unknown what CPU time is spent on.",
        alt=f"Stacked bars of {listed(names)} for {counted(len(commands), 'command')}.",
        fields=[
            Field("work", "", "the command"),
            Field("ppn", "", "ranks per node"),
            Field("part", "", "the use of the cores"),
            Field("cost", "", "share of own time × cores"),
            Field("whole", "", "own time × cores; always 1"),
            *data_fields(""),
        ],
        rows=rows,
        spec=_stacked(names, 240, bars, _ranks(names[0])),
        width="half",
    )
