"""Classes of interconnects, for predictions of run times.

Latency and bandwidth come from a published ping-pong if there is one. Otherwise the bandwidth
follows from the standard's link rate, and the latency is an assumption, given as a range.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from assay.errors import AssayError, nearest
from assay.reference.messages import published_messages
from assay.units import format_quantity, parse_quantity

# Half of the relative range of a published latency. Systems of one class differ by about this much.
_SPREAD = 1.3
# Payload over line time of TCP with a 1,500 B MTU: 1,448 of 1,538 B (IEEE 802.3, RFC 793, RFC
# 7323).
_TCP_SHARE = 1448 / 1538
# Quantities of a network that a user states, with their units, and least and greatest values. A
# value outside of these is in a wrong unit.
_STATED = {"latency": ("s", 1e-9, 1.0), "bandwidth": ("B/s", 1e3, 1e15)}
_EXAMPLE = '"latency=1.5 us, bandwidth=25 GB/s"'
_BARE = re.compile(r"[-+\d.eE]+")


@dataclass(frozen=True)
class InterconnectClass:
    """A class of interconnects between hosts."""

    name: str
    #: Latency of a short message: half a round trip between programs (L + 2o), s.
    latency: float
    #: Least and greatest latency, s.
    latencies: tuple[float, float]
    #: Bandwidth of a long message, B/s.
    bandwidth: float
    #: Source of the numbers.
    source: str
    #: Bytes that pass without delay after a pause, if a token bucket limits the links (as in the
    #: lab, and on shaped links in data centres).
    burst: float = 0.0
    #: Whether the user stated the network.
    own: bool = False


@cache
def interconnects() -> tuple[InterconnectClass, ...]:
    """Classes ordered from the least to the greatest bandwidth."""
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
            "third of Gigabit Ethernet's and Gigabit Ethernet's",
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


def stated_networks(texts: Sequence[str], where: str = "") -> tuple[InterconnectClass, ...]:
    """The networks that a user states as ``latency=1.5 us, bandwidth=25 GB/s``, with an optional
    ``name``. ``where``: source of the text, for errors.

    Raises AssayError if a network has another form, or the name of another network.
    """
    taken = {one.name for one in interconnects()}
    found = []
    for text in texts:
        one = _stated(text, where)
        if one.name in taken:
            raise AssayError(
                f"There are two networks '{one.name}'.",
                where=where,
                fix="Add a name to one of them: name=NAME.",
            )
        taken.add(one.name)
        found.append(one)
    return tuple(found)


def _stated(text: str, where: str) -> InterconnectClass:
    words: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        key = key.lower()
        if not equals or not value:
            raise AssayError(
                f"'{part.strip()}' in '{text}' doesn't have the form KEY=VALUE.",
                where=where,
                fix=f"Such as {_EXAMPLE}.",
            )
        if key not in (*_STATED, "name"):
            raise AssayError(
                f"'{key}' is not a property of a network.",
                where=where,
                fix=nearest(key, [*_STATED, "name"]),
            )
        if key in words:
            raise AssayError(f"'{text}' has two values of {key}.", where=where, fix="Keep one.")
        words[key] = value
    missing = [key for key in _STATED if key not in words]
    if missing:
        raise AssayError(
            f"The network '{text}' has no {' and no '.join(missing)}.",
            where=where,
            fix=f"Such as {_EXAMPLE}.",
        )
    latency, bandwidth = (_quantity(key, words[key], where) for key in _STATED)
    name = words.get("name") or (
        f"latency {format_quantity(latency, 's')}, {format_quantity(bandwidth, 'B/s')}"
    )
    source = "as stated (--network)"
    return InterconnectClass(name, latency, (latency, latency), bandwidth, source, own=True)


def _quantity(key: str, text: str, where: str) -> float:
    unit, least, most = _STATED[key]
    if _BARE.fullmatch(text):
        raise AssayError(
            f"The {key} '{text}' has no unit.", where=where, fix=f"Such as {_EXAMPLE}."
        )
    value = float(parse_quantity(text, unit, where=where))
    if not least <= value <= most:
        raise AssayError(
            f"A {key} of '{text}' is impossible: it must be from {format_quantity(least, unit)} to "
            f"{format_quantity(most, unit)}.",
            where=where,
            fix=f"Such as {_EXAMPLE}.",
        )
    return value
