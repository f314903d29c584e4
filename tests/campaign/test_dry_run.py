"""``assay run --dry-run`` without a scheduler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli.app import main
from assay.model.plan import PlanContext
from assay.plans.suites import find_suite, load_plan
from assay.questions.papers.planned import planned_exhibits

SCENARIO = "schema = 1\ncores = 2\nnodes = {nodes}\n"


def dry(
    suite: str, nodes: int, path: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[str, str]:
    scenario = path / "machine.toml"
    scenario.write_text(SCENARIO.format(nodes=nodes))
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "run",
                suite,
                "--fake",
                str(scenario),
                "--runs",
                str(path / "runs"),
                "--dry-run",
                *more,
            ]
        )
    assert ended.value.code == 0
    assert not (path / "runs").exists()
    found = capsys.readouterr()
    return found.out, found.err


def test_it_says_how_long_it_takes_and_what_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = dry("isu-2005", 1, tmp_path, capsys)
    text = out + err
    assert "Measuring takes 15 min" in text
    assert "Figure 9, Two concurrent sends from a node over one: left out, it needs three" in text
    assert "Figure 7.a, Strided read: time with all ranks over time with one: complete." in text
    assert (
        "Figure 11, All-to-all: all ranks per node over one, equally many processes: left" in text
    )


def test_on_several_nodes_nothing_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = dry("isu-2005", 8, tmp_path, capsys, "--json")
    found = json.loads(out)
    assert (found["suite"], found["nodes"], found["budget"]) == ("isu-2005", 8, 900.0)
    assert found["left_out"] == []
    assert found["seconds"] == found["budget"]
    assert 0.0 < found["first_launches"] < found["budget"]
    assert found["beyond_budget"] == []
    assert all(each["planned"] == each["parts"] for each in found["exhibits"])


def test_what_the_machine_cannot_do_is_not_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A single configuration has no change of configuration; energy needs counters."""
    out, err = dry("nersc-2003", 2, tmp_path, capsys)
    assert "configuration of the network: complete, without the second configuration:" in out + err
    cells = load_plan(find_suite("seth-2004"), PlanContext(cores=2, nodes=2))
    with_counters, without = (
        {each.number: each for each in planned_exhibits(cells, energy=energy)}["Energy"]
        for energy in (True, False)
    )
    assert (with_counters.planned, without.planned) == (with_counters.parts, 0)


def test_a_small_budget_says_what_it_can_not_hold_and_whole_how_long_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("--budget", "3 s", "--json")
    kept = json.loads(dry("npb", 1, tmp_path, capsys, "class=C", *small)[0])
    assert kept["seconds"] == kept["budget"] == 3.0
    assert "BT class C, 1 rank" in kept["beyond_budget"]
    whole = json.loads(dry("npb", 1, tmp_path, capsys, "class=C", "--whole", *small)[0])
    assert whole["seconds"] == whole["first_launches"] == kept["first_launches"] > 60.0
    assert whole["beyond_budget"] == []
    out, err = dry("npb", 1, tmp_path, capsys, "class=C", "--budget", "3 s")
    assert "To keep to the budget of 3.00 s, " in out + err and "BT class C" in out + err


def test_other_suites_have_no_exhibits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = dry("noise", 1, tmp_path, capsys, "--json", "--budget", "30 s")
    found = json.loads(out)
    assert (found["exhibits"], found["budget"]) == ([], 30.0)
