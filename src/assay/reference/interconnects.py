"""Classes of interconnects, for predictions of run times on them.

Where a ping-pong was published, latency and bandwidth are its. Otherwise the bandwidth follows from
the standard's link rate, and the latency is an assumption, given as a range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from assay.reference.messages import published_messages

# Half of the relative range of a published latency: systems of one class differ by about this.
_SPREAD = 1.3
# Payload ÷ line time of TCP with a 1,500 B MTU: 1,448 of 1,538 B (IEEE 802.3, RFC 793, RFC 7323).
_TCP_SHARE = 1448 / 1538


@dataclass(frozen=True)
class InterconnectClass:
    """A class of interconnects between hosts.

    ``latency``: of a short message, s, half a round trip between programs (L + 2o); ``latencies``:
    its range. ``bandwidth``: of a long message, B/s. ``source``: where the numbers are from.
    ``burst``: bytes that pass without delay after a pause, where links are limited by a token
    bucket (the lab's, and shaped ones in data centres).
    """

    name: str
    latency: float
    latencies: tuple[float, float]
    bandwidth: float
    source: str
    burst: float = 0.0


@cache
def interconnects() -> tuple[InterconnectClass, ...]:
    """From the least to the greatest bandwidth."""
    published = [
        InterconnectClass(
            f"{one.network} ({one.system}, {one.year})",
            one.latency,
            (one.latency / _SPREAD, one.latency * _SPREAD),
            one.bandwidth,
            one.source,
        )
        for one in published_messages()
        if one.latency is not None and one.system != "Helix"
    ]
    derived = [
        InterconnectClass(
            "10 Gigabit Ethernet",
            2e-5,
            (1e-5, 3.5e-5),
            1.25e9 * _TCP_SHARE,
            "bandwidth: link rate of IEEE 802.3ae and TCP's headers; latency: assumed between a "
            "third of that of Gigabit Ethernet and the same",
        ),
        InterconnectClass(
            "40 Gigabit Ethernet (usNIC)",
            1.93e-6,
            (1.93e-6 / _SPREAD, 1.93e-6 * _SPREAD),
            37.23e9 / 8,
            "Squyres, MPI over 40Gb Ethernet (Cisco, 2014): NetPIPE with Open MPI 1.8.1",
        ),
        InterconnectClass(
            "InfiniBand HDR",
            1.5e-6,
            (1e-6, 2e-6),
            200e9 / 8 * 64 / 66,
            "bandwidth: link rate (4 × 50 Gbit/s) and 64b/66b coding; latency: assumed",
        ),
    ]
    return tuple(sorted([*published, *derived], key=lambda one: one.bandwidth))
