"""Steps of a running program: false alarms, and delays of alarms."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rate import Rate

from assay.stats.changes.online import Monitor
from step_series import CLEAN, Draw, Floats, lognormal, normal

# A trial of clean steps; one false alarm in 10,000 steps makes 9.5% of such trials have one.
STEPS = 1000
CLEAN_STATED = 1.0 - np.exp(-STEPS / 10_000)
BEFORE = 200


def alarms(values: Floats) -> list[int]:
    """The steps at which there were alarms."""
    monitor = Monitor()
    found = []
    for value in values:
        change = monitor.add(float(value))
        if change is not None and change.alarm:
            found.append(change.step)
    return found


def delay(values: Floats, onset: int) -> int | None:
    """Steps from the onset (an index) to the first alarm after it."""
    after = [step for step in alarms(values) if step > onset]
    return after[0] - onset if after else None


def shifted(draw: Draw, rng: np.random.Generator, n: int, factor: float) -> Floats:
    """``BEFORE`` clean steps, then n that take this many times as long."""
    values = draw(rng, BEFORE + n)
    values[BEFORE:] *= factor
    return values


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """False alarms on clean steps; alarms within this many steps of a planted change."""
    for name, draw in CLEAN.items():
        rng = np.random.default_rng(seed)
        found = sum(bool(alarms(draw(rng, STEPS))) for _ in range(trials))
        yield Rate(
            f"an alarm in {STEPS:,} clean steps", name, found, trials, CLEAN_STATED, "false alarm"
        )
    planted: list[tuple[str, Draw, float, int, float]] = [
        ("normal, CoV 2%, then 1.5 times as long", normal, 1.5, 6, 0.99),
        ("normal, CoV 2%, then 5% longer", normal, 1.05, 12, 0.95),
        ("normal, CoV 2%, then 3% longer", normal, 1.03, 30, 0.90),
        ("lognormal 0.2, then twice as long", lognormal, 2.0, 8, 0.95),
        ("lognormal 0.2, then 1.2 times as long", lognormal, 1.2, 60, 0.90),
    ]
    for what, draw, factor, within, stated in planted:
        rng = np.random.default_rng(seed + 1)
        late = [delay(shifted(draw, rng, 2 * within, factor), BEFORE) for _ in range(trials)]
        found = sum(d is not None and d <= within for d in late)
        yield Rate(f"an alarm within {within} steps", what, found, trials, stated, "detection")
    rng = np.random.default_rng(seed + 2)
    found = 0
    for _ in range(trials):
        values = normal(rng, BEFORE + 200)
        values[BEFORE:] *= 1.0 + 0.001 * np.arange(200)
        found += delay(values, BEFORE) is not None
    yield Rate(
        "an alarm within 200 steps",
        "normal, CoV 2%, drifting by 0.1% a step",
        found,
        trials,
        0.99,
        "detection",
    )
    rng = np.random.default_rng(seed + 3)
    found = 0
    for _ in range(trials):
        values = normal(rng, BEFORE + 100)
        values[BEFORE:] = 0.1 + 3.0 * (values[BEFORE:] - 0.1)
        found += delay(values, BEFORE) is not None
    yield Rate(
        "an alarm within 100 steps", "normal, spread three times", found, trials, 0.90, "detection"
    )
