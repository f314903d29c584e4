"""A cell's spread, differences between groups, and walltimes.

``draws.py`` says how run times are distributed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from draws import (
    COV,
    DAY,
    DRAWS,
    SHAPES,
    TRUE_COV,
    Draw,
    Rng,
    Table,
    autocorrelated,
    finishing,
    lognormal,
    long_tail,
    normal,
    two_modes,
)
from rate import Rate

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.stats.compare.anova import anova
from assay.stats.compare.groups import location_differs, spread_differs
from assay.stats.core.modes import find_modes
from assay.stats.core.summary import cov_interval
from assay.stats.core.tails import tails
from assay.stats.core.trend import trend
from assay.stats.repeats.repeats import Repeats
from assay.stats.repeats.variance_components import variance_components
from assay.stats.repeats.walltime import asked_walltime


def rates(trials: int, seed: int) -> Iterable[Rate]:
    table = Table(trials, seed)
    yield from _cov(table)
    yield from _tails(table)
    yield from _modes(table)
    yield from _trends(table)
    yield from _components(table)
    yield from _locations(table)
    yield from _spreads(table)
    yield from _factors(table)
    yield from _walltimes(table)
    yield from _uneven_factors(table)


# Stated coverage of the interval of the CoV, by the number of values. Of ten values with a long
# tail a third has no value from the tail, and t3 has no fourth moment: no interval is valid there.
_COV_STATED = {
    "normal": dict.fromkeys((10, 30, 100, 1000), 0.93),
    "lognormal": dict.fromkeys((10, 30, 100, 1000), 0.90),
    "t3": dict.fromkeys((10, 30, 100, 1000), 0.75),
    "long tail": {10: 0.65, 30: 0.70, 100: 0.85, 1000: 0.90},
}


def _cov(table: Table) -> Iterator[Rate]:
    for name, stated in _COV_STATED.items():
        draw, truth = SHAPES[name], TRUE_COV[name]
        for n, share in stated.items():

            def holds(rng: Rng, draw: Draw = draw, n: int = n, truth: float = truth) -> bool:
                interval = cov_interval(draw(rng, n))
                return interval is not None and interval[0] <= truth <= interval[1]

            yield table.rate(
                "95% interval holds the CoV", f"{name}, n = {n}", share, "coverage", holds
            )


def _tails(table: Table) -> Iterator[Rate]:
    for n in (10, 30, 100, 1000):
        yield table.rate(
            "a long right tail is seen",
            f"none: normal, n = {n}",
            0.05,
            "false alarm",
            lambda rng, n=n: tails(normal(rng, n)).long_right,
        )
    for n in (30, 100):
        yield table.rate(
            "a long right tail is seen",
            f"long tail, n = {n}",
            0.9 if n == 100 else 0.4,
            "detection",
            lambda rng, n=n: tails(long_tail(rng, n)).long_right,
        )


def _modes(table: Table) -> Iterator[Rate]:
    one: dict[str, Draw] = {
        **DRAWS,
        "long tail": long_tail,
        "uniform": lambda rng, n: rng.random(n),
        "exponential": lambda rng, n: rng.exponential(1.0, n),
    }
    for name, draw in one.items():
        for n in (30, 200):
            yield table.rate(
                "more than one mode is seen",
                f"one: {name}, n = {n}",
                0.05,
                "false alarm",
                lambda rng, n=n, draw=draw: len(find_modes(draw(rng, n))) > 1,
            )
    for n in (30, 100):
        yield table.rate(
            "both modes are seen, and no third",
            f"two modes, n = {n}",
            0.95 if n == 100 else 0.75,
            "detection",
            lambda rng, n=n: len(find_modes(two_modes(rng, n))) == 2,
        )


def _trends(table: Table) -> Iterator[Rate]:
    def times(n: int) -> np.ndarray:
        return np.arange(n) * DAY

    nothing: dict[str, Draw] = {**DRAWS, "AR(1) 0.5": autocorrelated}
    for name, draw in nothing.items():
        for n in (20, 60):

            def alarms(rng: Rng, draw: Draw = draw, n: int = n) -> bool:
                found = trend(draw(rng, n), times(n))
                return found is not None and found.p <= 0.05

            yield table.rate(
                "a trend is seen (p ≤ 5%)",
                f"none: {name}, n = {n}",
                0.05 if name != "AR(1) 0.5" else 0.12,
                "false alarm",
                alarms,
            )

    def seen(rng: Rng) -> bool:
        found = trend(normal(rng, 60) + np.linspace(0.0, 4.0, 60), times(60))
        return found is not None and found.p <= 0.05 and found.slope > 0.0

    yield table.rate("a trend is seen (p ≤ 5%)", "4% in 60 days, CoV 2%", 0.95, "detection", seen)

    def holds(rng: Rng) -> bool:
        found = trend(lognormal(rng, 60) + np.linspace(0.0, 4.0, 60), times(60))
        assert found is not None
        return found.slope_ci95[0] <= 4.0 / 59.0 / DAY <= found.slope_ci95[1]

    yield table.rate(
        "95% interval holds the slope", "4% in 60 days, lognormal", 0.94, "coverage", holds
    )


def repeats(values: np.ndarray, hosts: Iterable[str], days: np.ndarray) -> Repeats:
    """Measurements on these hosts and days."""
    names = tuple(hosts)
    return Repeats(
        cell=Cell("npb.ft", {}, Placement(), "planted"),
        metric="time",
        unit="s",
        better="less",
        values=values,
        utc=(days + 0.5) * DAY,
        run=("planted",) * values.size,
        launch=tuple(str(place) for place in range(values.size)),
        hosts=names,
    )


def _components(table: Table) -> Iterator[Rate]:
    def found(rng: Rng, between: float) -> tuple[float, float]:
        """Share of the host sets' variance, and p, of 60 measurements on 6 sets and 10 days."""
        hosts, days = rng.integers(0, 6, 60), rng.integers(0, 10, 60)
        level = between * COV * 100.0 * rng.standard_normal(6)
        simulated = repeats(normal(rng, 60) + level[hosts], (f"n{h}" for h in hosts), days)
        (part,) = [each for each in variance_components(simulated).parts if each.level == "hosts"]
        return part.share, part.p if part.p is not None else 1.0

    yield table.rate(
        "host sets differ (p ≤ 5%)",
        "they don't: 6 sets crossed with 10 days",
        0.05,
        "false alarm",
        lambda rng: found(rng, 0.0)[1] <= 0.05,
    )
    yield table.rate(
        "host sets differ (p ≤ 5%)",
        "half of the variance: 6 sets crossed with 10 days",
        0.90,
        "detection",
        lambda rng: found(rng, 1.0)[1] <= 0.05,
    )


