"""Promised availability: node hours counted by intervals, and logs of outages."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acceptance_runs import contract
from assay.acceptance.availability import DAY, Downtime, decide_availability
from assay.cli.app import main
from assay.errors import AssayError
from assay.report.acceptance.outages import read_outages
from assay.subjects.acceptance.findings import find

BEGIN = 1788220800.0  # 2026-09-01
CONTRACT = """\
[machine]
hosts = "n[1-4]"
[penalties]
currency = "EUR"
[[steadiness]]
name = "September"
availability = "98%"
begin = 2026-09-01
days = 30
planned = "excluded"
penalty = 5000
"""
HOURS = st.integers(-10, 80)


@given(
    spans=st.lists(st.tuples(st.integers(1, 3), HOURS, st.integers(1, 30), st.booleans())),
    now=st.integers(0, 60),
    excluded=st.booleans(),
)
def test_intervals_are_counted_like_single_hours(
    spans: list[tuple[int, int, int, bool]], now: int, excluded: bool
) -> None:
    """Against a table of node hours: three nodes, two days."""
    hours = 48
    down = np.zeros((4, hours), dtype=bool)
    planned = np.zeros((4, hours), dtype=bool)
    for node, start, length, is_planned in spans:
        part = slice(max(start, 0), max(min(start + length, hours), 0))
        if excluded and is_planned:
            planned[node, part] = True
        else:
            down[node, part] = True
    down, planned = down[1:], planned[1:]
    passed = np.arange(hours) < min(now, hours)
    count = ~planned
    up = int((count & ~down & passed).sum())
    all_hours, later = int(count.sum()), int((count & ~passed).sum())
    found = decide_availability(
        [
            Downtime(f"n{node}", 3600.0 * start, 3600.0 * (start + length), is_planned)
            for node, start, length, is_planned in spans
        ],
        3,
        (0.0, 3600.0 * hours),
        3600.0 * now,
        0.9,
        planned_excluded=excluded,
    )
    assert found.period == pytest.approx(all_hours)
    assert found.down == pytest.approx(int((count & down & passed).sum()))
    if all_hours:
        assert found.low == pytest.approx(up / all_hours)
        assert found.high == pytest.approx((up + later) / all_hours)
    expected = "undecided"
    if all_hours and (up + later) / all_hours < 0.9 - 1e-12:
        expected = "rejected"
    elif all_hours and up / all_hours >= 0.9 + 1e-12:
        expected = "accepted"
    assert found.outcome == expected or math.isclose(up / max(all_hours, 1), 0.9)


def test_an_outage_that_lasts_is_down_until_now() -> None:
    found = decide_availability(
        [Downtime("n1", 0.0, math.inf)], 2, (0.0, 10.0 * DAY), 2.0 * DAY, 0.8,
        planned_excluded=False,
    )  # fmt: skip
    assert found.value == 0.5
    assert (found.low, found.high) == (pytest.approx(0.1), pytest.approx(0.9))
    assert [day.available for day in found.days] == [0.5, 0.5]
    assert found.outcome == "undecided"


def log(folder: Path, text: str, name: str = "outages.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_tables_and_events_of_slurm_say_the_same(tmp_path: Path) -> None:
    table = log(
        tmp_path,
        "begin,end,nodes,planned,reason\n"
        "2026-09-03 06:00,2026-09-04 06:00,n2,no,power supply\n"
        '2026-09-10,2026-09-10 12:00,"n[1,3-4]",yes,update\n'
        "2026-09-20 00:00,,n4,,\n",
    )
    events = log(
        tmp_path,
        "NodeName|TimeStart|TimeEnd|State|Reason\n"
        "n2|2026-09-03T06:00:00|2026-09-04T06:00:00|DOWN|Not responding\n"
        + "".join(
            f"n{k}|2026-09-10T00:00:00|2026-09-10T12:00:00|DRAIN|Maintenance of September\n"
            for k in (1, 3, 4)
        )
        + "n4|2026-09-20T00:00:00|Unknown|DOWN*|unplanned\n",
        "events.txt",
    )
    agreed = contract(CONTRACT)
    one, other = (find(agreed, [], read_outages([path], agreed)) for path in (table, events))
    (found,) = one.availabilities
    # n2 for a day, n4 for the last eleven of thirty days; 36 node hours are planned.
    assert (found.down_hours, found.planned_hours) == (pytest.approx(24 + 11 * 24), 36.0)
    assert found.value == pytest.approx(1.0 - 288.0 / (4 * 720 - 36))
    assert found.outcome == "rejected"
    assert one.penalty.value == pytest.approx(5000.0 * 100.0 * (1.0 - found.value / 0.98))
    assert [*found.days] == other.availabilities[0].days
    assert found.nodes_down == 2


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("begin,end\n", 1, "The table has no column 'nodes'"),
        ("start,end,nodes\n", 1, "The table has no column 'begin'"),
        ("begin,end,nodes,why\n", 1, "an unknown column 'why'"),
        ("begin,end,nodes\n2026-09-01,2026-09-02\n", 2, "has 2 fields"),
        ("begin,end,nodes\nyesterday,,n1\n", 2, "'yesterday' is not a time"),
        ("begin,end,nodes\n2026-09-03,2026-09-02,n1\n", 2, "ends (2026-09-02) before it begins"),
        ("begin,end,nodes,planned\n2026-09-01,,n1,maybe\n", 2, "'planned' can't be 'maybe'"),
        ("begin,end,nodes\n2026-09-01,,n[1\n", 2, ""),
        ("NodeName|TimeStart|TimeEnd|State\nn1|2026-09-01T00:00:00\n", 2, "isn't an outage"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    path = log(tmp_path, text)
    with pytest.raises(AssayError) as caught:
        read_outages([path], contract(CONTRACT))
    assert caught.value.where == f"{path}:{line}"
    assert what in caught.value.what
    assert caught.value.fix


def test_outages_need_a_promise(tmp_path: Path) -> None:
    agreed = contract('[[commitment]]\ncells = "memory.stream"\nat_least = "1 GB/s"\n')
    with pytest.raises(AssayError, match="promises no availability"):
        read_outages([log(tmp_path, "")], agreed)


def test_outages_of_strange_nodes_do_not_count(tmp_path: Path) -> None:
    agreed = contract(CONTRACT)
    path = log(tmp_path, "begin,end,nodes\n2026-09-01,2026-09-20,login1\n")
    (found,) = find(agreed, [], read_outages([path], agreed)).availabilities
    assert (found.value, found.strangers, found.outcome) == (1.0, ["login1"], "accepted")
    unnamed = contract(CONTRACT.replace('hosts = "n[1-4]"', "nodes = 1"))
    path = log(tmp_path, 'begin,end,nodes\n2026-09-01,2026-09-20,"n[1-2]"\n')
    with pytest.raises(AssayError, match="The log has outages of 2 nodes"):
        find(unnamed, [], read_outages([path], unnamed))


def test_the_command_judges_a_log_without_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = log(tmp_path, f'schema = 1\ntitle = "Test"\n{CONTRACT}', "contract.toml")
    table = log(tmp_path, "begin,end,nodes\n2026-09-03,2026-09-04,n2\n")
    with pytest.raises(SystemExit) as ended:
        main(["accept", str(file), "--outages", str(table), "--json"])
    assert ended.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == "accepted"
    assert found["availabilities"][0]["value"] == pytest.approx(1.0 - 24.0 / 2880.0)
    with pytest.raises(SystemExit) as ended:
        main(["accept", str(file)])
    assert ended.value.code == 3
    assert "Name the log of outages with --outages." in capsys.readouterr().out
