"""Linpack in answers and report, from planted curves, ratios, searches and phases."""

from __future__ import annotations

import dataclasses
import io
import json
import subprocess
import sys

import msgspec
import pytest
from rich.console import Console

from asking import figures_of, reply_to
from assay.charts.drawing import csv_text, svg
from assay.config import Prices
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured
from assay.questions.speed.linpack import findings
from assay.questions.speed.linpack.findings import find
from assay.questions.speed.linpack.results import growing, results
from assay.questions.speed.linpack.search import read_facts
from assay.questions.speed.linpack.tables import tables
from assay.questions.speed.linpack.top500_places import find_places, rank_text, standing
from assay.reference.linpack import HELIX, SETH
from assay.reference.top500 import top_lists
from assay.report import build_report, print_summary
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from linpack_builder import (
    CANDIDATES,
    cell,
    curve,
    dgemm,
    half_of_largest,
    hockney,
    run_of,
    search,
    whole,
)
from report_builder import CLOCK, SYSTEM, make_failure, make_summary

ORDERS = [2000, 3000, 4000, 6000, 8000, 12_000, 20_000]
RATE = hockney(110e9, 2500)


def speed(cells, run=None):
    return reply_to("speed", cells, run or run_of(cells)).answer


def found_in(cells, run=None):
    return find(Measured(run or run_of(cells), cells))


def rows(answer):
    return {row.label: row for row in answer.evidence}


def said(sentences, word):
    return [sentence for sentence in sentences if word in sentence]


def seth():
    """What Edmundsson et al. (2004), 5.3 and 5.4, measured, cell by cell."""
    rmax = cell(480.7e9, order=116_100, nodes=120, ppn=2)
    one = cell(480.7e9 / 110, order=10_000, nodes=1, ppn=2)
    return [rmax, one, dgemm(2.664e9, n=5490), dgemm(2.5e9, n=30), dgemm(5.208e9, threads=2)]


# --- Rmax, Nmax, N½ ---


def test_rmax_is_the_best_rate_and_nmax_its_order():
    row = rows(speed(curve(RATE, ORDERS)))["Linpack Rmax, N = 20,000, 2 cores"]
    assert row.value == pytest.approx(RATE(20_000))
    assert row.ci95 == pytest.approx((0.996 * row.value, 1.004 * row.value))
    assert row.limit == pytest.approx(2 * 32 * CLOCK)
    assert row.share == pytest.approx(RATE(20_000) / (64 * CLOCK))
    assert row.share_ci95 == pytest.approx(tuple(end / row.limit for end in row.ci95))
    assert row.note == "2 ranks; NB 192, 1 × 2, broadcast ring"


def test_what_is_made_easy_or_was_wrong_or_failed_is_no_result():
    cells = curve(RATE, ORDERS)
    easy = cell(300e9, order=20_000, matrix="graded")
    wrong = make_failure(cell(400e9, order=21_000).cell, wrong=True)
    failed = make_failure(cell(500e9, order=22_000).cell)
    answer = speed([*cells, easy, wrong, failed])
    assert rows(answer)["Linpack Rmax, N = 20,000, 2 cores"].value == pytest.approx(RATE(20_000))
    assert answer.confidence == "low"
    assert len(said(answer.caveats, "linpack")) == 2
    assert results([easy, wrong, failed]) is None


def test_half_of_rmax_is_measured_at_the_placement_of_rmax_alone():
    cells = curve(RATE, ORDERS) + curve(hockney(40e9, 100), [500, 1000, 4000], ppn=1)
    row = rows(speed(cells))["Linpack N½"]
    assert row.value == pytest.approx(half_of_largest(2500, 20_000), rel=0.01)
    assert row.ci95[0] < row.value < row.ci95[1]
    assert row.unit == "order"
    assert row.note == "measured: N = 2,000 has just half"
    later = rows(speed(curve(hockney(110e9, 4000), ORDERS)))["Linpack N½"]
    assert later.note == "measured: interpolated between N = 2,000 and 3,000"
    assert "N½ = 2,8" in speed(curve(hockney(110e9, 4000), ORDERS)).verdict


def test_a_half_that_no_order_goes_below_is_marked():
    answer = speed(curve(hockney(110e9, 300), [1000, 4000, 20_000]))
    row = rows(answer)["Linpack N½ (extrapolated)"]
    assert row.value == pytest.approx(half_of_largest(300, 20_000))
    assert row.ci95 is None
    assert "N = 1,000" in row.note
    assert "N½ = 291, extrapolated" in answer.verdict
    assert said(answer.caveats, "N½ was not measured")
    flat = speed([cell(99e9, order=1000), cell(99e9, order=2000), cell(100e9, order=9000)])
    assert rows(flat)["Linpack N½ (bounded)"].value == 1000
    assert "N½" not in flat.verdict


