"""Linpack in findings, figures, tables and reports, and the suite on a machine of known rates."""

from __future__ import annotations

import io
import json
import sys

import msgspec
import pytest
from rich.console import Console

import prepared_assay
from asking import figures_of, reply_to
from assay.charts.drawing import csv_text, svg
from assay.config import Prices
from assay.kernels.linpack import OWN_CODE
from assay.questions.common.findings import findings_json
from assay.questions.speed.linpack import findings
from assay.questions.speed.linpack.results import results
from assay.questions.speed.linpack.tables import tables
from assay.questions.speed.linpack.top500_places import find_places, standing
from assay.reference.top500 import top_lists
from assay.report import build_report, print_summary
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from linpack_asking import RATE, found_in, said, seth
from linpack_builder import (
    cell,
    dgemm,
    half_of_largest,
    hockney,
    run_of,
    search,
    whole,
)
from report_builder import CLOCK

# --- Findings ---


def test_findings_are_plain_json_with_the_planted_numbers():
    cells = whole()
    run = run_of(cells, searches=[search()], prices=Prices("EUR", {"node": 9500.0}))
    reply = reply_to("speed", cells, run)
    found = json.loads(json.dumps(findings_json(reply.findings)))["linpack"]
    assert found["nmax"] == 20_000
    assert [int(order) for order in found["curve"]] == [2000 * i for i in range(1, 11)]
    assert found["half"]["order"] == pytest.approx(half_of_largest(2500, 20_000), rel=0.01)
    rate = RATE(20_000)
    assert {share["name"]: share["value"] for share in found["shares"]} == {
        "peak": pytest.approx(rate / (64 * CLOCK)),
        "DGEMM × ranks": pytest.approx(rate / 106e9),
        "DGEMM × nodes": pytest.approx(rate / 104e9),
    }
    assert found["price"]["value"] == pytest.approx(9500 / rate)
    assert found["speedup"]["value"] == pytest.approx(RATE(14_000) / hockney(54e9, 900)(14_000))
    assert found["phases"]["2000"]["shares"]["panel"] == pytest.approx(0.05)
    assert found["sizing"]["by_time"] < found["sizing"]["by_memory"]
    assert found["search"]["worst"]["loss"] == pytest.approx(1 / 3)
    assert found["dgemm"]["rmax_ratio"] == pytest.approx(rate / 104e9)
    assert found["top500"]["fastest_until"] == "June 1993"
    assert len(json.dumps(found)) < 12_000
    assert reply_to("speed", [dgemm(53e9)], run_of([dgemm(53e9)])).findings.linpack is None


def test_a_report_finds_once(monkeypatch):
    calls = []

    def counted(cells):
        calls.append(len(cells))
        return results(cells)

    monkeypatch.setattr(findings, "results", counted)
    cells = whole()
    build_report(run_of(cells), cells)
    assert calls == [len(cells)]


# --- Report ---


def figures(cells, **options):
    return {f.id: f for f in figures_of("speed", cells, run_of(cells, **options))}


def test_figures_hold_what_was_measured():
    drawn = figures(whole())
    order = drawn["linpack"]
    assert [row["n"] for row in order.rows] == [2000 * i for i in range(1, 11)]
    assert [row["n"] for row in order.rows if row["rmax"]] == [20_000]
    text = msgspec.json.encode(order.spec).decode()
    assert "N½ = 2,000" in text and "DGEMM × ranks" in text and "theoretical peak" in text
    ranks = drawn["linpack-ranks"]
    assert [(row["cores"], row["n"]) for row in ranks.rows] == [(1, 14_000), (2, 14_000)]
    phases = drawn["linpack-phases"]
    assert {row["phase"] for row in phases.rows} == {
        "panel factorisation", "panel broadcast", "row interchange",
        "update of the trailing matrix", "back substitution",
    }  # fmt: skip
    assert sum(row["share"] for row in phases.rows if row["n"] == 2000) == pytest.approx(1)


def test_labels_of_close_levels_do_not_overlap():
    layers = figures(whole())["linpack"].spec["layer"]
    names = ("DGEMM × ranks", "theoretical peak")
    labels = {
        layer["encoding"]["y"]["datum"]: layer["mark"]["baseline"]
        for layer in layers
        if layer.get("encoding", {}).get("text", {}).get("value") in names
    }
    low, high = sorted(labels)
    assert labels[high] == "bottom"
    assert labels[low] == ("top" if high < 1.1 * low else "bottom")


def test_the_figure_of_the_lists_holds_them_all():
    lists = figures(whole())["linpack-top500"]
    assert len(lists.rows) == 4 * 57
    row = next(r for r in lists.rows if (r["list"], r["line"]) == ("2002-06", "rank 10"))
    assert row["rmax"] == top_lists()[18].rmax[9]
    assert row["place"] is None
    first = next(r for r in lists.rows if r["list"] == "1993-06")
    assert first["place"] == 1
    assert "the fastest until June 1993" in msgspec.json.encode(lists.spec).decode()


def test_every_figure_draws_in_both_themes_and_has_its_data():
    drawn = [f for f in figures(whole()).values() if f.id.startswith("linpack")]
    assert len(drawn) == 4
    for figure in drawn:
        for theme in ("light", "dark"):
            assert svg(figure, theme).startswith("<svg")
        head, *lines = csv_text(figure).splitlines()
        assert len(lines) == len(figure.rows)
        assert len(head.split(",")) == len(figure.rows[0])


