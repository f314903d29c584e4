"""Findings of an acceptance: what was promised, what was measured, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.acceptance.attempts import Attempt
from assay.acceptance.availability import DayAvailability
from assay.acceptance.contract import Per, VariationBetween
from assay.acceptance.decision import Outcome
from assay.acceptance.node_decision import NodeDecision
from assay.units import Interval

ACCEPTANCE_SCHEMA = 1
OUTCOMES: tuple[Outcome, ...] = ("accepted", "rejected", "undecided")


@dataclass(frozen=True)
class Amount:
    """A penalty or a bonus, with the range that the results permit."""

    #: Amount in the currency of the contract.
    value: float
    #: Amounts at the ends of the 95% intervals; for undecided commitments from 0. None without
    #: intervals.
    interval: Interval | None


@dataclass(frozen=True)
class JudgedRun:
    """A run that was judged."""

    #: Name of the run or its group.
    name: str
    #: Its node, for a member of a group; otherwise empty.
    node: str
    #: Unix time of its begin, s.
    utc: float
    #: Name of the system.
    system: str
    #: Version of assay.
    assay: str
    #: Names of the toolchains.
    toolchains: list[str]
    #: Processor, if it is known; otherwise empty.
    processor: str
    #: Number of measurements.
    measurements: int
    #: Whether it was simulated (``--fake``).
    fake: bool
    #: Whether another tool's results were imported.
    imported: bool


@dataclass(frozen=True)
class NodeMedian:
    """The median of a node's launches."""

    #: Name of the node.
    node: str
    #: Median of its launches, in the metric's unit.
    value: float
    #: Whether it is worse than promised with certainty.
    slow: bool


@dataclass(frozen=True)
class JudgedCommitment:
    """The verdict on a commitment for one of its cells."""

    #: Place in the contract, from 1.
    number: int
    #: Name in the contract.
    name: str
    #: Name of the cell; the commitment's pattern if nothing was measured.
    cell: str
    #: Metric of the value.
    metric: str
    #: Unit of the values (SI base unit).
    unit: str
    #: Whether more or less is better.
    better: Literal["more", "less"]
    #: Whether it is about the system or about nodes.
    per: Per
    #: Share of nodes that must meet it.
    share: float
    #: The promise in words.
    promise: str
    #: Promised value in ``unit``, the middle of a range.
    promised: float | None
    #: Lower end of the promised range; None without one.
    low: float | None
    #: Upper end of the promised range; None without one.
    high: float | None
    #: Share of the value by which a result must be worse to count as worse.
    margin: float
    #: Verdict on this cell.
    outcome: Outcome
    #: Median of the launches used; per node, the median of the nodes' medians.
    value: float | None
    #: 95% interval of ``value``; None without one.
    ci95: Interval | None
    #: Lower end of the interval of the decision; None where launches don't bound it.
    decided_low: float | None
    #: Upper end of the interval of the decision; None where launches don't bound it.
    decided_high: float | None
    #: Number of launches measured.
    launches: int
    #: Number of launches used for the decision.
    used: int
    #: Effective number of independent launches among them.
    worth: float
    #: Whether strong dependence of the launches was assumed because it could not be excluded.
    assumed: bool
    #: Number of launches that would probably decide it; None if decided or unknown.
    needed: int | None
    #: The decision about nodes; None for the system.
    nodes: NodeDecision | None
    #: Smallest and greatest median of a node; None for the system.
    node_range: Interval | None
    #: What the verdict rests on, as a sentence.
    reason: str
    #: What would decide it, as a sentence; empty if decided.
    remedy: str
    #: Share by which the result is worse than promised; 0 if it isn't, None without a result.
    shortfall: float | None
    #: Weight in the score.
    weight: float
    #: SSI's c times n_ref ÷ n, by which the score multiplies the speedup.
    factor: float
    #: How many times better than the reference.
    speedup: float | None
    #: 95% interval of ``speedup``.
    speedup_ci95: Interval | None
    #: Penalty that is due.
    penalty: Amount
    #: Bonus that is due.
    bonus: Amount
    #: Value of the reference system in ``unit``; None without a result.
    reference: float | None
    #: Median of each launch in order of time, in ``unit``; empty per node.
    series: list[float]
    #: The nodes' medians, from the lowest to the highest; empty for the system.
    node_medians: list[NodeMedian]
    #: Names of the runs, or groups of runs, that measured the cell.
    runs: list[str]
    #: Name of the toolchain; empty without a result.
    toolchain: str
    #: Time of the first and the last launch, Unix time (s); None without a result.
    measured: Interval | None


@dataclass(frozen=True)
class JudgedVariation:
    """The verdict on a promise that launches or days of a cell vary little."""

    #: Place among the promises of steadiness, from 1.
    number: int
    #: Name in the contract.
    name: str
    #: Name of the cell; the promise's pattern if nothing was measured.
    cell: str
    #: Metric of the values.
    metric: str
    #: Unit of the values (SI base unit).
    unit: str
    #: What is compared: launches, or medians of days.
    between: VariationBetween
    #: Greatest coefficient of variation as promised.
    at_most: float
    #: Share of ``at_most`` by which the variation must be greater to count as worse.
    margin: float
    #: Verdict on this cell.
    outcome: Outcome
    #: Coefficient of variation; None without a result.
    value: float | None
    #: Lower limit at the supplier's risk; None if the values don't bound the variation.
    decided_low: float | None
    #: Upper limit at the buyer's risk; None if the values don't bound the variation.
    decided_high: float | None
    #: Number of launches or days, and their effective number for a variation.
    used: int
    #: Effective number of independent values for a variation.
    worth: float
    #: Whether strong dependence of the values was assumed because it could not be excluded.
    assumed: bool
    #: What the verdict rests on, as a sentence.
    reason: str
    #: What would decide it, as a sentence; empty if decided.
    remedy: str
    #: Launches or medians of days in order of time, in ``unit``.
    series: list[float]
    #: Names of the runs that measured the cell.
    runs: list[str]
    #: Name of the toolchain; empty without a result.
    toolchain: str
    #: Time of the first and the last launch, Unix time (s); None without a result.
    measured: Interval | None


