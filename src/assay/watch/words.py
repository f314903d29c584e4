"""Messages of assay watch: changes, hangs, the status line, the summary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.stats.changes.control_charts import ControlRange
from assay.stats.changes.step_change import StepChange
from assay.units import counted, format_change, format_duration, format_quantity, format_share
from assay.watch.model import NormalRange, StepSummary, WatchEnd

if TYPE_CHECKING:
    from rich.console import Console

    from assay.watch.series import StepSeries


def times(normal: ControlRange | NormalRange) -> str:
    """``"0.100 to 0.104 s"``."""
    low = format_quantity(normal.low, "s").split(" ")
    high = format_quantity(normal.high, "s").split(" ")
    if low == high:
        return " ".join(high)
    return f"{low[0] if low[1] == high[1] else ' '.join(low)} to {' '.join(high)}"


def percent(ratio: float) -> str:
    """A ratio as a change: 1.5 is ``"+50%"``."""
    if not math.isfinite(ratio):
        return "far more"
    change = ratio - 1.0
    return format_change(change, spec="+.0f" if abs(change) >= 0.0995 else "+.1f")


def change_sentence(change: StepChange, source: str) -> str:
    """A sentence on how the steps changed, since which step, and by how much."""
    now = format_quantity(change.seconds, "s")
    normal = f"normally {times(change.normal)}"
    since = f"since step {change.since:,}"
    by = f"{now}, {percent(change.ratio)}; {normal}"
    if change.kind == "slower":
        said = f"steps take longer {since}: {by}"
    elif change.kind == "drifting":
        slope = format_change(100.0 * (change.slope or 0.0), spec="+.2g")
        said = f"steps take longer and longer {since}: {by}, {slope} in 100 steps"
    elif change.kind == "unsteady":
        how = (
            f"{change.spread:.1f} times"
            if math.isfinite(change.spread or math.inf)
            else "more than"
        )
        said = f"steps are less steady {since}: spread {how} what it was; {now}, {normal}"
    elif change.kind == "faster":
        said = f"steps are faster {since}: {by}"
    elif change.kind == "recovered":
        said = f"steps are back in their normal range {since}: {now}, {normal}"
    else:
        said = f"steps stay at {now} ({percent(change.ratio)}): this counts as normal from now on"
    return f"step {change.step:,}{source}: {said}"


def hang_sentence(step: int, source: str, waited: float, usual: float | None, doing: str) -> str:
    """A sentence on a hang."""
    normal = f" (usually {format_quantity(usual, 's')})" if usual is not None else ""
    after = f"after step {step:,}{source}" if step else f"after the first one{source}"
    return f"no step for {format_duration(waited)}{normal} {after}: {doing}"


def status(series: StepSeries | None, alarms: int, waited: float, lines: int | None) -> str:
    """The status line below the program's output."""
    if series is None or series.last is None:
        seen = f", {lines:,} lines" if lines else ""
        return f"assay: no step yet{seen}, {format_duration(waited)}"
    steps = f"{series.number or series.steps:,}" + (f" of {series.of:,}" if series.of else "")
    parts = [f"step {steps}"]
    normal = series.monitor.normal
    if series.values:
        parts.append(format_quantity(series.values[-1], "s"))
    if normal is not None:
        parts.append(f"normally {times(normal)}")
    else:
        parts.append("learning")
    if series.hanging is not None:
        parts.append(f"no step for {format_duration(waited)}")
    elif series.monitor.out is not None:
        parts.append(f"{series.monitor.out.kind} since step {series.monitor.out.since:,}")
    if alarms:
        parts.append(counted(alarms, "alarm"))
    left = series.left()
    if left is not None:
        parts.append(f"{format_duration(left)} left")
    return "assay: " + " · ".join(parts)


def print_summary(found: WatchEnd, console: Console) -> None:
    """Print the summary at the end."""
    from rich.table import Table
    from rich.text import Text

    console.print()
    if found.sources:
        table = Table(box=None, pad_edge=False)
        table.add_column("steps", overflow="fold")
        for column in ("n", "median", "CoV", "95%", "99%", "longest", "walltime, 99 of 100"):
            table.add_column(column, justify="right")
        for each in found.sources:
            table.add_row(
                Text(each.source),
                f"{each.steps:,}",
                format_quantity(each.median, "s"),
                format_share(each.cov),
                format_quantity(each.p95, "s"),
                format_quantity(each.p99, "s"),
                format_quantity(each.max, "s"),
                format_duration(each.walltime),
            )
        console.print(table)
    for each in found.sources:
        for sentence in _about(each):
            console.print(sentence, soft_wrap=True, markup=False)
    for change in found.changes:
        mark = "!" if change.alarm else "-"
        console.print(f"{mark} {change.sentence}", soft_wrap=True, markup=False)
        if change.why is not None and change.alarm:
            console.print(f"    cause: {change.why.sentence}", soft_wrap=True, markup=False)
        if change.alarm and change.until is not None:
            console.print(f"    until step {change.until:,}", markup=False)
    for hang in found.hangs:
        console.print(f"{'-' if hang.over else '!'} {hang.sentence}", soft_wrap=True, markup=False)
    for note in found.notes:
        console.print(note, soft_wrap=True, markup=False)
    said = f"{found.alarms or 'No'} alarm{'s' * (found.alarms != 1)} in"
    if found.blind and not found.alarms:
        said = "Watched for"
    console.print(
        f"{said} {format_duration(found.wall)}; watching took "
        f"{format_share(found.cost.share)} of a CPU.",
        markup=False,
    )


def _about(found: StepSummary) -> list[str]:
    said = []
    if found.needed is not None:
        noticed = "nothing could be noticed"
        if found.silence is not None:
            noticed += f" but {format_duration(found.silence)} without one"
        said.append(f"{found.steps:,} of the {found.needed:,} steps needed: {noticed}.")
    if found.outliers:
        every = f", one every {found.every:,} steps" if found.every else ""
        said.append(
            f"{counted(found.outliers, 'step')} far longer than the others "
            f"({format_quantity(found.largest, 's')} at most){every}."
        )
    if found.grouped > 1:
        said.append(
            f"Steps are short: each value is the mean of {found.grouped:,}, and so are the table's."
        )
    if found.walltime is not None and found.walltime_steps is not None:
        said.append(
            f"{found.walltime_steps:,} steps like these take {format_duration(found.walltime)} or "
            "less in 99 of 100 runs, if slow steps remain as frequent."
        )
    return said
