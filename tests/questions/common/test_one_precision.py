"""One number has one precision: caveat, confidence and interval state the same."""

from __future__ import annotations

import dataclasses
import re

import msgspec
import pytest

from asking import reply_to
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.intervals import relative_half_width
from assay.units import format_half_width
from report_builder import make_cell, make_measurement, make_run

_STATED = re.compile(r"±([0-9.]+%)")


def test_a_wide_rate_has_one_precision_in_caveat_and_confidence() -> None:
    """Times from 1 to 300: the half-width of the rate is a tenth of the half-width of the time."""
    cell = make_cell("compute.dgemm", n=1000)
    times = [0.1, 0.12, 30.0, 0.11, 0.5, 0.13, 9.0, 0.12]
    measured = [make_measurement(cell, [time], number) for number, time in enumerate(times, 1)]
    run = make_run([], measurements=measured)
    plan = msgspec.structs.replace(run.manifest.plan, cells=(cell,))
    run = dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
    (summary,) = summarise_cells(run)
    rate = summary.metrics["rate"]
    half = relative_half_width(rate.ci95, rate.median)
    assert half is not None and half > 0.4
    time = relative_half_width(summary.metrics["time"].ci95, summary.metrics["time"].median)
    assert time is not None and time > 10 * half
    answer = reply_to("speed", [summary], run).answer
    stated = _STATED.findall(" ".join([*summary.caveats, answer.confidence_why, *answer.caveats]))
    wanted = {"1%", "50%"}  # requested, and the limit of low confidence
    assert {each for each in stated if each not in wanted} == {format_half_width(half)[1:]}


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "±0%"), (0.0031, "±0.31%"), (0.01, "±1%"), (0.0242, "±2.4%"), (26.0, "±2600%")],
)
def test_half_widths_have_two_digits(share: float, text: str) -> None:
    assert format_half_width(share) == text
