"""Ranks on the TOP500 lists, against papers, brute force, and the lists' own order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.reference import top500
from assay.reference.top500 import TopList, last_within, places, top_lists

LISTS = {found.date: found for found in top_lists()}
GIGA = 1e9


def test_there_are_all_lists_with_500_ranks_each():
    assert (
        list(LISTS)
        == [f"{year}-{month}" for year in range(1993, 2022) for month in ("06", "11")][:-1]
    )
    for found in LISTS.values():
        assert len(found.rmax) == 500
        assert list(found.rmax) == sorted(found.rmax, reverse=True)
        assert found.rmax[-1] > 0
    assert LISTS["2002-06"].name == "June 2002"


@pytest.mark.parametrize(
    ("date", "gflops", "rank"),
    [
        ("2002-06", 480.7, 94),  # Edmundsson et al. (2004), 5.4
        ("2002-11", 1880.0, 24),  # Barczak, Messom & Johnson (2003), 3.1
        ("1993-06", 59.7, 1),  # the first list's first, the CM-5 of Los Alamos
        ("2002-06", 35860.0, 1),  # the Earth Simulator
        ("2021-06", 442_010_000.0, 1),  # Fugaku
    ],
)  # fmt: skip
def test_published_places(date, gflops, rank):
    assert LISTS[date].place(gflops * GIGA) == rank


def test_rates_are_read_as_exactly_as_they_would_be_written():
    june = LISTS["1993-06"]
    assert 2.144e9 in june.rmax  # 2.144 * 1e9 is another number
    assert june.place(2.144e9) == sum(1 for rmax in june.rmax if rmax > 2.1445e9) + 1


def test_below_all_above_all_and_ties():
    few = TopList(2000, 6, (9.0, 5.0, 5.0, 5.0, 2.0))
    assert [few.place(rate) for rate in (10, 9, 7, 5, 4, 2, 1.9, 0)] == [
        1, 1, 2, 2, 5, 5, None, None,
    ]  # fmt: skip
    assert {place for _, place in places(1e30)} == {1}
    assert {place for _, place in places(1.0)} == {None}


@given(st.floats(-1.0, 11.0).map(lambda power: GIGA * 10**power), st.sampled_from(sorted(LISTS)))
def test_a_place_is_one_more_than_there_are_faster(rate, date):
    found = LISTS[date]
    faster = sum(1 for rmax in found.rmax if rmax > rate)
    assert found.place(rate) == (faster + 1 if faster < 500 else None)


@given(st.sampled_from(sorted(LISTS)), st.integers(0, 499))
def test_a_rate_on_a_list_has_the_best_rank_of_its_equals(date, index):
    found = LISTS[date]
    assert found.place(found.rmax[index]) == found.rmax.index(found.rmax[index]) + 1


@given(st.floats(-1.0, 11.0).map(lambda power: GIGA * 10**power), st.integers(1, 500))
def test_last_list_by_searching_all_lists(rate, rank):
    good = [x for x in top_lists() if sum(1 for rmax in x.rmax if rmax > rate) < rank]
    assert last_within(rate, rank) == (good[-1] if good else None)


def test_until_when():
    assert last_within(480.7 * GIGA, 1).name == "November 1996"  # 368.2 then, 1,068 in June 1997
    assert last_within(480.7 * GIGA, 500).name == "November 2003"  # 402.5 then, 624.3 in June 2004
    assert last_within(0.1 * GIGA, 500) is None
    assert last_within(1.0 * GIGA, 1) is None


def test_the_table_names_its_source_and_is_small():
    import gzip

    path = Path(top500.__file__).with_name("top500.txt.gz")
    assert path.stat().st_size < 60_000
    head = gzip.decompress(path.read_bytes())[:300].decode()
    assert head.startswith("# Rmax in Gflop/s") and "www.top500.org" in head


def test_it_imports_nothing_heavy():
    printed = subprocess.run(
        [
            sys.executable, "-c",
            "import assay.reference.top500 as t, sys; t.places(1e12); "
            "print({'numpy', 'polars', 'scipy'} & set(sys.modules))",
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert printed.stdout.strip() == "set()"
