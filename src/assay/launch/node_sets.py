"""The hosts that a placement uses: the first ones, or a reproducible random draw."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def choose_hosts(hosts: Sequence[str], nodes: int, node_set: int, seed: int) -> tuple[str, ...]:
    """``nodes`` of the hosts, in their order.

    Node set 0 is the first hosts; node set k is the k-th random draw by the seed. The draw depends
    on the hosts' names: the nodes of a smaller cell are a subset of a larger one's, so scaling
    compares a set with its subsets, and if a host is lost, the rest of the draw stays.
    """
    if node_set == 0 or nodes >= len(hosts):
        return tuple(hosts[:nodes])
    drawn = set(sorted(hosts, key=lambda host: _place(seed, node_set, host))[:nodes])
    return tuple(host for host in hosts if host in drawn)


def _place(seed: int, node_set: int, host: str) -> bytes:
    """A digest to sort by: sorting by independent uniform keys is a uniform shuffle."""
    return hashlib.sha256(f"{seed}/node set/{node_set}/{host}".encode()).digest()
