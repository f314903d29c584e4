"""One machine over time, as compare, history and steadiness tell it: by the commands of a user."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.cli.app import main
from planted_runs import file_runs, planted_times, run_name

RUNS, STEP = 14, 8


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen runs of two cells; the first takes 15% longer from the ninth run on."""
    root = tmp_path_factory.mktemp("stepped")
    times = planted_times(np.random.default_rng(1), (RUNS, 2, 6), between=0.01)
    times[STEP:, 0] *= 1.15
    file_runs(root, times)
    return root


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """What a command prints."""
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main([str(word) for word in words])
    return capsys.readouterr().out


def asked(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    """What a command prints as JSON."""
    return json.loads(printed(capsys, *words))


def screen(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """What a command prints, on one line."""
    return " ".join(printed(capsys, *words).split())


def test_a_step_is_one_change_to_history_compare_and_steadiness(
    stepped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(capsys, "history", "--runs", stepped, "--json")
    changed, steady = found["cells"]
    assert (changed["state"], steady["state"]) == ("regression", "steady")
    (event,) = changed["events"]
    assert event["run"] == run_name(STEP)

    compared = asked(
        capsys, "compare", run_name(0), run_name(RUNS - 1), "--runs", stepped, "--json"
    )
    cells = {cell["cell"]: cell for cell in compared["cells"]}
    first = cells[changed["id"]]
    assert (first["verdict"], first["holds_for"]) == ("slower", "machines")
    # The same segments: times by history, speeds by compare.
    assert 1.0 / first["step"]["speed"] - 1.0 == pytest.approx(changed["against"])
    assert first["step"]["p"] == pytest.approx(2.0 * changed["p"])  # two cells
    assert first["speed_ci95"][0] < 1.0 / 1.15 < first["speed_ci95"][1]
    assert cells[steady["id"]]["verdict"] in ("open", "same")

    report = asked(capsys, "report", run_name(RUNS - 1), "--runs", stepped, "--json")
    (section,) = [each for each in report["sections"] if each["id"] == "steadiness"]
    assert "modes:" not in section["verdict"]
    assert "more time since 2025-06-23 15:06 UTC" in section["verdict"]
    varied = section["findings"]["variation"]["varied"]
    (change,) = varied[0]["shape"]["changes"]
    assert change["utc"] == pytest.approx(event["utc"])
    assert (change["size"], change["direction"]) == (pytest.approx(event["size"]), "more")
    assert varied[0]["shape"]["modes"] == varied[1]["shape"]["changes"] == []


def test_runs_on_one_side_of_the_step_are_alike(
    stepped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for pair in ((0, STEP - 1), (STEP, RUNS - 1)):
        words = [run_name(number) for number in pair]
        found = asked(capsys, "compare", *words, "--runs", stepped, "--json")
        assert {cell["verdict"] for cell in found["cells"]} <= {"open", "same"}
        assert all(cell["step"] is None for cell in found["cells"])


def test_a_step_back_in_time_is_faster(stepped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = screen(capsys, "compare", run_name(RUNS - 1), run_name(0), "--runs", stepped)
    assert "B is faster in 1 (" in text
    assert "in these two runs" not in text


def test_two_equal_runs_alone_claim_nothing_on_the_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs that scatter three times as much as launches: one in two pairs differs somewhere."""
    said = 0
    for seed in range(6):
        root = tmp_path / str(seed)
        times = planted_times(np.random.default_rng(seed), (2, 4, 6), between=0.03)
        file_runs(root, times)
        words = ["compare", run_name(0), run_name(1), "--runs", root]
        text = screen(capsys, *words)
        found = asked(capsys, *words, "--json")
        differing = [c for c in found["cells"] if c["verdict"] in ("slower", "faster")]
        said += bool(differing)
        assert ("In these two runs, of 4 shared cells" in text) == bool(differing)
        assert "low confidence" in text
        assert {cell["holds_for"] for cell in found["cells"]} == {"runs"}
    assert said >= 2


def test_equal_runs_with_four_others_are_not_different(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same runs beside four others; then one cell that takes 60% longer."""
    for seed in range(6):
        root = tmp_path / str(seed)
        times = planted_times(np.random.default_rng(seed), (6, 4, 6), between=0.03)
        if seed == 0:
            times[5, 2] *= 1.6
        file_runs(root, times)
        words = ["compare", run_name(0), run_name(5), "--runs", root]
        found = asked(capsys, *words, "--json")
        assert {cell["other_runs"] for cell in found["cells"]} == {4}
        assert {cell["holds_for"] for cell in found["cells"]} == {"machines"}
        slower = [cell for cell in found["cells"] if cell["verdict"] in ("slower", "faster")]
        assert [cell["name"] for cell in slower] == ["network.barrier, 4 ranks"] * (seed == 0)
        (mean,) = found["means"]
        assert seed == 0 or mean["speed_ci95"][0] < 1.0 < mean["speed_ci95"][1]
        text = screen(capsys, *words)
        assert "in these two runs, " not in text.lower()
        assert ("medium confidence" in text) == (seed == 0)
