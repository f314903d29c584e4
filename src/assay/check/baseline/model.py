"""The baseline of one kind of node, as it is kept in a file.

A *cost* is the logarithm of a time, or minus the logarithm of a rate, in SI units: larger is
slower, and a difference of 0.05 is a node that is about 5% slower. A *deviation* is a difference
of costs. A *table* holds deviations by their probability of exceedance (``exceedance.GRID``).
"""

from __future__ import annotations

import msgspec

from assay.check.model import DeviceSet

SCHEMA = "assay-check-baseline-1"
#: A session of checks has all checks within this time of its first one, s. Speeds that move within
#: an hour are then independent in two sessions.
APART = 7200.0
#: Minimum numbers of sessions and of days (UTC) with a session until slowness drains. Below eight
#: sessions the bound of a new one is more than 13 standard deviations (Student's t at one in
#: 300,000), which excludes nothing. One day alone would not show that another one differs.
SESSIONS, DAYS = 8, 3
_DAY = 86400.0


class SessionShift(msgspec.Struct, frozen=True, array_like=True):
    """How much slower all nodes were in one session of checks than in the mean one."""

    #: Unix times of the first and the last check, s.
    begin: float
    end: float
    #: Deviation, and its standard error; 0 if it is unknown, so that all of the deviation counts.
    shift: float
    error: float


class ComponentBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """What is usual in one component."""

    #: Cost of the usual node, in the faster of two modes.
    level: float
    #: The level as it was learned; updates may move ``level`` by at most ``drift`` from it.
    learned_level: float
    drift: float
    #: Sessions of checks, the newest last, and the table of a new session's deviation, against the
    #: level; empty as long as there is one session.
    sessions: list[SessionShift] = []
    movement: list[float] = []
    #: Whether sessions differ by more than chance: a check is then compared with the whole table,
    #: and only one check per session counts.
    moving: bool = True
    #: Common deviation by hour of the day (UTC); empty if it isn't known.
    hours: list[float] = []
    #: Table: a check's value of any node, against the level.
    fleet: list[float]
    #: Table: a check's value, against the node's own level, in the slower of two modes.
    within: list[float]
    #: Table: a node's own level, against the level.
    between: list[float]
    #: Standard deviations: of checks of one node, of nodes, of rounds of one check.
    check_scatter: float
    node_scatter: float
    round_scatter: float
    #: Deviation from its own level that a node may keep for many checks.
    wander: float = 0.0
    #: Distance of the slower of two modes, the deviation that divides them, and the share of checks
    #: in the slower one; 0 if there is one mode.
    gap: float = 0.0
    valley: float = 0.0
    slow_share: float = 0.0
    #: Numbers of nodes and of their checks from which it was learned.
    nodes: int
    checks: int

    @property
    def days(self) -> int:
        """The number of days (UTC) with a session."""
        return len({each.begin // _DAY for each in self.sessions})

    @property
    def covers_time(self) -> bool:
        """Whether it knows how the fleet moves over time, so that slowness may drain."""
        return len(self.sessions) >= SESSIONS and self.days >= DAYS and bool(self.movement)

    @property
    def has_modes(self) -> bool:
        """Whether values lie in two modes."""
        return self.gap > 0.0


class DeviceSlots(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of each node of a kind, in the order of their numbers."""

    #: What measures them, and their names.
    backend: str
    names: list[str]
    #: By component, how much the cost of each slot usually exceeds that of the node's median
    #: device: a slot that is farther from memory has a slower link.
    shifts: dict[str, list[float]] = {}

    @property
    def devices(self) -> DeviceSet:
        """The devices alone."""
        return DeviceSet(backend=self.backend, names=self.names)


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What is usual on the nodes of one kind."""

    schema: str = SCHEMA
    kind: str
    #: Counts the files of this kind, from 1.
    version: int
    #: The first version with this measuring program: nodes' own levels are kept since then.
    anchored: int
    #: Unix time when it was written, s.
    created: float
    #: SHA-256 of the measuring program.
    program: str
    #: Numbers of nodes and of their checks from which it was learned.
    nodes: int
    checks: int
    components: dict[str, ComponentBaseline]
    #: How much slower the slowest CPU is than the median CPU of its node; None if CPUs were not
    #: measured.
    core_gap: ComponentBaseline | None = None
    #: The devices; None if none were measured.
    devices: DeviceSlots | None = None
    #: Whether the nodes are virtual machines.
    virtual: bool = False
    #: The facts that the fleet has in common, encoded.
    facts: msgspec.Raw = msgspec.Raw(b"null")
    #: Nodes that were left out because they are slow, each with the reason.
    left_out: dict[str, str] = {}
    #: What was learned and what is missing, as sentences.
    learned: list[str] = []
