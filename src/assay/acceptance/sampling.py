"""How many nodes of a machine miss a promise, from a sample of them without replacement.

The number of such nodes in a sample has a hypergeometric distribution. Its limits are exact (J.
Buonaccorsi: A note on confidence intervals for proportions in finite populations, The American
Statistician 41, 1987, 215-218).
"""

from __future__ import annotations

import math


def at_most_found(bad: int, found: int, sample: int, nodes: int) -> float:
    """The probability that a random sample has at most ``found`` of the ``bad`` nodes."""
    least, most = max(0, sample - (nodes - bad)), min(found, bad, sample)
    ways = sum(
        math.comb(bad, each) * math.comb(nodes - bad, sample - each)
        for each in range(least, most + 1)
    )
    return ways / math.comb(nodes, sample)


def most_bad(found: int, sample: int, nodes: int, risk: float) -> int:
    """The upper limit of the number of bad nodes, if a sample has at most ``found`` of them.

    The machine has more with a probability of at most ``risk`` (of such samples). 0 <= found <=
    sample <= nodes.
    """
    low, high = found, nodes - (sample - found)
    while low < high:
        middle = (low + high + 1) // 2
        if at_most_found(middle, found, sample, nodes) > risk:
            low = middle
        else:
            high = middle - 1
    return low


def sample_needed(allowed: int, nodes: int, risk: float) -> int:
    """The smallest sample without a bad node that shows that at most ``allowed`` nodes are bad."""
    low, high = 1, nodes
    while low < high:
        middle = (low + high) // 2
        if most_bad(0, middle, nodes, risk) <= allowed:
            high = middle
        else:
            low = middle + 1
    return low


def allowed_bad(share: float, nodes: int) -> int:
    """The number of nodes that may miss a promise that this share of the nodes must meet."""
    return nodes - math.ceil(share * nodes - 1e-9)
