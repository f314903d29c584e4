"""The native model makes the same schedules as a slow one that shares nothing with it."""

from __future__ import annotations

import os

import numpy as np
import pytest

from assay.usage.scheduler.replay import replay_all
from schedule_cases import FAMILIES, draw
from schedule_program import plain, sanitized
from schedule_reference import simulate

COLUMNS = ("submit", "start", "end", "lost", "state", "first_node", "runs", "backfilled")
QUICK = 40
# Of all families 47,520 cases: a fault that changes one schedule in 10,300 is found with 99%.
MANY = int(os.environ.get("ASSAY_SCHEDULE_CASES", "4000"))


def differences(family: str, seeds: range, program) -> list[str]:
    """What differs, by family, seed and column."""
    cases = [draw(family, seed) for seed in seeds]
    found = []
    for seed, case, made in zip(seeds, cases, replay_all(cases, program=program), strict=True):
        expected = simulate(*case)
        for name in (*COLUMNS, "longest_queue", "passes"):
            if not np.array_equal(getattr(made, name), expected[name], equal_nan=True):
                found.append(f"{family} {seed} {name}: {getattr(made, name)} {expected[name]}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_schedules_equal_the_reference(family):
    assert differences(family, range(QUICK), plain()) == []


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_many_schedules_equal_the_reference(family):
    assert differences(family, range(QUICK, MANY), plain()) == []


@pytest.mark.slow
@pytest.mark.long
def test_under_the_sanitizers_the_schedules_are_the_same():
    for family in FAMILIES:
        assert differences(family, range(200), sanitized()) == []
