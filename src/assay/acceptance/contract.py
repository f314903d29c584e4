"""Contracts: what is promised of a machine, and who bears which risk (docs/formats/contract.md)."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.units import format_quantity, parse_quantity

CONTRACT_SCHEMA = 1
# With fewer launches, no count of launches decides at 5%.
FEWEST_LAUNCHES, MOST_LAUNCHES = 6, 1000

Per = Literal["system", "node"]
Mean = Literal["geometric", "sum"]
Quantity = float | str
VariationBetween = Literal["launches", "days"]
PlannedMaintenance = Literal["counted", "excluded"]


class WrittenRisks(msgspec.Struct, frozen=True):
    """``[risks]`` as written."""

    supplier: Quantity = "5%"
    buyer: Quantity = "5%"
    margin: Quantity = "2%"
    launches: int = 30


class WrittenMachine(msgspec.Struct, frozen=True):
    """``[machine]`` as written."""

    nodes: int | None = None
    hosts: str | None = None


class WrittenScore(msgspec.Struct, frozen=True):
    """``[score]`` as written."""

    mean: Mean = "geometric"
    nodes: int | None = None
    reference_nodes: int | None = None
    at_least: float | None = None
    margin: Quantity | None = None
    penalty: float | None = None
    penalty_cap: float | None = None


class WrittenPenalties(msgspec.Struct, frozen=True):
    """``[penalties]`` as written."""

    currency: str
    cap: float | None = None
    bonus_cap: float | None = None


class WrittenCommitment(msgspec.Struct, frozen=True):
    """``[[commitment]]`` as written."""

    cells: str
    name: str = ""
    metric: str | None = None
    at_least: Quantity | None = None
    at_most: Quantity | None = None
    within: tuple[Quantity, ...] | None = None
    per: Per = "system"
    share: Quantity | None = None
    margin: Quantity | None = None
    weight: float = 1.0
    reference: Quantity | None = None
    capability: float = 1.0
    nodes_used: int | None = None
    reference_nodes_used: int | None = None
    penalty: float | None = None
    penalty_cap: float | None = None
    bonus: float | None = None
    bonus_cap: float | None = None
    variation: Quantity | None = None


class WrittenSteadiness(msgspec.Struct, frozen=True):
    """``[[steadiness]]`` as written."""

    name: str = ""
    availability: Quantity | None = None
    #: A day of TOML, or its text.
    begin: object = None
    days: int | None = None
    planned: PlannedMaintenance | None = None
    penalty: float | None = None
    penalty_cap: float | None = None
    cells: str | None = None
    metric: str | None = None
    variation_at_most: Quantity | None = None
    between: VariationBetween | None = None
    margin: Quantity | None = None


class WrittenContract(msgspec.Struct, frozen=True):
    """A contract's file as written."""

    schema: int
    title: str
    risks: WrittenRisks = WrittenRisks()
    machine: WrittenMachine = WrittenMachine()
    score: WrittenScore | None = None
    penalties: WrittenPenalties | None = None
    commitment: tuple[WrittenCommitment, ...] = ()
    steadiness: tuple[WrittenSteadiness, ...] = ()


@dataclass(frozen=True)
class Risks:
    """The risks of a decision."""

    #: Probability that any commitment of a conforming machine is rejected.
    supplier: float
    #: Probability that a commitment is accepted although the machine is worse by the margin.
    buyer: float
    #: Maximum number of launches of a cell.
    launches: int


@dataclass(frozen=True)
class Payment:
    """An amount per per cent, and its maximum; None without one."""

    per_cent: float
    cap: float | None


@dataclass(frozen=True)
class ScorePromise:
    """A score that is promised."""

    at_least: float
    #: Share of the score by which it must be worse to count as worse.
    margin: float
    penalty: Payment | None


@dataclass(frozen=True)
class PromisedRange:
    """The promised range in the metric's unit; an end without a promise is None."""

    low: float | None
    high: float | None

    @property
    def value(self) -> float:
        """The promised value; the middle of a range."""
        if self.low is not None and self.high is not None:
            return (self.low + self.high) / 2.0
        promised = self.low if self.low is not None else self.high
        assert promised is not None
        return promised

    def text(self, unit: str) -> str:
        """The promise in words, such as "at least 180 GB/s"."""
        if self.low is not None and self.high is not None:
            return f"from {format_quantity(self.low, unit)} to {format_quantity(self.high, unit)}"
        word = "at least" if self.low is not None else "at most"
        return f"{word} {format_quantity(self.value, unit)}"