def test_one_order_has_no_half():
    assert not [label for label in rows(speed([cell(97e9, order=5000)])) if "N½" in label]


# --- Shares, the papers' ratios, price ---


def test_the_ratios_of_seth_come_out_as_published():
    cells = seth()
    by_name = {share.name: share for share in found_in(cells).shares}
    assert by_name["DGEMM × ranks"].value == pytest.approx(SETH.of_ranks, abs=0.0005)
    assert by_name["DGEMM × nodes"].value == pytest.approx(SETH.of_nodes, abs=0.0005)
    assert by_name["one node"].value == pytest.approx(SETH.times_node)
    assert by_name["peak"].value == pytest.approx(480.7e9 / (240 / 2 * 2 * 32 * CLOCK))
    low, high = by_name["DGEMM × ranks"].interval
    assert low < by_name["DGEMM × ranks"].value < high
    row = rows(speed(cells))["Linpack Rmax over one node's"]
    assert (row.value, row.limit) == (pytest.approx(110), 120)


def test_the_published_numbers_agree_with_each_other():
    assert SETH.rate / 800e9 == pytest.approx(SETH.of_peak, abs=0.0005)
    assert SETH.rate / (240 * 2.664e9) == pytest.approx(SETH.of_ranks, abs=0.0005)
    assert SETH.rate / (SETH.nodes * 5.208e9) == pytest.approx(SETH.of_nodes, abs=0.0005)
    assert HELIX.of_peak == pytest.approx(0.523, abs=0.0005)


def test_dgemm_of_a_rank_has_as_many_threads_as_linpacks_ranks():
    rmax = cell(90e9, order=9000, ppn=2, threads=2)

    def dgemm_limits(*products):
        cells = [rmax, *products]
        return {s.name: s.of for s in found_in(cells).shares if "DGEMM" in s.name}

    one, two, all_ = dgemm(25e9), dgemm(49e9, threads=2), dgemm(96e9, ppn=4)
    assert dgemm_limits(one, two, all_) == {"DGEMM × ranks": 2 * 49e9, "DGEMM × nodes": 96e9}
    assert dgemm_limits(one) == {"DGEMM × cores": 4 * 25e9}
    other = dgemm(70e9, threads=2, toolchain="site")
    assert dgemm_limits(other, one) == {"DGEMM × cores": 4 * 25e9}
    assert dgemm_limits() == {}


def test_the_price_is_that_of_the_nodes_that_reached_rmax():
    cells = seth()
    run = run_of(cells, prices=Prices("USD", {"node": 500_000 / 120, "kwh": 0.1}))
    answer = speed(cells, run)
    row = rows(answer)["Price of a Gflop/s"]
    assert row.value == pytest.approx(500_000 / 480.7e9)
    assert row.ci95[0] < row.value < row.ci95[1]
    assert row.unit == "USD/(flop/s)"
    assert row.note == "120 nodes for 500,000 USD"
    assert "1040 USD per Gflop/s" in answer.verdict
    nameless = speed(cells, run_of(cells, prices=Prices(None, {"node": 1000.0})))
    assert rows(nameless)["Price of a Gflop/s"].unit == "/(flop/s)"
    assert "Price of a Gflop/s" not in rows(speed(cells))
    assert "Price of a Gflop/s" not in rows(speed(cells, run_of(cells, prices=Prices("EUR", {}))))


def test_a_share_above_peak_is_called_impossible_and_a_lower_one_is_not():
    assert said(speed([cell(1.1 * 64 * CLOCK, order=5000)]).caveats, "which is impossible")
    assert not said(speed([cell(0.9 * 64 * CLOCK, order=5000)]).caveats, "which is impossible")


def test_a_share_of_an_assumed_peak_is_named_so():
    """An unknown processor: the measured peak is preferred to the assumed one."""
    cells = [cell(50e9, order=5000)]
    processor = msgspec.structs.replace(
        SYSTEM.processor, vendor="Nobody", family=None, model=None, name="Unheard of"
    )
    unknown = msgspec.structs.replace(SYSTEM, processor=processor).to_dict()

    def asked(cells):
        run = run_of(cells)
        manifest = msgspec.structs.replace(run.manifest, system=unknown)
        return speed(cells, dataclasses.replace(run, manifest=manifest))

    answer = asked(cells)
    assert "of assumed peak" in answer.verdict
    assert said(answer.caveats, "The theoretical peak is an assumption (")
    peak = Cell("compute.peak", {"width": 512}, Placement(ppn=2), "embedded")
    measured = [*cells, make_summary(peak, 100e9)]
    assert "50% of measured peak" in asked(measured).verdict
    assert "of theoretical peak" in speed(measured).verdict


