"""Checks recorded on a machine whose speed moves: what was drained before, and what is now.

``tests/data/checks/moving_machine.csv`` has the readings of one healthy virtual machine in an hour.
Its memory bandwidth is twice as high at times, for minutes. The times of its checks are set apart,
so that each is a session (``earlier_checks``): a harder test than the same checks on one day.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from assay.check.baseline.learn import Learning, learn
from assay.check.baseline.model import SESSIONS, Baseline
from assay.check.baseline.samples import LearningCheck
from assay.check.model import Reading
from check_baselines import normal_table
from checks_in_turn import Measured, checks_in_turn
from earlier_checks import BETWEEN

RECORDED = Path(__file__).parents[2] / "data" / "checks" / "moving_machine.csv"
NAMES = ("core", "product", "stream", "random")
# The allowance before sessions were compared, for all but a few hours of the day without a check.
ASSUMED = 0.008


def recorded() -> list[tuple[float, list[dict[str, Reading]]]]:
    """Unix time, s, and the rounds of each check."""
    lines = [line for line in RECORDED.read_text().splitlines() if not line.startswith("#")]
    return [
        (
            float(row["utc"]),
            [
                {name: Reading(component=name, values=[float(row[f"{name}{n}"])]) for name in NAMES}
                for n in (1, 2, 3)
            ],
        )
        for row in csv.DictReader(lines)
    ]


def learned(first: int, apart: float | None) -> Baseline:
    """From the first checks, at their own times or so far apart."""
    checks = [
        LearningCheck(host="n1", utc=utc if apart is None else apart * number, rounds=rounds)
        for number, (utc, rounds) in enumerate(recorded()[:first])
    ]
    return learn(Learning(kind="k", program="p", checks=checks, virtual=True))


def assumed(baseline: Baseline) -> Baseline:
    """The same baseline with an assumed allowance, as if sessions on many days had differed by no
    more."""
    shifts = learned(SESSIONS, BETWEEN).components["stream"].sessions
    table = normal_table(1e-9)
    parts = {
        name: msgspec.structs.replace(
            each, sessions=shifts, movement=[ASSUMED + value for value in table], moving=False
        )
        for name, each in baseline.components.items()
    }
    return msgspec.structs.replace(baseline, components=parts)


def outcomes(baseline: Baseline, first: int, apart: float) -> list[str]:
    """The outcomes of the checks after the first ones, one after another."""

    def check(readings: Sequence[Mapping[str, Reading]]) -> Measured:
        return lambda number, components: {
            name: readings[number % len(readings)][name] for name in components
        }

    checks = [check(readings) for _, readings in recorded()[first:]]
    _, records, _ = checks_in_turn(checks, baseline, NAMES, apart)
    return [each.outcome for each in records]


def test_an_assumed_allowance_drains_a_healthy_machine() -> None:
    """A baseline of three minutes, as it was before: a third of the checks that followed."""
    found = outcomes(assumed(learned(3, None)), 3, 75.0)
    assert found.count("unhealthy") >= 10


@pytest.mark.parametrize("first", [3, 6])
def test_a_baseline_of_minutes_decides_nothing_on_slowness(first: int) -> None:
    found = outcomes(learned(first, None), first, 75.0)
    assert "unhealthy" not in found and "undecided" in found


@pytest.mark.parametrize("first", [SESSIONS, 12, 20])
@pytest.mark.parametrize("apart", [75.0, BETWEEN])
def test_sessions_drain_nothing(first: int, apart: float) -> None:
    baseline = learned(first, BETWEEN)
    assert all(each.covers_time and each.moving for each in baseline.components.values())
    assert set(outcomes(baseline, first, apart)) == {"healthy"}
