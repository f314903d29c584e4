"""Whether two samplers put a program's functions in the same order."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.stats.core.multiple import corrected
from assay.stats.core.proportions import clopper_pearson
from assay.units import Interval

#: Two samplers' shares of a function are called apart below this p-value.
LEVEL = 0.05


class Function(NamedTuple):
    """A function of an executable or library; the name is "" if it has none."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.name or '(unnamed)'} ({self.module})"


#: Samples by function.
Counts = Mapping[Function, int]


@dataclass(frozen=True)
class Share:
    """A function's share of the samples of either sampler, with its exact 95% interval."""

    function: Function
    first: float
    first_interval: Interval
    second: float
    second_interval: Interval
    #: p-value of equal shares (Fisher's exact test), corrected for the functions compared (Holm).
    p: float


@dataclass(frozen=True)
class Order:
    """The comparison of the functions that are among the first of either sampler."""

    shares: list[Share]
    #: Pairs of functions whose order is known: their intervals overlap in neither sampler.
    judged: int
    #: Those pairs that the samplers put in opposite order.
    reversed: list[tuple[Function, Function]]
    #: Functions among the first of both.
    common: int

    @property
    def apart(self) -> list[Share]:
        """Functions whose shares differ by more than chance."""
        return [one for one in self.shares if one.p < LEVEL]

    @property
    def same(self) -> bool:
        """Whether all pairs whose order is known have the same order."""
        return not self.reversed


def leading(counts: Counts, number: int) -> list[Function]:
    """The functions with the most samples; equal ones by name."""
    return sorted(counts, key=lambda one: (-counts[one], one))[:number]


def compare_order(first: Counts, second: Counts, number: int = 10) -> Order:
    """Compare the ``number`` functions with the most samples of either sampler."""
    tops = leading(first, number), leading(second, number)
    functions = list(dict.fromkeys((*tops[0], *tops[1])))
    totals = sum(first.values()), sum(second.values())
    p_values = [_p_of_equal(first, second, totals, one) for one in functions]
    p_values = corrected(np.array(p_values)).tolist() if functions else []
    shares = [
        Share(
            function,
            *_share(first.get(function, 0), totals[0]),
            *_share(second.get(function, 0), totals[1]),
            p,
        )
        for function, p in zip(functions, p_values, strict=True)
    ]
    signs = [(a, b, _sign(a, b, 0), _sign(a, b, 1)) for a, b in itertools.combinations(shares, 2)]
    known = [(a, b, one * two) for a, b, one, two in signs if one and two]
    return Order(
        shares=shares,
        judged=len(known),
        reversed=[(a.function, b.function) for a, b, sign in known if sign < 0],
        common=len(set(tops[0]) & set(tops[1])),
    )


def _share(found: int, of: int) -> tuple[float, Interval]:
    return found / of if of else 0.0, clopper_pearson(found, of)


def _p_of_equal(first: Counts, second: Counts, totals: Sequence[int], function: Function) -> float:
    from scipy.stats import fisher_exact

    found = first.get(function, 0), second.get(function, 0)
    table = [[n, total - n] for n, total in zip(found, totals, strict=True)]
    return min(float(fisher_exact(table)[1]), 1.0)


def _sign(one: Share, other: Share, sampler: int) -> int:
    """1: the sampler surely saw ``one`` more often; -1: ``other``; 0: the intervals overlap."""
    a, b = ((share.first_interval, share.second_interval)[sampler] for share in (one, other))
    return 1 if a[0] > b[1] else -1 if b[0] > a[1] else 0
