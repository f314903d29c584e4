"""A fake machine with a paper's numbers reproduces the paper's conclusions; another one does not.

The machines are the scenarios in ``tests/data/papers``.
"""

from __future__ import annotations

import contextlib
import io
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from assay.cli.app import main
from assay.questions import ask_all
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured, Reply
from assay.questions.papers.findings import PaperFindings, QuantityFound
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells

SCENARIOS = Path(__file__).parents[2] / "data" / "papers"
# Statements that need what a fake machine has not: an adapter with a known rate, and CPU time.
UNKNOWN = re.compile(r"adapter whose bus|bus of the adapter|of its rate|of the network|accounting")
UNKNOWN_MORE = re.compile(r"network's hardware|CPU time|memory per flop|bytes per flop")
# Simulated time for six launches of each cell at the speed of those years.
BUDGETS = {"seth-2004": "5 h", "dell-2005": "40 min"}
# The Opteron's conclusions, which the Xeon contradicts.
OPTERON = re.compile(r"as on the Opteron")


def quietly(words: list[str]) -> None:
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit),
    ):
        main(words)


def asked(
    suite: str, scenario: str, launches: int = 6, *more: str, config: str = ""
) -> Reply[PaperFindings]:
    """The reply to the paper's question, on a run of the suite on the scenario's machine."""
    with TemporaryDirectory() as folder:
        plan = Path(folder) / "machine.toml"
        plan.write_text(scenario)
        if config:
            (Path(folder) / "assay.toml").write_text(config)
            more = (*more, "--config", str(Path(folder) / "assay.toml"))
        words = ["run", suite, "--fake", str(plan), "--runs", folder, "--no-report"]
        budget = ["--budget", BUDGETS[suite]] if suite in BUDGETS else []
        quietly([*words, "--launches", str(launches), "--seed", "1", *budget, *more])
        (path,) = Path(folder).glob("*/manifest.json")
        run = read_run(path.parent)
        replies = ask_all(Measured(run, summarise_cells(run)))
    assert replies[0].question.name == "papers"
    return replies[0]


