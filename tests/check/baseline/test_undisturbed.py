"""Readings beside other processes don't make slowness usual."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from assay.check.baseline.learn import Learning, learn
from assay.check.baseline.model import Baseline
from assay.check.baseline.samples import LearningCheck
from assay.check.model import Quiet, Reading
from check_fleets import NAMES, FleetShape, draw_nodes, learning_checks

BUSY = Quiet(others=1.5)


def fleet() -> list[LearningCheck]:
    rng = np.random.default_rng(902)
    shape = FleetShape("normal", nodes=30)
    return learning_checks(rng, shape, draw_nodes(rng, shape))


def disturbed(reading: Reading) -> Reading:
    """Half as fast, beside other processes."""
    factor = 2.0 if reading.component == "latency" else 0.5
    values = [value * factor for value in reading.values]
    return msgspec.structs.replace(reading, values=values, quiet=BUSY)


def learned(checks: list[LearningCheck]) -> Baseline:
    return learn(Learning(kind="k", program="p", checks=checks))


def test_disturbed_readings_are_left_out() -> None:
    """In each check the last round; in every third check, all rounds."""
    checks, rest, removed = [], [], 0
    for number, check in enumerate(fleet()):
        first = 0 if number % 3 == 0 else len(check.rounds) - 1
        loud = [
            {name: disturbed(reading) for name, reading in each.items()}
            for each in check.rounds[first:]
        ]
        checks.append(replace(check, rounds=[*check.rounds[:first], *loud]))
        rest.append(replace(check, rounds=check.rounds[:first]))
        removed += len(loud) * len(NAMES)
    found, quiet = learned(checks), learned(rest)
    assert found.components == quiet.components
    total = sum(len(check.rounds) for check in checks) * len(NAMES)
    assert found.learned[0] == (
        f"{removed:,} readings of {total:,} ran beside other processes and were left out."
    )
    assert found.learned[1:] == quiet.learned


def test_a_component_without_quiet_readings_keeps_them_and_says_so() -> None:
    checks = [
        replace(
            check,
            rounds=[{**each, "stream": disturbed(each["stream"])} for each in check.rounds],
        )
        for check in fleet()
    ]
    found, quiet = learned(checks), learned(fleet())
    assert found.components["product"] == quiet.components["product"]
    level = quiet.components["stream"].level + np.log(2.0)
    assert found.components["stream"].level == pytest.approx(level)
    assert found.learned[0].startswith("All readings of memory bandwidth ran beside other")


def test_quiet_checks_have_no_sentence() -> None:
    assert not any("beside other processes" in each for each in learned(fleet()).learned)
