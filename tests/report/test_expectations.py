"""Expectations: which cells, which verdict, and the JUnit file."""

from __future__ import annotations

import random
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import load_config
from assay.config.expectation import Expectation
from assay.errors import AssayError
from assay.report.expectations.judge import Judgement, judge
from assay.report.expectations.show import sentences, write_junit
from assay.stats.core.model import CellSummary, MetricSummary
from records_builder import make_cell

GB = 1e9


def cell(
    median: float = 100 * GB,
    ci95: tuple[float, float] | None = None,
    *,
    better: str = "more",
    kernel: str = "memory.stream",
    **parameters: int | str,
) -> CellSummary:
    unit = "B/s" if better == "more" else "s"
    metric = MetricSummary(
        unit=unit,
        better=better,  # type: ignore[arg-type]
        median=median,
        ci95=ci95,
        **dict.fromkeys(("min", "max", "p05", "p95"), median),  # type: ignore[arg-type]
        cov=0.0,
        cov_samples=0.0,
        n=6,
        samples=60,
        stop="precision",
    )
    made = make_cell(kernel, **parameters)
    name = "bandwidth" if better == "more" else "time"
    return CellSummary(kernel, made.id, made, "ok", True, dict(parameters), {name: metric}, [])


def outcome(
    expectation: Expectation, *cells: CellSummary, earlier: list[float] | None = None
) -> str:
    known = {each.id: np.array(earlier) for each in cells} if earlier is not None else {}
    (found,) = judge([expectation], cells, known)
    return found.outcome


# Value 100 GB/s, tolerance 5%: the limit is 95 GB/s. A time of 100 s: 105 s.
@pytest.mark.parametrize(
    ("median", "ci95", "better", "expected"),
    [
        (100, None, "more", "met"),
        (95.1, None, "more", "met"),
        (94.9, None, "more", "missed"),
        (94.9, (94.0, 95.5), "more", "undecided"),
        (94.0, (93.0, 94.9), "more", "missed"),
        (200, None, "more", "met"),
        (104.9, None, "less", "met"),
        (106, (104, 107), "less", "undecided"),
        (106, (105.5, 107), "less", "missed"),
        (50, None, "less", "met"),
    ],
)
def test_a_value_is_missed_if_the_whole_interval_is_worse_than_the_limit(
    median: float, ci95: tuple[float, float] | None, better: str, expected: str
) -> None:
    scale = GB if better == "more" else 1.0
    interval = (ci95[0] * scale, ci95[1] * scale) if ci95 else None
    metric, value = ("bandwidth", "100 GB/s") if better == "more" else ("time", "100 s")
    expectation = Expectation("memory.stream", metric=metric, value=value)
    assert outcome(expectation, cell(median * scale, interval, better=better)) == expected


def test_a_result_that_is_too_good_can_be_a_miss() -> None:
    expectation = Expectation("memory.*", metric="bandwidth", value="100 GB/s", better="10%")
    assert outcome(expectation, cell(109 * GB)) == "met"
    assert outcome(expectation, cell(111 * GB)) == "missed"
    assert outcome(expectation, cell(111 * GB, (109 * GB, 113 * GB))) == "undecided"


def test_cells_without_a_result_do_not_pass() -> None:
    expectation = Expectation("npb.cg", value="1 s")
    (none,) = judge([expectation], [cell()], {})
    assert (none.outcome, none.failed, none.cell) == ("unmeasured", True, "npb.cg")
    failed = CellSummary(
        "npb.cg", "1", make_cell("npb.cg", **{"class": "A"}), "failed", None, {}, {}, [], "killed"
    )
    (found,) = judge([expectation], [failed], {})
    assert (found.outcome, found.sentence) == ("unmeasured", "Not measured: killed.")


def test_a_metric_or_unit_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AssayError, match="have no metric 'latency'"):
        judge([Expectation("memory.*", metric="latency", value=1.0)], [cell()], {})
    with pytest.raises(AssayError, match="quantity in B/s is required"):
        judge([Expectation("memory.*", metric="bandwidth", value="3 s")], [cell()], {})


LIKE = Expectation("memory.stream", like="history")


