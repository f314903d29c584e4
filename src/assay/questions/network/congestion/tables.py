"""Tables of the network under load: all pairs, and what load costs calls."""

from __future__ import annotations

from collections.abc import Callable

from assay.questions.common.selection import Point
from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    measured,
    quantity,
    share,
)
from assay.questions.network.congestion.findings import CongestionFindings, JudgedImpact
from assay.questions.network.congestion.impacts import Impact
from assay.questions.network.congestion.losses import CallLoss, ProgramLoss, VictimLoss
from assay.units import format_memory, format_share, format_size

_SHARES = (0.1, 0.3)


def tables(found: CongestionFindings) -> list[Table]:
    """All impacts, and what the worst aggressor of each victim costs."""
    made = [_impacts(found)]
    if found.losses:
        made.append(_losses(found.losses))
    if found.program is not None and found.program.calls:
        made.append(_program(found.program))
    return made


def _impacts(found: CongestionFindings) -> Table:
    judged = {id(each.impact): each for each in found.judged}
    rows = [*found.impacts, *found.controls.values()]
    return (
        TableBuilder(rows)
        .text("victim", "Victim", lambda row: f"{row.victim}, {format_size(row.bytes)}")
        .text("aggressor", "Aggressor", _aggressor)
        .numbers("share", "Active", lambda row: Entry(f"{row.share:.0%}", row.share), unit="1")
        .numbers("median", "Median", lambda row: measured(row.median))
        .numbers("p99", "99%", lambda row: measured(row.p99))
        .numbers("p999", "99.9%", lambda row: measured(row.p999))
        .numbers("mean", "Mean", lambda row: measured(row.mean))
        .numbers("quiet", "Quiet median", lambda row: _time(row.quiet), unit="s")
        .numbers("loaded", "Loaded median", lambda row: _time(row.loaded), unit="s")
        .numbers("load", "Load", lambda row: quantity(row.load, "B/s"), unit="B/s")
        .column("verdict", "Verdict", lambda row: _verdict(row, judged.get(id(row))))
        .table(
            "congestion-impacts",
            "Impact of load on each victim",
            caption="Loaded over quiet time, within launches: medians, 99th and 99.9th percentiles "
            "and means, with 95% intervals. Active: share of the aggressors' half of the nodes. "
            "Load: bytes that all aggressors receive. Words stand where all aggressors are active.",
            filters=("victim", "aggressor"),
            folded=len(rows) > 20,
        )
    )


def _aggressor(row: Impact) -> str:
    name = "none (control)" if row.share == 0.0 else row.aggressor
    return f"{name}, {row.setting}" if row.setting else name


def _time(point: Point | None) -> Entry:
    return NOTHING if point is None else quantity(point.metric.median, "s")


def _verdict(row: Impact, judged: JudgedImpact | None) -> Entry:
    if judged is None:
        return Entry("")
    if judged.slower:
        return Entry("slower", tone="warn")
    if judged.faster:
        return Entry("faster")
    return Entry("unaffected", tone="good") if judged.unaffected else Entry("open", tone="quiet")


def _losses(losses: tuple[VictimLoss, ...]) -> Table:
    builder = TableBuilder(losses)
    builder.text("victim", "Calls like", lambda row: f"{row.impact.victim}, "
                 f"{format_size(row.impact.bytes)}")  # fmt: skip
    builder.text("aggressor", "Beside", lambda row: row.impact.aggressor)
    builder.numbers("mean", "Ratio of means", lambda row: measured(row.mean))
    for part in _SHARES:
        name, heading = f"lost_{part:.0%}", f"Added at {part:.0%} of the time"
        builder.numbers(name, heading, _lost(part), unit="1")
    return builder.table(
        "congestion-costs",
        "What load costs an application",
        caption="Run time that the worst aggressor of each victim adds, if this share of the quiet "
        "run time is in such calls: share × (ratio of means - 1).",
    )


def _lost(part: float) -> Callable[[VictimLoss], Entry]:
    return lambda row: share(*row.lost(part))


def _program(program: ProgramLoss) -> Table:
    return (
        TableBuilder(program.calls)
        .text("victim", "Calls like", lambda row: row.victim)
        .text("functions", "Functions", lambda row: ", ".join(row.functions))
        .text("aggressor", "Beside", lambda row: row.aggressor)
        .numbers("share", "Share of run time", lambda row: share(row.share), unit="1")
        .numbers("bytes", "Bytes per call", _bytes, unit="B")
        .numbers("lost", "Added by load", lambda row: share(row.lost, row.lost_ci95), unit="1")
        .table(
            "congestion-program",
            "What load costs the profiled program",
            caption=f"Profile of {program.command}. In total load adds up to "
            f"{format_share(program.lost, program.lost_ci95)}; the ends of the intervals are added "
            f"up. {format_share(program.other)} of the run time is in other calls.",
        )
    )


def _bytes(row: CallLoss) -> Entry:
    if row.bytes is None:
        return NOTHING
    note = "" if row.alike else f" (victim {format_size(row.measured_bytes)})"
    return Entry(f"{format_memory(row.bytes)}{note}", row.bytes)