# --- Places ---


def test_standing_in_words():
    def at(rate):
        return standing(find_places(rate))

    assert at(1e8).startswith("slower than all 500 systems of the first TOP500 list")
    assert at(480.7e9) == (
        "the fastest in the world until November 1996, on the TOP500 until November 2003"
    )
    assert at(5e9) == "on the TOP500 until November 1996, at best rank 39 (June 1993)"
    assert at(3e15) == (
        "the fastest in the world until November 2010, rank 142 on the TOP500 of June 2021"
    )
    assert at(1e18) == "the fastest in the world on every TOP500 list to June 2021"
    assert at(480.7e9) in speed(seth()).verdict


def rank_on(one, rate, interval):
    """The rank of a rate on one list, as text."""
    lists = find_places(rate, interval).lists
    return rank_text(next(place for place in lists if place.found is one))


def test_a_rank_with_the_ends_of_its_interval():
    june = next(found for found in top_lists() if found.date == "2002-06")
    assert rank_on(june, 480.7e9, None) == "94"
    assert rank_on(june, 480.7e9, (480.6e9, 480.8e9)) == "94"
    assert rank_on(june, 480.7e9, (471e9, 490e9)) == (
        f"94 [{june.place(490e9)}, {june.place(471e9)}]"
    )
    assert rank_on(june, 135e9, (134e9, 136e9)) == f"500 [{june.place(136e9)}, > 500]"
    assert rank_on(june, 1e9, (0.9e9, 1.1e9)) == "> 500"


# --- Growth, and why ---


def test_scaling_sets_equal_shares_of_the_largest_order_against_each_other():
    def half(rate, order, ppn):
        planted = cell(rate, order=order, ppn=ppn)
        asked = {"n": 0, "fraction": 0.5, "matrix": "random"}
        return msgspec.structs.replace(
            planted, cell=msgspec.structs.replace(planted.cell, parameters=asked)
        )

    cells = [*curve(RATE, ORDERS, ppn=4), half(40e9, 5000, 1), half(75e9, 7000, 2)]
    cells.append(half(90e9, 10_000, 4))
    assert {count: p.metric.median for count, p in growing(results(cells)).items()} == {
        1: 40e9, 2: 75e9, 4: 90e9,
    }  # fmt: skip
    answer = speed(cells)
    row = rows(answer)["Linpack, 1 → 4 cores"]
    assert (row.value, row.share) == (pytest.approx(2.25), pytest.approx(0.5625))
    assert row.note == "N = 5,000 and 10,000"
    assert "Linpack grows 2.25-fold" in answer.verdict


def test_poor_scaling_names_the_phase_that_took_it():
    few = cell(50e9, order=5000, ppn=1, phases={"panel": 0.1, "update": 0.9})
    spoken = {"panel": 0.1, "broadcast": 0.35, "update": 0.55}
    most = cell(60e9, order=5000, ppn=2, phases=spoken)
    same = {"n": 5000}
    cells = [
        msgspec.structs.replace(c, cell=msgspec.structs.replace(c.cell, parameters=same))
        for c in (few, most)
    ]
    (sentence,) = said(speed(cells).limits, "perfect scaling from 1 to 2 cores")
    assert "60.0%" in sentence
    assert "in the panel broadcast, which takes 35.0%" in sentence
    assert said(speed(cells).advice, "waits 35.0% of its time for panels")


def test_a_loss_is_what_a_phase_takes_beyond_perfect_scaling():
    """Its share of the time may grow less than another's and yet cost more."""
    asked = {"n": 5000}
    cells = [
        msgspec.structs.replace(c, cell=msgspec.structs.replace(c.cell, parameters=asked))
        for c in (
            cell(50e9, order=5000, ppn=1, phases={"update": 0.9, "broadcast": 0.1}),
            cell(60e9, order=5000, ppn=2, phases={"update": 0.8, "broadcast": 0.2}),
        )
    ]
    (sentence,) = said(speed(cells).limits, "perfect scaling from 1 to 2 cores")
    assert "most of the loss is in the update of the trailing matrix" in sentence


