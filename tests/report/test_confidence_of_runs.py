"""The confidence of runs on fake machines, as ``assay measure`` and ``assay report`` state it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli.app import main
from quick_part import first_quickly

# Launches scatter by 1%. The second machine is 4% slower from a moment on.
STEADY = """
schema = 1
seed = {seed}
[[kernel]]
match = "*"
time = "1.5e-11 * n * n * n * {factor}"
noise = {{ sigma = 0.001, launch_sigma = 0.01 }}
"""
MANY, ONE = "n=50..1000:+50", "n=1000"


def measured(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    sizes: str,
    *words: str,
    factor: str = "1",
    seed: int = 7,
) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """What ``assay measure`` prints; the section on speed, and the cells of the report.

    Runs of one test are in one folder.
    """
    machine = tmp_path / "machine.toml"
    machine.write_text(STEADY.format(factor=factor, seed=seed))
    runs = tmp_path / "runs"
    command = ["measure", "compute.dgemm", sizes, "--fake", str(machine), "--runs", str(runs)]
    with pytest.raises(SystemExit) as ended:
        main([*command, "--seed", "1", *words])
    assert not ended.value.code
    said = capsys.readouterr().out
    run = max(runs.iterdir(), key=lambda each: each.stat().st_ctime_ns)
    report = reported(run, tmp_path, capsys)
    (speed,) = (each for each in report["sections"] if each["id"] == "speed")
    return " ".join(said.split()), speed, report["cells"]


def reported(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What ``assay report`` prints of a run."""
    with pytest.raises(SystemExit) as ended:
        main(["report", str(run), "--json", "--output", str(tmp_path / "report.html")])
    assert not ended.value.code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_one_cell_of_six_launches_is_capped_and_says_what_lifts_it(tmp_path, capsys) -> None:
    said, speed, (cell,) = measured(tmp_path, capsys, ONE, "--launches", "6")
    assert speed["confidence"] == "low"
    for text in (said, speed["confidence_why"]):
        assert "6 launches can't show whether launches depend on each other" in text
        assert "`--launches 20`, or 5 other runs of this machine within the interval, give" in text
    assert said.endswith(f"low confidence: {speed['confidence_why']}")
    assert cell["evidence"]["autocorrelation"] == 0.7 and cell["evidence"]["cells"] == 0.0
    assert cell["evidence"]["coverage"] < 0.65


def test_one_cell_of_thirty_launches_has_high_confidence(tmp_path, capsys) -> None:
    said, speed, _ = measured(tmp_path, capsys, ONE, "--launches", "30")
    assert speed["confidence"] == "high" and "high confidence: Every headline number" in said


@pytest.mark.parametrize(("launches", "confidence"), [("12", "low"), ("30", "high")])
def test_independent_launches_of_many_cells(tmp_path, capsys, launches: str, confidence) -> None:
    _, speed, cells = measured(tmp_path, capsys, MANY, "--launches", launches)
    assert speed["confidence"] == confidence, speed["confidence_why"]
    assert all(each["evidence"]["cells"] > 10 for each in cells)
    assert all(each["evidence"]["autocorrelation"] < 0.3 for each in cells)
    if confidence == "low":
        assert "may all be in one of several lasting modes" in speed["confidence_why"]


@pytest.mark.parametrize(
    ("others", "factor", "confidence"),
    first_quickly([(5, 1.0, "medium"), (0, 1.0, "low"), (5, 1.2, "low")]),
)
@pytest.mark.long
def test_other_runs_of_the_machine_lift_a_short_run(
    tmp_path, capsys, others: int, factor: float, confidence: str
) -> None:
    """Five equal runs in the same folder give medium confidence; none or slower ones don't."""
    words = ("n=300..1000:+100", "--launches", "12")
    for number in range(others):
        measured(tmp_path, capsys, *words, factor=f"{factor}", seed=number)
    _, speed, cells = measured(tmp_path, capsys, *words, seed=9)
    assert speed["confidence"] == confidence, speed["confidence_why"]
    agreement = [cell["evidence"]["others"] for cell in cells]
    if not others:
        assert agreement == [None] * len(cells)
        assert "5 other runs of this machine within the interval" in speed["confidence_why"]
        return
    assert {each["runs"] for each in agreement} == {5}
    assert all((each["far"] == 5) == (factor > 1.0) for each in agreement)
    named = "5 of 5 other runs of this machine lie on one side" in speed["confidence_why"]
    assert named == (factor > 1.0)


def test_cells_that_become_slower_together_count_as_few(tmp_path, capsys) -> None:
    """A machine that slows down by 10% during the run: its cells share one disturbance."""
    _, speed, cells = measured(
        tmp_path, capsys, MANY, "--launches", "12", factor="(1 + 0.1 * (t > 4))"
    )
    assert speed["confidence"] == "low", speed["confidence_why"]
    assert all(each["evidence"]["cells"] < 4 for each in cells)


def test_cells_that_stop_by_the_rule_like_the_others_are_not_suspect(tmp_path, capsys) -> None:
    _, speed, cells = measured(tmp_path, capsys, MANY, "--launches", "6..12", "--precision", "1.2%")
    early = [each["evidence"]["early"] for each in cells]
    assert any(each is not None for each in early)
    assert "narrow by chance" not in speed["confidence_why"]
