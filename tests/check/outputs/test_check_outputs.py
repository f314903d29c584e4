"""What a check prints and writes: valid in its format, and the same in all of them."""

from __future__ import annotations

import os
import re
import stat
import string
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import openmetrics_grammar
from assay.check.components import COMPONENTS
from assay.check.model import Fact, NodeFinding, Outcome, Quiet, Reading
from assay.check.outputs.evidence import evidence
from assay.check.outputs.files import replace_file
from assay.check.outputs.junit import junit
from assay.check.outputs.line import printed_line, shortened
from assay.check.outputs.textfile import textfile
from assay.check.result import CheckCounts, NodeCheck, UsedBaseline

SLOW = NodeFinding(
    about="stream",
    value="141 GB/s",
    expected="167 GB/s",
    deviation=-0.16,
    interval=(-0.17, -0.15),
    probability=3e-7,
    text="memory bandwidth 141 GB/s, expected 167 (-16%, p 3e-7); check DIMMs",
)
SPEED = NodeFinding(
    about="net.eth0.speed", value="1 Gbit/s", expected="25 Gbit/s", text="eth0 at 1 of 25 Gbit/s"
)
#: What hosts, kinds and reasons may contain although they shouldn't.
NASTY = 'a"b\\c\n<d>&\'\x00\x1b[31m\ud800é𝔘 {x="1"} \u202e'


def check_with(outcome: Outcome = "unhealthy", **changes: object) -> NodeCheck:
    check = NodeCheck(
        assay="1.2.3",
        host="n0001",
        kind="amd-epyc-7763-2s-128c-512g",
        utc=1.79e9,
        outcome=outcome,
        status={"healthy": 0, "unhealthy": 1, "undecided": 3}[outcome],
        reason=SLOW.text,
        line=printed_line(outcome, SLOW.text),
        seconds=5.25,
        stages={"start": 0.25, "facts": 0.5},
        baseline=UsedBaseline(
            digest="0123456789ab", version=3, created=1.78e9, nodes=120, checks=360
        ),
        readings=[
            Reading(component="core", values=[4e10, 3e10, 5e10], cpus=[0, 7, 9], seconds=0.3),
            Reading(component="stream", values=[1.41e11, 1.42e11, 1.4e11], seconds=0.5),
            Reading(component="stream", values=[1.43e11], seconds=0.25),
            Reading(component="storage", values=[], failed="No space left on device."),
            Reading(
                component="latency",
                values=[9e-8],
                verified=False,
                quiet=Quiet(others=1.5, steal=0.02, held_back=0.1, throttled=3),
            ),
        ],
        facts=[Fact(name="cpu.online", value=128), Fact(name="net.eth0.speed", value=1e9)],
        unread=["infiniband: no answer in time"],
        divided=["kernel: 5.14.0-1 on 60 nodes, 5.14.0-2 on 60"],
        warnings=["The record is missing."],
        counts=CheckCounts(healthy=40, unhealthy=1, undecided=2),
    )
    return msgspec.structs.replace(check, **changes)


def cases_of(check: NodeCheck) -> dict[str, ElementTree.Element]:
    suite = ElementTree.fromstring(junit(check))[0]
    cases = suite.findall("testcase")
    assert int(suite.attrib["tests"]) == len(cases)
    for tag in ("failure", "skipped"):
        assert int(suite.attrib[{"failure": "failures"}.get(tag, tag)]) == sum(
            case.find(tag) is not None for case in cases
        )
    return {f"{case.attrib['classname']} {case.attrib['name']}": case for case in cases}


def metrics_of(check: NodeCheck) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    families = openmetrics_grammar.parse(textfile(check))
    for family in families.values():
        assert family.help and family.type == "gauge"
        assert all(time is None for _, _, time in family.samples)
    return {
        name: {labels: value for labels, value, _ in family.samples}
        for name, family in families.items()
    }


class TestLine:
    @given(st.text(max_size=400), st.sampled_from(["healthy", "unhealthy", "undecided"]))
    def test_any_reason_gives_one_printable_line(self, reason: str, outcome: Outcome) -> None:
        line = printed_line(outcome, reason)
        assert len(line) <= 100
        assert re.fullmatch("[ -~]+", line)
        assert line.startswith(f"{outcome}: ")

    def test_what_fits_is_not_changed(self) -> None:
        reason = "r" * 89
        assert printed_line("unhealthy", reason) == f"unhealthy: {reason}"
        assert printed_line("unhealthy", reason + "r").endswith("...")

    def test_usual_signs_have_a_form_in_ascii(self) -> None:
        line = printed_line("undecided", "3 × 5\u202fµs – Größe ≥ 1")
        assert line == "undecided: 3 x 5 us - Gro?e >= 1"

    @given(st.text(alphabet=string.printable, max_size=300), st.integers(10, 120))
    def test_cutting_keeps_the_beginning(self, text: str, most: int) -> None:
        short = shortened(text, most)
        assert len(short) <= most
        assert text.startswith(short.removesuffix("..."))
        assert (short == text) == (len(text) <= most)


