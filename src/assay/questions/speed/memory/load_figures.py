"""Figures of memory shared by cores: latency under load, transfers between CPUs, NUMA nodes."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import numpy as np

from assay.charts.builder import Chart, numbers
from assay.charts.columns import DataColumn
from assay.charts.figure import Field, Figure
from assay.charts.levels import vertical_rule
from assay.charts.marks import Row, Spec, scale_of
from assay.charts.plot import Plot
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.speed.memory.cores import CoreFindings
from assay.questions.speed.memory.loaded import MIN_LOADS, LoadedFindings
from assay.questions.speed.memory.numa import Matrix
from assay.units import counted, format_quantity

_NANOSECONDS = (1e-9, "n")
_GIGA = 1e9
_MOST_NAMED = 40  # CPUs whose numbers fit an axis
_MOST_DRAWN = 160  # CPUs; larger matrices are drawn in blocks
_BLOCKS = 64
_DECADES = 10.0  # ratio of times above which the colour scale is logarithmic
_NUMA_TITLES = {
    "memory.stream": ("bandwidth", "B/s", "STREAM: bandwidth from NUMA node to NUMA node"),
    "memory.latency": ("latency", "s", "Latency of a load from NUMA node to NUMA node"),
}


def loaded_figure(found: LoadedFindings) -> Figure | None:
    """Latency against the traffic of the other cores, with the knee and the programs of the run."""
    if len(found.curve) < MIN_LOADS:
        return None
    rows: list[Row] = [
        {"traffic": point.rate / _GIGA, "load": point.load, **statistics(point.latency)}
        for point in found.curve
    ]
    chart = Chart(
        rows,
        numbers("traffic", "traffic of the streams (GB/s)"),
        "time of a load",
        "s",
        names=[("traffic", "GB/s"), ("load", "load, %")],
        scale=_NANOSECONDS,
        zero=False,
        height=300,
    ).curves()
    knee = ""
    if found.knee is not None:
        chart.add(*vertical_rule("traffic", found.knee.rate / _GIGA, "knee"))
        knee = f"; its knee is at {format_quantity(found.knee.rate, 'B/s')}"
    top = found.curve[-1]
    return chart.figure(
        "loaded-latency",
        f"Latency of a load while {counted(found.streaming, 'core')} "
        f"{'streams' if found.streaming == 1 else 'stream'}",
        caption="Each point is one rate of the streams, from idle memory to the full rate. "
        f"{intervals_text(rows, 'band')}",
        alt=f"Line chart of the time of a load against the traffic of other cores, up to "
        f"{format_quantity(top.rate, 'B/s')}{knee}.",
        fields=[
            Field("traffic", "GB/s", "traffic of the streams, as STREAM counts it"),
            Field("load", "%", "share of the streams' full rate that was asked for"),
        ],
        width="full",
    )


def cores_figure(found: CoreFindings) -> Figure | None:
    """The matrix of transfers as a heat map; None for a single pair."""
    if found.pairs < 2:
        return None
    order = found.topology.order
    drawn = len(order) <= _MOST_DRAWN
    rows = _pair_rows(found) if drawn else _block_rows(found)
    times = [float(row["time"] or 0.0) for row in rows]
    factor, prefix = scale_of([median(times)])
    groups = [f"{counted(len(level.groups), 'group')}" for level in found.found]
    result = f"groups were found: {', '.join(groups)}" if groups else "no groups were found"
    if not found.searched:
        result = "groups were not searched for"
    blocks = "" if drawn else " Each cell is the median between two blocks of CPUs."
    part = (
        ""
        if found.pairs == found.pairs_in_all
        else (f" {found.pairs:,} of {found.pairs_in_all:,} pairs were measured.")
    )
    columns = [
        DataColumn("one", "number of the one CPU", kind="name"),
        DataColumn("other", "number of the other CPU", kind="name"),
        DataColumn("time", "transfer between them, median over launches", "s",
                   f"transfer ({prefix}s)", ".4~g", factor=factor),
        DataColumn("one_place", "position of the one CPU in the figure, from 0"),
        DataColumn("other_place", "position of the other CPU"),
    ]  # fmt: skip
    return _heat_map(
        rows,
        columns,
        "time",
        f"{prefix}s",
        names=(("other", "other_place"), ("one", "one_place")),
        named=len(order) <= _MOST_NAMED,
        reverse=True,
    ).figure(
        "core-to-core",
        "Transfers of a cache line between CPUs",
        caption=f"Half a round trip, median over launches; darker is slower.{blocks}{part} "
        "Similar CPUs are adjacent.",
        alt=f"Heat map of the times of transfers between {len(order)} CPUs; {result}.",
    )


def numa_figures(matrices: Mapping[str, Matrix]) -> list[Figure]:
    """A heat map for each kernel that measured each NUMA node's cores with each node's memory."""
    return [_numa_figure(kernel, matrix) for kernel, matrix in matrices.items()]


def _numa_figure(kernel: str, matrix: Matrix) -> Figure:
    metric, unit, title = _NUMA_TITLES[kernel]
    factor, prefix = scale_of([median(point.metric.median for point in matrix.values())])
    rows: list[Row] = [
        {"cores": f"node {near}", "memory": f"node {far}", metric: point.metric.median,
         "cores_place": near, "memory_place": far}
        for (near, far), point in sorted(matrix.items())
    ]  # fmt: skip
    columns = [
        DataColumn("cores", "NUMA node of the cores", kind="name"),
        DataColumn("memory", "NUMA node of the memory", kind="name"),
        DataColumn(metric, f"{metric}, median over launches", unit, f"{metric} ({prefix}{unit})",
                   ".4~g", factor=factor),
        DataColumn("cores_place", "number of the cores' node"),
        DataColumn("memory_place", "number of the memory's node"),
    ]  # fmt: skip
    slower = "slower" if metric == "latency" else "faster"
    return _heat_map(
        rows,
        columns,
        metric,
        f"{prefix}{unit}",
        names=(("memory", "memory_place"), ("cores", "cores_place")),
        named=True,
        reverse=True,
    ).figure(
        f"numa-{metric}",
        title,
        caption="Rows: the node whose cores access memory. Columns: the node that the memory lies "
        f"on. Medians over launches; darker is {slower}.",
        alt=f"Heat map of the {metric} between {len({near for near, _ in matrix})} NUMA nodes of "
        f"cores and {len({far for _, far in matrix})} of memory.",
    )


def _heat_map(
    rows: list[Row],
    columns: list[DataColumn],
    value: str,
    unit: str,
    *,
    names: tuple[tuple[str, str], tuple[str, str]],
    named: bool,
    reverse: bool,
) -> Plot:
    """Boxes coloured by a value; ``names``: field and order along x and along y."""
    (across, across_by), (down, down_by) = names
    values = [float(row[value] or 0.0) for row in rows]
    plot = Plot(columns, rows, **({"step": 24 if len(rows) < 200 else 14} if named
                                  else {"height": 420}))  # fmt: skip
    wide = max(values) > _DECADES * min(values)
    plot.boxes(
        x=_places(across, across_by, named),
        y=_places(down, down_by, named),
        colour=plot.shade(value, unit, scheme="viridis", reverse=reverse,
                          scale="log" if wide else "linear", zero=False),
        tips=(down, across, value),
    )  # fmt: skip
    return plot


def _places(field: str, by: str, named: bool) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "sort": {"field": by, "op": "min"},
        "title": None,
        "axis": {"ticks": False, "grid": False, "labels": named, "labelLimit": 260},
    }


def _pair_rows(found: CoreFindings) -> list[Row]:
    """A row per measured pair, in both triangles."""
    order, seconds = found.topology.order, found.times.matrix(found.times.seconds)
    return [
        {"one": str(found.cpus[one]), "other": str(found.cpus[other]),
         "time": float(seconds[one, other]), "one_place": k, "other_place": j}
        for k, one in enumerate(order)
        for j, other in enumerate(order)
        if one != other and not np.isnan(seconds[one, other])
    ]  # fmt: skip


def _block_rows(found: CoreFindings) -> list[Row]:
    """The medians between blocks of CPUs that are adjacent in the order."""
    order, seconds = found.topology.order, found.times.matrix(found.times.seconds)
    parts = np.array_split(np.array(order), _BLOCKS)
    names = [f"{found.cpus[part[0]]} … {found.cpus[part[-1]]}" for part in parts]
    rows: list[Row] = []
    for k, one in enumerate(parts):
        for j, other in enumerate(parts):
            block = seconds[np.ix_(one, other)]
            if not np.isnan(block).all():
                rows.append({"one": names[k], "other": names[j], "time": float(np.nanmedian(block)),
                             "one_place": k, "other_place": j})  # fmt: skip
    return rows
