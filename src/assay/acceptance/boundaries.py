"""Group-sequential sign tests with exact boundaries.

After each of several looks, the launches on one side of a limit are counted. If the median is on
the limit, each launch is on this side with a probability of one half, whatever the distribution.
The distribution of the counts is therefore known exactly, and tails and modes don't matter. The
risk is spent over the looks (K. Lan, D. DeMets: Discrete sequential boundaries for clinical trials,
Biometrika 70, 1983, 659-663): until a share t of all launches, the risk times t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from assay.arrays import Floats
from assay.model.replication import Replication
from assay.stats.cells.launch_rule import looks

# The risk is spent in proportion to t (K. Kim, D. DeMets: Design and analysis of group sequential
# tests based on the type I error spending rate function, Biometrika 74, 1987, 149-154, rho = 1).
# Counts of few launches have few possible probabilities. Slower spending, such as O'Brien and
# Fleming's, leaves nothing to spend at the first looks: with 30 launches a decision takes at least
# 14 of them instead of 9.


def looks_of(launches: int) -> tuple[int, ...]:
    """The numbers of launches at which a contract of this many launches looks at its results."""
    return looks(Replication(max_launches=launches))


@lru_cache(maxsize=1024)
def required_counts(sizes: tuple[int, ...], risk: float) -> tuple[int | None, ...]:
    """The count that decides at each look; None if no count does.

    ``sizes``: numbers of launches at the looks, ascending; the last is the greatest possible.
    If at most half of all launches are on the counted side, the count reaches the required one at
    any look with a probability of at most ``risk``, a number between 0 and 1.
    """
    going = np.ones(1)
    spent = 0.0
    before = 0
    found: list[int | None] = []
    for size in sizes:
        going = np.convolve(going, _binomial(size - before))
        beyond = np.cumsum(going[::-1])[::-1]
        allowed = risk * size / sizes[-1] - spent
        few = np.flatnonzero(beyond <= allowed)
        if few.size:
            required = int(few[0])
            spent += float(beyond[required])
            going[required:] = 0.0
            found.append(required)
        else:
            found.append(None)
        before = size
    return tuple(found)


def _binomial(n: int) -> Floats:
    """The probabilities of 0 to n heads of n fair coins."""
    return np.array([math.comb(n, k) / 2.0**n for k in range(n + 1)])


def widened(required: int | None, launches: int, worth: float) -> int | None:
    """The required count if launches depend on each other; None if no count decides.

    ``worth``: effective number of independent launches. The variance of the count is greater by
    launches ÷ worth, so that its distance from one half of the launches must be greater by the root
    of this ratio.
    """
    if required is None:
        return None
    half = launches / 2.0
    wide = math.ceil(half + (required - half) * math.sqrt(launches / worth) - 1e-9)
    return wide if wide <= launches else None


def decision_chances(
    sizes: Sequence[int],
    rejecting: Sequence[int | None],
    accepting: Sequence[int | None],
    below: float,
    between: float,
) -> tuple[float, float, float]:
    """Probabilities that a requirement is rejected and accepted, and the expected launches.

    ``rejecting``, ``accepting``: the required counts at the looks ``sizes``. A launch is below the
    limits of both tests with probability ``below``, and between them with ``between``. The launches
    are independent.
    """
    most = sizes[-1]
    # [launches below the worse limit, launches below the better limit]
    state = np.zeros((most + 1, most + 1))
    state[0, 0] = 1.0
    rejected = accepted = expected = 0.0
    before = 0
    worse, missing = np.indices(state.shape)
    for size, reject, accept in zip(sizes, rejecting, accepting, strict=True):
        for _ in range(size - before):
            after = (1.0 - below - between) * state
            after[:, 1:] += between * state[:, :-1]
            after[1:, 1:] += below * state[:-1, :-1]
            state = after
        before = size
        over = missing - reject if reject is not None else np.full_like(missing, -1)
        good = size - worse - accept if accept is not None else np.full_like(worse, -1)
        bad = (over >= 0) & (over > good)
        fine = (good >= 0) & ~bad
        share_bad, share_fine = float(state[bad].sum()), float(state[fine].sum())
        rejected, accepted = rejected + share_bad, accepted + share_fine
        expected += size * (share_bad + share_fine)
        state[bad | fine] = 0.0
    return rejected, accepted, expected + most * float(state.sum())
