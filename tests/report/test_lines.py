"""``--lines``: one line per node, cell or finding that is wrong, and nothing if none is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.app import main
from assay.model.cell import Cell
from assay.questions.common.lines import ReportLine, lines_text
from assay.stats.fleet.clusters import find_clusters
from fleet_builder import STRIDED, make_group
from history_builder import barrier, nightly, triad

HOSTS = [f"n{number:02d}" for number in range(30)]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What ``assay`` prints; nothing goes to stderr."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    printed = capsys.readouterr()
    assert not ended.value.code, printed.err
    assert printed.err == ""
    return printed.out


def noisy(slow: str, factor: float, seed: int = 5):
    drawn = np.random.default_rng(seed)
    of_node = dict(zip(HOSTS, np.exp(0.005 * drawn.standard_normal(len(HOSTS))), strict=True))

    def cost(host: str, cell: Cell, launch: int) -> float:
        planted = factor if (host, cell.kernel) == (slow, STRIDED.kernel) else 1.0
        return float(1e-3 * planted * of_node[host] * np.exp(0.003 * drawn.standard_normal()))

    return cost


def test_a_slow_node_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_group(tmp_path, HOSTS, noisy("n17", 1.25), launches=6)
    (line,) = said(capsys, "report", "--runs", str(tmp_path), "--lines").splitlines()
    where, what, change, since, text = line.split("  ")
    assert (where, what, since) == ("n17", "memory bandwidth", "-")
    assert change.startswith("-20% [-2") and change.endswith("]")
    assert text == "suspect a DIMM: failed, missing, or running at a lower rate"


def test_nothing_wrong_is_silent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_group(tmp_path / "nodes", HOSTS, noisy("", 1.0), launches=6)
    assert said(capsys, "report", "--runs", str(tmp_path / "nodes"), "--lines") == ""
    nightly(tmp_path / "steady", 30, [(barrier(), lambda night: 1e-6)])
    for command in ("report", "history"):
        assert said(capsys, command, "--runs", str(tmp_path / "steady"), "--lines") == ""


def test_a_change_has_its_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = [
        (barrier(), lambda night: 1e-6 * (1.1 if night >= 40 else 1.0)),
        (triad(), lambda night: 1e-3),
    ]
    nightly(tmp_path, 60, levels)
    (of_history,) = said(capsys, "history", "--runs", str(tmp_path), "--lines").splitlines()
    where, what, change, since, _ = of_history.split("  ", 4)
    assert where == "seth" and what.startswith("network.barrier")
    assert change.startswith(("-10% [", "-9.")) and "+" not in change
    # The newest run lies in the segment that begins on that day.
    (of_run,) = said(capsys, "report", "--runs", str(tmp_path), "--lines").splitlines()
    assert of_run.split("  ")[1].startswith("network.barrier")
    assert since in of_run.split("  ") and since.startswith("20")
    (same,) = json.loads(said(capsys, "report", "--runs", str(tmp_path), "--json"))["lines"]
    assert same["since"] == since and same["change"] < 0


def test_missed_expectations_are_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_group(tmp_path / "runs", HOSTS[:2], noisy("", 1.0), launches=6)
    expect = '[[expect]]\ncells = "network.barrier"\nvalue = "{}"\n'
    Path("assay.toml").write_text(expect.format("2 ms"))
    assert said(capsys, "report", "--lines") == ""
    Path("assay.toml").write_text(expect.format("0.5 ms"))
    lines = said(capsys, "report", "--lines").splitlines()
    assert [line[:20] for line in lines] == ["n00  network.barrier", "n01  network.barrier"]
    assert all("  missed: " in line for line in lines)


def test_lines_can_be_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nightly(tmp_path / "runs", 2, [(barrier(), lambda night: 1e-6)])
    given = (("a.lines", ()), ("b.txt", ("--lines",)), ("c", ("--format", "lines")))
    for name, more in given:
        words = ("report", "--runs", str(tmp_path / "runs"), *more, "-o", str(tmp_path / name))
        assert "report: " in said(capsys, *words)
    assert [(tmp_path / name).read_text() for name in ("a.lines", "b.txt", "c.lines")] == [""] * 3


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--json",), "JSON and lines can't both go to stdout."),
        (("--html",), "--lines and --format html contradict each other."),
        (("--format", "markdown"), "--lines and --format markdown contradict each other."),
    ],
)
def test_contradicting_formats_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], text: str
) -> None:
    nightly(tmp_path, 1, [(barrier(), lambda night: 1e-6)])
    with pytest.raises(SystemExit) as ended:
        main(["report", "--runs", str(tmp_path), "--lines", *more])
    printed = capsys.readouterr()
    assert ended.value.code == 2 and printed.out == ""
    assert text in printed.err


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=4))
def test_columns_survive_any_text(texts: list[tuple[str, str, str]]) -> None:
    """Two blanks separate columns, so no field has them; only printable ASCII is written."""
    printed = lines_text([ReportLine(*each) for each in texts])
    assert all(" " <= each <= "~" or each == "\n" for each in printed)
    rows = printed.splitlines()
    assert len(rows) == len(texts)
    for row in rows:
        fields = [field for field in row.split("  ") if field]
        assert 4 <= len(fields) <= 5 and not any("  " in field for field in fields)


def test_intervals_have_the_digits_of_the_change() -> None:
    lines = [
        ReportLine("n042", "memory.stream", "check DIMMs", -0.18, (-0.2, -0.16), "2026-06-05"),
        ReportLine("n1", "network.pingpong", "link", -0.021, None),
    ]
    assert lines_text(lines) == (
        "n042  memory.stream     -18% [-20, -16]  2026-06-05  check DIMMs\n"
        "n1    network.pingpong  -2.1%            -           link\n"
    )


@pytest.mark.filterwarnings("error")
def test_no_nodes_have_no_clusters() -> None:
    """A kind of nodes without results in a column."""
    assert find_clusters(np.empty(0), 0.001) is None
