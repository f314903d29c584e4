"""Change points: false alarms over a series' whole life, and detection delays.

The baseline is Apache Otava with its defaults, measured on series of the same kind: a 5% drop at
CoV 2% reported in 19, 47, 72 and 88% of trials after 1, 2, 3 and 4 later runs, with a false alarm
on 10 of 200 flat series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from rate import Rate

from assay.stats.changes.changes import Changes
from found_changes import find_changes

Noise = Callable[[np.random.Generator, int], np.ndarray]
LIFE = 400  # runs of a clean series
BEFORE = 50
# Oracle with known mean and deviation: two cumulative sums (Page 1954) whose allowance is optimal
# for a step of two deviations, and whose limit gives one false alarm in 1,200 clean runs, both
# together (3.01 would in 1,000: Brook & Evans 1972).
ALLOWANCE, LIMIT = 1.0, 3.1
# Clean series for the limits of the oracle that has to learn them, and its first check.
LEARNED, FIRST_LOOK = 40_000, 8
OTAVA = {1: 0.19, 2: 0.47, 3: 0.72, 4: 0.88}
REPORTED = {3: 0.20, 4: 0.50}


def normal(drawn: np.random.Generator, n: int) -> np.ndarray:
    return drawn.standard_normal(n)


def lognormal(drawn: np.random.Generator, n: int) -> np.ndarray:
    """A right tail: skewness 1.75."""
    values = np.exp(0.5 * drawn.standard_normal(n))
    return (values - np.exp(0.125)) / np.sqrt((np.exp(0.25) - 1.0) * np.exp(0.25))


def t3(drawn: np.random.Generator, n: int) -> np.ndarray:
    return drawn.standard_t(3, n) / np.sqrt(3.0)


def two_modes(drawn: np.random.Generator, n: int) -> np.ndarray:
    """Half of the runs lie 3 deviations of a mode above the others."""
    values = 3.0 * (drawn.random(n) < 0.5) + drawn.standard_normal(n)
    return (values - 1.5) / np.sqrt(1.0 + 2.25)


def rare_mode(drawn: np.random.Generator, n: int) -> np.ndarray:
    """Every tenth run lies 6 deviations above the others."""
    values = 6.0 * (drawn.random(n) < 0.1) + drawn.standard_normal(n)
    return (values - 0.6) / np.sqrt(1.0 + 36 * 0.09)


def dependent(drawn: np.random.Generator, n: int) -> np.ndarray:
    """Autocorrelated: 0.3 from a run to the next."""
    values = drawn.standard_normal(n)
    for i in range(1, n):
        values[i] = 0.3 * values[i - 1] + np.sqrt(1.0 - 0.09) * values[i]
    return values


NOISES: dict[str, Noise] = {
    "normal": normal,
    "lognormal, skewness 1.75": lognormal,
    "Student's t3": t3,
    "two equal modes": two_modes,
    "a mode of a tenth": rare_mode,
    "autocorrelation 0.3": dependent,
}


def series(noise: Noise, drawn: np.random.Generator, course: np.ndarray, cov: float) -> np.ndarray:
    """Values of the relative series with noise of that CoV."""
    return course * (1.0 + cov * noise(drawn, course.size))


def stepped(before: int, after: int, size: float) -> np.ndarray:
    return np.concatenate([np.ones(before), np.full(after, 1.0 + size)])


def noticed(found: Changes, at: int, sign: float) -> bool:
    """Whether a step in that direction was detected from its first run on, and none before it."""
    alarms = [alarm for alarm in found.alarms if alarm.found >= at]
    steps = [change for change in found.changes if change.found >= at and change.kind != "spread"]
    return bool(alarms) and any(change.size * sign > 0 for change in steps)


def rates(trials: int, seed: int) -> Iterator[Rate]:
    drawn = np.random.default_rng(seed)
    yield from false_alarms(trials, drawn)
    yield from detections(trials, drawn)
    yield from oracles(trials, np.random.default_rng((seed, 1)))
    yield from otava(trials, drawn)
    yield from kinds(trials, drawn)
    yield from intervals(trials, drawn)


def false_alarms(trials: int, drawn: np.random.Generator) -> Iterator[Rate]:
    lives = max(trials // 4, 2)
    for name, noise in NOISES.items():
        alarms = sum(
            len(find_changes(series(noise, drawn, np.ones(LIFE), 0.01)).alarms)
            for _ in range(lives)
        )
        yield Rate(
            "false alarm per run, with a nightly evaluation",
            f"{name}, CoV 1%, {LIFE} clean runs",
            alarms, lives * LIFE, 2e-3 if noise in (dependent, rare_mode) else 1e-3,
            "false alarm",
        )  # fmt: skip


def detections(trials: int, drawn: np.random.Generator) -> Iterator[Rate]:
    cases = [
        (0.005, 200, 200, 0.80), (0.01, 100, 50, 0.90), (0.02, 20, 8, 0.60), (0.02, 50, 8, 0.80),
        (0.02, 100, 8, 0.90), (0.02, 200, 8, 0.90), (0.05, 20, 4, 0.75), (0.05, 50, 4, 0.90),
    ]  # fmt: skip
    for size, before, after, stated in cases:
        found = 0
        for _ in range(trials):
            sign = drawn.choice([-1.0, 1.0])
            values = series(normal, drawn, stepped(before, after, sign * size), 0.01)
            found += noticed(find_changes(values), before, sign)
        yield Rate(
            f"a step of {size:.1%} noticed within {after} runs",
            f"CoV 1%, after {before} runs", found, trials, stated, "detection",
        )  # fmt: skip
    for name, noise in NOISES.items():
        found = 0
        for _ in range(trials):
            values = series(noise, drawn, stepped(BEFORE, 16, 0.02), 0.01)
            found += noticed(find_changes(values), BEFORE, 1.0)
        stated = 0.60 if noise is dependent else 0.90
        yield Rate(
            "a step of 2% noticed within 16 runs",
            f"{name}, CoV 1%, after {BEFORE} runs", found, trials, stated, "detection",
        )  # fmt: skip


def known(z: np.ndarray) -> np.ndarray:
    """The runs after which an oracle that knows mean and deviation alarms; ``z``: standardised."""
    found, up, down = [], 0.0, 0.0
    for run, value in enumerate(z):
        up, down = max(up + value - ALLOWANCE, 0.0), max(down - value - ALLOWANCE, 0.0)
        if max(up, down) > LIMIT:
            found.append(run)
            up = down = 0.0
    return np.array(found)


def learned(series: np.ndarray, deviation_known: bool) -> np.ndarray:
    """For series of normal noise (rows), after each run the maximum share of the square sum that
    one step explains, wherever it is: all information on a change if the mean has to be learned (D.
    Hawkins, P. Qiu, C. Kang 2003). If the deviation has to be learned, too, of the whole.
    """
    count, runs = series.shape
    sums = np.cumsum(series, axis=1)
    squares = np.cumsum(series**2, axis=1)
    found = np.zeros((count, runs))
    for n in range(FIRST_LOOK + 1, runs + 1):
        before = np.arange(FIRST_LOOK, n)
        whole = sums[:, n - 1 : n]
        part = sums[:, before - 1] - before * whole / n
        found[:, n - 1] = (part**2 * (n / (before * (n - before)))).max(axis=1)
        if not deviation_known:
            found[:, n - 1] /= squares[:, n - 1] - whole[:, 0] ** 2 / n
    return found


def learned_limits(runs: int, deviation_known: bool, drawn: np.random.Generator) -> np.ndarray:
    """After each run the level that one in 1,000 of the clean series exceeds for the first time."""
    limits = np.full(runs, np.inf)
    found = learned(drawn.standard_normal((LEARNED, runs)), deviation_known)
    for run in range(FIRST_LOOK, runs):
        limits[run] = np.quantile(found[:, run], 0.999)
        found = found[found[:, run] <= limits[run]]
    return limits


def oracles(trials: int, drawn: np.random.Generator) -> Iterator[Rate]:
    """The best possible detection of a step of 2%, with more knowledge than a history has."""
    lives = max(trials // 4, 2)
    alarms = sum(known(drawn.standard_normal(LIFE)).size for _ in range(lives))
    yield Rate(
        "false alarm in a run, by an oracle that knows mean and deviation",
        f"normal, CoV 1%, {LIFE} clean runs", alarms, lives * LIFE, 1e-3, "false alarm",
    )  # fmt: skip
    found = 0
    for _ in range(trials):
        step = 2.0 * (np.arange(BEFORE + 8) >= BEFORE)
        found += bool((known(drawn.standard_normal(BEFORE + 8) + step) >= BEFORE).any())
    yield Rate(
        "a step of 2.0% noticed within 8 runs by that oracle", "CoV 1%, after any number of runs",
        found, trials, 0.95, "detection",
    )  # fmt: skip
    cases = ((True, "that knows the deviation"), (False, "that knows only that noise is normal"))
    for deviation_known, who in cases:
        limits = learned_limits(108, deviation_known, drawn)
        for before, stated in ((20, 0.8 if deviation_known else 0.6), (50, 0.85), (100, 0.9)):
            step = 2.0 * (np.arange(before + 8) >= before)
            values = learned(drawn.standard_normal((trials, before + 8)) + step, deviation_known)
            over = (values[:, before:] > limits[before : before + 8]).any(axis=1)
            yield Rate(
                f"the same by one {who}", f"CoV 1%, after {before} runs",
                int(over.sum()), trials, stated, "detection",
            )  # fmt: skip


def otava(trials: int, drawn: np.random.Generator) -> Iterator[Rate]:
    flat = reported = 0
    for _ in range(trials):
        found = find_changes(series(normal, drawn, np.ones(BEFORE + 4), 0.02))
        flat += found.suspect is not None or bool(found.changes)
        reported += bool(found.changes)
    yield Rate(
        "a flat series suspected in one look (Otava: 5%)", f"CoV 2%, {BEFORE + 4} runs",
        flat, trials, 0.05, "false alarm",
    )  # fmt: skip
    for after, theirs in OTAVA.items():
        reported = either = 0
        for _ in range(trials):
            found = find_changes(series(normal, drawn, stepped(BEFORE, after, -0.05), 0.02))
            now = noticed(found, BEFORE, -1.0)
            reported += now
            either += now or (found.suspect is not None and found.suspect.size < 0)
        runs = "1 later run" if after == 1 else f"{after} later runs"
        yield Rate(
            f"a drop of 5% suspected or reported after {runs} (Otava: {theirs:.0%})",
            f"CoV 2%, after {BEFORE} runs", either, trials, theirs, "detection",
        )  # fmt: skip
        if after in REPORTED:
            yield Rate(
                f"the same reported, at 1 false alarm in 1,000 runs, after {runs}",
                f"CoV 2%, after {BEFORE} runs", reported, trials, REPORTED[after], "detection",
            )  # fmt: skip


def kinds(trials: int, drawn: np.random.Generator) -> Iterator[Rate]:
    some = max(trials // 2, 2)
    outliers = drifts = staircases = steps = back = spreads = 0
    for _ in range(some):
        course = np.ones(100)
        course[drawn.integers(20, 100)] += 0.01 * drawn.uniform(5, 50)
        outliers += bool(find_changes(series(normal, drawn, course, 0.01)).alarms)
        course = 1.0 + 0.05 * np.clip((np.arange(160.0) - 40.0) / 120.0, 0.0, 1.0)
        changes = find_changes(series(normal, drawn, course, 0.01)).changes
        drifts += [change.kind for change in changes if change.kind != "spread"] == ["drift"]
        staircases += sum(change.kind == "step" for change in changes) > 1
        changes = find_changes(series(normal, drawn, stepped(80, 80, 0.03), 0.01)).changes
        steps += [change.kind for change in changes] == ["step"]
        course = np.concatenate([np.ones(60), np.full(25, 1.03), np.ones(60)])
        changes = find_changes(series(normal, drawn, course, 0.01)).changes
        back += [(c.kind, c.size > 0) for c in changes] == [("step", True), ("step", False)]
        values = 1.0 + 0.01 * normal(drawn, 160) * stepped(80, 80, 2.0)
        spreads += any(change.kind == "spread" for change in find_changes(values).changes)
    yield Rate("an outlier taken for a change", "one run of 100 off by 5 to 50 deviations",
               outliers, some, 0.10, "false alarm")  # fmt: skip
    yield Rate("a drift reported as one drift", "5% over 120 runs after 40, CoV 1%",
               drifts, some, 0.85, "detection")  # fmt: skip
    yield Rate("a drift reported as a staircase", "5% over 120 runs after 40, CoV 1%",
               staircases, some, 0.10, "false alarm")  # fmt: skip
    yield Rate("a step reported as one step", "3% in the middle of 160 runs, CoV 1%",
               steps, some, 0.90, "detection")  # fmt: skip
    yield Rate("a step up and back reported as both", "3% for 25 runs, CoV 1%",
               back, some, 0.85, "detection")  # fmt: skip
    yield Rate("three times the scatter reported", "80 runs after 80, CoV 1%",
               spreads, some, 0.90, "detection")  # fmt: skip


def intervals(trials: int, drawn: np.random.Generator) -> Iterator[Rate]:
    for size in (0.015, 0.03):
        places = sizes = of = 0
        for _ in range(max(trials // 2, 2)):
            values = series(normal, drawn, stepped(60, 60, size), 0.01)
            found = [c for c in find_changes(values).changes if c.kind == "step"]
            if len(found) != 1:
                continue
            of += 1
            places += found[0].earliest <= 60 <= found[0].latest
            sizes += found[0].size_ci95[0] <= size <= found[0].size_ci95[1]
        planted = f"{size:.1%} in the middle of 120 runs, CoV 1%"
        yield Rate("95% interval of the date holds it", planted, places, of, 0.95, "coverage")
        yield Rate("95% interval of the size holds it", planted, sizes, of, 0.93, "coverage")