@dataclass(frozen=True)
class Commitment:
    """A promise about each cell that a pattern selects."""

    #: Place in the contract, from 1, and its name.
    number: int
    name: str
    #: Pattern of the cells, as in ``[[expect]]``.
    cells: str
    #: Metric; None for the kernel's headline metric.
    metric: str | None
    #: The promise as written.
    at_least: Quantity | None
    at_most: Quantity | None
    within: tuple[Quantity, ...] | None
    per: Per
    #: Share of the nodes that must meet it.
    share: float
    #: Share of the value by which a result must be worse to count as worse.
    margin: float
    weight: float
    #: Value of the reference system; None if the promised value is the reference.
    reference: Quantity | None
    #: ``capability`` is SSI's c; ``utilisation`` its n_ref ÷ n.
    capability: float
    utilisation: float
    #: Nodes that its cells use; None if not stated.
    nodes_used: int | None
    penalty: Payment | None
    bonus: Payment | None
    #: Assumed coefficient of variation of launches, for a plan; None if not stated.
    variation: float | None
    #: File and line.
    where: str

    def limits(self, unit: str) -> PromisedRange:
        """The promised range in ``unit``. Raises AssayError for a value in another unit, one that
        is not above zero, and a range whose ends are in the wrong order."""
        if self.within is not None:
            low, high = (self._quantity(each, unit) for each in self.within)
            if not low < high:
                raise AssayError(
                    f"'within' can't be from {self.within[0]} to {self.within[1]}.",
                    where=self.where,
                    fix="Write the smaller end first.",
                )
            return PromisedRange(low, high)
        if self.at_least is not None:
            return PromisedRange(self._quantity(self.at_least, unit), None)
        assert self.at_most is not None
        return PromisedRange(None, self._quantity(self.at_most, unit))

    def reference_value(self, unit: str) -> float:
        """The value of the reference system, or else the promised value, in ``unit``."""
        if self.reference is None:
            return self.limits(unit).value
        return self._quantity(self.reference, unit)

    def check_direction(self, metric: str, better: Literal["more", "less"]) -> None:
        """Raise AssayError if the promise bounds a metric on its better side only."""
        wrong = "at_most" if better == "more" else "at_least"
        if getattr(self, wrong) is None:
            return
        right = "at_least" if better == "more" else "at_most"
        raise AssayError(
            f"'{wrong}' promises a limit on {metric}, of which {better} is better.",
            where=self.where,
            fix=f"Write {right}, or 'within' for a range.",
        )

    def _quantity(self, written: Quantity, unit: str) -> float:
        value = float(parse_quantity(written, unit, where=self.where))
        if not value > 0.0:
            raise AssayError(
                f"A value can't be {written}.", where=self.where, fix="Write a quantity above zero."
            )
        return value


@dataclass(frozen=True)
class VariationPromise:
    """A promise that the launches of each selected cell, or its days, vary little."""

    #: Place among the promises of steadiness, from 1, and its name.
    number: int
    name: str
    #: Pattern of the cells, as in ``[[expect]]``, and metric; None for the headline metric.
    cells: str
    metric: str | None
    #: Greatest coefficient of variation.
    at_most: float
    between: VariationBetween
    #: Share of ``at_most`` by which the variation must be greater to count as worse.
    margin: float
    #: File and line.
    where: str
    per: Per = "system"


@dataclass(frozen=True)
class AvailabilityPromise:
    """A promise that the nodes are available for a share of the node hours of a period."""

    #: Place among the promises of steadiness, from 1, and its name.
    number: int
    name: str
    at_least: float
    #: First day, and number of days.
    begin: datetime.date
    days: int
    #: Whether node hours of planned maintenance count as neither available nor promised.
    planned_excluded: bool
    penalty: Payment | None
    #: File and line.
    where: str


@dataclass(frozen=True)
class Contract:
    """A contract without contradictions."""

    #: ``file``: its path as given. ``digest``: SHA-256 of its text.
    title: str
    file: str
    digest: str
    #: Its text.
    text: str
    risks: Risks
    #: Number of nodes of the machine, and their names; None and empty if not stated.
    nodes: int | None
    hosts: tuple[str, ...]
    #: How the score is formed, and N ÷ N_ref of SSI; None without a score.
    mean: Mean | None
    scale: float
    #: Currency of penalties and bonuses; empty without any. ``cap``, ``bonus_cap``: maximum of all
    #: penalties, and of all bonuses.
    currency: str
    cap: float | None
    bonus_cap: float | None
    commitments: tuple[Commitment, ...]
    #: The promised score; None if the contract promises none.
    promised_score: ScorePromise | None = None
    #: Promises of availability, and of little variation.
    availabilities: tuple[AvailabilityPromise, ...] = ()
    variations: tuple[VariationPromise, ...] = ()