def test_a_curve_that_still_rises_asks_for_a_larger_order():
    rising = curve(RATE, [2000, 4000, 8000])
    assert said(speed(rising).advice, "a larger N would raise Rmax.")
    assert not said(speed(curve(RATE, [*ORDERS, 20_500])).advice, "larger N would raise")
    few = curve(RATE, [2000, 4000, 8000], n=3)
    assert not said(speed(few).advice, "larger N would raise")
    noisy = curve(RATE, [2000, 4000, 4300], spread=0.05)
    assert not said(speed(noisy).advice, "larger N would raise")
    fallen = [*rising, cell(50e9, order=9000)]
    assert said(
        speed(fallen).limits,
        "has stopped growing: N = 9,000, the largest order measured, is no faster",
    )


def test_what_limits_the_order_is_reported_as_the_search_found_it():
    rising = curve(RATE, [2000, 4000, 8000])
    timed = run_of(rising, searches=[search(memory=8e9)])
    assert said(speed(rising, timed).limits, "limited by time: 5.00 s per solution")
    assert said(speed(rising, timed).advice, "raise Rmax; it takes more time (`--budget`)")
    tight = run_of(rising, searches=[search(memory=2e8)])
    assert said(speed(rising, tight).limits, "limited by memory")
    assert said(speed(rising, tight).advice, "raise Rmax; it takes more memory")
    elsewhere = run_of(rising, searches=[search(ppn=1)])
    assert not said(speed(rising, elsewhere).limits, "limited by")


def test_a_search_reports_what_settings_cost():
    cells = curve(RATE, ORDERS)
    answer = speed(cells, run_of(cells, searches=[search()]))
    (sentence,) = said(answer.limits, "settings: of")
    assert "of 4 settings at N = 3,000, NB 192, 1 × 2 processes are chosen" in sentence
    assert "the worst (NB 64, 2 × 1 processes) lost 33.3%" in sentence
    assert "without a search (NB 192, 1 × 2 processes) was as fast" in sentence
    two = {name: rate for name, rate in CANDIDATES.items() if "nb=192" in name}
    two = dict(sorted(two.items(), key=lambda item: "p=2" not in item[0]))
    two = {name: rate * (1.5 if "p=2" in name else 1) for name, rate in two.items()}
    (last,) = said(speed(cells, run_of(cells, searches=[search(two)])).limits, "settings: of")
    assert (
        "each, the worst, which is the default without a search, (1 × 2 processes) lost 16.7%"
        in last
    )
    chosen = dict(sorted(CANDIDATES.items(), key=lambda item: "nb=128" not in item[0]))
    chosen["nb=128 p=1 broadcast=ring swap=spread depth=1"] = 100e9
    (other,) = said(speed(cells, run_of(cells, searches=[search(chosen)])).limits, "settings: of")
    assert "NB 128, 1 × 2 processes are chosen" in other
    assert "without a search (NB 192, 1 × 2 processes) lost 10.0%" in other


def test_facts_that_are_no_search_are_left_alone():
    facts = dict(search().record.facts)
    known = read_facts(facts, 2)
    assert known.tried[-1].loss == pytest.approx(1 / 3)
    assert read_facts({}, 2) is None
    assert read_facts({**facts, "rate": 0.0}, 2) is None
    odd = read_facts({**facts, "candidate_0": "nb=1: nan", "candidate_1": "what"}, 2)
    assert len(odd.tried) == 2


def test_candidates_are_set_against_those_of_their_own_order():
    own = "broadcast=ring swap=spread depth=1"
    early = [f"nb=192 p=1 {own} n=1000: 4e10", f"nb=64 p=1 {own} n=1000: 5e10"]
    last = {f"nb=256 p=1 {own}": 90e9, f"nb=64 p=1 {own}": 81e9}
    known = read_facts(search(last, early=early).record.facts, 2)
    assert (known.count, known.orders, known.varied) == (3, (1000, 3000), ("nb",))
    assert (known.worst.trial.n, known.worst.loss) == (1000, pytest.approx(0.2))
    assert known.usual.loss == pytest.approx(0.2)
    later = read_facts(search({**last, f"nb=192 p=1 {own}": 85.5e9}, early=early).record.facts, 2)
    assert later.usual.loss == pytest.approx(0.05)  # the order that counts is the last
    cells = curve(RATE, ORDERS)
    run = run_of(cells, searches=[search(last, early=early)])
    assert said(speed(cells, run).limits, "of 3 settings at N = 1,000 to 3,000, NB 256 is chosen")


