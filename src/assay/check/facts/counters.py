"""Counters of errors: how much they grew since the node's last check, against the fleet's rates.

Errors come in bursts, and some nodes always have more than others. So a node is named only if
its rate is above ten times the highest rate of the fleet, beyond chance.
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Mapping, Sequence

from assay.check.model import Fact

UPTIME = "system.uptime"
#: A single event of these is a fault.
FATAL = re.compile(r"(ecc\..+|device\.\d+)\.uncorrected$")
# A boot, or a cable that is plugged in, counts some events without a fault.
_FEW = 10
_TIMES = 10.0
_CHANCE = 1e-6
# The upper 95% limit of a rate without any event is 3 divided by the time (Hanley, Lippman-Hand,
# JAMA 249, 1983).
_RULE_OF_THREE = 3.0
_MOST = 32
_PACKED = "<HIH"


def counters_of(facts: Sequence[Fact]) -> dict[str, float]:
    """What the next check needs of this one: counters above zero, and the uptime in s."""
    return {
        fact.name: float(fact.value)
        for fact in facts
        if isinstance(fact.value, int | float)
        and (fact.name == UPTIME or (fact.rule == "counter" and fact.value > 0))
    }


def pack_counters(counters: Mapping[str, float], most_bytes: int = 256) -> bytes:
    """Counters in few bytes, 8 each, for the node's file: of names a checksum, of values 48 bits.

    If there are too many, the lowest are left out; they then count as unknown.
    """
    names = sorted(counters, key=lambda name: (name != UPTIME, -counters[name]))
    found = []
    for name in names[: min(_MOST, most_bytes // struct.calcsize(_PACKED))]:
        value = min(max(int(counters[name]), 0), (1 << 48) - 1)
        found.append(struct.pack(_PACKED, key(name), value & 0xFFFFFFFF, value >> 32))
    return b"".join(found)


def unpack_counters(packed: bytes) -> dict[int, float]:
    """The values of ``pack_counters`` by the checksum of their names."""
    size = struct.calcsize(_PACKED)
    whole = packed[: len(packed) // size * size]
    return {
        name: float(low + (high << 32)) for name, low, high in struct.iter_unpack(_PACKED, whole)
    }


def key(name: str) -> int:
    """The checksum that stands for a counter's name in packed counters."""
    return zlib.crc32(name.encode("utf-8", "surrogateescape")) & 0xFFFF


def since(
    name: str, value: float, uptime: float | None, before: Mapping[int, float] | None
) -> tuple[float, float | None]:
    """Events since the last check and the time since then in s; since boot if there was none or
    the node has booted in between. The time is None if unknown.
    """
    last_uptime = before.get(key(UPTIME)) if before is not None else None
    # Packed values are whole seconds.
    if before is None or last_uptime is None or uptime is None or uptime + 1 < last_uptime:
        return value, uptime
    last = before.get(key(name), value if len(before) >= _MOST else 0.0)
    return (value - last if value >= last else value), max(uptime - last_uptime, 1.0)


def highest_rate(counts: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """The highest rate of any host (1/s) and the time over all hosts (s).

    ``counts``: by host, events and the time in which they were counted, s. The few events that
    each boot causes don't count.
    """
    exposure = sum(seconds for _, seconds in counts.values())
    if exposure <= 0:
        return 0.0, 0.0
    rates = [max(0.0, k - _FEW) / seconds for k, seconds in counts.values() if seconds > 0]
    return max([*rates, _RULE_OF_THREE / exposure]), exposure


def burst(events: float, seconds: float, rate: float) -> float:
    """An upper limit of the probability of these events at ten times the fleet's highest rate;
    1 for a few events.

    Chernoff's bound of the Poisson distribution's tail: exp(k − m − k ln(k/m)) for k > m.
    """
    mean = _TIMES * rate * seconds
    if events < _FEW or events <= mean:
        return 1.0
    if mean <= 0:
        return 1.0
    return math.exp(min(0.0, events - mean - events * math.log(events / mean)))


def is_burst(events: float, seconds: float, rate: float) -> bool:
    """Whether these events are too many for the fleet's highest rate."""
    return burst(events, seconds, rate) < _CHANCE