@dataclass(frozen=True)
class JudgedAvailability:
    """The verdict on a promise that nodes are available."""

    #: Place among the promises of steadiness, from 1.
    number: int
    #: Name in the contract.
    name: str
    #: Availability as promised.
    at_least: float
    #: Begin of the period, Unix time (s).
    begin: float
    #: Number of days of the period.
    period_days: int
    #: Whether planned maintenance counts neither as available nor as promised.
    planned_excluded: bool
    #: Verdict on this promise.
    outcome: Outcome
    #: Availability of the time that has passed; None without a log, or before the period.
    value: float | None
    #: Availability of the whole period if the rest of it becomes unavailable.
    low: float | None
    #: Availability of the whole period if the rest of it becomes available.
    high: float | None
    #: Node hours of the period that count.
    period_hours: float
    #: Node hours that count and have passed.
    passed_hours: float
    #: Node hours that were not available.
    down_hours: float
    #: Node hours of planned maintenance that don't count.
    planned_hours: float
    #: Number of nodes that were not available at some time.
    nodes_down: int
    #: Names of nodes in the log that are not the contract's, and don't count.
    strangers: list[str]
    #: The files of outages, by name.
    sources: list[str]
    #: What the verdict rests on, as a sentence.
    reason: str
    #: What would decide it, as a sentence; empty if decided.
    remedy: str
    #: Share by which it is less than promised; 0 if it isn't, None without a result.
    shortfall: float | None
    #: Penalty that is due.
    penalty: Amount
    #: Availability of each day that has begun.
    days: list[DayAvailability]


@dataclass(frozen=True)
class JudgedScore:
    """The verdict on a promised score."""

    #: Score as promised.
    at_least: float
    #: Share of the score by which it must be worse to count as worse.
    margin: float
    #: Verdict on the score.
    outcome: Outcome
    #: Lower limit at the buyer's risk; None if a commitment's launches don't bound it.
    decided_low: float | None
    #: Upper limit at the supplier's risk; None if a commitment's launches don't bound it.
    decided_high: float | None
    #: What the verdict rests on, as a sentence.
    reason: str
    #: What would decide it, as a sentence; empty if decided.
    remedy: str
    #: Share by which the score is less than promised; 0 if it isn't, None without a score.
    shortfall: float | None
    #: Penalty that is due.
    penalty: Amount


Promised = JudgedCommitment | JudgedVariation | JudgedAvailability | JudgedScore


@dataclass(frozen=True)
class AcceptanceFindings:
    """An acceptance."""

    #: Version of these findings.
    schema: int
    #: Time of the judgement, Unix time (s).
    utc: float
    #: Title of the contract.
    title: str
    #: File of the contract.
    file: str
    #: SHA-256 of the contract's text.
    digest: str
    #: Verdict on the contract.
    outcome: Outcome
    #: The supplier's risk.
    supplier: float
    #: The buyer's risk.
    buyer: float
    #: Maximum number of launches of a cell.
    most_launches: int
    #: Number of nodes of the machine; None if the contract doesn't state it.
    nodes: int | None
    #: The commitments, each for every cell that it selects.
    commitments: list[JudgedCommitment]
    #: How the score is formed; None if the contract has none. ``score``: None if a commitment has
    #: no result. ``score_ci95``: its 95% interval.
    mean: Literal["geometric", "sum"] | None
    #: The score; None if there is none.
    score: float | None
    #: 95% interval of the score.
    score_ci95: Interval | None
    #: SSI's N ÷ N_ref, by which the score is multiplied; 1 if not stated.
    scale: float
    #: Maximum of all penalties; None without one.
    penalty_cap: float | None
    #: Maximum of all bonuses; None without one.
    bonus_cap: float | None
    #: Currency; empty without penalties. ``penalty``, ``bonus``: sums with the contract's caps.
    currency: str
    #: Sum of the penalties, with the cap.
    penalty: Amount
    #: Sum of the bonuses, with their cap.
    bonus: Amount
    #: The runs that were judged.
    runs: list[JudgedRun]
    #: Promises that launches or days vary little.
    variations: list[JudgedVariation]
    #: Promises that nodes are available.
    availabilities: list[JudgedAvailability]
    #: The promised score; None if none is promised.
    promised_score: JudgedScore | None
    #: The runs of the machine that measured a cell of the contract, in the judged runs' stores.
    attempts: list[Attempt] = field(default_factory=list)
    #: Runs that are missing in these stores, and files that changed in them, as sentences.
    gaps: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[Outcome, int]:
        """The number of promises with each outcome, without those that no promise has."""
        outcomes = [each.outcome for each in self.promises]
        return {each: outcomes.count(each) for each in OUTCOMES if each in outcomes}

    def of(self, outcome: Outcome) -> Sequence[JudgedCommitment]:
        """The commitments with this outcome."""
        return [each for each in self.commitments if each.outcome == outcome]

    @property
    def promises(self) -> list[Promised]:
        """Everything that has a verdict, in the contract's order."""
        score = [] if self.promised_score is None else [self.promised_score]
        return [*self.commitments, *score, *self.availabilities, *self.variations]
