"""Bad nodes in fleets: found, falsely found, and by other tools' rules.

A fleet has a cell's usual cost, nodes with natural differences, launches that differ, and planted
bad nodes. These are rates of the comparison with normal values; ``fleet_tails`` has those of the
whole judgement. The share of falsely named nodes is counted over all named nodes of all trials.

For comparison: Pavilion2's mean +- k sigma over results, and SuperBench's manual rule, 5% beyond a
baseline (here the median of all nodes), on the same fleets; no rate is stated for them, which is
shown as 0% found and 100% false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import NormalDist

import numpy as np
from fleet_draws import RESOURCES, slowed
from rate import Rate

from assay.stats.attribution.host_effects import find_host_effects
from assay.stats.fleet.calibration import clean_level
from assay.stats.fleet.drift import find_drifts
from assay.stats.fleet.fleet import LEVEL, STATED, compare
from assay.stats.fleet.peers import against_peers

Array = np.ndarray
Rule = Callable[[Array], Array]


def fleet(
    rng: np.random.Generator,
    nodes: int,
    cells: int,
    launches: int,
    cov: float,
    between: float = 0.0,
    tails: int = 0,
) -> Array:
    """Costs [node, cell, launch]: ``cov`` between launches, ``between`` nodes naturally; ``tails``:
    degrees of freedom of a t distribution instead of the normal one.
    """

    def draw(*shape: int) -> Array:
        return rng.standard_t(tails, shape) if tails else rng.standard_normal(shape)

    logs = between * draw(nodes, cells, 1) + cov * draw(nodes, cells, launches)
    return np.exp(logs) * np.linspace(1e-3, 1.0, cells)[None, :, None]


def ours(costs: Array) -> Array:
    return compare(costs, (RESOURCES * 9)[: costs.shape[1]]).outliers()


def pavilion(costs: Array, sigmas: float = 2.0) -> Array:
    """Mean + k sigma over the nodes' means, in any cell."""
    means = costs.mean(axis=2)
    beyond = means > means.mean(axis=0) + sigmas * means.std(axis=0, ddof=1)
    return np.flatnonzero(beyond.any(axis=1))


def superbench(costs: Array) -> Array:
    """5% beyond the baseline, in any cell."""
    means = costs.mean(axis=2)
    return np.flatnonzero((means > 1.05 * np.median(means, axis=0)).any(axis=1))


RULES: dict[str, Rule] = {
    "assay": ours,
    "Pavilion2, mean + 2 sigma": pavilion,
    "SuperBench, 5%": superbench,
}


def _tried(
    make: Callable[[np.random.Generator], tuple[Array, set[int]]],
    rule: Rule,
    trials: int,
    seed: int,
) -> tuple[int, int, int, int, int]:
    """Planted nodes found, planted, named, named falsely, and trials with any false one."""
    found = planted = named = false = wrong = 0
    for trial in range(trials):
        costs, bad = make(np.random.default_rng((seed, trial)))
        out = set(rule(costs).tolist())
        found += len(out & bad)
        planted += len(bad)
        named += len(out)
        false += len(out - bad)
        wrong += bool(out - bad)
    return found, planted, named, false, wrong


def _both(
    what: str,
    planted: str,
    make: Callable[[np.random.Generator], tuple[Array, set[int]]],
    stated: float,
    trials: int,
    seed: int,
) -> Iterator[Rate]:
    found, of, named, false, _ = _tried(make, ours, trials, seed)
    yield Rate(f"{what}: found", planted, found, of, stated, "detection")
    if named:
        yield Rate(f"{what}: false among those named", planted, false, named, STATED, "false alarm")


