"""What to suspect in a slow node: by the pattern of what is slow and what isn't, and by covariates.

The rules are one table; the first that fits is taken. Each says which pattern it stands for and
what to suspect, and gives the evidence that it found; docs/methods.md has the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.plans.model import Cell

BANDWIDTH, LATENCY = "memory bandwidth", "memory latency"
ARITHMETIC, PROGRAMS = "arithmetic", "whole programs"
NETWORK, MESSAGES = "the network", "messages within the node"
STORAGE, NOISE = "storage", "interruptions"
# A resource that is behind by at most this share of the worst one's shift is fine beside it.
_FINE = 1.0 / 3.0
# A clock that is down by at least this share of the arithmetic's shift explains it.
_EXPLAINS = 0.5
# Shifts are about the same where the least is at least this share of the greatest.
_ALIKE = 0.6
# How many times as long a core must take as the node's others.
_CORE = 1.03


def resource_of(cell: Cell) -> str:
    """What a cell takes most, in words."""
    family, _, name = cell.kernel.partition(".")
    if family == "memory":
        return LATENCY if name in ("latency", "random") else BANDWIDTH
    if family == "network":
        return NETWORK if cell.placement.nodes > 1 else MESSAGES
    known = {"compute": ARITHMETIC, "storage": STORAGE, "noise": NOISE}
    if family in ("npb", "linpack"):
        return ARITHMETIC if name == "ep" else PROGRAMS
    return known.get(family, cell.kernel)


@dataclass(frozen=True)
class Oddity:
    """A covariate in which a node is unlike the others: its ``value`` beside the ``usual`` one."""

    value: float
    usual: float


@dataclass(frozen=True)
class SlowCore:
    """A CPU whose ranks take ``times`` as long as the node's others."""

    cpu: int
    times: float


@dataclass(frozen=True)
class Profile:
    """One node as the rules see it.

    ``shifts``: by resource, how much slower it is, a difference of logarithms; ``slow``: those in
    which that is no chance; ``strays``: resources of which single cells are slow, in words.
    ``odd``: covariates in which it is unlike the others; ``told``: all that the machines tell.
    """

    shifts: Mapping[str, float]
    slow: frozenset[str]
    odd: Mapping[str, Oddity]
    told: frozenset[str] = frozenset()
    core: SlowCore | None = None
    strays: tuple[str, ...] = ()

    @property
    def worst(self) -> float:
        """The greatest shift of a slow resource."""
        return max((self.shifts[name] for name in self.slow), default=0.0)

    def fine(self, *names: str) -> list[str]:
        """Those of the measured resources that are not behind, but for the names given."""
        return [
            name
            for name, shift in self.shifts.items()
            if name not in names and name not in self.slow and shift <= _FINE * self.worst
        ]

    def only(self, *names: str) -> str | None:
        """Evidence that nothing but these is slow; None if something else is, or nothing else is
        known to be fine.
        """
        fine = self.fine(*names)
        if not self.slow or not self.slow <= set(names) or not fine:
            return None
        return f"{_listed(fine)} as on the others"


@dataclass(frozen=True)
class Rule:
    """One line of the table. ``fits``: the evidence where it does, else None."""

    pattern: str
    suspect: str
    fits: Callable[[Profile], str | None]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _rate(name: str, words: str) -> Callable[[Profile], str | None]:
    """A covariate that is higher than on the others."""

    def fits(profile: Profile) -> str | None:
        odd = profile.odd.get(name)
        if odd is None or odd.value <= odd.usual:
            return None
        return words.format(f"{odd.value:.3g}", f"{odd.usual:.3g}")

    return fits


def _clock(profile: Profile) -> str | None:
    import math

    for name in ("clock_rate", "frequency"):
        odd = profile.odd.get(name)
        if odd is None or odd.value >= odd.usual:
            continue
        down = math.log(odd.usual / odd.value)
        slow = [shift for key, shift in profile.shifts.items() if key in profile.slow]
        if slow and down >= _EXPLAINS * min(slow):
            return (
                f"its cores run at {odd.value / 1e9:.3g} GHz, the others' at {odd.usual / 1e9:.3g}"
            )
    return None


