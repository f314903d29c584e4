"""Causes: attribution of variation to covariates (stats/attribution/attribution.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from rate import Rate

from assay.arrays import Floats
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.stats.attribution.attribution import ALPHA, Attribution, attribute
from assay.stats.attribution.wall_clock import wall_clock
from assay.stats.repeats.repeats import Repeats

# An attribution takes milliseconds, a coverage needs its bootstrap too.
_SHARE_OF_TRIALS = 0.5


def simulated_repeats(
    cost: Floats, covariates: dict[str, Floats], hosts: tuple[str, ...] = ()
) -> Repeats:
    """A cell's results with these costs and covariates, one per minute, sampled for 1 s each."""
    n = cost.size
    return Repeats(
        cell=Cell("npb.lu", {"class": "A"}, Placement(ppn=4), "embedded"),
        metric="time",
        unit="s",
        better="less",
        values=cost,
        utc=1.79e9 + 60.0 * np.arange(n),
        run=("run",) * n,
        launch=tuple(map(str, range(n))),
        hosts=hosts or ("n1",) * n,
        covariates={"sampling_seconds": np.ones(n), **covariates},
    )


def autoregressive(random: np.random.Generator, n: int, phi: float) -> Floats:
    """AR(1) of unit variance."""
    steps = random.normal(size=n + 200) * np.sqrt(1.0 - phi * phi)
    values = np.zeros(n + 200)
    for i in range(1, n + 200):
        values[i] = phi * values[i - 1] + steps[i]
    return values[200:]


def surroundings(random: np.random.Generator, n: int, phi: float = 0.0) -> dict[str, Floats]:
    """Covariates that don't affect the cost: counts, levels, rare events."""
    slow = [autoregressive(random, n, phi) if phi else random.normal(size=n) for _ in range(6)]
    busy = np.exp(slow[0])
    return {
        "steal_seconds": 0.01 * random.poisson(0.3, n),
        "worst_wait_seconds": 0.01 * busy,
        "wait_seconds": 0.03 * busy * np.exp(0.1 * random.normal(size=n)),
        "involuntary_switches": random.poisson(5.0 * busy).astype(float),
        "worst_involuntary_switches": random.poisson(3.0 * busy).astype(float),
        "clock_rate": 2.6e9 * (1.0 + 1e-3 * slow[1]),
        "tcp_retransmits": 1.0 * (random.random(n) < 0.03),
        "major_faults": 1.0 * (random.random(n) < 2.0 / n),
        "asleep_seconds": 0.001 * np.exp(slow[2]),
        "voluntary_switches": random.poisson(3.0, n).astype(float),
        "memory_available": 1e10 * (1.0 + 0.1 * slow[3]),
        "memory_latency": 1e-7 * np.exp(0.05 * random.normal(size=n)),
        "interrupt_seconds": 0.01 * random.poisson(1.0, n),
        "minor_faults": random.poisson(100.0, n).astype(float),
        "system_seconds": 0.02 * np.exp(0.2 * random.normal(size=n)),
        "io_pressure_seconds": np.where(random.random(n) < 0.1, random.random(n), 0.0),
        "other_cpu_seconds": 0.1 * np.exp(slow[4]),
        "load_average": 2.0 + 0.3 * slow[5],
        "cpu_pressure_seconds": 0.05 * busy,
    }


def clean(random: np.random.Generator, n: int, shape: str) -> Repeats:
    """A cell whose cost is unrelated to all covariates."""
    phi = 0.7 if shape == "AR(1) 0.7" else 0.0
    noise = {
        "normal": lambda: random.normal(size=n),
        "lognormal": lambda: np.exp(random.normal(size=n)),
        "t3": lambda: random.standard_t(3, n),
        "AR(1) 0.7": lambda: autoregressive(random, n, phi),
    }[shape]()
    return simulated_repeats(np.exp(0.01 * noise), surroundings(random, n, phi))


# Of -ln(1 - x / 100), x being gamma distributed with shape 2: its standard deviation.
_DEVIATION = 0.01459


def planted(random: np.random.Generator, n: int, share: float) -> Repeats:
    """A cell in which waiting causes ``share`` of the log cost's variance: skewed, as waits are.

    Each launch is longer by exactly the time that its rank waited.
    """
    around = surroundings(random, n)
    lost = random.gamma(2.0, 1.0, n)
    around["worst_wait_seconds"] = 0.01 * lost
    # Correlated covariates: the sum over ranks, the count, and the processes that cause it.
    around["wait_seconds"] = 0.012 * lost * np.exp(0.05 * np.abs(random.normal(size=n)))
    around["involuntary_switches"] = random.poisson(5.0 * lost).astype(float)
    around["worst_involuntary_switches"] = random.poisson(4.0 * lost).astype(float)
    around["cpu_pressure_seconds"] = 0.01 * lost * np.exp(0.1 * random.normal(size=n))
    around["other_cpu_seconds"] = 0.02 * lost * np.exp(0.2 * random.normal(size=n))
    rest = _DEVIATION * np.sqrt((1.0 - share) / share) * random.normal(size=n)
    return simulated_repeats(np.exp(rest) / (1.0 - 0.01 * lost), around)


