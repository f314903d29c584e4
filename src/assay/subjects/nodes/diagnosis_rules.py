"""Diagnosis rules: the suspected component of a slow node, by slow resources and by covariates.

The first rule of the table that fits applies. Each rule has a pattern, a suspected cause, and the
evidence it found. docs/methods/nodes.md has the same table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.model.cell import Cell
from assay.units import listed

BANDWIDTH, LATENCY = "memory bandwidth", "memory latency"
ARITHMETIC, PROGRAMS = "arithmetic", "whole programs"
NETWORK, MESSAGES = "the network", "messages within the node"
STORAGE, NOISE = "storage", "interruptions"
DEVICE_MEMORY, DEVICE_ARITHMETIC = "memory of the device", "arithmetic of the device"
DEVICE_LINK = "the link between host and device"
_OF_DEVICES = {
    "gpu.stream": DEVICE_MEMORY,
    "gpu.latency": DEVICE_MEMORY,
    "gpu.gemm": DEVICE_ARITHMETIC,
    "gpu.transfer": DEVICE_LINK,
}
# A resource is normal if its shift is at most this share of the worst shift.
_NORMAL = 1.0 / 3.0
# A lower clock rate explains a slow resource if it accounts for at least this share of the shift.
_EXPLAINS = 0.5
# Shifts are about equal if the smallest is at least this share of the largest.
_ALIKE = 0.6
# Minimum time of a slow core, relative to the node's other cores.
_SLOW_CORE = 1.03


def resource_of(cell: Cell) -> str:
    """The resource that limits a cell, as text."""
    family, _, name = cell.kernel.partition(".")
    if family == "memory":
        return LATENCY if name in ("latency", "random") else BANDWIDTH
    if family == "network":
        return NETWORK if cell.placement.nodes > 1 else MESSAGES
    if cell.kernel in _OF_DEVICES:
        return _OF_DEVICES[cell.kernel]
    known = {"compute": ARITHMETIC, "storage": STORAGE, "noise": NOISE}
    if family in ("npb", "linpack"):
        return ARITHMETIC if name == "ep" else PROGRAMS
    return known.get(family, cell.kernel)


@dataclass(frozen=True)
class CovariateDeviation:
    """A covariate in which a node deviates: its ``value`` and the ``typical`` value of others."""

    value: float
    typical: float


@dataclass(frozen=True)
class SlowCore:
    """A CPU whose ranks take ``times`` as long as the node's other ranks."""

    cpu: int
    times: float


@dataclass(frozen=True)
class Profile:
    """A node's measurements that the rules examine."""

    #: Slowdown of the node in each resource, as a difference of logarithms.
    shifts: Mapping[str, float]
    #: The resources in which the slowdown is significant.
    slow: frozenset[str]
    #: Covariates in which the node deviates from the others.
    deviating: Mapping[str, CovariateDeviation]
    #: All recorded covariates.
    known: frozenset[str] = frozenset()
    #: The node's slow core.
    core: SlowCore | None = None
    #: Resources with only single slow cells, as text.
    single_cells: tuple[str, ...] = ()

    @property
    def worst(self) -> float:
        """The largest shift of a slow resource."""
        return max((self.shifts[name] for name in self.slow), default=0.0)

    def normal(self, *names: str) -> list[str]:
        """The measured resources that are normal, other than those named."""
        return [
            name
            for name, shift in self.shifts.items()
            if name not in names and name not in self.slow and shift <= _NORMAL * self.worst
        ]

    def only(self, *names: str) -> str | None:
        """Evidence that only these resources are slow.

        None if others are slow or none is normal.
        """
        normal = self.normal(*names)
        if not self.slow or not self.slow <= set(names) or not normal:
            return None
        return f"{listed(normal)} normal"


@dataclass(frozen=True)
class DiagnosisRule:
    """One line of the table."""

    pattern: str
    suspect: str
    #: Returns the evidence if the rule fits, else None.
    fits: Callable[[Profile], str | None]


def _rate(name: str, words: str) -> Callable[[Profile], str | None]:
    """A rule that fits if a covariate is higher than on the other nodes."""

    def fits(profile: Profile) -> str | None:
        found = profile.deviating.get(name)
        if found is None or found.value <= found.typical:
            return None
        return words.format(f"{found.value:.3g}", f"{found.typical:.3g}")

    return fits


def _clock(profile: Profile) -> str | None:
    """The cores' clock rate is lower than on the other nodes, by enough to explain the slowdown."""
    for name in ("clock_rate", "frequency"):
        found = profile.deviating.get(name)
        if found is None or found.value >= found.typical:
            continue
        down = math.log(found.typical / found.value)
        slow = [shift for key, shift in profile.shifts.items() if key in profile.slow]
        if slow and down >= _EXPLAINS * min(slow):
            value, typical = found.value / 1e9, found.typical / 1e9
            return f"its cores run at {value:.3g} GHz, the other nodes' cores at {typical:.3g} GHz"
    return None


