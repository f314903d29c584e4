"""Commands that fail at some placements, in the whole program: named, never recommended."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter

import pytest

from assay.records.reading import read_run
from placement_lab import SearchLab, lab, placement_section, run_app

__all__ = ["lab"]  # a fixture

# Its behaviour with that many ranks and threads: fail, print no time, be wrong, hang. It would be
# the fastest of all there.
PROGRAM = """
import sys, time
what = dict(word.split("=") for word in sys.argv[3:])
bad = what.get(f"{sys.argv[1]}x{sys.argv[2]}", what.get("all", ""))
if bad == "fails":
    print("took 0.001"); print("right")
    sys.exit("no licence for this many")
if bad == "hangs":
    time.sleep(60)
if bad != "silent":
    print("took", 0.001 if bad else 0.2 / int(sys.argv[1]))
print("wrong" if bad == "wrong" else "right")
"""
SAID = {
    "fails": "it ended with exit status 1: no licence for this many",
    "silent": "it printed no time",
    "wrong": "its result was wrong",
    "hangs": "no end within 6 s",
}


def run(lab: SearchLab, *bad: str) -> subprocess.CompletedProcess[str]:
    (lab.path / "program.py").write_text(PROGRAM)
    app = f"{shlex.quote(sys.executable)} program.py {{ppn}} {{threads}} {' '.join(bad)}"
    return run_app(
        lab, "ppn=1,2", "threads=1,2", "--app", app, "--time", "took (.*)", "--verify", "right",
        "--timeout", "6 s", "--nodes", "1", "--config", str(lab.path / "assay.toml"),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def plain_config(lab: SearchLab) -> None:
    (lab.path / "assay.toml").write_text("")


# Two ways to fail per run, each at the placement that would be the fastest.
@pytest.mark.parametrize(
    "pair",
    [("fails", "silent"), pytest.param(("wrong", "hangs"), marks=pytest.mark.long)],
    ids=" and ".join,
)
def test_it_is_named_skipped_and_never_recommended(lab: SearchLab, pair: tuple[str, str]) -> None:
    finished = run(lab, f"2x1={pair[0]}", f"1x2={pair[1]}")
    section = placement_section(finished.stdout)
    assert section["status"] == "answered", finished.stderr
    caveats = " ".join(map(str, section["caveats"]))
    for how, where in zip(pair, ("2 ranks", "1 rank × 2 threads"), strict=True):
        assert f"{where}: {SAID[how]}" in caveats, caveats
    assert caveats.count("it is not recommended") == 2
    text = " ".join(map(str, [section["verdict"], *section["advice"]]))  # type: ignore[misc]
    assert "1 rank" in text and "2 ranks" not in text and "2 threads" not in text
    assert "program.py 1 1" in text and "program.py 2 1" not in text
    # Failed placements are not repeated; a hanging one leaves no record at all.
    data = read_run(lab.only_run().path)
    tried = Counter((m.cell.placement.ppn, m.cell.placement.threads) for m in data.measurements)
    assert tried[1, 1] >= 6 and tried[2, 1] == 1 and tried[1, 2] <= 1
    assert finished.returncode == 1  # a cell failed, which --fail-on reports


@pytest.mark.parametrize("how", ["wrong", pytest.param("silent", marks=pytest.mark.long)])
def test_where_nothing_verifies_nothing_is_recommended(lab: SearchLab, how: str) -> None:
    finished = run(lab, f"all={how}")
    assert finished.returncode == 1
    section = placement_section(finished.stdout)
    assert section["status"] == "unmeasured"
    assert section["verdict"] == "Not answered: no placement could be measured."
    assert section["advice"] == []
    caveats = " ".join(map(str, section["caveats"]))
    assert caveats.count(SAID[how]) == 3, caveats
    tried = read_run(lab.only_run().path).measurements
    assert max(Counter(m.cell.id for m in tried).values()) == 1
    assert json.loads(finished.stdout)