def test_a_single_cell_has_the_lists_and_no_curve():
    drawn = figures([cell(97e9, order=5000, phases={})])
    assert set(drawn) == {"linpack-top500"}


def test_tables_are_compared_with_published_ones():
    cells = seth()
    run = run_of(cells, prices=Prices("USD", {"node": 500_000 / 120}))
    beside, own, lists = tables(found_in(cells, run))
    assert own.rows[-1][0].text == "self-made systems" and own.rows[-1][1].text == "November 2003"
    assert own.rows[-1][3].value >= own.rows[-1][2].value - 1
    by_name = {row[0].text: row[1:] for row in beside.rows}
    assert [entry.text for entry in by_name["Rmax"]][1:] == ["480.7 Gflop/s", "234.8 Gflop/s"]
    assert [entry.text for entry in by_name["Nmax"]] == ["116,100", "116,100", "82,080"]
    for name in ("Share of DGEMM × ranks", "Share of DGEMM × nodes", "Times Linpack on one node"):
        here, seth_, helix = by_name[name]
        assert here.value == pytest.approx(seth_.value, abs=0.0005 * max(1, seth_.value))
        assert helix.text == "–"
    assert by_name["Price per Gflop/s"][1].text == "1040 USD per Gflop/s"
    assert "N½" not in by_name
    code, *published = beside.notes
    assert code.endswith(f": {OWN_CODE}.") and published[0].startswith("Seth: HPL; ")
    assert "program not stated" in published[1] and OWN_CODE in lists.notes[0]
    assert len(lists.rows) == 57 and lists.folded
    june = next(row for row in lists.rows if row[0].text == "June 2002")
    assert june[1].value == 94 and june[1].text.startswith("94 [")


def test_a_report_holds_it_in_every_form():
    cells = whole()
    report = build_report(run_of(cells, searches=[search()]), cells)
    page, text = to_html(report), to_markdown(report, "figures")
    for form in (page, text):
        assert "Linpack on every TOP500 list" in form
        assert "Linpack compared with published clusters" in form
    assert "<summary>Linpack on every TOP500 list</summary>" in page


def test_a_terminal_of_80_columns_shows_all_numbers():
    cells = whole()
    report = build_report(run_of(cells, prices=Prices("EUR", {"node": 9500.0})), cells)
    stream = io.StringIO()
    print_summary(report, Console(file=stream, width=80), verbose=True)
    text = stream.getvalue()
    for number in ("480.7 Gflop/s", "234.8 Gflop/s", "116,100", "1040 USD"):
        assert number in text
    assert "on every TOP500 list" not in text  # folded tables stay out of the way


# A machine whose rates are known: N½ of its curve is 1,000 N / (N + 2,000) for the largest N.
SCENARIO = """
schema = 1
cores = 4
[[kernel]]
match = "linpack.search"
time = "work_flops / (5e10 * ranks)"
resolved = { n = 3000 }
max_batch = 1
setup = "10 s"
[kernel.facts]
nb = 96
p = 1
broadcast = "ring"
swap = "spread"
depth = 1
n = 3000
rate = 1.5e11
memory_available = 4e9
candidate_0 = "nb=96 p=1 broadcast=ring swap=spread depth=1 n=3000: 1.5e11"
candidate_1 = "nb=192 p=2 broadcast=ring swap=spread depth=1 n=3000: 1.2e11"
[[kernel]]
match = "linpack"
time = "work_flops / (5e10 * ranks * n / (n + 1000))"
max_batch = 1
noise = { sigma = 0.01, launch_sigma = 0.005 }
[[kernel]]
match = "compute.dgemm"
time = "work_flops / (6e10 * ranks * threads)"
noise = { sigma = 0.001 }
[[kernel]]
match = "compute.peak"
time = "work_flops / (6.6e10 * ranks * threads)"
resolved = { width = 512 }
"""


@pytest.mark.long
def test_the_suite_on_a_machine_whose_rates_are_known(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "assay.toml").write_text("[prices]\ncurrency = 'EUR'\nnode = 4000\n")
    words = "run linpack --fake scenario.toml --runs runs --seed 1 --json"
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", *words.split()],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    (speed_,) = (s for s in json.loads(done.stdout)["sections"] if s["id"] == "speed")
    found = {row["label"]: row for row in speed_["evidence"]}
    ((nmax, rmax),) = [
        (int(label.split()[4].replace(",", "")), row)
        for label, row in found.items()
        if label.startswith("Linpack Rmax, N =")
    ]
    rate = 2e11 * nmax / (nmax + 1000)
    assert rmax["value"] == pytest.approx(rate, rel=0.02)
    half = found["Linpack N½"]
    assert half["value"] == pytest.approx(half_of_largest(1000, nmax), rel=0.08)
    assert half["ci95"] is not None
    assert found["Linpack Rmax against DGEMM × ranks"]["share"] == pytest.approx(
        rate / 2.4e11, rel=0.02
    )
    assert found["Linpack Rmax against measured peak"]["share"] == pytest.approx(
        rate / 2.64e11, rel=0.02
    )
    assert found["Price per Gflop/s"]["value"] == pytest.approx(4000 / rate, rel=0.02)
    assert found["Linpack, 1 → 4 cores"]["value"] == pytest.approx(4, rel=0.03)
    assert said(speed_["limits"], "limited by time")
    assert "of the measured peak" in speed_["verdict"]
    assert standing(find_places(rmax["value"])) in speed_["verdict"]