def _locations(table: Table) -> Iterator[Rate]:
    for name, draw in DRAWS.items():
        for n in (8, 30):
            for k in (2, 4):

                def alarms(rng: Rng, draw: Draw = draw, n: int = n, k: int = k) -> bool:
                    return (
                        location_differs({str(i): draw(rng, n) for i in range(k)}).verdict
                        == "differs"
                    )

                yield table.rate(
                    "locations differ (p ≤ 5%)",
                    f"they don't: {k} groups, {name}, n = {n}",
                    0.05,
                    "false alarm",
                    alarms,
                )

    def wider(rng: Rng, draw: Draw) -> bool:
        one, other = draw(rng, 15), draw(rng, 30)
        other = 100.0 + 3.0 * (other - 100.0)
        return location_differs({"one": one, "two": other}).verdict == "differs"

    for name in ("normal", "t3"):
        yield table.rate(
            "locations differ (p ≤ 5%)",
            f"they don't: {name}, n = 15 and 30, one three times as wide",
            0.06,
            "false alarm",
            lambda rng, name=name: wider(rng, DRAWS[name]),
        )
    yield table.rate(
        "locations differ (p ≤ 5%)",
        "they don't: AR(1) 0.5, n = 60",
        0.08,
        "false alarm",
        lambda rng: (
            location_differs(
                {"one": autocorrelated(rng, 60), "two": autocorrelated(rng, 60)}
            ).verdict
            == "differs"
        ),
    )
    for name, draw in DRAWS.items():
        yield table.rate(
            "locations differ (p ≤ 5%)",
            f"by 2%, CoV 2%: {name}, n = 20",
            0.80,
            "detection",
            lambda rng, draw=draw: (
                location_differs({"one": draw(rng, 20), "two": draw(rng, 20) + 2.0}).verdict
                == "differs"
            ),
        )
        yield table.rate(
            "locations are called alike",
            f"they differ by 1.5%, CoV 2%: {name}, n = 200",
            0.025,
            "false alarm",
            lambda rng, draw=draw: (
                location_differs({"one": draw(rng, 200), "two": draw(rng, 200) + 1.5}).verdict
                == "alike"
            ),
        )
        yield table.rate(
            "locations are called alike, or at least not different",
            f"the same, CoV 2%: {name}, n = 200",
            0.94,
            "detection",
            lambda rng, draw=draw: (
                location_differs({"one": draw(rng, 200), "two": draw(rng, 200)}).verdict
                != "differs"
            ),
        )


