"""Progress of long logs and replays: what a terminal and a file get, and when."""

from __future__ import annotations

import io

from rich.console import Console

from assay.report.usage.progress import DELAY, INTERVAL, UsageProgress


def shown(terminal: bool, reports: list[tuple[float, str, float, float]]) -> str:
    """What is written if these are reported: time, stage, done, total."""
    now = 0.0
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=80)
    with UsageProgress(console, lambda: now) as watch:
        for time, *report in reports:
            now = time
            watch(*report)
    return out.getvalue()


def test_a_file_has_a_line_per_interval_with_the_time_left():
    text = shown(
        False,
        [(0.0, "a", 0, 100), (1.0, "a", 10, 100), (INTERVAL, "a", 25, 100), (12.0, "a", 50, 100)],
    )
    assert text == "a: 25%, 30.0 s left\n"


def test_the_time_of_a_stage_counts_from_its_first_report():
    text = shown(False, [(50.0, "replays", 0, 4), (60.0, "replays", 1, 4)])
    assert text == "replays: 25%, 30.0 s left\n"


def test_a_terminal_has_a_bar_after_the_delay():
    assert shown(True, [(DELAY / 2, "a", 1, 2)]) == ""
    assert "50%" in shown(True, [(DELAY, "a", 1, 2)])
