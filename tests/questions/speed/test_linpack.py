"""Linpack in answers and report, from planted curves, ratios, searches and phases."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from assay.config import Prices
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.speed.linpack.results import growing, results
from assay.questions.speed.linpack.search import read_facts
from assay.questions.speed.linpack.top500_places import find_places, rank_text, standing
from assay.reference.linpack import HELIX, SETH
from assay.reference.top500 import top_lists
from linpack_asking import ORDERS, RATE, found_in, rows, said, seth, speed
from linpack_builder import (
    CANDIDATES,
    cell,
    curve,
    dgemm,
    half_of_largest,
    hockney,
    run_of,
    search,
)
from report_builder import CLOCK, SYSTEM, make_failure, make_summary

# --- Rmax, Nmax, N½ ---


def test_rmax_is_the_best_rate_and_nmax_its_order():
    row = rows(speed(curve(RATE, ORDERS)))["Linpack Rmax, N = 20,000, 2 cores"]
    assert row.value == pytest.approx(RATE(20_000))
    assert row.ci95 == pytest.approx((0.996 * row.value, 1.004 * row.value))
    assert row.limit == pytest.approx(2 * 32 * CLOCK)
    assert row.share == pytest.approx(RATE(20_000) / (64 * CLOCK))
    assert row.share_ci95 == pytest.approx(tuple(end / row.limit for end in row.ci95))
    assert row.note == "2 ranks; NB 192, 1 × 2, broadcast ring"


def test_easy_wrong_or_failed_solutions_are_no_result():
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
    assert row.note == "measured: N = 2,000 reaches exactly half"
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
    row = rows(speed(cells))["Linpack Rmax over one node's rate"]
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
    row = rows(answer)["Price per Gflop/s"]
    assert row.value == pytest.approx(500_000 / 480.7e9)
    assert row.ci95[0] < row.value < row.ci95[1]
    assert row.unit == "USD/(flop/s)"
    assert row.note == "120 nodes for 500,000 USD"
    assert "1040 USD per Gflop/s" in answer.verdict
    nameless = speed(cells, run_of(cells, prices=Prices(None, {"node": 1000.0})))
    assert rows(nameless)["Price per Gflop/s"].unit == "/(flop/s)"
    assert "Price per Gflop/s" not in rows(speed(cells))
    assert "Price per Gflop/s" not in rows(speed(cells, run_of(cells, prices=Prices("EUR", {}))))


def test_a_share_above_peak_is_called_impossible_and_a_lower_one_is_not():
    assert said(speed([cell(1.1 * 64 * CLOCK, order=5000)]).caveats, "is impossible: Linpack Rmax")
    assert not said(
        speed([cell(0.9 * 64 * CLOCK, order=5000)]).caveats, "is impossible: Linpack Rmax"
    )


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
    assert "of the assumed peak" in answer.verdict
    assert said(answer.caveats, "The theoretical peak is based on an assumption (")
    peak = Cell("compute.peak", {"width": 512}, Placement(ppn=2), "embedded")
    measured = [*cells, make_summary(peak, 100e9)]
    assert "50% of the measured peak" in asked(measured).verdict
    assert "of the theoretical peak" in speed(measured).verdict


# --- Places ---


def test_rank_on_a_list_as_text():
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
    assert at(1e18) == "the fastest in the world on every TOP500 list up to June 2021"
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


# --- Scaling, and its causes ---


def test_scaling_compares_equal_shares_of_the_largest_order():
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


def test_poor_scaling_names_the_phase_that_caused_it():
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
    assert said(speed(cells).advice, "35.0% of its time waiting for panels")


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
    assert "most of the time beyond perfect scaling is in the update of the trail" in sentence


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
        "has stopped growing: N = 9,000, the largest measured order, is slower than 8,000 by 40.3%",
    )


def test_what_limits_the_order_is_reported_as_the_search_found_it():
    rising = curve(RATE, [2000, 4000, 8000])
    timed = run_of(rising, searches=[search(memory=8e9)])
    assert said(speed(rising, timed).limits, "limited by time: 5.00 s per solution")
    assert said(speed(rising, timed).advice, "raise Rmax but takes more time (`--budget`)")
    tight = run_of(rising, searches=[search(memory=2e8)])
    assert said(speed(rising, tight).limits, "limited by memory")
    assert said(speed(rising, tight).advice, "raise Rmax but takes more memory")
    elsewhere = run_of(rising, searches=[search(ppn=1)])
    assert not said(speed(rising, elsewhere).limits, "limited by")


def test_a_search_reports_what_settings_cost():
    cells = curve(RATE, ORDERS)
    answer = speed(cells, run_of(cells, searches=[search()]))
    (sentence,) = said(answer.limits, "settings: of")
    assert "of 4 settings at N = 3,000, NB 192, 1 × 2 processes are chosen" in sentence
    assert "settings reached 66.7% (NB 64, 2 × 1 processes) to 100% of the best" in sentence
    assert "the default without a search (NB 192, 1 × 2 processes) 100%" in sentence
    two = {name: rate for name, rate in CANDIDATES.items() if "nb=192" in name}
    two = dict(sorted(two.items(), key=lambda item: "p=2" not in item[0]))
    two = {name: rate * (1.5 if "p=2" in name else 1) for name, rate in two.items()}
    (last,) = said(speed(cells, run_of(cells, searches=[search(two)])).limits, "settings: of")
    assert "83.3% (1 × 2 processes; the default without a search) to 100% of the best" in last
    chosen = dict(sorted(CANDIDATES.items(), key=lambda item: "nb=128" not in item[0]))
    chosen["nb=128 p=1 broadcast=ring swap=spread depth=1"] = 100e9
    (other,) = said(speed(cells, run_of(cells, searches=[search(chosen)])).limits, "settings: of")
    assert "NB 128, 1 × 2 processes are chosen" in other
    assert "without a search (NB 192, 1 × 2 processes) 90.0%" in other


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


def test_dgemm_on_all_cores_bounds_linpack():
    cells = [cell(90e9, order=9000), dgemm(53e9), dgemm(100e9, ppn=2)]
    (sentence,) = said(speed(cells).limits, "cores concurrently")
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


def test_a_slower_toolchain_is_shown_separately():
    site = curve(hockney(80e9, 1000), [4000, 8000], toolchain="site")
    answer = speed([*curve(RATE, ORDERS), *site])
    label = "Linpack N = 8,000, 2 cores"
    assert rows(answer)[label].note == "2 ranks · site"
    assert set(results([*curve(RATE, ORDERS), *site]).curve) == set(ORDERS)


def test_without_linpack_nothing_is_reported_of_it():
    answer = speed([dgemm(53e9)])
    assert "Linpack" not in answer.verdict
    assert not said([row.label for row in answer.evidence], "Linpack")
