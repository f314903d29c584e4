"""Figure of results over time: each run, and running medians."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot
from assay.questions.steadiness.variation.findings import VariationFindings
from assay.questions.steadiness.variation.sequences import MIN_WINDOW, SEQUENCES, RunSequence
from assay.units import listed

# Units of the time axis: minimum span (s), seconds per unit, name.
_UNITS = ((2 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "h"), (120.0, 60.0, "min"))


def sequence_figure(found: VariationFindings) -> Figure | None:
    """The time of each run relative to the cell's median, in order of time, with running
    medians.
    """
    sequences = found.sequences
    if sequences is None:
        return None
    rows = [row for line in sequences.lines for row in _rows(line)]
    span = max(float(row["time"] or 0.0) for row in rows)
    divisor, unit = next(((by, name) for least, by, name in _UNITS if span >= least), (1.0, "s"))
    start = datetime.datetime.fromtimestamp(sequences.began, datetime.UTC)
    columns = [
        DataColumn("kind", "run, or window: the median of consecutive runs", kind="name"),
        DataColumn("cell", "what was measured", kind="name"),
        DataColumn("session",
                   "number of the session; runs without sessions are split at long pauses"),
        DataColumn("time", "time of the run, or mean time of the window, since the first run", "s",
                   f"time ({unit})", ".4~g", factor=divisor),
        DataColumn("slower", "excess over the cell's median, as a share of the median", "1",
                   format="+.3~%"),
        DataColumn("low", "lower end of the median's 95% interval", "1"),
        DataColumn("high", "upper end of the median's 95% interval", "1"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=260)
    x = plot.axis(
        "time",
        f"time since {start:%Y-%m-%d %H:%M UTC} ({unit})",
        nice=False, padding=8, tick_count=8, format=",.6~g",
    )  # fmt: skip
    y = plot.axis("slower", "slower than the median", format="~%", tick_count=6, zero=False,
                  nice=True)  # fmt: skip
    hue = plot.hue("cell")
    runs, windows = "datum.kind === 'run'", "datum.kind === 'window'"
    tips = ("cell", "time", "slower")
    plot.level(y=0.0)
    plot.dots(only=runs, size=14, opacity=0.6, x=x, y=y, colour=hue, tips=tips)
    of_session = {"only": windows, "x": x, "colour": hue, "detail": "session"}
    plot.area(**of_session, opacity=0.15, y=plot.same(y, "low"), y2="high")
    plot.line(**of_session, stroke_width=2, y=y)
    cells, count = [line.cell.label for line in sequences.lines], len(found.varied)
    caption = [
        "Points: single runs, relative to the median of all runs of the cell. Lines: the "
        f"median of at least {MIN_WINDOW} consecutive runs, with its 95% interval.",
        f"If a cell has more than {sequences.most} runs, only the slowest and the fastest run of "
        "each interval are drawn."
        if sequences.thinned
        else "",
        f"Drawn: the {SEQUENCES} most notable of {count} cells." if count > SEQUENCES else "",
    ]
    return plot.figure(
        "variation-sequence",
        "Runs in order of time",
        caption=" ".join(words for words in caption if words),
        alt=f"Run times relative to their median in order of time, of {listed(cells)}.",
    )


def _rows(line: RunSequence) -> Iterator[Row]:
    """The rows of a cell's runs and windows."""
    for session, time, slower in line.runs:
        yield _row(
            kind="run", line=line, session=session, time=time, slower=slower, ends=(None, None)
        )
    for window in line.windows:
        ends = window.ci95 or (None, None)
        yield _row(
            kind="window",
            line=line,
            session=window.session,
            time=window.time,
            slower=window.slower,
            ends=ends,
        )


def _row(
    kind: str,
    line: RunSequence,
    session: int,
    time: float,
    slower: float,
    ends: tuple[float | None, float | None],
) -> Row:
    return {
        "kind": kind,
        "cell": line.cell.label,
        "session": session,
        "time": time,
        "slower": slower,
        "low": ends[0],
        "high": ends[1],
    }
