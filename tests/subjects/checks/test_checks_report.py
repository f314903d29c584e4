"""The report on a fleet's checks: planted faults, the lines for a mail, and every format."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from assay.check.baseline.file import baseline_path, write_baseline
from assay.check.fleet.baselines import FleetBaselines, read_baselines
from assay.check.fleet.reading import read_fleet
from assay.report.checks.write import report_checks
from assay.report.destination import Destination
from assay.subjects.checks.findings import find
from assay.subjects.checks.lines import lines
from assay.subjects.checks.model import ChecksFindings
from assay.subjects.checks.subject import SUBJECT
from checked_fleets import DAY, HOUR, KIND, NOW, PlantedFleet, PlantedNode, learned_baseline

BAD = "unhealthy: memory bandwidth 21.3 GB/s, expected 24.9 GB/s (p < 1e-6): check DIMMs"
PLANTED = [
    PlantedNode("failing", last=[BAD] * 3),
    PlantedNode("unsure", last=[BAD, "undecided: busy, others used 3.1 CPUs"]),
    PlantedNode("repaired", last=[BAD, "", ""]),
    PlantedNode("slower", trends={"stream": -0.08}),
    PlantedNode("gone", until=NOW - 5 * DAY),
    PlantedNode("busy", last=["undecided: busy, others used 1.9 CPUs", ""]),
]


def planted(folder: Path, healthy: int = 40) -> ChecksFindings:
    fleet = PlantedFleet(folder / "fleet").healthy(healthy).write(PLANTED)
    return find(read_fleet(fleet.folder), NOW)


def test_each_planted_fault_has_its_state(tmp_path: Path) -> None:
    found = planted(tmp_path)
    states = {node.host: node.state for node in found.nodes if node.state}
    assert states == {
        "failing": "failing",
        # An undecided check neither drains nor heals.
        "unsure": "failing",
        "repaired": "failed",
        "slower": "declining",
        "gone": "silent",
    }
    by_host = {node.host: node for node in found.nodes}
    failing = by_host["failing"]
    assert failing.times == 3 and failing.text == BAD.removeprefix("unhealthy: ")
    records = next(n for n in read_fleet(Path(found.folder)).nodes if n.host == "failing").records
    assert failing.since == records[-3].utc
    assert (failing.healthy, failing.unhealthy) == (117, 3)
    assert "memory bandwidth −" in by_host["slower"].text
    assert "5 d" in by_host["gone"].text


def test_counts_cover_all_checks_and_reasons_are_grouped(tmp_path: Path) -> None:
    found = planted(tmp_path)
    assert (found.unhealthy, found.undecided) == (5, 2)
    assert found.healthy == 46 * 120 - 7
    assert found.recent == 46 * 20
    (reason,) = found.reasons
    assert (reason.checks, reason.nodes) == (2, 2)
    assert reason.reason == "busy, others used … CPUs"
    assert sum(day.healthy + day.unhealthy + day.undecided for day in found.days) == 46 * 20


def test_the_lines_have_stable_columns(tmp_path: Path) -> None:
    printed = list(lines(planted(tmp_path)))
    assert [line.split()[:2] for line in printed] == [
        ["failing", "failing"],
        ["unsure", "failing"],
        ["slower", "declining"],
        ["gone", "silent"],
        ["repaired", "failed"],
    ]
    assert all(line.isascii() and line.isprintable() for line in printed)
    # The state begins in one column, after the longest name.
    assert {line[:9].rstrip() for line in printed} == {line.split()[0] for line in printed}
    _host, _state, since, times, text = printed[0].split(maxsplit=4)
    assert since.startswith("2026-09-21T") and since.endswith("Z") and times == "3"
    assert text == BAD.removeprefix("unhealthy: ")


def test_a_healthy_fleet_prints_nothing(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet").healthy(30)
    found = find(read_fleet(fleet.folder), NOW)
    assert list(lines(found)) == []
    assert "Nothing is wrong with the 30 nodes" in SUBJECT.answer(found).verdict


def test_a_decline_of_all_and_a_divided_fact_are_reported(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet", level=-0.04).healthy(30)
    found = find(read_fleet(fleet.folder), NOW, FleetBaselines({KIND: learned_baseline()}))
    (stream,) = [each for each in found.declining_kinds if each.component == "stream"]
    assert stream.interval[0] < -0.04 < stream.interval[1]
    answer = SUBJECT.answer(found)
    assert "all 30 nodes" in answer.verdict and "memory bandwidth" in answer.verdict
    assert any("kernel" in caveat for caveat in answer.caveats)
    assert any(line.startswith(f"kind:{KIND} declining") for line in lines(found))
    assert "checks-divided" in {table.id for table in SUBJECT.tables(found)}


def test_a_kind_whose_slowness_cant_drain_yet_is_a_line(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet").healthy(8)
    short = learned_baseline()
    parts = {
        name: msgspec.structs.replace(each, sessions=each.sessions[:2])
        for name, each in short.components.items()
    }
    short = msgspec.structs.replace(short, components=parts)
    found = find(read_fleet(fleet.folder), NOW, FleetBaselines({KIND: short}))
    (line,) = lines(found)
    assert line.startswith(f"kind:{KIND} learning  ") and line.isascii()
    assert "Slowness can't drain yet: the baseline covers " in line
    assert "2 sessions on 1 day" in line
    assert any("Slowness can't drain yet" in caveat for caveat in SUBJECT.answer(found).caveats)
    enough = find(read_fleet(fleet.folder), NOW, FleetBaselines({KIND: learned_baseline()}))
    assert list(lines(enough)) == []


def test_baselines_are_read_from_the_folder(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet").healthy(8)
    fleet.healthy(2, "new-kind", "x")
    baseline_path(fleet.folder, KIND).parent.mkdir()
    write_baseline(baseline_path(fleet.folder, KIND), learned_baseline())
    found = find(
        read_fleet(fleet.folder), NOW, read_baselines(fleet.folder, [KIND, "new-kind", ""])
    )
    assert {each.kind for each in found.levels if each.baseline} == {KIND}
    (divided,) = found.divided
    assert (divided.values, divided.nodes) == (["6.1.0", "6.1.2"], [20, 10])
    (missing,) = found.without_baseline
    assert missing.kind == "new-kind"
    assert any("no baseline of new-kind" in caveat for caveat in SUBJECT.answer(found).caveats)


def test_an_empty_folder_is_unmeasured(tmp_path: Path) -> None:
    found = find(read_fleet(tmp_path), NOW)
    answer = SUBJECT.answer(found)
    assert answer.status == "unmeasured" and "No node has been checked" in answer.verdict
    assert list(lines(found)) == [] and SUBJECT.figures(found) == []


@pytest.mark.parametrize("suffix", ["html", "json", "md"])
@pytest.mark.parametrize("state", ["empty", "healthy", "bad"])
def test_the_report_is_written_in_every_format(tmp_path: Path, suffix: str, state: str) -> None:
    fleet = PlantedFleet(tmp_path / "fleet")
    if state != "empty":
        fleet.healthy(12)
    if state == "bad":
        fleet.write(PLANTED)
    form = {"md": "markdown"}.get(suffix, suffix)
    path = tmp_path / f"checks.{suffix}"
    said = io.StringIO()
    report_checks(fleet.folder, Destination(form, path), Console(file=said, width=300))
    # Written files are from long ago, so all nodes are silent besides.
    assert ("failing" in said.getvalue()) == (state == "bad")
    text = path.read_text()
    if suffix == "json":
        (section,) = json.loads(text)["sections"]
        assert section["id"] == "checks"
        assert len(section["findings"]["nodes"]) == {"empty": 0, "healthy": 12, "bad": 18}[state]
    elif state == "bad":
        assert "check DIMMs" in text and "slower" in text


def test_it_is_silent_only_if_nothing_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setattr(time, "time", lambda: NOW)
    fleet = PlantedFleet(tmp_path / "fleet").healthy(20)
    said = io.StringIO()
    path = tmp_path / "night.html"
    assert report_checks(fleet.folder, Destination("html", path), Console(file=said)) == 0
    assert said.getvalue() == "" and path.exists()
    fleet.write([PlantedNode("bad", last=[BAD])])
    assert report_checks(fleet.folder, None, Console(file=said, width=40)) == 1
    # A narrow terminal breaks no line: the last column is whole.
    assert said.getvalue().count("\n") == 1 and BAD.removeprefix("unhealthy: ") in said.getvalue()
    # --verbose prints the report.
    said.truncate(0)
    report_checks(fleet.folder, None, Console(file=said, width=100), verbose=True)
    assert "1 node fails its checks (bad)" in " ".join(said.getvalue().split())


def test_a_node_that_was_checked_a_moment_ago_is_not_silent(tmp_path: Path) -> None:
    fleet = PlantedFleet(tmp_path / "fleet").write(
        [PlantedNode("now", until=NOW), PlantedNode("old", until=NOW - 2 * DAY - HOUR)]
    )
    found = find(read_fleet(fleet.folder), NOW)
    assert [node.host for node in found.of("silent")] == ["old"]
