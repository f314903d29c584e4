"""What a decision needs, and what a node's file keeps for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from assay.check.baseline.model import Baseline, ComponentBaseline
from assay.check.components import ALONE
from assay.check.model import CheckRecord, NodeFinding, Reading


class SeriesState(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of one component of a node."""

    #: Number of checks from which its own level was computed, and the level: a cost.
    checks: int = 0
    level: float = 0.0
    #: Logarithms of the evidence that it is slow: against the fleet, fast and patient, and against
    #: its own level, fast and patient (``evidence.py``).
    evidence: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    #: Unix time of the last check that counted, s.
    counted: float = 0.0


class NodeState(msgspec.Struct, frozen=True, array_like=True):
    """What a node's file keeps beside its records: at most 1,000 bytes as MessagePack."""

    #: The version of the baseline from which the node's own levels are counted.
    anchored: int = 0
    #: By component, and by ``costs.CORE_GAP``.
    series: dict[str, SeriesState] = {}


@dataclass(frozen=True, slots=True)
class CheckPolicy:
    """What an administrator chooses."""

    #: Maximum share of checks of healthy nodes that fail, over all components.
    false_drains: float = 1e-4
    #: Maximum number of rounds in one check.
    rounds: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Everything on which a decision depends."""

    baseline: Baseline
    state: NodeState = field(default_factory=NodeState)
    #: The node's recent checks, the oldest first.
    records: Sequence[CheckRecord] = ()
    #: The readings of this check by component, a mapping for each round. A component that was not
    #: measured in a round because time ran out must be absent, not failed.
    rounds: Sequence[Mapping[str, Reading]] = ()
    #: Facts that fail the node.
    findings: Sequence[NodeFinding] = ()
    #: The components to measure. Those without a baseline are left out.
    components: Sequence[str] = ALONE
    #: The partner node of messages.
    partner: str = ""
    #: Unix time of this check, s.
    utc: float = 0.0
    #: Time for further measurements, s.
    time_left: float = 8.0
    policy: CheckPolicy = CheckPolicy()


class SeriesJudgement(NamedTuple):
    """One series of costs in one check."""

    series: str
    component: str
    usual: ComponentBaseline
    #: Cost: the best of its rounds.
    cost: float
    #: The slowest CPU of ``core``, or the slowest device.
    cpu: int | None
    #: Numbers of rounds, and of quiet ones.
    rounds: int
    quiet_rounds: int
    #: Deviations from the fleet and from the node's own level; the latter None if it isn't known.
    from_fleet: float
    from_own: float | None
    #: The cost without what is common to all nodes at this time.
    level_cost: float
    #: Logarithms of the probabilities of ``from_fleet`` in any check of any healthy node, and of
    #: the deviation from the node's own level, at most 0.
    log_fleet: float
    log_own: float
    #: The evidence with this check included.
    evidence: tuple[float, float, float, float]
    #: Whether this check counts for evidence and own level.
    counts: bool
    #: Slow enough to be measured again, slow enough for a finding, and slow only on the whole of
    #: recent checks.
    suspicious: bool
    slow: bool
    creeping: bool
    #: How much slower the device of ``cpu`` usually is than its node's median device, as costs.
    slot: float = 0.0