def test_ranks_against_threads_on_the_same_cores():
    cells = [cell(97e9, order=9000), cell(85e9, order=9000, ppn=1, threads=2)]
    assert said(
        speed(cells).advice, "Run codes like Linpack as 2 ranks: that is 14.1% [13.5, 14.8]"
    )
    smaller = [cell(97e9, order=9000), cell(60e9, order=1000, ppn=1, threads=2)]
    assert not said(speed(smaller).advice, "Run codes like Linpack")
    close = [cell(97e9, order=9000), cell(96.9e9, order=9000, ppn=1, threads=2)]
    assert not said(speed(close).advice, "Run codes like Linpack")


def test_dgemm_on_all_cores_at_once_bounds_linpack():
    cells = [cell(90e9, order=9000), dgemm(53e9), dgemm(100e9, ppn=2)]
    (sentence,) = said(speed(cells).limits, "cores at once")
    assert "94.3% of DGEMM × ranks; Linpack reaches 90.0% [" in sentence


def test_orders_that_differ_between_launches_are_a_caveat():
    planted = cell(90e9, order=9000)
    run = run_of([planted])
    (own,) = run.measurements

    def solved(order):
        record = msgspec.structs.replace(own.record, parameters={"n": order})
        return dataclasses.replace(own, record=record)

    apart = dataclasses.replace(run, measurements=(solved(9000), solved(8800)))
    assert said(speed([planted], apart).caveats, "orders from 8,800 to 9,000")
    same = dataclasses.replace(run, measurements=(solved(9000), solved(9000)))
    assert not said(speed([planted], same).caveats, "orders from")


def test_a_toolchain_that_is_beaten_stands_beside_and_is_not_mixed_in():
    site = curve(hockney(80e9, 1000), [4000, 8000], toolchain="site")
    answer = speed([*curve(RATE, ORDERS), *site])
    label = "Linpack N = 8,000, 2 cores"
    assert rows(answer)[label].note == "2 ranks · site"
    assert set(results([*curve(RATE, ORDERS), *site]).curve) == set(ORDERS)


def test_without_linpack_nothing_is_reported_of_it():
    answer = speed([dgemm(53e9)])
    assert "Linpack" not in answer.verdict
    assert not said([row.label for row in answer.evidence], "Linpack")


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


def test_tables_stand_beside_published_ones():
    cells = seth()
    run = run_of(cells, prices=Prices("USD", {"node": 500_000 / 120}))
    beside, lists = tables(found_in(cells, run))
    by_name = {row[0].text: row[1:] for row in beside.rows}
    assert [entry.text for entry in by_name["Rmax"]][1:] == ["480.7 Gflop/s", "234.8 Gflop/s"]
    assert [entry.text for entry in by_name["Nmax"]] == ["116,100", "116,100", "82,080"]
    for name in ("Share of DGEMM × ranks", "Share of DGEMM × nodes", "Times Linpack on one node"):
        here, seth_, helix = by_name[name]
        assert here.value == pytest.approx(seth_.value, abs=0.0005 * max(1, seth_.value))
        assert helix.text == "–"
    assert by_name["Price of a Gflop/s"][1].text == "1040 USD per Gflop/s"
    assert "N½" not in by_name
    assert len(lists.rows) == 57 and lists.folded
    june = next(row for row in lists.rows if row[0].text == "June 2002")
    assert june[1].value == 94 and june[1].text.startswith("94 [")


def test_a_report_holds_it_in_every_form():
    cells = whole()
    report = build_report(run_of(cells, searches=[search()]), cells)
    page, text = to_html(report), to_markdown(report, "figures")
    for form in (page, text):
        assert "Linpack on every TOP500 list" in form
        assert "Linpack beside published clusters" in form
    assert "<summary>Linpack on every TOP500 list</summary>" in page


def test_a_terminal_of_80_columns_loses_no_number():
    cells = whole()
    report = build_report(run_of(cells, prices=Prices("EUR", {"node": 9500.0})), cells)
    stream = io.StringIO()
    print_summary(report, Console(file=stream, width=80))
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


def test_the_suite_on_a_machine_whose_rates_are_known(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "assay.toml").write_text("[prices]\ncurrency = 'EUR'\nnode = 4000\n")
    words = "run linpack --fake scenario.toml --runs runs --seed 1 --json"
    done = subprocess.run(
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
    assert found["Price of a Gflop/s"]["value"] == pytest.approx(4000 / rate, rel=0.02)
    assert found["Linpack, 1 → 4 cores"]["value"] == pytest.approx(4, rel=0.03)
    assert said(speed_["limits"], "limited by time")
    assert "of measured peak" in speed_["verdict"]
    assert standing(find_places(rmax["value"])) in speed_["verdict"]
