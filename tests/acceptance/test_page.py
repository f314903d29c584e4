"""The page of an acceptance: a screen for the board, a page for each promise, an annex."""

from __future__ import annotations

import re

import pytest

from acceptance_pages import STATES, accepted, judged, nodes, rejected
from assay.report.acceptance.annex import annex_tables
from assay.report.acceptance.build import build_acceptance
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from assay.subjects.acceptance.board import board_of

A4, LETTER = (8.27, 11.69), (8.5, 11.0)
# The lower of the two papers without its margins, in px; and A4's width.
LOWEST, PAPER = (11.0 - 24.0 / 25.4) * 96.0, 703
_BOARD = """
const box = document.querySelector("#answers").getBoundingClientRect();
const text = (name) => [...document.querySelectorAll(name)].map((e) => e.textContent.trim());
return { bottom: box.bottom + scrollY, titles: text(".headlines dt"), values: text(".headlines dd"),
  outcome: text(".outcome strong")[0], wide: document.documentElement.scrollWidth - innerWidth };
"""
_BREAKS = """
return [...document.querySelectorAll("main > section")]
  .map((e) => [e.id, getComputedStyle(e).breakBefore]);
"""


def pages_in(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.slow
@pytest.mark.parametrize("state", [name for name in STATES if name not in ("nodes", "many")])
def test_the_board_fits_a_screen_and_a_page(browser, tmp_path, state):
    found, runs = STATES[state](tmp_path)
    browser.open_text(to_html(build_acceptance(found, runs)))
    for width, most in ((1200, 800), (400, 2000)):
        browser.resize(width)
        board = browser.ask(_BOARD)
        assert board["wide"] <= 0
        assert board["outcome"].lower() == found.outcome
        assert board["bottom"] < most
        for outcome, number in found.counts.items():
            assert str(number) in board["values"]
            assert outcome.capitalize() in board["titles"]
        assert ("Score" in board["titles"]) == (found.mean is not None)
        assert ("Penalty" in board["titles"]) == bool(found.currency)
    for paper in (A4, LETTER):
        # The board, what the verdict rests on, a page for each promise, and the annex.
        assert pages_in(browser.printed(paper)) >= 2 + len(found.promises)
    browser.paper(width=PAPER)
    assert browser.ask(_BOARD)["bottom"] < LOWEST
    breaks = dict(browser.ask(_BREAKS))
    assert breaks.pop("answers") == "auto"
    assert set(breaks.values()) == {"page"}
    assert [name for name in breaks if name.startswith("promise-")] == [
        f"promise-{number}" for number in range(1, len(found.promises) + 1)
    ]


def test_a_board_says_what_is_to_be_decided(tmp_path):
    board = board_of(rejected(tmp_path / "a")[0])
    assert (board.verdict, board.tone, board.sentence) == (
        "Rejected", "bad", "1 promise of 6 is broken.",
    )  # fmt: skip
    (decide,) = board.decide
    assert "or accept it with the penalty: Latency of 16 B." in decide
    assert "EUR" in decide
    board = board_of(accepted(tmp_path / "b")[0])
    assert board.decide == ["Sign the acceptance. No promise is open."]
    assert [each.title for each in board.headlines] == ["Score", "Accepted"]


def test_a_page_has_what_its_promise_rests_on(tmp_path):
    found, runs = rejected(tmp_path)
    report = build_acceptance(found, runs)
    page = next(each for each in report.sections if each.id == "promise-2")
    facts = {row[0].text: row[1].text for row in page.tables[0].rows}
    assert facts["Promised"] == "at most 1.00 ms"
    assert facts["Measured [95% interval]"].endswith("(+5.0%)")
    assert facts["Launches"].startswith("21 used of 30")
    assert facts["Runs"] == runs[0].name
    assert facts["Penalty"].startswith("49,998 EUR [")
    (figure,) = page.figures
    assert [row["value"] for row in figure.rows] == found.commitments[1].series
    assert sum(row["used"] == "used" for row in figure.rows) == 21


def test_nodes_are_drawn_in_order(tmp_path):
    found, runs = nodes(tmp_path, 12)
    report = build_acceptance(found, runs)
    figure = report.sections[1].figures[0]
    values = [row["value"] for row in figure.rows]
    assert values == sorted(values) and len(values) == 12
    assert [row["node"] for row in figure.rows if row["state"] == "worse than promised"] == [
        each.node for each in found.commitments[0].node_medians if each.slow
    ]
    assert sum(each.slow for each in found.commitments[0].node_medians) == 2


def test_the_annex_groups_runs_by_their_conditions(tmp_path):
    _, runs = nodes(tmp_path, 8)
    tables = {table.id: table for table in annex_tables(runs)}
    rows = {row[0].text: row[2].text for row in tables["acceptance-conditions"].rows}
    assert set(rows.values()) == {"all"}
    assert rows["assay"] == "all"


def test_the_annex_names_the_runs_that_differ(tmp_path):
    import msgspec

    from acceptance_runs import filed_run, normal_times
    from assay.acceptance.measured import read_measured
    from assay.records.files import write_atomically
    from records_builder import make_cell

    names = []
    for kernel in ("5.14.0", "5.15.0", "5.15.0"):
        run = filed_run(tmp_path, [(make_cell(), normal_times(1, 1.0, 6))])
        manifest = msgspec.structs.replace(
            run.manifest(),
            system={
                "schema": 1,
                "os": {"kernel": kernel},
                "firmware": "Vendor 2.1",
                "processor": {"name": "EPYC 9654", "model": 17},
            },
        )
        write_atomically(run.path / "manifest.json", msgspec.json.encode(manifest))
        names.append(run.name)
    runs = read_measured(tmp_path, names)
    assert {each.processor for each in judged_runs(runs)} == {"EPYC 9654"}
    (table, *_) = annex_tables(runs)
    rows = {(row[0].text, row[1].text): row[2].text for row in table.rows}
    assert rows["Kernel", "5.14.0"] == names[0]
    assert rows["Kernel", "5.15.0"] == f"{names[1]}; {names[2]}"
    assert rows["Firmware", "Vendor 2.1"] == "all"


def judged_runs(runs):
    from acceptance_runs import contract
    from assay.subjects.acceptance.findings import find

    text = '[[commitment]]\ncells = "network.barrier"\nmetric = "time"\nat_most = "2 s"\n'
    return find(contract(text), runs).runs


def test_long_names_are_cut_on_the_board(tmp_path):
    from acceptance_pages import SIZES, commitment

    name = "Latency of messages between two nodes in different racks, as agreed in section 3"
    found, _ = judged(tmp_path, commitment(SIZES[0], name), {}, launches=4)
    (decide,) = board_of(found).decide
    assert decide.startswith("Open: 1 (Latency of messages between two nodes in …).")


def test_markdown_has_each_page_once(tmp_path):
    found, runs = rejected(tmp_path)
    text = to_markdown(build_acceptance(found, runs), "figures")
    assert text.count("## 2. Latency of 16 B: rejected") == 1
