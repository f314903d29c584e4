"""The types of a node's check: facts, readings, records, findings and outcomes.

A check has to begin measuring within half a second, so these modules import little more than
msgspec.
"""

from __future__ import annotations

from typing import Literal

import msgspec

FactValue = bool | int | float | str | None
#: How a fact is compared with the fleet's. ``same``: equal to the fleet's common value (numbers:
#: within the fleet's range). ``not below``, ``not above``: a bound derived from the fleet.
#: ``counter``: its increase since the node's last check, against the fleet's. ``shown``: not
#: judged.
FactRule = Literal["same", "not below", "not above", "counter", "shown"]
Outcome = Literal["healthy", "unhealthy", "undecided"]


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One property of a node."""

    #: Dotted name, the same on all nodes of a kind: ``memory.total``, ``net.eth0.speed``.
    name: str
    #: In SI base units; None if the node has it and it can't be read.
    value: FactValue
    unit: str = ""
    rule: FactRule = "same"
    #: What to look at if it differs, as the end of a drain reason.
    look_at: str = ""


class Quiet(msgspec.Struct, frozen=True, kw_only=True):
    """What else the node did during a reading."""

    #: CPUs that other processes kept busy, on average, of those that were measured.
    others: float = 0.0
    #: Share of demanded CPU time that the hypervisor withheld.
    steal: float = 0.0
    #: Seconds that control groups with a CPU quota were held back, over all CPUs.
    held_back: float = 0.0
    #: Thermal throttling events; None if the processor has no counter.
    throttled: int | None = None
    #: Other processes that used the devices.
    users: int = 0


class DeviceSet(msgspec.Struct, frozen=True, kw_only=True):
    """The devices that a check measures, in the order of their numbers."""

    #: What measures them: ``cuda``, ``hip`` or ``opencl``.
    backend: str
    names: list[str]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One component, measured once."""

    component: str
    #: SI base units. ``core``: one value per CPU of ``cpus``. Components of devices: one value per
    #: device. Others: one value per repetition.
    values: list[float]
    #: The CPUs that measured; of components of devices, the devices' numbers.
    cpus: list[int] = []
    seconds: float = 0.0
    #: Whether all results were right; false is a broken node, not a slow one.
    verified: bool = True
    #: Why there is no value, as a sentence; empty if there is one.
    failed: str = ""
    quiet: Quiet = Quiet()


class NodeFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a node, or may be."""

    #: Component or fact.
    about: str
    #: Value and expectation as text with units.
    value: str
    expected: str
    #: Deviation as a share of the expectation, negative if worse; None for facts.
    deviation: float | None = None
    #: Its 95% interval.
    interval: tuple[float, float] | None = None
    #: Probability of such a deviation on a healthy node; 0 for what can't happen on one.
    probability: float = 0.0
    #: One clause, at most 100 characters, printable ASCII: value, expectation, how sure, look at.
    text: str = ""


class CheckRecord(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One check in a node's ring. Its encoding must stay below 190 bytes."""

    #: Unix time of its end, s.
    utc: float
    outcome: Outcome
    #: Duration, s.
    seconds: float
    #: The first digits of the baseline's digest; empty without one.
    baseline: str = ""
    #: Values by component, the best of its rounds; ``core`` and
    #: components of devices: the slowest one.
    values: dict[str, float] = {}
    #: Components that were found slow in this check, confirmed by its second measurement.
    slow: list[str] = []
    #: The partner node, if messages were measured.
    partner: str = ""
    #: The reason as printed, cut to fit.
    reason: str = ""


class MeasureAgain(msgspec.Struct, frozen=True, kw_only=True):
    """The decision needs these components (again)."""

    components: tuple[str, ...]
    #: Why, as a clause: ``first round``, ``memory bandwidth 6% low``.
    why: str


class CheckVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a check."""

    outcome: Outcome
    #: What fails the node, or leaves it undecided; empty if healthy.
    findings: list[NodeFinding] = []
    #: Seen, but not enough to fail the node: only found in this check, or weak.
    suspected: list[NodeFinding] = []
    #: The printed line without its outcome: at most 100 characters, printable ASCII.
    reason: str = ""