class TestJunit:
    def test_a_finding_fails_its_own_case(self) -> None:
        cases = cases_of(check_with(findings=[SLOW, SPEED]))
        failed = {name for name, case in cases.items() if case.find("failure") is not None}
        assert failed == {
            "assay.check.n0001.measurements memory bandwidth",
            "assay.check.n0001.facts net",
        }
        bandwidth = cases["assay.check.n0001.measurements memory bandwidth"]
        assert bandwidth.attrib["time"] == "0.750"
        failure = bandwidth.find("failure")
        assert failure is not None and failure.attrib["message"] == SLOW.text
        storage = cases["assay.check.n0001.measurements local storage"]
        skipped = storage.find("skipped")
        assert skipped is not None and "No space" in skipped.attrib["message"]

    def test_a_suspicion_passes_with_a_note(self) -> None:
        cases = cases_of(check_with("healthy", suspected=[SLOW], reason="", readings=[]))
        assert all(case.find("failure") is None for case in cases.values())
        cases = cases_of(check_with("healthy", suspected=[SLOW], reason=""))
        note = cases["assay.check.n0001.measurements memory bandwidth"].find("system-out")
        assert note is not None and "suspected" in str(note.text)

    def test_nothing_passes_without_a_decision(self) -> None:
        for check in (check_with("undecided"), check_with("undecided", readings=[], facts=[])):
            cases = cases_of(check)
            assert cases
            assert all(case.find("skipped") is not None for case in cases.values())

    def test_an_unhealthy_node_has_a_failed_case_even_without_readings(self) -> None:
        cases = cases_of(check_with(findings=[SPEED], readings=[], facts=[]))
        assert sum(case.find("failure") is not None for case in cases.values()) == 1
        cases = cases_of(check_with(readings=[], facts=[]))
        assert sum(case.find("failure") is not None for case in cases.values()) == 1


class TestTextfile:
    def test_its_metrics(self) -> None:
        found = metrics_of(check_with(findings=[SLOW], suspected=[SPEED]))
        outcome = found["assay_check_outcome"]
        assert outcome[(("outcome", "unhealthy"),)] == 1.0
        assert sum(outcome.values()) == 1.0
        assert found["assay_check_end_time_seconds"] == {(): 1.79e9}
        assert found["assay_check_duration_seconds"] == {(): 5.25}
        assert found["assay_check_core_flops"] == {(): 3e10}  # the slowest CPU
        assert found["assay_check_stream_bytes_per_second"] == {(): 1.415e11}
        assert found["assay_check_latency_seconds"] == {(): 9e-8}
        assert "assay_check_storage_bytes_per_second" not in found
        assert found["assay_check_finding"] == {
            (("about", "stream"), ("state", "failed")): 1.0,
            (("about", "net.eth0.speed"), ("state", "suspected")): 1.0,
        }
        assert found["assay_check_deviation_ratio"] == {
            (("about", "stream"), ("state", "failed")): -0.16
        }
        assert found["assay_check_checks"][(("outcome", "healthy"),)] == 40.0

    def test_every_component_has_a_metric_with_its_unit(self) -> None:
        readings = [Reading(component=each.name, values=[2.0]) for each in COMPONENTS]
        found = metrics_of(check_with(readings=readings))
        alone, by_device = {(): 2.0}, {(("device", "0"),): 2.0}
        measured = {name for name, values in found.items() if values in (alone, by_device)}
        assert len(measured) == len(COMPONENTS)
        units = ("_flops", "_bytes_per_second", "_seconds", "_per_second")
        assert all(name.endswith(units) for name in measured)

    def test_the_same_finding_twice_is_one_sample(self) -> None:
        metrics_of(check_with(findings=[SLOW, SLOW], suspected=[SLOW]))


def test_hostile_names_break_no_format() -> None:
    finding = NodeFinding(about=NASTY, value=NASTY, expected=NASTY, text=NASTY)
    check = check_with(
        host=NASTY,
        kind=NASTY,
        reason=NASTY,
        line=printed_line("unhealthy", NASTY),
        findings=[finding],
        suspected=[finding],
        unread=[NASTY],
        divided=[NASTY],
        facts=[Fact(name=NASTY, value=NASTY)],
    )
    assert cases_of(check)
    assert metrics_of(check)
    assert all(re.fullmatch("[ -~]*", line) for line in evidence(check).splitlines())


def test_evidence_has_values_expectations_and_what_disturbed() -> None:
    text = evidence(check_with(findings=[SLOW], suspected=[SPEED]))
    assert text.splitlines()[0] == f"unhealthy: {SLOW.text}"
    for part in (
        "version 3 (0123456789ab): 360 checks of 120 nodes",
        "-16.0%, 95% interval -17.0% to -15.0%",
        "3e-07",
        "30.0 Gflop/s (CPU 7)",
        "No space left",
        "wrong result",
        "1.50 CPUs",
        "2.0% stolen",
        "held back 0.10 s",
        "3 throttling events",
        "no answer in time",
        "5.14.0-1 on 60 nodes",
        "40 healthy, 1 unhealthy, 2 undecided",
        "facts 0.50 s",
    ):
        assert part in text, part


class TestFiles:
    def test_a_file_is_replaced_as_a_whole(self, tmp_path: Path) -> None:
        path = tmp_path / "assay.prom"
        before = os.umask(0o077)
        try:
            assert replace_file(path, b"one") == ""
            kept = path.open("rb")
            assert replace_file(path, b"two") == ""
        finally:
            os.umask(before)
        assert kept.read() == b"one"  # a reader keeps what it has opened
        kept.close()
        assert path.read_bytes() == b"two"
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        assert list(tmp_path.iterdir()) == [path]

    def test_what_a_killed_check_left_is_no_obstacle(self, tmp_path: Path) -> None:
        (tmp_path / ".assay.prom.new").symlink_to(tmp_path / "elsewhere")
        assert replace_file(tmp_path / "assay.prom", b"new") == ""
        assert not (tmp_path / "elsewhere").exists()
        assert (tmp_path / "assay.prom").read_bytes() == b"new"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
    def test_failures_are_clauses(self, tmp_path: Path) -> None:
        assert replace_file(tmp_path / "none" / "a", b"x") == "No such file or directory"
        (tmp_path / "folder").mkdir()
        assert replace_file(tmp_path / "folder", b"x") == "Is a directory"
        assert [path.name for path in tmp_path.iterdir()] == ["folder"]