def test_few_earlier_runs_decide_nothing() -> None:
    made = cell(50.0, better="less", kernel="memory.stream")
    assert outcome(Expectation("memory.stream", metric="time", value="49 s"), made) == "met"
    headline = cell(1.0)
    assert outcome(LIKE, headline, earlier=[1.0] * 4) == "undecided"
    assert outcome(LIKE, headline) == "undecided"


def test_earlier_runs_that_are_equal_allow_one_percent() -> None:
    assert outcome(LIKE, cell(0.992), earlier=[1.0] * 6) == "met"
    assert outcome(LIKE, cell(0.985), earlier=[1.0] * 6) == "missed"
    assert outcome(LIKE, cell(2.0), earlier=[1.0] * 6) == "met"


def test_a_steady_machine_rarely_misses_and_a_slow_one_always_does() -> None:
    """By simulation: at most 1 in 1,000 of steady runs, of a CoV of 2%; 15% slower is found."""
    random_ = random.Random(5)
    steady = slow = 0
    for _ in range(1500):
        *earlier, now = (random_.gauss(0.0, 0.02) for _ in range(11))
        values = [float(np.exp(value)) for value in earlier]
        steady += outcome(LIKE, cell(float(np.exp(now))), earlier=values) == "missed"
        slow += outcome(LIKE, cell(float(np.exp(now)) * 0.85), earlier=values) == "missed"
    assert steady <= 7  # of 1.5 expected: more has a probability below 0.001
    assert slow > 1400


# ---- what is written -------------------------------------------------------------------------

ALL = [
    Judgement("CG class A, 1 node", "rate", "met", "As expected.", seconds=1.5),
    Judgement("EP & <x>", "rate", "missed", "5 < 6 & worse", "n1", seconds=2.0),
    Judgement("FT", "rate", "undecided", "It is not known.", "n2"),
    Judgement("npb.*", "", "unmeasured", "The run has no such cell."),
]


def test_the_junit_file_has_a_case_for_each_judgement(tmp_path: Path) -> None:
    write_junit(ALL, "20260101-quick", tmp_path / "junit.xml")
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "3.500"}
    cases = suite.findall("testcase")
    assert [[child.tag for child in case] for case in cases] == [
        ["system-out"],
        ["failure"],
        ["skipped"],
        ["error"],
    ]
    assert cases[1].get("classname") == "assay.n1"
    assert cases[1][0].get("message") == "5 < 6 & worse"


@given(st.text())
def test_any_text_gives_a_file_that_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("junit") / "junit.xml"
    write_junit([Judgement(text, text, "missed", text, text)], text, path)
    assert ElementTree.parse(path).getroot()[0].get("tests") == "1"


def test_sentences_name_what_is_not_met_worst_first() -> None:
    lines = sentences(ALL)
    assert lines[0] == "4 expectations: 1 met, 1 missed, 1 undecided and 1 unmeasured."
    assert lines[1].startswith("missed: n1: EP & <x> · 5 < 6")
    assert [line.partition(":")[0] for line in lines[1:]] == ["missed", "unmeasured", "undecided"]


# ---- the config ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('cells = "npb.cg"', "exactly one of"),
        ('cells = "npb.cg"\nvalue = 1\nlike = "history"', "exactly one of"),
        ('cells = "npb.cg"\nlike = "history"\ntolerance = "5%"', "earlier runs give the tolerance"),
        ('cells = "npb.cg A"\nvalue = 1', "selects no cells"),
        ('cells = ""\nvalue = 1', "selects no cells"),
        ('cells = "x"\nvalue = 1\ntolerance = "500%"', "A tolerance is a share"),
        ('cells = "x"\nvalue = 1\nwhere = "here"', "There is no key 'expect.where'"),
        ('cells = "x"\nvalue = 1\nother = 1', "other"),
    ],
)
def test_contradictions_are_refused_with_their_line(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "assay.toml"
    path.write_text(f"[[expect]]\n{text}\n")
    with pytest.raises(AssayError, match=what) as caught:
        load_config(path)
    assert "assay.toml:" in str(caught.value.where)