def stopped(random: np.random.Generator, n: int) -> Repeats:
    """A cell on a busy machine; in every other launch a rank is stopped for up to half of the time.
    A rank waits for a CPU whenever it continues: in those launches, and for a moment.
    """
    around = surroundings(random, n)
    on = random.permutation(n) % 2 == 0
    asleep = np.where(on, random.uniform(0.2, 0.5, n), around["asleep_seconds"])
    wait = np.where(on, 0.1 * asleep, 0.001) * np.exp(0.1 * random.normal(size=n))
    around |= {
        "asleep_seconds": asleep,
        "worst_wait_seconds": wait,
        "wait_seconds": 1.2 * wait,
        "involuntary_switches": random.poisson(500.0 * wait).astype(float),
        "other_cpu_seconds": 1.0 + wait * np.exp(0.2 * random.normal(size=n)),
    }
    return simulated_repeats(np.exp(0.02 * random.normal(size=n)) / (1.0 - asleep - wait), around)


def _count(
    trials: int,
    seed: int,
    make: Callable[[np.random.Generator], Repeats],
    good: Callable[[Attribution], bool],
) -> int:
    random = np.random.default_rng(seed)
    return sum(good(attribute(make(random))) for _ in range(trials))


def _first(found: Attribution, cause: str) -> bool:
    return bool(found.shares) and found.shares[0].cause == cause


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Every rate that docs/methods/steadiness.md states of attribution."""
    for n in (20, 30, 100, 1000):
        for shape in ("normal", "lognormal", "t3", "AR(1) 0.7"):
            if n == 1000 and shape != "t3":
                continue
            # For launches that depend on their predecessors twice the rate is allowed.
            stated = 2.0 * ALPHA if shape == "AR(1) 0.7" else ALPHA
            found = _count(
                trials,
                seed + n,
                lambda random, n=n, shape=shape: clean(random, n, shape),  # type: ignore[misc]
                lambda each: bool(each.shares),
            )
            yield Rate(
                "names a cause", f"none, {shape}, n = {n}", found, trials, stated, "false alarm"
            )
    fewer = max(int(trials * _SHARE_OF_TRIALS), 1)
    for n, share, stated in ((20, 0.8, 0.9), (40, 0.6, 0.9), (100, 0.3, 0.9), (1000, 0.05, 0.9)):
        found = _count(
            fewer,
            seed + n,
            lambda random, n=n, share=share: planted(random, n, share),  # type: ignore[misc]
            lambda each: _first(each, "competition"),
        )
        what = "names waiting for a CPU first"
        yield Rate(what, f"{share:.0%} of variance, n = {n}", found, fewer, stated, "detection")
    for n in (30, 100):
        right = over = 0
        random = np.random.default_rng(seed + n)
        for _ in range(fewer):
            each = attribute(stopped(random, n))
            right += _first(each, "stopped")
            over += any(share.cause == "competition" and share.share > 0.3 for share in each.shares)
        where = f"half of {n} launches, on a busy machine: a tenth as much waiting goes with it"
        yield Rate("names stopping first", where, right, fewer, 0.95, "detection")
        what = "credits waiting with over 30%"
        yield Rate(what, where, over, fewer, 0.01, "false alarm")
    for n in (40, 200):
        wrong = _count(
            fewer,
            seed + n,
            lambda random, n=n: planted(random, n, 0.6),  # type: ignore[misc]
            lambda each: any(share.cause != "competition" for share in each.shares),
        )
        what = "names another cause beside it"
        yield Rate(what, f"60% of variance, n = {n}", wrong, fewer, 0.05, "false alarm")
    for n, share in ((50, 0.6), (200, 0.6), (200, 0.3), (1000, 0.6), (1000, 0.1)):
        random = np.random.default_rng(seed + n)
        held = of = 0
        for _ in range(fewer):
            each = attribute(planted(random, n, share))
            if _first(each, "competition"):
                of += 1
                low, high = each.shares[0].ci95
                held += low <= share <= high
        what = "the interval of the share holds it, where named"
        yield Rate(what, f"{share:.0%} of variance, n = {n}", held, of, 0.9, "coverage")
    yield from _clocks(trials, seed)


def _clocks(trials: int, seed: int) -> Iterable[Rate]:
    for n in (20, 50):
        random = np.random.default_rng(seed + n)
        parted = alike = 0
        for _ in range(trials):
            lost = random.gamma(1.0, 0.05, n)
            work = 1.0 + 0.008 * random.normal(size=n)
            wall = work * (1.0 + lost)
            parted += _verdict(simulated_repeats(wall, _cpu(work / wall))) == "kept from running"
            wall = np.exp(0.05 * random.standard_t(3, n))
            alike += (
                _verdict(simulated_repeats(wall, _cpu(np.exp(0.002 * random.normal(size=n)))))
                != "alike"
            )
        what = "says that ranks were kept from running"
        yield Rate(what, f"wall CoV 5%, CPU 0.8%, n = {n}", parted, trials, 0.95, "detection")
        yield Rate(
            "says that clocks part", f"alike, t3, n = {n}", alike, trials, 0.01, "false alarm"
        )


def _cpu(busy: Floats) -> dict[str, Floats]:
    return {"least_cpu_seconds": np.minimum(busy, 1.0)}


def _verdict(repeats: Repeats) -> str:
    found = wall_clock(repeats)
    return found.verdict if found else ""