def _spreads(table: Table) -> Iterator[Rate]:
    for name, draw in DRAWS.items():
        for n in (8, 30, 100):

            def alarms(rng: Rng, draw: Draw = draw, n: int = n) -> bool:
                return (
                    spread_differs({"one": draw(rng, n), "two": draw(rng, n) * 2.0}).verdict
                    == "differs"
                )

            yield table.rate(
                "spreads differ (p ≤ 5%)",
                f"they don't: {name}, n = {n}, one twice as slow",
                0.05,
                "false alarm",
                alarms,
            )
    for name, draw in DRAWS.items():

        def sees(rng: Rng, draw: Draw = draw) -> bool:
            one, other = draw(rng, 30), draw(rng, 30)
            other = 100.0 + 29.0 / 11.0 * (other - 100.0)
            return spread_differs({"one": one, "two": other}).verdict == "differs"

        yield table.rate(
            "spreads differ (p ≤ 5%)",
            f"CoV 29/11 times as great: {name}, n = 30",
            0.75 if name == "t3" else 0.90,
            "detection",
            sees,
        )


def _factors(table: Table) -> Iterator[Rate]:
    """Two factors of two and three levels, 30 measurements, unequally many per combination."""

    def simulated(rng: Rng, draw: Draw, main: float, both: float) -> dict[tuple[str, ...], float]:
        a = rng.permutation(np.repeat([0, 1], 18))
        b = np.tile([0, 1, 2], 12)
        keep = rng.permutation(36)[:30]
        a, b = a[keep], b[keep]
        values = draw(rng, 30) * (1.0 + main * a + both * a * (b == 2))
        found = anova(
            values,
            {"adapters": [str(x) for x in a], "order": [str(x) for x in b]},
            seed=int(rng.integers(1 << 30)),
        )
        return {effect.factors: effect.p for effect in found.effects}

    both = ("adapters", "order")
    for name, draw in DRAWS.items():
        share = 0.5
        yield table.rate(
            "a factor matters (p ≤ 5%)",
            f"it doesn't: {name}, 30 in 2 × 3 combinations",
            0.05,
            "false alarm",
            lambda rng, draw=draw: simulated(rng, draw, 0.0, 0.0)[("order",)] <= 0.05,
            share,
        )
        yield table.rate(
            "two factors interact (p ≤ 5%)",
            f"they don't, one alone makes 3%: {name}",
            0.05,
            "false alarm",
            lambda rng, draw=draw: simulated(rng, draw, 0.03, 0.0).get(both, 1.0) <= 0.05,
            share,
        )
        yield table.rate(
            "a factor matters (p ≤ 5%)",
            f"it makes 3%, CoV 2%: {name}",
            0.90,
            "detection",
            lambda rng, draw=draw: simulated(rng, draw, 0.03, 0.0)[("adapters",)] <= 0.05,
            share,
        )
        yield table.rate(
            "two factors interact (p ≤ 5%)",
            f"5% more where both meet: {name}",
            0.70,
            "detection",
            lambda rng, draw=draw: simulated(rng, draw, 0.0, 0.05).get(both, 1.0) <= 0.05,
            share,
        )


# Of ten runs with a long tail a third has no late run: they are indistinguishable from normal.
_WALLTIME_STATED = {
    **{("long tail", n): share for n, share in ((10, 0.55), (30, 0.70), (100, 0.85))},
    **{("t3", n): 0.90 for n in (10, 30, 100)},
}


def _walltimes(table: Table) -> Iterator[Rate]:
    for name, draw in SHAPES.items():
        for n in (10, 30, 100, 400):

            def enough(rng: Rng, draw: Draw = draw, n: int = n, name: str = name) -> bool:
                return finishing(name, asked_walltime(draw(rng, n)).seconds) >= 0.99

            yield table.rate(
                "99% of future runs finish within the walltime asked",
                f"{name}, n = {n}",
                _WALLTIME_STATED.get((name, n), 0.95),
                "coverage",
                enough,
            )


def _uneven_factors(table: Table) -> Iterator[Rate]:
    """One level of a factor three times as wide as the other, with half or twice as many values."""
    for wide, narrow in ((15, 15), (20, 10), (10, 20)):

        def alarms(rng: Rng, wide: int = wide, narrow: int = narrow) -> bool:
            values = np.concatenate(
                [100.0 + 3.0 * (normal(rng, wide) - 100.0), normal(rng, narrow)]
            )
            levels = ["two"] * wide + ["one"] * narrow
            order = [str(x) for x in rng.permutation(np.arange(30) % 3)]
            found = anova(
                values, {"adapters": levels, "order": order}, seed=int(rng.integers(1 << 30))
            )
            return found.effects[0].p <= 0.05

        yield table.rate(
            "a factor matters (p ≤ 5%)",
            f"it doesn't: normal, {wide} values three times as wide as {narrow} others",
            0.10,
            "false alarm",
            alarms,
            0.5,
        )
