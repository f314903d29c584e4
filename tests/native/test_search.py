"""compute.search: words of queries found in a sequence, and extended."""

from __future__ import annotations

import pytest

from assay.kernels import find_kernel
from kernel_runs import assert_good, measure, measure_faults, plain, sanitized

SEARCH = find_kernel("compute.search")
NAME = SEARCH.name
SMALL = {"letters": 1 << 14, "queries": 3, "query_letters": 200}


def test_work_counts_the_letters_of_all_ranks() -> None:
    assert SEARCH.work(SMALL, 4, 1) == {"letters": 4.0 * (1 << 14)}


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_every_query_finds_its_copy(ranks: int) -> None:
    sizes = [
        SMALL,
        {"letters": 1 << 12, "queries": 1, "query_letters": 32},
        {"letters": 1 << 16, "queries": 60, "query_letters": 512},
        {},
    ]
    for record in measure(plain(), *((NAME, each) for each in sizes), ranks=ranks):
        assert_good(record)
        if record.parameters["queries"] == 16:
            # 16 x 505 words of 65,536, in 2^20 letters: 129 thousand by chance, and the copies'.
            assert record.facts["hits"] == pytest.approx(16 * 505 * (1 << 20) / 65536, rel=0.1)


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    faults = ("none", "hit", "score")
    measure_faults(*((NAME, {**SMALL, "fault": fault}) for fault in faults), ranks=2)


@pytest.mark.slow
def test_queries_need_room() -> None:
    (record,) = measure(plain(), (NAME, {"letters": 1 << 12, "queries": 200}))
    assert record.status == "failed"
    assert "'letters' must be at least twice queries x query_letters" in (record.error or "")


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    for record in measure(sanitized(), (NAME, SMALL), ranks=2):
        assert_good(record)
