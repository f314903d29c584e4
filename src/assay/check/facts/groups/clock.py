"""Whether the kernel's clock is synchronised (adjtimex(2)), and the clock source."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, ClassVar

from assay.check.model import Fact
from assay.system.files import Tree
from assay.system.surroundings import uptime_seconds

_UNSYNCHRONISED = 0x0040
_ERROR = 5
# The daemons take some minutes after boot until the clock is synchronised, s.
_SETTLED = 900.0


class _Timex(ctypes.Structure):
    """``struct timex`` of Linux with 64-bit longs; the padding is for fields not read here."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("padding", ctypes.c_long * 40),
    ]


def facts(tree: Tree) -> Iterator[Fact]:
    """Synchronised or not, the estimated and the maximum error in s, and the clock source."""
    folder = "/sys/devices/system/clocksource/clocksource0"
    if source := tree.word(f"{folder}/current_clocksource"):
        yield Fact(name="clock.source", value=source, look_at="check clock source, TSC")
    if not tree.live:
        return
    found = _Timex()
    state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(found))
    if state < 0:
        return
    uptime = uptime_seconds(tree)
    synchronised = not found.status & _UNSYNCHRONISED and state != _ERROR
    yield Fact(
        name="clock.synchronised",
        value=synchronised,
        rule="not below" if uptime is None or uptime > _SETTLED else "shown",
        look_at="check clock daemon",
    )
    for name, microseconds in (
        ("clock.estimated_error", found.esterror),
        ("clock.maximum_error", found.maxerror),
    ):
        yield Fact(name=name, value=microseconds * 1e-6, unit="s", rule="shown")
