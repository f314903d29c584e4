"""Results in order of time: each run, and how their median moves."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import numpy as np

from assay.answers.study import Study, Varied
from assay.answers.variation import notable
from assay.report.marks import Row, Spec, colour, level, listed
from assay.report.model import Field, Figure
from assay.stats.intervals import Floats, median_interval
from assay.stats.sessions import sessions

_LINES = 4  # courses that are told apart where they cross
# Rows of all lines: points of single runs, and windows whose medians are joined.
_RUNS, _WINDOWS = 640, 160
# Runs of a window, so that its median has an interval and says more than a run does.
_LEAST_WINDOW = 6
_SCALES = ((2 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "h"), (120.0, 60.0, "min"))


def sequence_figure(study: Study) -> Figure | None:
    """Each run's time relative to the cell's median, in order of time, with running medians."""
    chosen = [each for each in notable(study, _LINES) if np.ptp(each.times) > 0.0]
    if not chosen:
        return None
    began = min(float(each.repeats.utc[0]) for each in chosen)
    most = max(1, _RUNS // len(chosen))
    windows = max(2, _WINDOWS // len(chosen))
    rows = [row for each in chosen for row in _course(each, began, most, windows)]
    span = max(float(row["time"] or 0.0) for row in rows)
    divisor, unit = next(((by, name) for least, by, name in _SCALES if span >= least), (1.0, "s"))
    start = datetime.datetime.fromtimestamp(began, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    thinned = max(len(each.times) for each in chosen) > most
    x: Spec = {
        "field": "shown_time",
        "type": "quantitative",
        "title": f"time since {start} ({unit})",
        "scale": {"nice": False, "padding": 8},
        "axis": {"tickCount": 8, "format": ",.6~g"},
    }
    y: Spec = {"type": "quantitative", "title": "slower than the median"}
    axis: Spec = {"axis": {"format": "~%", "tickCount": 6}, "scale": {"zero": False, "nice": True}}
    hue = colour("cell", rows)
    drawn: list[Spec] = [
        {
            "transform": [{"filter": "datum.kind === 'run'"}],
            "mark": {"type": "point", "filled": True, "size": 14, "opacity": 0.6},
            "encoding": {
                "x": x,
                "y": {"field": "slower", **y, **axis},
                "color": hue,
                "tooltip": [
                    {"field": "cell", "title": "what"},
                    {"field": "shown_time", "title": f"time ({unit})", "format": ".4~g"},
                    {"field": "slower", "title": "slower", "format": "+.3~%"},
                ],
            },
        },
        {
            "transform": [{"filter": "datum.kind === 'window'"}],
            "mark": {"type": "area", "opacity": 0.15},
            "encoding": {
                "x": x,
                "y": {"field": "low", **y, **axis},
                "y2": {"field": "high"},
                "color": hue,
                "detail": [{"field": "session", "type": "nominal"}],
            },
        },
        {
            "transform": [{"filter": "datum.kind === 'window'"}],
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {
                "x": x,
                "y": {"field": "slower", **y, **axis},
                "color": hue,
                "detail": [{"field": "session", "type": "nominal"}],
            },
        },
    ]
    return Figure(
        id="variation-sequence",
        title="Run after run",
        caption="Each point is a run, against the median of all runs of its cell. Lines: the "
        f"median of at least {_LEAST_WINDOW} runs that follow each other, with its 95% interval."
        + (
            f" Of more than {most} runs a cell, the slowest and the fastest of each stretch."
            if thinned
            else ""
        )
        + (
            f" The {_LINES} cells with most to see of {len(study.varied)}."
            if len(study.varied) > _LINES
            else ""
        ),
        alt="Run times relative to their median in order of time, of "
        f"{listed([each.label for each in chosen])}.",
        fields=[
            Field("kind", "", "run, or window: the median of runs that follow each other"),
            Field("cell", "", "what was measured"),
            Field(
                "session", "", "which session of its runs, or, where they had none, by long pauses"
            ),
            Field("time", "s", "time of the run, or the middle of the window, since the first"),
            Field("slower", "1", "by which share of the cell's median it is slower"),
            Field("low", "1", "lower end of the median's 95% interval"),
            Field("high", "1", "upper end of it"),
        ],
        rows=rows,
        spec={
            "height": 260,
            "transform": [{"calculate": f"datum.time / {divisor!r}", "as": "shown_time"}],
            "layer": [level(0.0), *drawn],
        },
    )


def _course(varied: Varied, began: float, most: int, windows: int) -> Iterator[Row]:
    """A cell's points and its windows."""
    time, slower = varied.repeats.utc - began, varied.slower
    session = sessions([varied.repeats])
    for place in _kept(slower, most):
        yield {
            "kind": "run",
            "cell": varied.label,
            "session": int(session[place]),
            "time": float(time[place]),
            "slower": float(slower[place]),
            "low": None,
            "high": None,
        }
    size = max(_LEAST_WINDOW, -(-slower.size // windows))
    for number in np.unique(session):
        (members,) = np.nonzero(session == number)
        if members.size < size:
            continue
        for part in np.array_split(members, max(1, members.size // size)):
            interval = median_interval(slower[part])
            yield {
                "kind": "window",
                "cell": varied.label,
                "session": int(number),
                "time": float(time[part].mean()),
                "slower": float(np.median(slower[part])),
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
            }


def _kept(values: Floats, most: int) -> list[int]:
    """The places of the points that are drawn: all, or of each stretch the least and the most."""
    if values.size <= most:
        return list(range(values.size))
    kept: set[int] = set()
    for part in np.array_split(np.arange(values.size), max(1, most // 2)):
        kept |= {int(part[np.argmin(values[part])]), int(part[np.argmax(values[part])])}
    return sorted(kept)
