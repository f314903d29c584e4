"""Numbers of combinations as logarithms, since those of 1,030 runs exceed the range of a float."""

from __future__ import annotations

import math

from assay.stats.core.rounding import RELATIVE

# Up to this many runs a number of combinations is exact and fits into a float.
_EXACT = 1000


def log_combinations(n: int, chosen: int) -> float:
    """Natural logarithm of the number of ways to choose ``chosen`` of ``n`` runs.

    By the logarithm of the gamma function beyond 1,000 runs. Requires 0 <= chosen <= n.
    """
    if n <= _EXACT:
        return math.log(math.comb(n, chosen))
    return math.lgamma(n + 1) - math.lgamma(chosen + 1) - math.lgamma(n - chosen + 1)


def least_p(n: int, chosen: int) -> float:
    """The smallest p of a permutation test that chooses ``chosen`` of ``n`` runs; 0 below 1e-308.

    One over the number of choices. Requires 0 <= chosen <= n.
    """
    if n <= _EXACT:
        return 1.0 / math.comb(n, chosen)
    return math.exp(-log_combinations(n, chosen))


def can_reach(n: int, chosen: int, level: float) -> bool:
    """Whether a permutation test that chooses ``chosen`` of ``n`` runs can have a p of ``level``.

    Requires 0 <= chosen <= n and ``level`` > 0.
    """
    return log_combinations(n, chosen) + math.log(level) >= -RELATIVE
