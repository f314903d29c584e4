"""Equal cells get no word of direction in the answer on speed; real growth and decline do."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linpack_builder
from directions_in import directions_of
from equal_cells import MIB, answers, cell, equal_cells


@pytest.mark.long
def test_equal_cells_get_no_word_of_direction():
    found = [words for answer in answers(equal_cells(), 200) if (words := directions_of(answer))]
    # One in a thousand statements may have a direction by chance; an answer has some of them.
    assert len(found) <= 1, found


def by_cores(kernel, values, **given):
    """One cell per number of cores."""
    return [cell(kernel, value, cores=cores, **given) for cores, value in values.items()]


def said(answer):
    return " ".join([answer.verdict, *answer.advice, *answer.limits, *answer.caveats])


def only(planted):
    (answer,) = answers(planted, 1)
    return answer


def test_equal_cells_are_called_not_distinguishable_with_the_range():
    planted = by_cores("npb.cg", {1: 8e8, 2: 8e8}, **{"class": "A"})
    found = [each.verdict for each in answers(planted, 20)]
    pattern = r"from 1 to 2 cores CG is not distinguishable from equal \((0\.9\d|1\.00) to 1\.0\d\)"
    assert all(re.search(pattern, verdict) for verdict in found), found


def test_growth_by_two_and_a_decline_get_their_words():
    planted = [
        *by_cores("memory.stream", {1: 10e9, 2: 20e9, 4: 20e9}, op="triad"),
        *by_cores("npb.ep", {1: 8e8, 4: 16e8}, **{"class": "A"}),
        *by_cores("npb.cg", {1: 8e8, 4: 4e8}, **{"class": "A"}),
    ]
    answer = only(planted)
    assert re.search(
        r"from 1 to 4 cores memory bandwidth grows (1\.9|2\.0)\d-fold, EP (1\.9|2\.0)\d-fold, "
        r"CG drops by (49|50|51)%\.$",
        answer.verdict,
    )
    assert "memory bandwidth saturates at 2 of 4 cores" in answer.verdict
    assert any(each.startswith("CG is slower on 4 cores than on 1.") for each in answer.advice)


def test_rates_that_fall_with_the_order_and_with_cores():
    on_one = {4000: 40e9, 8000: 50e9, 16_000: 25e9}
    planted = [linpack_builder.cell(rate, order=n, ppn=1) for n, rate in on_one.items()]
    planted.append(linpack_builder.cell(25e9, order=8000, ppn=2))
    text = said(only(planted))
    assert "Linpack is fastest on 1 core, although it was measured on 2" in text
    assert re.search(r"rate has stopped growing: N = 16,000, .* is slower than 8,000 by", text)
    assert re.search(r"from 1 to 2 cores Linpack drops by (49|50|51)%", text)


def test_strided_access_that_takes_twice_as_long_and_half_as_long():
    twice, half = (
        only([cell("memory.strided", 5e-9 * by, cores=cores, op="read", stride=4)
              for cores, by in ((1, 1.0), (4, factor))])
        for factor in (2.0, 0.5)
    )  # fmt: skip
    assert re.search(r"takes up to (1\.9|2\.0)\d times as long as on one core", twice.verdict)
    assert any("fewer ranks per node" in sentence for sentence in twice.advice)
    assert re.search(r"takes at most 0\.(49|5)\d? times as long as on one core", half.verdict)


def test_buffered_access_at_twice_and_at_half_the_bandwidth():
    for factor, words in ((2.0, "gain from the page cache"), (0.5, "buffered access is slower")):
        planted = [
            cell("storage.file", 4e8 * by, op="read", method=method, record=MIB)
            for method, by in (("direct", 1.0), ("buffered", factor))
        ]
        (row,) = (one for one in only(planted).evidence if "buffered over direct" in one.label)
        assert row.note.startswith(words)


def test_codes_that_scale_alike_and_differently():
    def scaling(plain):
        tuned = by_cores("npb.is", {1: 8e8, 4: 12e8}, **{"class": "A"})
        return said(only(tuned + by_cores("npb.is", plain, **{"class": "A", "code": "plain"})))

    assert "the code causes the difference" in scaling({1: 8e8, 4: 30e8})
    assert "the code causes the difference" not in scaling({1: 8e8, 4: 12e8})


def test_few_launches_have_a_ratio_without_a_direction():
    planted = by_cores("npb.cg", {1: 8e8, 2: 16e8}, **{"class": "A"})
    (answer,) = answers(planted, 1, launches=3)
    assert re.search(r"the ratio of CG is (1\.9|2\.0)\d, without an interval\.$", answer.verdict)


@pytest.mark.parametrize("count", [8, 20])
def test_the_headline_of_equal_orders_holds_their_rate(count):
    planted = [cell("compute.dgemm", 60e9, n=100 * (1 + n)) for n in range(count)]
    rows = [one.evidence[0] for one in answers(planted, 150)]
    among = [int(re.search(r"best of (\d+) comparable cells$", row.note)[1]) for row in rows]
    assert min(among) >= count - 2 and np.median(among) == count
    held = sum(row.ci95[0] <= 60e9 <= row.ci95[1] for row in rows)
    assert held >= 0.93 * len(rows)
    # The measured medians alone lie above the rate that all orders have.
    assert np.mean([row.value for row in rows]) > 1.004 * 60e9


def test_the_largest_ratio_of_equal_ones_holds_one():
    planted = [
        cell("memory.strided", 5e-9, cores=cores, op="read", stride=stride)
        for stride in range(1, 25)
        for cores in (1, 4)
    ]
    rows = [one.evidence[0] for one in answers(planted, 150)]
    held = sum(row.ci95[0] <= 1.0 <= row.ci95[1] for row in rows)
    assert held >= 0.93 * len(rows)
    assert all("largest of" in row.note for row in rows)
