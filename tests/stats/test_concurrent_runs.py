"""Concurrent measurements, by time and host."""

from __future__ import annotations

import numpy as np

from assay.stats.attribution.concurrent_runs import with_beside
from repeats_builder import make_repeats


def test_each_result_gets_concurrent_runs_by_run_launch_and_time() -> None:
    repeats = make_repeats(np.ones(4), {}, run=("a", "a", "b", "b"), utc=np.arange(4.0))
    found = {
        ("a", "1", 1.0): "npb.ep",
        ("b", "2", 2.0): "memory.stream, npb.ep",
        ("a", "3", 3.0): "of another run",
        ("b", "3", 2.0): "of another time",
        ("b", "2", 3.0): "of another launch",
    }
    (with_it,) = with_beside([repeats], found)
    assert with_it.beside == ("", "npb.ep", "memory.stream, npb.ep", "")
    np.testing.assert_array_equal(with_it.values, repeats.values)


def test_without_findings_repeats_are_unchanged() -> None:
    repeats = make_repeats(np.ones(2), {})
    assert with_beside([repeats], {}) == [repeats]
    # Something found elsewhere: then it is known that these were alone.
    (alone,) = with_beside([repeats], {("other", "0", 0.0): "npb.ep"})
    assert (repeats.beside, alone.beside) == ((), ("", ""))
