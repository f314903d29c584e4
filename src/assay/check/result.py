"""Everything that one check found, for its outputs."""

from __future__ import annotations

import msgspec

from assay.check.model import Fact, NodeFinding, Outcome, Reading

RESULT_SCHEMA = 1
#: Exit statuses of a check.
STATUS: dict[Outcome, int] = {"healthy": 0, "unhealthy": 1, "undecided": 3}


class UsedBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """The baseline that a check compared with."""

    #: The first digits of its SHA-256.
    digest: str
    #: Counts up with each ``--learn``.
    version: int
    #: Unix time at which it was learned, s.
    created: float
    #: Nodes and checks that it was learned from.
    nodes: int
    checks: int


class CheckCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Checks of this node since its file began, this one included."""

    healthy: int = 0
    unhealthy: int = 0
    undecided: int = 0


class NodeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a node, as ``--json`` prints it."""

    schema: int = RESULT_SCHEMA
    #: Version of assay.
    assay: str
    host: str
    #: Kind of node; empty if the check ended before its facts were read.
    kind: str = ""
    #: Unix time of its end, s.
    utc: float
    outcome: Outcome
    #: Exit status of the command.
    status: int
    #: The reason alone, and the whole line that is printed, at most 100 characters of ASCII.
    reason: str
    line: str
    #: Duration since the start of the command, s.
    seconds: float
    #: Seconds by stage, in their order.
    stages: dict[str, float] = {}
    baseline: UsedBaseline | None = None
    #: What fails the node, or leaves it undecided.
    findings: list[NodeFinding] = []
    #: Seen, but not enough to fail the node.
    suspected: list[NodeFinding] = []
    #: Facts in which the fleet itself is divided, each as a clause with its groups.
    divided: list[str] = []
    #: Names of facts that no node had when the fleet was learned; they are not judged.
    new: list[str] = []
    readings: list[Reading] = []
    facts: list[Fact] = []
    #: Facts that couldn't be read, and why.
    unread: list[str] = []
    #: Partner of the messages; empty without one.
    partner: str = ""
    #: What went wrong beside the check, such as a record that couldn't be written.
    warnings: list[str] = []
    #: None if the node's file can't be read.
    counts: CheckCounts | None = None