def rates(trials: int, seed: int) -> Iterable[Rate]:
    # Clean fleets: every named node is false, so the share of fleets with a named node counts.
    for nodes, cells, launches, between, tails in (
        *((n, 4, 3, 0.005, 0) for n in (3, 5, 10, 30, 100, 1000, 5000)),
        (100, 20, 3, 0.0, 0),
        (100, 4, 1, 0.005, 0),
        (100, 4, 6, 0.005, 0),
        (100, 4, 3, 0.005, 5),
    ):
        count = (
            max(trials * 4 // max(nodes // 50, 1), 40) if nodes < 5000 else max(trials // 20, 20)
        )
        scatter = f"nodes differ by {between:.1%}" + (f", t with {tails}" if tails else "")

        def clean(
            rng: np.random.Generator, shape: tuple = (nodes, cells, launches, 0.01, between, tails)
        ) -> tuple[Array, set[int]]:
            return fleet(rng, *shape), set()

        *_, wrong = _tried(clean, ours, count, seed)
        yield Rate(
            f"{nodes:,} good nodes: anybody named",
            f"{cells} cells x {launches} launches, CoV 1%, {scatter}",
            wrong,
            count,
            # Tails heavier than normal: a limit that the documents state.
            0.4 if tails else STATED,
            "false alarm",
        )
    # The target: one node 3% slow among 1,000, 3 launches each.
    target = max(trials // 4, 20)
    for cells, slow, cov, stated in (
        (4, slice(None), 0.01, 0.99),
        (1, slice(None), 0.008, 0.95),
        (1, slice(None), 0.01, 0.8),
        (4, slice(0, 1), 0.008, 0.9),
        (4, slice(0, 1), 0.01, 0.65),
        (20, slice(None), 0.02, 0.99),
    ):
        where = "all" if slow == slice(None) else "one"

        def one(
            rng: np.random.Generator, cells: int = cells, slow: slice = slow, cov: float = cov
        ) -> tuple[Array, set[int]]:
            bad = int(rng.integers(1000))
            return slowed(fleet(rng, 1000, cells, 3, cov), [bad], 0.03, slow), {bad}

        yield from _both(
            "a node 3% slow among 1,000",
            f"in {where} of {cells} cells, 3 launches, CoV {cov:.1%}",
            one,
            stated,
            target,
            seed,
        )
    yield from _power(max(trials // 4, 20), seed)
    # A fifth bad, a whole rack: they must not hide each other.
    for nodes in (10, 50, 500):

        def rack(rng: np.random.Generator, nodes: int = nodes) -> tuple[Array, set[int]]:
            bad = range(nodes // 5)
            return slowed(fleet(rng, nodes, 4, 3, 0.01, 0.005), bad, 0.06), set(bad)

        yield from _both(
            f"a fifth of {nodes} nodes 6% slow",
            "4 cells, 3 launches, CoV 1%, nodes differ by 0.5%",
            rack,
            0.5 if nodes == 10 else 0.95,
            max(trials // 4, 20),
            seed,
        )
    # Two kinds of processors, 30% apart, and a bad node in one of them.

    def kinds(rng: np.random.Generator) -> tuple[Array, set[int]]:
        costs = fleet(rng, 120, 4, 3, 0.01)
        costs[40:] *= 1.3
        bad = int(rng.integers(120))
        return slowed(costs, [bad], 0.05), {bad}

    yield from _both(
        "two kinds of nodes, one node 5% slow",
        "40 and 80 nodes 30% apart, 4 cells, 3 launches, CoV 1%",
        kinds,
        0.95,
        max(trials // 4, 20),
        seed,
    )
    yield from _late(max(trials // 10, 10), seed)
    yield from _others(trials, seed)
    yield from _over_time(trials, seed)
    yield from _sets(trials, seed)


def _late(trials: int, seed: int) -> Iterator[Rate]:
    """Launches with non-normal times: nodes named after calibration by the fleet."""
    noises: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
        "normal": lambda rng, shape: 0.01 * rng.standard_normal(shape),
        "2% of launches late": lambda rng, shape: (
            0.01 * rng.standard_normal(shape)
            + (rng.random(shape) < 0.02) * rng.exponential(0.05, shape)
        ),
        "5% of launches late": lambda rng, shape: (
            0.01 * rng.standard_normal(shape)
            + (rng.random(shape) < 0.05) * rng.exponential(0.05, shape)
        ),
        "lognormal, sigma 1": lambda rng, shape: 0.01 * rng.lognormal(0.0, 1.0, shape),
        "10% of launches 3% slower": lambda rng, shape: (
            0.005 * rng.standard_normal(shape) + 0.03 * (rng.random(shape) < 0.1)
        ),
    }
    for nodes in (50, 200):
        for name, noise in noises.items():
            wrong = found = 0
            for trial in range(trials):
                rng = np.random.default_rng((seed, nodes, trial))
                nature = 0.005 * rng.standard_normal((nodes, 4, 1))
                costs = np.exp(nature + noise(rng, (nodes, 4, 3)))
                wrong += bool(_named(costs).size)
                costs[3] *= 1.05
                found += 3 in _named(costs)
            planted = f"{nodes} nodes, 4 cells x 3 launches, {name}, nodes differ by 0.5%"
            yield Rate("good nodes: anybody named", planted, wrong, trials, STATED, "false alarm")
            stated = 0.95 if name == "normal" else 0.0
            yield Rate("a node 5% slow: named", planted, found, trials, stated, "detection")


def _named(costs: Array) -> Array:
    """The nodes that an examination names."""
    fleet = compare(costs, RESOURCES[: costs.shape[1]])
    if not fleet.outliers().size:
        return fleet.outliers()
    return fleet.outliers(clean_level(costs, RESOURCES[: costs.shape[1]], fleet))


def _power(trials: int, seed: int) -> Iterator[Rate]:
    """One bad node among 1,000 in one cell, over sizes, CoV and launches; the stated rate is that
    of normal theory for values of that certainty, less five points.
    """
    normal, place = NormalDist(), 1
    for size in (0.02, 0.03, 0.05):
        for cov in (0.005, 0.01, 0.02):
            for launches in (1, 3, 6):

                def one(
                    rng: np.random.Generator,
                    size: float = size,
                    cov: float = cov,
                    launches: int = launches,
                ) -> tuple[Array, set[int]]:
                    bad = int(rng.integers(1000))
                    return slowed(fleet(rng, 1000, 1, launches, cov), [bad], size), {bad}

                known = cov / np.sqrt(launches * (0.95 if launches > 2 else 1.0))
                power = normal.cdf(np.log1p(size) / known + normal.inv_cdf(LEVEL / 1000))
                found, of, *_ = _tried(one, ours, trials, seed + place)
                place += 1
                yield Rate(
                    f"a node {size:.0%} slow among 1,000: found",
                    f"in the one cell, {launches} launches, CoV {cov:.1%}",
                    found,
                    of,
                    max(0.0, round(power - 0.05, 2)),
                    "detection",
                )


def _others(trials: int, seed: int) -> Iterator[Rate]:
    """Other tools' rules on the same fleets."""

    def dead(rng: np.random.Generator) -> tuple[Array, set[int]]:
        return slowed(fleet(rng, 5, 1, 3, 0.01), [2], 1.0), {2}

    def slow(rng: np.random.Generator) -> tuple[Array, set[int]]:
        return slowed(fleet(rng, 1000, 4, 3, 0.01), [7], 0.03), {7}

    def noisy(rng: np.random.Generator) -> tuple[Array, set[int]]:
        return fleet(rng, 1000, 4, 3, 0.03), set()

    for what, planted, make in (
        ("one dead among 5", "twice as slow, 3 launches, CoV 1%", dead),
        ("one 3% slow among 1,000", "in 4 cells, 3 launches, CoV 1%", slow),
    ):
        for name, rule in RULES.items():
            found, of, *_ = _tried(make, rule, max(trials // 5, 20), seed)
            stated = 0.95 if rule is ours else 0.0
            yield Rate(f"{what}: found by {name}", planted, found, of, stated, "detection")
    for what, planted, make in (
        ("1,000 nodes, one 3% slow", "in 4 cells, 3 launches, CoV 1%", slow),
        ("1,000 good nodes", "4 cells, 3 launches, CoV 3%", noisy),
    ):
        for name, rule in RULES.items():
            *_, wrong = _tried(make, rule, max(trials // 5, 20), seed)
            stated = 2 * STATED if rule is ours else 1.0
            yield Rate(
                f"{what}: any node falsely named by {name}",
                planted,
                wrong,
                max(trials // 5, 20),
                stated,
                "false alarm",
            )


def _over_time(trials: int, seed: int) -> Iterator[Rate]:
    """Six occasions, each node's value the median of 3 launches."""
    days = 86400.0 * np.arange(6)

    def drifts(rng: np.random.Generator, nodes: int, size: float, step: bool) -> Array:
        costs = np.exp(0.006 * rng.standard_normal((nodes, 4, 6)) + 0.02 * rng.standard_normal(6))
        costs[3, :2] *= 1 + size * ((np.arange(6) >= 3) if step else np.arange(6) / 5)
        return costs

    count = max(trials // 2, 20)
    wrong = sum(
        bool(find_drifts(drifts(np.random.default_rng((seed, t)), 100, 0.0, True), days))
        for t in range(count)
    )
    planted = "100 nodes, 4 cells, 6 occasions, 0.6% between them, common variation of a day 2%"
    yield Rate("no node drifts: a node is named", planted, wrong, count, STATED, "false alarm")
    for size, step, stated in ((0.04, True, 0.95), (0.06, False, 0.9)):
        found = sum(
            any(
                drift.node == 3
                for drift in find_drifts(
                    drifts(np.random.default_rng((seed, t)), 100, size, step), days
                )
            )
            for t in range(count)
        )
        how = f"a step of {size:.0%}" if step else f"a trend to {size:.0%}"
        yield Rate(f"{how} in two cells: found", planted, found, count, stated, "detection")


def _sets(trials: int, seed: int) -> Iterator[Rate]:
    """12 sets of 4 out of 16 hosts, one of which may be slow."""

    def sets(rng: np.random.Generator, size: float) -> set[str]:
        names = [f"n{i}" for i in range(16)]
        chosen = [tuple(rng.choice(names, 4, replace=False)) for _ in range(12)]
        hosts = [each for each in chosen for _ in range(3)]
        effect = np.array([size * ("n3" in each) for each in hosts])
        of_set = np.repeat(0.005 * rng.standard_normal(12), 3)
        costs = np.exp(effect + of_set + 0.01 * rng.standard_normal(36))
        return {host for each in find_host_effects([costs], [hosts]) for host in each.hosts}

    planted = "12 sets of 4 of 16 hosts, 3 launches each, CoV 1%, sets differ by 0.5%"
    count = max(trials // 2, 20)
    wrong = sum(bool(sets(np.random.default_rng((seed, t)), 0.0)) for t in range(count))
    yield Rate("no slow host: anybody named", planted, wrong, count, STATED, "false alarm")
    found = sum("n3" in sets(np.random.default_rng((seed, t)), 0.08) for t in range(count))
    yield Rate("a host that makes sets 8% slower: found", planted, found, count, 0.8, "detection")


def alike(seed: int = 2003, values: int = 2_000_000) -> None:
    """Print the table ``stats.peers._ALIKE``: the t distributions of deviations of equal nodes, by
    fleet size.
    """
    from scipy import optimize, stats

    rng = np.random.default_rng(seed)
    shares = np.array([1e-2, 3e-3, 1e-3, 3e-4, 1e-4])
    for size in (3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 64, 65, 100, 200, 500, 1000):
        rounds = max(values // size // 4000, 1)
        t = np.concatenate(
            [against_peers(rng.standard_normal((size, 4000))).t.ravel() for _ in range(rounds)]
        )
        seen = np.quantile(np.concatenate([t, -t]), 1.0 - shares)

        def miss(v: Array, seen: Array = seen) -> Array:
            return np.log(stats.t.isf(shares, np.exp(v[0]))) + v[1] - np.log(seen)

        freedom, scale = np.exp(optimize.least_squares(miss, [np.log(max(size - 2, 1)), 0.0]).x)
        print(f"    ({size}, {freedom:.2f}, {scale:.4f}),", flush=True)


if __name__ == "__main__":
    alike()
