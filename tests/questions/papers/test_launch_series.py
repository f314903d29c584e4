"""Charts of launches: their trials in order, and their histogram by wall clock and CPU time."""

from __future__ import annotations

import contextlib
import io
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from assay.cli.app import main
from assay.questions.common.question import Measured
from assay.questions.papers.curves import PaperCurve, curve_of
from assay.questions.papers.figures import figures
from assay.questions.papers.findings import ExhibitFound, PaperFindings
from assay.questions.papers.model import ExhibitCurve
from assay.questions.papers.points import run_cells
from assay.questions.papers.trials import SHOWN, first_over_rest, trials_of
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells

# The first sample of a launch takes three times as long. A rank has a CPU for 0.5 s of each second.
MACHINE = """
schema = 1
seed = 3

[[kernel]]
time = "1e-3"
noise = { sigma = 0.01, launch_sigma = 0.02 }
warmup = { samples = 1, factor = 3 }
covariates = { least_cpu_seconds = "0.5", sampling_seconds = "1.0" }
"""


@cache
def measured() -> Measured:
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        (Path(folder) / "machine.toml").write_text(MACHINE)
        words = ["measure", "memory.strided", "op=copy", "--launches", "12", "--seed", "1"]
        with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
            main([*words, "--fake", f"{folder}/machine.toml", "--runs", folder])
        (path,) = Path(folder).glob("*/manifest.json")
        run = read_run(path.parent, samples=True)
        return Measured(run, summarise_cells(run))


def chart(**given: str) -> PaperCurve:
    written = {"name": "fig", "metric": "access", "x": "launch", **given}
    found = curve_of(ExhibitCurve(kernel=("memory.strided",), **written), run_cells(measured()))
    assert found is not None
    return found


def test_trials_begin_with_the_first_sample() -> None:
    run = run_cells(measured())
    (point,) = run.points("memory.strided", "access")
    trials = trials_of(run, point, "access")
    assert len(trials) == 12
    drawn = chart(form="trials").points
    assert [each.x for each in drawn] == list(range(1, min(trials[0].size, SHOWN) + 1))
    assert [each.value for each in drawn] == pytest.approx(trials[0][:SHOWN].tolist())
    assert drawn[0].value > 2.5 * drawn[1].value


def test_the_first_trial_over_the_others_is_the_planted_factor() -> None:
    run = run_cells(measured())
    (point,) = run.points("memory.strided", "access")
    found = first_over_rest(trials_of(run, point, "access"))
    assert found is not None
    value, interval, unit = found
    assert interval is not None and unit == ""
    assert value == pytest.approx(3.0, rel=0.02)
    assert interval[0] < 3.0 < interval[1] or interval == pytest.approx((3.0, 3.0), rel=0.02)
    assert first_over_rest([]) is None


def test_a_histogram_counts_each_launch_once() -> None:
    wall, cpu = chart(form="histogram"), chart(form="histogram", statistic="cpu")
    assert sum(point.launches for point in wall.points) == 12
    assert sum(point.launches for point in cpu.points) == 12
    assert [point.value for point in wall.points] == [point.value for point in cpu.points]
    # The CPU time is half of the wall clock, so the bins are at half of the values.
    assert [float(each.x) for each in cpu.points] == pytest.approx(
        [float(each.x) / 2.0 for each in wall.points]
    )


def test_figures_of_histograms_have_a_bar_per_bin() -> None:
    curve = chart(form="histogram", what="run time")
    exhibit = ExhibitFound("Figure 5", "Run times", "", "", (), (curve,), ())
    found = PaperFindings("nersc-2003", "P", "T", 2003, "?", "", (exhibit,), ())
    (figure,) = figures(found)
    assert figure.title == "Figure 5: Run times"
    assert figure.caption == "12 launches."
    rows = figure.rows
    assert len(rows) == len(curve.points)
    lows, highs = [row["low"] for row in rows], [row["high"] for row in rows]
    assert lows[1:] == pytest.approx(highs[:-1])
