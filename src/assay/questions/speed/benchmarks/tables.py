"""Tables of the NAS Parallel Benchmarks: operations done, and computing and communication."""

from __future__ import annotations

import dataclasses

from assay.kernels.naming import kernel_name, placement_text
from assay.kernels.npb.own_code import OWN_CODE
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import (
    Column,
    Entry,
    Table,
    TableBuilder,
    measured,
    quantity,
    written,
)
from assay.questions.speed.benchmarks.findings import BenchmarksFindings
from assay.questions.speed.benchmarks.phases import COMPUTE, NpbPhases
from assay.units import format_share


def headline_table(found: BenchmarksFindings) -> list[Table]:
    """The rate of each benchmark's largest class on the most cores, before the figures.

    It is for plans that begin with the benchmarks. A single row would only repeat the verdict.
    """
    points = [
        one.scaling.curve.points[one.scaling.curve.most]
        for benchmark in found.benchmarks
        for one in benchmark.classes[:1]
    ]
    if len(points) < 2:
        return []
    table = (
        TableBuilder(points)
        .text("benchmark", "Benchmark", lambda point: kernel_name(point.summary.kernel))
        .text("class", "Class", lambda point: str(point.parameter("class")))
        .text("placement", "Placement", lambda point: placement_text(point.summary.cell.placement))
        .numbers("rate", "Rate [95% interval]", measured, unit="op/s")
        .numbers(
            "per_core",
            "Per core",
            lambda point: quantity(point.metric.median / point.cores, "op/s"),
            unit="op/s",
        )
    ).table("npb-headline", "NPB: rates of the largest classes on the most cores")
    return [dataclasses.replace(table, leading=True)]


def tables(found: BenchmarksFindings) -> list[Table]:
    """Tables of executed operations, and of the time of phases if kernels timed them."""
    return [*_rates(found), *_phases(found)]


def _rates(found: BenchmarksFindings) -> list[Table]:
    """The official rate and the executed flop/s of each class, with a row per core count."""
    rows = [done for benchmark in found.benchmarks for done in benchmark.done]
    if not rows:
        return []
    table = (
        TableBuilder(rows)
        .text("benchmark", "Benchmark", lambda done: done.title)
        .text(
            "placement", "Placement", lambda done: placement_text(done.point.summary.cell.placement)
        )
        .numbers("rate", "Official operations", lambda done: measured(done.point), unit="op/s")
        .numbers(
            "done",
            "Done",
            lambda done: quantity(done.flops, "flop/s", done.interval),
            unit="flop/s",
        )
        .numbers(
            "per_operation",
            "Done per official operation",
            lambda done: written(done.per_operation, "{:.2f}"),
        )
    )
    return [
        table.table(
            "npb-rates",
            f"NPB: {OWN_CODE}",
            notes=[
                "The NPB define official operations regardless of the code: random numbers for "
                "EP, keys for IS. Done: floating-point operations that the code executes, as "
                "counted on one rank."
            ],
        )
    ]


def _phases(found: BenchmarksFindings) -> list[Table]:
    """Time, computing and communication of each benchmark's largest class, by core count.

    Empty if no kernel timed its phases.
    """
    rows = [
        _row(scaling.title, phases)
        for benchmark in found.benchmarks
        for scaling in benchmark.drawn[:1]
        for phases in scaling.phases.values()
    ]
    if not rows:
        return []
    return [
        Table(
            id="npb-phases",
            title="Where the time of the NPB goes",
            columns=[
                Column("benchmark", "Benchmark"),
                Column("placement", "Placement"),
                Column("time", "Time", "s", numeric=True),
                Column("compute", "Computing", numeric=True),
                Column("communication", "Communication", numeric=True),
                Column("most", "Most of it"),
            ],
            rows=rows,
        )
    ]


def _row(title: str, phases: NpbPhases) -> list[Entry]:
    cell = phases.point.summary
    time = cell.metrics["time"]
    compute, communication = phases.shares.get(COMPUTE), phases.communication
    largest = phases.largest_communication
    interval = phases.compute_interval if largest else None
    rest = (1 - interval[1], 1 - interval[0]) if interval else None
    return [
        Entry(title),
        Entry(placement_text(cell.cell.placement)),
        Entry(quantity_text(time.median, "s", time.ci95), time.median),
        Entry(format_share(compute, interval), compute),
        Entry(format_share(communication, rest) if largest else "none", communication),
        Entry(
            f"{largest}, {format_share(phases.shares[largest])}" if largest else "", tone="quiet"
        ),
    ]
