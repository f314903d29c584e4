"""Findings on the checks of a fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.check.fleet.decline import KindDecline, NodeDecline

CHECKS_SCHEMA = 1
#: ``failing``: the last decided check failed. ``failed``: an earlier one did. ``declining``: its
#: values fall against those of its kind. ``silent``: no check for long. ``damaged``: its file can't
#: be read or is damaged.
BadState = Literal["failing", "failed", "declining", "silent", "damaged"]
NodeStateName = BadState | Literal[""]
BAD_STATES: tuple[BadState, ...] = ("failing", "declining", "silent", "damaged", "failed")


@dataclass(frozen=True)
class CheckedNode:
    """A node, and its checks."""

    #: ``host``, ``kind``: name and kind of node; "" for a kind that isn't known yet.
    host: str
    kind: str
    #: What is wrong with it; "" if nothing is.
    state: NodeStateName
    #: Since when, Unix time (s); None if nothing is wrong.
    since: float | None
    #: How often: failed checks since then, or checks with a trend; 0 if nothing is wrong.
    times: int
    #: What was found, as the check printed it or as a sentence; "" if nothing is wrong.
    text: str
    #: ``healthy``, ``unhealthy``, ``undecided``: checks that its file counts, by outcome.
    healthy: int
    unhealthy: int
    undecided: int
    #: Unix time of its last check, s; None without one.
    last: float | None


@dataclass(frozen=True)
class ComponentLevels:
    """The present levels of one component over the nodes of a kind."""

    #: ``kind``, ``component``, ``unit``: what was measured, in SI units.
    kind: str
    component: str
    unit: str
    #: Number of nodes with a value.
    nodes: int
    #: Median over nodes. ``low``, ``high``: 5% and 95% quantiles.
    median: float
    low: float
    high: float
    #: Level of the baseline; None without one.
    baseline: float | None
    #: ``slowest``: the node with the worst level. ``slowest_change``: its relative deviation from
    #: the median, negative.
    slowest: str
    slowest_change: float


@dataclass(frozen=True)
class CheckedDay:
    """The recent checks of one day, UTC."""

    #: Unix time of its begin, s.
    utc: float
    #: ``healthy``, ``unhealthy``, ``undecided``: checks by outcome.
    healthy: int
    unhealthy: int
    undecided: int


@dataclass(frozen=True)
class UndecidedReason:
    """Undecided checks for one reason."""

    #: The reason, without its numbers.
    reason: str
    #: ``checks``, ``nodes``: numbers of recent checks and of nodes.
    checks: int
    nodes: int
    #: ``example``, ``host``: one of them as it was printed, and its node.
    example: str
    host: str


@dataclass(frozen=True)
class DividedFact:
    """A fact in which nodes of one kind differ."""

    #: ``kind``, ``fact``: the kind of nodes, and the fact's name.
    kind: str
    fact: str
    #: ``values``: the values as text. ``nodes``: how many nodes had each, at the last learning.
    values: list[str]
    nodes: list[int]


@dataclass(frozen=True)
class UnreadableBaseline:
    """A baseline that can't be read, or that doesn't exist yet."""

    #: ``kind``, ``why``: the kind of nodes, and the reason as a sentence.
    kind: str
    why: str


@dataclass(frozen=True)
class WaitingKind:
    """A kind of nodes whose slowness can't drain yet."""

    #: ``kind``, ``why``: the kind of nodes, and what is missing as sentences.
    kind: str
    why: str


@dataclass(frozen=True)
class ChecksFindings:
    """The checks of a fleet."""

    #: Version of these findings.
    schema: int
    #: Time of the report, Unix time (s).
    utc: float
    #: Folder of the checks.
    folder: str
    #: Number of nodes by kind; "" for nodes without a kind.
    kinds: dict[str, int]
    #: Unix time since which the files count checks, s; None without checks.
    since: float | None
    #: ``healthy``, ``unhealthy``, ``undecided``: all checks that the files count, by outcome.
    healthy: int
    unhealthy: int
    undecided: int
    #: Number of checks that the files still have in full, on which trends, days and reasons are
    #: based.
    recent: int
    #: Time after which a node counts as silent, s.
    silent_after: float
    #: All nodes, the bad ones first.
    nodes: list[CheckedNode]
    #: Nodes that become slower, the largest change first.
    declining: list[NodeDecline]
    #: Kinds of nodes that have become slower as a whole.
    declining_kinds: list[KindDecline]
    #: Present levels by kind and component.
    levels: list[ComponentLevels]
    #: Recent checks by day.
    days: list[CheckedDay]
    #: Why recent checks were undecided, the most frequent reason first.
    reasons: list[UndecidedReason]
    #: Facts in which nodes of one kind differ.
    divided: list[DividedFact]
    #: Baselines that can't be read.
    without_baseline: list[UnreadableBaseline]
    #: Kinds whose baselines cover too few sessions for slowness to drain.
    waiting: list[WaitingKind]

    @property
    def bad(self) -> list[CheckedNode]:
        """The nodes with something wrong."""
        return [node for node in self.nodes if node.state]

    def of(self, state: BadState) -> list[CheckedNode]:
        """The nodes in a state."""
        return [node for node in self.nodes if node.state == state]
