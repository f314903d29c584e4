"""What the pages of a site say, whatever runs and names they are about."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import prepared_assay
from assay.model.cell import Cell
from assay.records.group import read_group
from assay.report.site.first_page import left_out_sentence
from assay.report.site.machines import folder_of
from assay.subjects.history.findings import find
from assay.subjects.history.query import HistoryQuery
from assay.subjects.nodes.answer import answer
from assay.subjects.nodes.findings import find as find_nodes
from assay.subjects.nodes.subject import lines
from fleet_builder import STRIDED, make_group
from many_runs import ManyRuns
from report_pages import Page
from sites import built, check_links, pages_of, two_stores

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e../../x"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Two stores, a report in one run, and their site by the command."""
    root = tmp_path_factory.mktemp("pages")
    two_stores(root / "stores")
    reported = sorted((root / "stores/a").iterdir())[-1]
    (reported / "report.html").write_text("the report")
    command = [sys.executable, "-m", "assay", "site", "stores/a", "stores/b", "--json"]
    done = prepared_assay.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["machines"], found["runs"], found["new"]) == (2, 54, 54)
    return root


def history_of_store(store: Path):
    nothing = dict.fromkeys(("kernel", "suite", "system", "since", "until"))
    return find(store, HistoryQuery.of(words=(), least="1%", **nothing))


def test_pages_say_what_the_history_says(root):
    history = history_of_store(root / "stores/a")
    assert "regressed" in history.verdict
    pages = pages_of(root / "site")
    for name in ("index.html", "machines/alpha/index.html"):
        assert history.verdict in Page(pages[name]).text
    (event,) = [each for cell in history.cells for each in cell.events]
    assert event.remark in Page(pages["index.html"]).text
    assert pages["machines/alpha/index.html"].count("<svg") == 1
    assert "Steady" in Page(pages["machines/beta/index.html"]).text


def test_all_links_lead_somewhere_and_reports_are_linked(root):
    assert check_links(root / "site") > 20
    page = Page((root / "site/machines/alpha/index.html").read_text())
    links = [each["href"] for each in page.all("a")]
    assert [each for each in links if each.endswith("-nightly/report.html")]


def test_pages_are_small(root):
    assert max(len(text.encode()) for text in pages_of(root / "site").values()) < 300_000


def test_damaged_runs_are_named_and_the_rest_is_built(tmp_path):
    two_stores(tmp_path / "stores")
    seal, table, *_ = sorted((tmp_path / "stores/a").iterdir())
    (seal / "seal.json").write_text("{")
    (table / "measurements.parquet").write_bytes(b"PAR1 nonsense")
    command = [sys.executable, "-m", "assay", "site", "stores/a", "stores/b", "--output", "site"]
    done = prepared_assay.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert "2 damaged runs" in done.stderr
    assert seal.name in done.stderr and table.name in done.stderr
    text = Page((tmp_path / "site/index.html").read_text()).text
    assert seal.name in text and table.name in text
    assert "28 in the history" in (tmp_path / "site/machines/alpha/index.html").read_text()
    again = built(tmp_path / "stores", tmp_path / "site")
    assert (again.new, again.written, len(again.left_out)) == (0, 0, 2)


def test_slow_nodes_of_the_newest_group_are_listed(tmp_path):
    def cost(host: str, cell: Cell, launch: int) -> float:
        return (1.3 if host == "n3" else 1.0) * (1.0 + 0.001 * launch)

    hosts = [f"n{number}" for number in range(8)]
    group = make_group(tmp_path / "stores/a", hosts, cost, cells=(STRIDED,))
    name = group.path.with_name("20260601T000000Z-alpha-plan")
    group.path.rename(name)
    ManyRuns(tmp_path / "stores/a", "alpha", cells=1).write(3)
    findings = find_nodes(read_group(name))
    built(tmp_path / "stores", tmp_path / "site")
    pages = pages_of(tmp_path / "site")
    for page in ("index.html", "machines/alpha/index.html"):
        text = Page(pages[page]).text
        assert answer(findings).verdict in text and "n3" in text
        assert lines(findings)[0].text in text
    assert "nodes 8 complete" in pages["machines/alpha/index.html"]
    assert built(tmp_path / "stores", tmp_path / "site").written == 0


def test_the_sentence_on_damaged_runs_stays_short():
    found = left_out_sentence([(f"run{n}", "why") for n in range(500)])
    assert found.endswith("; and 480 more.")


def test_hostile_names_are_text(tmp_path, browser):
    store = tmp_path / "stores" / "a"
    runs = ManyRuns(store, "alpha", cells=2)
    runs.write(6)
    for path in list(store.iterdir()):
        for name in ("manifest.json", "seal.json"):
            text = (path / name).read_text()
            (path / name).write_text(
                text.replace('"alpha"', json.dumps(HOSTILE)).replace(
                    '"nightly"', json.dumps(HOSTILE)
                )
            )
    first = sorted(store.iterdir())[0]
    shutil.copytree(first, store / os.fsdecode(b"20260101T000000Z-\xff<b>-x"))
    found = built(tmp_path / "stores", tmp_path / "site")
    assert (found.machines, found.runs) == (1, 7)
    assert "not UTF-8" in found.left_out[0][1]
    check_links(tmp_path / "site")
    for name, text in pages_of(tmp_path / "site").items():
        assert "<script>alert" not in text or name.startswith("search/"), name
        assert "\x1b" not in text and "\u202e" not in text
    (machine,) = (tmp_path / "site/machines").iterdir()
    for page in (tmp_path / "site/index.html", machine / "index.html"):
        browser.open(page)
        browser.ask(
            "const box = document.getElementById('search'); box.focus(); box.value = 'alert';"
            "box.dispatchEvent(new Event('input')); await window.assayReady;"
        )
        assert browser.ask("return document.getElementById('found').children.length") > 0
        assert browser.ask("return document.querySelectorAll('main script, b').length") == 0
        assert browser.errors() == []


def test_folders_of_machines_are_safe_and_differ():
    store = Path("/runs")
    names = ["seth", "Seth", "../..", "", "sëth", "a/b", "a-b", HOSTILE, "x" * 300]
    found = [folder_of(name, store, alone=True) for name in names]
    assert found[0] == "seth"
    assert len(set(found)) == len(names)
    assert all(set(each) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for each in found)
    assert folder_of("seth", store, alone=False) != folder_of("seth", Path("/b"), alone=False)