def _core(profile: Profile) -> str | None:
    core = profile.core
    if core is None or core.times < _CORE:
        return None
    return f"ranks on CPU {core.cpu} take {core.times - 1.0:.0%} longer than the node's others"


def _alike(profile: Profile) -> str | None:
    """Everything slow, and about as much."""
    shifts = list(profile.shifts.values())
    if len(shifts) < 2 or len(profile.slow) < 2 or min(shifts) < _ALIKE * max(shifts):
        return None
    clock = {"clock_rate", "frequency"} & profile.told
    return "all resources about as much" + ("; its clock is as on the others" if clock else "")


def _network(profile: Profile) -> str | None:
    found = profile.only(NETWORK)
    again = profile.odd.get("tcp_retransmits")
    if found is not None and again is not None and again.value > again.usual:
        return f"{found}; {again.value:.3g} TCP segments a second sent again"
    return found


def _alone(profile: Profile) -> str | None:
    return "nothing else was measured" if len(profile.shifts) == 1 else None


NOTHING = "no single resource explains it"
RULES: tuple[Rule, ...] = (
    Rule(
        "steal time above the others'",
        "a hypervisor that gives its CPU to somebody else",
        _rate("steal_seconds", "{} CPU seconds a second stolen, {} on the others"),
    ),
    Rule(
        "thermal throttling above the others'",
        "its cooling: a fan, dust, a heat sink, the inlet's temperature",
        _rate("throttle_events", "{} throttling events a second, {} on the others"),
    ),
    Rule(
        "CPU time of other processes above the others'",
        "another program there: a job that was left over, a daemon",
        _rate("other_cpu_seconds", "others' processes take {} CPUs, {} on the others"),
    ),
    Rule(
        "page faults that read a disk above the others'",
        "too little memory: something holds it, or some of it is gone",
        _rate("major_faults", "{} page faults a second read a disk, {} on the others"),
    ),
    Rule(
        "one core's ranks slower than the node's others by 3% or more",
        "that core: a clock limit of its own, or interrupts that are bound to it",
        _core,
    ),
    Rule(
        "the cores' clock down by at least half of what is lost",
        "a power cap, the frequency governor or firmware settings",
        _clock,
    ),
    Rule(
        "memory bandwidth slow, latency too or not measured; something else fine",
        "a DIMM: one that failed, is missing, or runs at a lower rate",
        lambda p: p.only(BANDWIDTH, LATENCY) if BANDWIDTH in p.slow else None,
    ),
    Rule(
        "memory latency alone slow",
        "firmware settings of the memory: snooping, interleaving, huge pages, patrol scrubbing",
        lambda p: p.only(LATENCY),
    ),
    Rule(
        "arithmetic alone slow, at the usual clock",
        "the processor: a limit on its vector units, or cores that share what they shouldn't",
        lambda p: p.only(ARITHMETIC),
    ),
    Rule(
        "the network alone slow",
        "its link: cable, transceiver, the port at the switch, the adapter's slot",
        _network,
    ),
    Rule(
        "messages within the node alone slow",
        "how its ranks are pinned, or its settings of shared memory",
        lambda p: p.only(MESSAGES),
    ),
    Rule("storage alone slow", "its disk, or its way to the storage", lambda p: p.only(STORAGE)),
    Rule(
        "interruptions alone more",
        "a daemon, a timer or interrupts that the others don't have",
        lambda p: p.only(NOISE),
    ),
    Rule(
        "everything slow, about as much",
        "what all share: power, the firmware's profile, the clock",
        _alike,
    ),
    Rule(
        "one resource measured alone",
        f"that resource; of others nothing is known, so that {NOTHING}",
        _alone,
    ),
)


def suspect(profile: Profile) -> tuple[str, str]:
    """What to suspect and the evidence for it; ``NOTHING`` where no rule fits."""
    for rule in RULES:
        found = rule.fits(profile)
        if found is not None:
            return f"suspect {rule.suspect}", found
    slow = [*sorted(profile.slow), *profile.strays]
    return NOTHING, f"behind in {_listed(slow)}" if slow else "behind in all cells together"
