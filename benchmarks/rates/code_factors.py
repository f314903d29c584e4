"""The ratio of two codes that are measured side by side, and a ratio of machines without it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from draws import Rng, Table
from rate import Rate

from assay.stats.compare.code_factor import code_factor, without_code
from assay.stats.compare.two_sides import ratio_of_sides
from assay.stats.core.intervals import Estimate

_STATED = 0.95
# Standard deviations of logarithms: of a launch, and of a block, which both codes share.
_LAUNCH, _BLOCK = 0.02, 0.02


def rates(trials: int, seed: int) -> Iterable[Rate]:
    table = Table(trials, seed)
    yield from _factors(table)
    yield from _machines(table)


def _factors(table: Table) -> Iterator[Rate]:
    for n in (6, 12):
        for block in (0.0, _BLOCK):

            def holds(rng: Rng, n: int = n, block: float = block) -> bool:
                planted = math.exp(rng.uniform(-1.5, 2.5))
                machine = rng.lognormal(0.0, block, n) if block else 1.0
                code = planted * machine * rng.lognormal(0.0, _LAUNCH, n)
                found = code_factor(code, machine * rng.lognormal(0.0, _LAUNCH, n), "more")
                assert found is not None and found.interval is not None
                return found.interval[0] <= planted <= found.interval[1]

            shared = f", blocks differ by {block:.0%}" if block else ""
            planted = f"0.2 to 12 times, launches differ by {_LAUNCH:.0%}{shared}, n = {n}"
            yield table.rate(
                "95% interval holds the code factor", planted, _STATED, "coverage", holds
            )


def _machines(table: Table) -> Iterator[Rate]:
    """This machine by code A, another by code B; both codes side by side on this machine."""

    def holds(rng: Rng, n: int = 6) -> bool:
        machine, code = math.exp(rng.uniform(-1.0, 1.0)), math.exp(rng.uniform(-1.5, 2.5))
        here, there, beside = (rng.lognormal(0.0, _LAUNCH, n) for _ in range(3))
        ratio = ratio_of_sides(there, machine * code * here)
        factor = code_factor(machine * code * here, machine * beside, "more")
        assert ratio[0] is not None and factor is not None
        found = without_code(Estimate(ratio[0], ratio[1]), factor.estimate).interval
        return found is not None and found[0] <= machine <= found[1]

    yield table.rate(
        "95% interval holds the ratio of machines with the codes divided out",
        f"0.4 to 2.7 times, launches differ by {_LAUNCH:.0%}, n = 6",
        _STATED,
        "coverage",
        holds,
    )
