"""What a check has found so far, from which its outputs are made however it ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from assay.check.model import CheckVerdict, Fact, Reading
from assay.check.node.reports import CheckPipe
from assay.check.node.request import CheckRequest, CheckSettings
from assay.check.outputs.line import printed_line
from assay.check.result import STATUS, CheckCounts, NodeCheck, UsedBaseline
from assay.check.state.header import NodeHeader
from assay.check.state.node_file import NodeFile
from assay.version import VERSION


@dataclass
class CheckCourse:
    """A check that runs."""

    request: CheckRequest
    settings: CheckSettings
    host: str
    reporter: CheckPipe
    file: NodeFile | None = None
    kind: str = ""
    used: UsedBaseline | None = None
    facts: list[Fact] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    divided: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    #: Why the facts are not enough to call the node healthy; empty if they are.
    missing: str = ""
    #: Whether the devices can't be compared in this check.
    without_devices: bool = False
    rounds: list[dict[str, Reading]] = field(default_factory=list)
    #: Values by component for the record, and the components found slow.
    values: dict[str, float] = field(default_factory=dict)
    slow: list[str] = field(default_factory=list)
    #: What the node's file keeps for the next check; None to leave it as it is.
    state: bytes | None = None
    counters: bytes | None = None
    warnings: list[str] = field(default_factory=list)
    _stages: dict[str, float] = field(default_factory=dict)
    _stage: tuple[str, float] = ("start", 0.0)

    def stage(self, name: str) -> None:
        """A stage begins, and the one before ends."""
        self.reporter.stage(name)
        now = self.reporter.elapsed()
        before, since = self._stage
        self._stages[before] = self._stages.get(before, 0.0) + now - since
        self._stage = (name, now)

    @property
    def header(self) -> NodeHeader:
        """The header of the node's file, or that of a node without checks."""
        known = self.file.content.header if self.file is not None else None
        return known or NodeHeader(host=self.host)

    def counted(self, outcome: str) -> NodeHeader | None:
        """The header after this check; None if it has no file."""
        if self.file is None:
            return None
        before = self.header
        counts = {name: getattr(before, name) + (name == outcome) for name in STATUS}
        return NodeHeader(
            host=self.host,
            kind=self.kind or before.kind,
            since=before.since or time.time(),
            state=before.state if self.state is None else self.state,
            counters=before.counters if self.counters is None else self.counters,
            **counts,
        )

    def ended(self, verdict: CheckVerdict) -> NodeCheck:
        """The whole check."""
        self.stage("output")
        seconds = self.reporter.elapsed()
        counts = self.counted(verdict.outcome)
        reason = verdict.reason or self._summary(seconds)
        return NodeCheck(
            assay=VERSION,
            host=self.host,
            kind=self.kind,
            utc=time.time(),
            outcome=verdict.outcome,
            status=STATUS[verdict.outcome],
            reason=verdict.reason,
            line=printed_line(verdict.outcome, reason),
            seconds=round(seconds, 3),
            stages={name: round(took, 3) for name, took in self._stages.items()},
            baseline=self.used,
            findings=verdict.findings,
            suspected=verdict.suspected,
            divided=self.divided,
            new=self.new,
            readings=[reading for each in self.rounds for reading in each.values()],
            facts=self.facts,
            unread=self.unread,
            partner=self.request.partner,
            warnings=self.warnings,
            counts=None
            if counts is None
            else CheckCounts(
                healthy=counts.healthy, unhealthy=counts.unhealthy, undecided=counts.undecided
            ),
        )

    def _summary(self, seconds: float) -> str:
        parts = [f"{len(self.values)} components"] if self.values else []
        judged = sum(fact.rule != "shown" and fact.value is not None for fact in self.facts)
        return ", ".join((*parts, f"{judged} facts", f"{seconds:.1f} s"))