def scenario(name: str) -> str:
    return (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")


@cache
def planted(suite: str) -> Reply[PaperFindings]:
    return asked(suite, scenario(suite), 24 if suite == "nersc-2003" else 6)


def outcomes(reply: Reply[PaperFindings]) -> dict[str, str]:
    return {
        each.says: each.outcome
        for exhibit in reply.findings.exhibits
        for each in exhibit.statements
    }


def quantity(reply: Reply[PaperFindings], name: str) -> QuantityFound:
    found = [each for exhibit in reply.findings.exhibits for each in exhibit.quantities]
    return next(each for each in found if each.name == name)


def here(reply: Reply[PaperFindings], name: str) -> float:
    value = quantity(reply, name).here
    assert value is not None
    return value.value


SUITES = ("dell-2005", "helix-2003", "isu-2005", "nersc-2003", "seth-2004")


LONG = ("isu-2005", "nersc-2003")


@pytest.mark.parametrize(
    "suite",
    [pytest.param(suite, marks=pytest.mark.long) if suite in LONG else suite for suite in SUITES],
)
def test_the_paper_s_machine_gives_the_paper_s_conclusions(suite: str) -> None:
    for says, outcome in outcomes(planted(suite)).items():
        if OPTERON.search(says):
            assert outcome == "does not hold", says
        elif outcome == "not measured":
            assert UNKNOWN.search(says) or UNKNOWN_MORE.search(says), says
        else:
            assert outcome == "holds", says
    values = [
        quantity.here
        for exhibit in planted(suite).findings.exhibits
        for quantity in exhibit.quantities
        if quantity.here is not None and quantity.here.launches is not None
    ]
    # Whole intervals decide; means, deviations and orders have none.
    without = sum(value.ci95 is None for value in values)
    assert without < (0.5 if suite == "nersc-2003" else 0.2) * len(values)


# A change of each machine, and the conclusion that it contradicts.
CONTRADICTIONS = [
    ("seth-2004", "1 - 0.3 * (ppn == 2)", "1 - 0.05 * (ppn == 2)", "BT uses the second processor"),
    (
        "dell-2005",
        "compute = 0.99, allreduce = 0.01",
        "compute = 0.5, allreduce = 0.5",
        "EP is coa",
    ),
]
MORE = [
    ("helix-2003", "5e-3 * (order == 'cyclic'", "0 * (order == 'cyclic'", "The rank order matters"),
    ("isu-2005", "(10e8 * ranks)", "(10e8 * ranks / ppn)", "EP loses nothing"),
    ("isu-2005", "(0.8 + 0.2", "(0.0 + 0.0", "The node's memory serves one processor at a time"),
    ("nersc-2003", "launch_sigma = 0.02 }", "launch_sigma = 0.4 }", "Two adapters raise"),
]


@pytest.mark.parametrize(
    ("suite", "old", "new", "says"),
    [*CONTRADICTIONS, *(pytest.param(*each, marks=pytest.mark.long) for each in MORE)],
)
def test_a_machine_without_the_effect_contradicts_the_conclusion(
    suite: str, old: str, new: str, says: str
) -> None:
    text = scenario(suite)
    assert old in text
    reply = asked(suite, text.replace(old, new), 24 if suite == "nersc-2003" else 6)
    (outcome,) = {
        outcome for sentence, outcome in outcomes(reply).items() if sentence.startswith(says)
    }
    assert outcome == "does not hold"


@pytest.mark.long
def test_table_3_by_accounting() -> None:
    found = outcomes(asked("nersc-2003", scenario("nersc-2003-t3e"), 24))
    by_accounting = {says: outcome for says, outcome in found.items() if "accounting" in says}
    assert len(by_accounting) == 3
    assert set(by_accounting.values()) == {"holds"}


def test_published_numbers_and_their_ratios() -> None:
    seth, helix = planted("seth-2004"), planted("helix-2003")
    assert here(seth, "dgemm one") == pytest.approx(2.664e9, rel=0.02)
    assert here(seth, "linpack of peak") == pytest.approx(0.601, rel=0.03)
    assert here(seth, "dip") == 131072
    (rate,) = quantity(seth, "linpack").published
    # Four nodes of eight processors have the rate per core of Seth's 120 nodes.
    assert rate.ratio == pytest.approx(16.1 / 480.7, rel=0.03)
    assert rate.per_core == pytest.approx(16.1 / 480.7 * 240 / 8, rel=0.03)
    assert rate.per_node == pytest.approx(16.1 / 480.7 * 120 / 4, rel=0.03)
    assert rate.machines is None and rate.code == "HPL, Atlas"
    (one,) = quantity(seth, "stream one").published
    assert (one.value, one.upper) == (651e6, 769e6)
    assert one.ratio == pytest.approx(1.0, rel=0.01)
    assert here(helix, "bisection one way") == pytest.approx(110e6 / 8, rel=0.02)


def test_the_grain_is_that_of_each_launch() -> None:
    """Computing and time of a launch vary together: 99% and 1% are 99, without uncertainty."""
    grain = quantity(planted("dell-2005"), "ep grain").here
    assert grain is not None and grain.ci95 is not None
    assert (grain.value, *grain.ci95) == pytest.approx((99.0, 99.0, 99.0), rel=1e-6)


@pytest.mark.long
def test_times_of_other_problems_and_losses_have_no_ratio() -> None:
    times = quantity(planted("nersc-2003"), "ep mean")
    assert times.here is not None
    assert [each.ratio for each in times.published] == [None]
    assert "other problems" in times.note


@pytest.mark.long
def test_prices_are_compared_where_they_are_known() -> None:
    assert quantity(planted("seth-2004"), "linpack per dollar").here is None
    prices = '[prices]\ncurrency = "USD"\nnode = 4166.67\n'
    reply = asked("seth-2004", scenario("seth-2004"), 6, config=prices)
    (price,) = quantity(reply, "price").published
    assert price.ratio == pytest.approx(4 / 120, rel=1e-3)
    texts = [entry.text for table in reply.tables() for row in table.rows for entry in row]
    assert "961 kflop/s/USD" in texts
    per_dollar = quantity(reply, "linpack per dollar")
    (published,) = per_dollar.published
    assert published.value == pytest.approx(480.7e9 / 500e3)
    assert per_dollar.here is not None and per_dollar.here.unit == "flop/s/USD"
    assert published.ratio == pytest.approx(16.1 / 4 / 480.7 * 120, rel=0.03)


@pytest.mark.long
def test_ratios_and_counts_of_nodes() -> None:
    isu = planted("isu-2005")
    assert here(isu, "mg loss") == pytest.approx(0.44, abs=0.01)
    assert here(isu, "read ratio") == pytest.approx(2.0, rel=0.01)
    # On the Xeon's numbers two ranks per node pay everywhere, as 2 × 0.72 is more than 1.
    assert here(isu, "cg gains to") == 4
    (tungsten, delicatearch) = quantity(isu, "mg loss").published
    assert tungsten.ratio == 1.0  # within 37% to 50%
    assert delicatearch.ratio == pytest.approx(0.44 / 0.17, rel=0.03)


def test_the_answer_says_what_was_left_out_and_what_has_changed() -> None:
    reply = planted("dell-2005")
    assert reply.answer.status == "answered"
    assert re.search(r"7 of 7 conclusions of Pepper .* hold here; 1 can't", reply.answer.verdict)
    conclusions, *others = reply.tables()
    assert "the latency between nodes is 1.00× that of PowerEdge SC1425 with" in conclusions.caption
    assert "machines times codes" in conclusions.caption
    assert others[-1].folded and "not compared" in others[-1].id.replace("-", " ")
    titles = [figure.title.partition(":")[0] for figure in reply.figures()]
    assert titles == [f"Figure {n}" for n in range(1, 7)]
    findings_json(reply.findings)


@pytest.mark.long
def test_one_node_does_what_it_can() -> None:
    alone = scenario("isu-2005").replace("nodes = 4", "nodes = 1")
    reply = asked("isu-2005", alone)
    left_out = " ".join(reply.answer.caveats)
    assert "Figure 9 is left out: it needs three nodes with two cores each." in left_out
    assert outcomes(reply)[
        "EP loses nothing: with all ranks per node, each rank is as fast as a single one"
    ] == ("holds")


def test_other_runs_are_not_asked() -> None:
    with TemporaryDirectory() as folder:
        words = ["run", "noise", "--fake", str(SCENARIOS / "dell-2005.toml"), "--no-report"]
        quietly([*words, "--runs", folder, "--launches", "1"])
        (path,) = Path(folder).glob("*/manifest.json")
        run = read_run(path.parent)
    assert "papers" not in [reply.question.name for reply in ask_all(Measured(run, []))]
