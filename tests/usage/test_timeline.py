"""Use over time against a count second by second; capacity by node events; settled periods."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.usage.capacity import known_capacity, most_in_use
from assay.usage.jobs import MachineFacts, Outage, SizeEvent
from assay.usage.period import MISSING_AT_MOST, LocalTime, period_of
from assay.usage.timeline import (
    StepFunction,
    constant,
    difference,
    greatest,
    least,
    occupied,
)
from usage_logs import MONDAY, PBS, lsf_record, read_text, swf_of

SPAN = 40
INTERVALS = st.lists(
    st.tuples(st.integers(0, SPAN), st.integers(0, 12), st.integers(1, 9)), max_size=12
)


def steps(intervals: list[tuple[int, int, int]]) -> StepFunction:
    begin, length, amount = (
        (np.array(v, dtype=float) for v in zip(*intervals, strict=True))
        if (intervals)
        else (np.empty(0),) * 3
    )
    return occupied(begin, begin + length, amount)


def by_hand(intervals: list[tuple[int, int, int]]) -> list[int]:
    """The amount in each second."""
    return [
        sum(a for begin, length, a in intervals if begin <= s < begin + length)
        for s in range(SPAN + 15)
    ]


@settings(max_examples=50)
@given(INTERVALS, INTERVALS, st.lists(st.integers(0, SPAN + 14), min_size=2, max_size=6))
def test_against_a_count_of_every_second(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]], edges: list[int]
) -> None:
    a, b = by_hand(first), by_hand(second)
    edges.sort()
    for function, expected in (
        (steps(first), a),
        (least(steps(first), steps(second)), [min(p, q) for p, q in zip(a, b, strict=True)]),
        (greatest(steps(first), constant(5)), [max(p, 5) for p in a]),
        (difference(constant(7), steps(first)), [max(7 - p, 0) for p in a]),
    ):
        assert function.at(np.arange(SPAN + 15.0)).tolist() == expected
        sums = [sum(expected[low:high]) for low, high in itertools.pairwise(edges)]
        assert function.integral(np.array(edges, dtype=float)).tolist() == sums


def test_down_time_of_a_node_counts_once_and_never_beyond_the_machine() -> None:
    machine = MachineFacts(
        sizes=[SizeEvent(0.0, 16), SizeEvent(100.0, 32)],
        outages=[
            Outage("n1", 10.0, 30.0, 8),
            Outage("n1", 12.0, 15.0, 8),
            Outage("n1", 20.0, 40.0, 8),
            Outage("n2", 35.0, 50.0, 8),
            Outage("n3", 150.0, math.inf, 16),
        ],
    )
    capacity = known_capacity(machine, None, last=200.0)
    assert capacity is not None
    assert (capacity.source, capacity.processors) == ("node events", 32)
    idle = capacity.available(constant(0.0))
    # n1 is down in 10 to 40, n2 in 35 to 50, n3 from 150 on.
    assert idle.integral(np.array([0.0, 100.0])).tolist() == [1600 - 30 * 8 - 15 * 8]
    assert idle.at(np.array([-5.0, 5, 20, 38, 45, 120, 160])).tolist() == [
        16, 16, 8, 0, 8, 32, 16,
    ]  # fmt: skip
    # Processors in use were not down.
    busy = occupied(np.array([36.0]), np.array([40.0]), np.array([8.0]))
    assert capacity.available(busy).at(np.array([38.0])).tolist() == [8]


def test_the_source_of_the_capacity() -> None:
    machine = MachineFacts(processors=64)
    known = known_capacity(machine, 100, 0.0)
    assert known is not None
    assert (known.source, known.processors) == ("stated", 100)
    known = known_capacity(machine, None, 0.0)
    assert known is not None
    assert (known.source, known.processors) == ("header", 64)
    assert known_capacity(MachineFacts(), None, 0.0) is None
    busy = occupied(np.array([0.0, 5.0]), np.array([9.0, 9.0]), np.array([3.0, 4.0]))
    assert most_in_use(MachineFacts(), busy.levels.max(), 9.0).processors == 7


def test_the_settled_period_begins_when_little_use_can_be_missing(tmp_path: Path) -> None:
    """Jobs that all run for 1000 s without a wait: of the use at time t after the begin, the share
    1 - t / 1000 is by jobs that were submitted before.
    """
    log = read_text(tmp_path, swf_of([(n, 100 * n, 0, 1000, 4) for n in range(1, 100)]))
    period = period_of(log.jobs, log.machine)
    assert period.whole
    assert period.first == MONDAY + 100
    assert period.last == period.settled_to == MONDAY + 9900
    assert period.settled_from - period.first == pytest.approx(1000 * (1 - MISSING_AT_MOST), abs=62)


def test_records_at_ends_of_jobs_lack_those_that_still_run(tmp_path: Path) -> None:
    text = "\n".join(
        lsf_record(n, slots=["n1"], status=64, reason=0).replace(
            str(MONDAY + 3600), str(MONDAY + 3600 * n)
        )
        for n in range(1, 6)
    )
    log = read_text(tmp_path, text)
    period = period_of(log.jobs, log.machine)
    assert (period.first, period.last) == (MONDAY + 3600, MONDAY + 5 * 3600)
    assert period.settled_from == period.first
    # A log without records of starts: the longest job of 5 h began an hour before the first end.
    assert not period.whole
    # With records of starts nothing is missing at its end.
    (tmp_path / "pbs").mkdir()
    pbs = read_text(tmp_path / "pbs", PBS)
    period = period_of(pbs.jobs, pbs.machine)
    assert period.settled_to == period.last == MONDAY + 10800


def test_local_time() -> None:
    stockholm = LocalTime.of(None, MachineFacts(zone="Europe/Stockholm"))
    # Two hours ahead in summer, one in winter.
    winter = MONDAY + 180 * 86400
    assert (stockholm.at(np.array([MONDAY, winter], dtype=float)) - [MONDAY, winter]).tolist() == [
        7200, 3600,
    ]  # fmt: skip
    assert LocalTime.of("UTC", MachineFacts(zone="Europe/Stockholm")).zone == "UTC"
    assert LocalTime.of(None, MachineFacts(zone="nowhere")).zone == ""
    with pytest.raises(AssayError, match="not a time zone"):
        LocalTime.of("Mars/Olympus", MachineFacts())
