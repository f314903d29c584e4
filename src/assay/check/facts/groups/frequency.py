"""Limits of the clock rate that software sets, and thermal throttling."""

from __future__ import annotations

from collections.abc import Iterator

from assay.check.model import Fact
from assay.system.files import Tree
from assay.system.processor import throttle_count

_CPU = "/sys/devices/system/cpu"
_LOOK = "check clock limits"


def facts(tree: Tree) -> Iterator[Fact]:
    """Lowest limit over all CPUs, governors, turbo, and throttling events since boot."""
    online = tree.cpus(f"{_CPU}/online") or []

    def words(file: str) -> list[str]:
        found = {tree.word(f"{_CPU}/cpu{cpu}/cpufreq/{file}") for cpu in online}
        return sorted(word for word in found if word)

    limits = [int(word) for word in words("scaling_max_freq") if word.isascii() and word.isdigit()]
    if limits:
        yield Fact(
            name="frequency.limit",
            value=min(limits) * 1e3,
            unit="Hz",
            rule="not below",
            look_at=_LOOK,
        )
    for name in ("scaling_governor", "scaling_driver", "energy_performance_preference"):
        if found := words(name):
            yield Fact(name=f"frequency.{name}", value="/".join(found), look_at=_LOOK)
    for file in ("min_perf_pct", "max_perf_pct"):
        percent = tree.integer(f"{_CPU}/intel_pstate/{file}")
        if percent is not None:
            yield Fact(name=f"frequency.{file}", value=percent, rule="not below", look_at=_LOOK)
    no_turbo = tree.integer(f"{_CPU}/intel_pstate/no_turbo")
    boost = tree.integer(f"{_CPU}/cpufreq/boost")
    if no_turbo is not None or boost is not None:
        turbo = no_turbo == 0 if no_turbo is not None else boost != 0
        yield Fact(name="frequency.turbo", value=turbo, look_at="check BIOS settings")
    throttled = throttle_count(tree, online)
    if throttled is not None:
        yield Fact(name="throttle.events", value=throttled, rule="counter", look_at="check cooling")
