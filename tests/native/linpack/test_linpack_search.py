"""linpack.search through the real harness: its report of the candidates tried."""

from __future__ import annotations

import re

import pytest

from assay.records.schema import MeasurementRecord
from kernel_runs import assert_verified, measure, measure_faults, plain, sanitized

pytestmark = pytest.mark.slow

CANDIDATE = re.compile(
    r"nb=(\d+) p=(\d+) broadcast=([a-z-]+) swap=(\w+) depth=([01]) n=(\d+): (\S+)"
)


def check(record: MeasurementRecord, ranks: int) -> list[tuple[str, ...]]:
    """Check invariants of any search; return the candidates that it reports."""
    assert_verified(record)
    facts = record.facts
    texts = [facts[f"candidate_{i}"] for i in range(int(facts["candidates"]))]
    candidates = [CANDIDATE.fullmatch(str(each)).groups() for each in texts]  # type: ignore[union-attr]
    choice = [str(facts[name]) for name in ("nb", "p", "broadcast", "swap", "depth", "n")]
    (rate,) = (float(rate) for *settings, rate in candidates if settings == choice)
    assert float(facts["rate"]) == pytest.approx(rate, rel=1e-3)
    assert int(facts["p"]) * int(facts["q"]) == ranks
    assert record.parameters["n"] == facts["n"]
    assert int(facts["memory_available"]) > 0
    # No duplicates, and panels of a tenth of the order at most.
    assert len({tuple(settings) for *settings, _ in candidates}) == len(candidates)
    assert all(10 * int(nb) <= max(int(n), 10) for nb, _, _, _, _, n, _ in candidates)
    return candidates


def test_a_search_reports_its_choice_and_all_candidates_tried() -> None:
    # The order that a second allows depends on the machine; 700 rows allow several panels.
    asked = [("linpack.search", {"seconds": 1.0}), ("linpack.search", {"n": 700, "seconds": 60.0})]
    for record in measure(plain(), *asked, samples=(1, 1)):
        tried = check(record, 1)
        assert {p for _, p, *_ in tried} == {"1"}
        assert {depth for *_, depth, _, _ in tried} == {"0", "1"}
        assert {broadcast for _, _, broadcast, *_ in tried} == {"modified-ring"}
    assert len({nb for nb, *_ in tried}) > 1

    orders = [("linpack.search", {"n": n, "seconds": 60.0}) for n in (1, 70)]
    for record, n in zip(measure(plain(), *orders, ranks=4, samples=(1, 1)), (1, 70), strict=True):
        tried = check(record, 4)
        assert {int(order) for *_, order, _ in tried} == {n}
        assert {p for _, p, *_ in tried} == {"1", "2", "4"}


@pytest.mark.sanitizable
def test_a_wrong_factor_is_not_verified() -> None:
    order = {"n": 200, "seconds": 0.05}
    _, bad = measure_faults(
        ("linpack.search", {**order, "fault": "none"}),
        ("linpack.search", {**order, "fault": "factor"}),
        ranks=2,
        samples=(1, 1),
    )
    assert bad.verification.value is None or bad.verification.value > 16


def test_impossible_searches_are_reported() -> None:
    big, never, negative = measure(
        plain(),
        ("linpack.search", {"n": 90_000_000}),
        ("linpack.search", {"seconds": 0.0}),
        ("linpack.search", {"n": -1}),
        ranks=2,
    )
    assert re.search(r"matrix of order 90000000 take .* available\); n can be \d+$", str(big.error))
    assert "'seconds' must be above 0" in str(never.error)
    assert "'n' must not be negative" in str(negative.error)


@pytest.mark.sanitized
@pytest.mark.sanitizable
def test_a_search_runs_clean_under_the_sanitizers() -> None:
    (record,) = measure(
        sanitized(), ("linpack.search", {"n": 60, "seconds": 30.0}), ranks=3, samples=(1, 1)
    )
    check(record, 3)