def _core(profile: Profile) -> str | None:
    core = profile.core
    if core is None or core.times < _SLOW_CORE:
        return None
    return f"ranks on CPU {core.cpu} take {core.times - 1.0:.0%} longer than the node's other ranks"


def _all_slow(profile: Profile) -> str | None:
    """All resources are slow by about the same factor."""
    shifts = list(profile.shifts.values())
    if len(shifts) < 2 or len(profile.slow) < 2 or min(shifts) < _ALIKE * max(shifts):
        return None
    clock = {"clock_rate", "frequency"} & profile.known
    return "all resources slow by about the same factor" + (
        "; its clock rate is normal" if clock else ""
    )


def _network(profile: Profile) -> str | None:
    found = profile.only(NETWORK)
    again = profile.deviating.get("tcp_retransmits")
    if found is not None and again is not None and again.value > again.typical:
        return f"{found}; {again.value:.3g} TCP segments per second retransmitted"
    return found


def _alone(profile: Profile) -> str | None:
    return "no other resource was measured" if len(profile.shifts) == 1 else None


NOTHING = "no single resource explains it"
RULES: tuple[DiagnosisRule, ...] = (
    DiagnosisRule(
        "more steal time than on the other nodes",
        "a hypervisor that gives its CPU time to other guests",
        _rate("steal_seconds", "{} CPU seconds per second stolen, {} on the other nodes"),
    ),
    DiagnosisRule(
        "more thermal throttling than on the other nodes",
        "its cooling: fan, dust, heat sink, inlet temperature",
        _rate("throttle_events", "{} throttling events per second, {} on the other nodes"),
    ),
    DiagnosisRule(
        "more CPU time of other processes than on the other nodes",
        "another program on the node: a leftover job, a daemon",
        _rate("other_cpu_seconds", "other processes take {} CPUs, {} on the other nodes"),
    ),
    DiagnosisRule(
        "more major page faults than on the other nodes",
        "too little memory: another process holds it, or a module has failed",
        _rate("major_faults", "{} major page faults per second, {} on the other nodes"),
    ),
    DiagnosisRule(
        "ranks of one core at least 3% slower than the node's other ranks",
        "that core: a lower clock limit, or interrupts bound to it",
        _core,
    ),
    DiagnosisRule(
        "clock rate lower by at least half of the slowdown",
        "a power cap, the frequency governor or firmware settings",
        _clock,
    ),
    DiagnosisRule(
        "memory bandwidth slow; latency also slow or not measured; another resource normal",
        "a DIMM: failed, missing, or running at a lower rate",
        lambda p: p.only(BANDWIDTH, LATENCY) if BANDWIDTH in p.slow else None,
    ),
    DiagnosisRule(
        "only memory latency slow",
        "firmware settings of the memory: snooping, interleaving, huge pages, patrol scrubbing",
        lambda p: p.only(LATENCY),
    ),
    DiagnosisRule(
        "only arithmetic slow, at the usual clock rate",
        "the processor: a limit on its vector units, or cores that share resources unexpectedly",
        lambda p: p.only(ARITHMETIC),
    ),
    DiagnosisRule(
        "only the network slow",
        "its link: cable, transceiver, the port at the switch, the adapter's slot",
        _network,
    ),
    DiagnosisRule(
        "only messages within the node slow",
        "the pinning of its ranks, or its shared-memory settings",
        lambda p: p.only(MESSAGES),
    ),
    DiagnosisRule(
        "only storage slow", "its disk, or its path to the storage", lambda p: p.only(STORAGE)
    ),
    DiagnosisRule(
        "only the memory of the device slow",
        "the device's memory: its clock, replaced rows, errors that are corrected",
        lambda p: p.only(DEVICE_MEMORY),
    ),
    DiagnosisRule(
        "only arithmetic of the device slow",
        "the device's clock: a power limit, its cooling, a limit on its clock",
        lambda p: p.only(DEVICE_ARITHMETIC),
    ),
    DiagnosisRule(
        "only the link between host and device slow",
        "the device's link: fewer lanes or an older generation, a riser, another NUMA node",
        lambda p: p.only(DEVICE_LINK),
    ),
    DiagnosisRule(
        "only interruptions more frequent",
        "a daemon, a timer or interrupts that the other nodes don't have",
        lambda p: p.only(NOISE),
    ),
    DiagnosisRule(
        "all resources slow by about the same factor",
        "a common cause: power, the firmware's profile, the clock",
        _all_slow,
    ),
    DiagnosisRule(
        "only one resource measured",
        "that resource; no other was measured for comparison",
        _alone,
    ),
)


def suspect(profile: Profile) -> tuple[str, str]:
    """What to suspect and the evidence for it; ``NOTHING`` if no rule fits."""
    for rule in RULES:
        found = rule.fits(profile)
        if found is not None:
            return f"suspect {rule.suspect}", found
    slow = [*sorted(profile.slow), *profile.single_cells]
    return NOTHING, f"slow in {listed(slow)}" if slow else "slow in all cells together"
