"""Figure of results over time: each run, and running medians."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from assay.charts.builder import numbers
from assay.charts.figure import Field, Figure
from assay.charts.layers import layer, shown_in, tips
from assay.charts.marks import Row, Spec, colour, level
from assay.questions.steadiness.variation.findings import VariationFindings
from assay.questions.steadiness.variation.sequences import MIN_WINDOW, SEQUENCES, RunSequence
from assay.units import listed

# Units of the time axis: minimum span (s), seconds per unit, name.
_UNITS = ((2 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "h"), (120.0, 60.0, "min"))


def sequence_figure(found: VariationFindings) -> Figure | None:
    """Each run's time relative to the cell's median, in order of time, with running medians."""
    sequences = found.sequences
    if sequences is None:
        return None
    rows = [row for line in sequences.lines for row in _rows(line)]
    span = max(float(row["time"] or 0.0) for row in rows)
    divisor, unit = next(((by, name) for least, by, name in _UNITS if span >= least), (1.0, "s"))
    start = datetime.datetime.fromtimestamp(sequences.began, datetime.UTC)
    x = numbers(
        "shown_time",
        f"time since {start:%Y-%m-%d %H:%M UTC} ({unit})",
        scale={"nice": False, "padding": 8},
        axis={"tickCount": 8, "format": ",.6~g"},
    )
    y_style: Spec = {
        "axis": {"format": "~%", "tickCount": 6},
        "scale": {"zero": False, "nice": True},
    }
    y = numbers("slower", "slower than the median", **y_style)
    hue = colour("cell", rows)
    of_session: Spec = {"color": hue, "detail": [{"field": "session", "type": "nominal"}]}
    windows = "datum.kind === 'window'"
    layers = [
        level(0.0),
        layer(
            {"type": "point", "filled": True, "size": 14, "opacity": 0.6},
            {
                "x": x,
                "y": y,
                "color": hue,
                "tooltip": tips(
                    ("cell", "cell"),
                    ("shown_time", f"time ({unit})", ".4~g"),
                    ("slower", "slower", "+.3~%"),
                ),
            },
            only="datum.kind === 'run'",
        ),
        layer(
            {"type": "area", "opacity": 0.15},
            {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **of_session},
            only=windows,
        ),
        layer({"type": "line", "strokeWidth": 2}, {"x": x, "y": y, **of_session}, only=windows),
    ]
    cells, count = [line.cell.label for line in sequences.lines], len(found.varied)
    caption = [
        "Each point is a run, relative to the median of all runs of its cell. Lines: the "
        f"median of at least {MIN_WINDOW} consecutive runs, with its 95% interval.",
        f"Of cells with more than {sequences.most} runs, only the slowest and the fastest run of "
        "each interval are drawn."
        if sequences.thinned
        else "",
        f"The {SEQUENCES} most notable cells of {count}." if count > SEQUENCES else "",
    ]
    return Figure(
        id="variation-sequence",
        title="Runs in order of time",
        caption=" ".join(words for words in caption if words),
        alt=f"Run times relative to their median in order of time, of {listed(cells)}.",
        fields=[
            Field("kind", "", "run, or window: the median of consecutive runs"),
            Field("cell", "", "what was measured"),
            Field(
                "session",
                "",
                "number of the session; runs without sessions are split at long pauses",
            ),
            Field("time", "s", "time of the run, or mean time of the window, since the first run"),
            Field("slower", "1", "excess over the cell's median, as a share of the median"),
            Field("low", "1", "lower end of the median's 95% interval"),
            Field("high", "1", "upper end of the median's 95% interval"),
        ],
        rows=rows,
        spec={"height": 260, "transform": shown_in({"time": divisor}), "layer": layers},
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
