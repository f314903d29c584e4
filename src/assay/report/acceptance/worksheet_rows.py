"""The rows of a filled-in worksheet: one for each promise and cell."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay.subjects.acceptance.answer import label_of
from assay.subjects.acceptance.model import (
    AcceptanceFindings,
    Amount,
    JudgedAvailability,
    JudgedCommitment,
    JudgedVariation,
    Promised,
)
from assay.subjects.acceptance.tables import bonus_of
from assay.units import Interval

Value = str | float | int | None


@dataclass(frozen=True)
class WorksheetRow:
    """A promise about a cell. Values are in ``unit``; shares are numbers such as 0.02."""

    number: int
    kind: str
    name: str
    cell: str
    metric: str
    unit: str
    better: str
    promise: str
    promised_low: float | None
    promised_high: float | None
    measured: float | None
    ci95_low: float | None
    ci95_high: float | None
    decision_low: float | None
    decision_high: float | None
    margin: float | None
    verdict: str
    launches: int | None
    used: int | None
    reference: float | None
    #: Weight of this cell in the score, and its factor c (n_ref ÷ n); empty outside the score.
    weight: float | None
    factor: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    worse_by: float | None
    penalty: float | None
    penalty_low: float | None
    penalty_high: float | None
    bonus: float | None
    bonus_low: float | None
    bonus_high: float | None


COLUMNS: tuple[str, ...] = tuple(WorksheetRow.__dataclass_fields__)


def rows_of(found: AcceptanceFindings) -> list[WorksheetRow]:
    """The rows in the contract's order."""
    cells = Counter(each.number for each in found.commitments)
    return [_row(number, each, found, cells) for number, each in enumerate(found.promises, 1)]


def _row(
    number: int, each: Promised, found: AcceptanceFindings, cells: Counter[int]
) -> WorksheetRow:
    common = _Common(number, label_of(each, found), each, found)
    if isinstance(each, JudgedCommitment):
        scored = found.mean is not None
        return common.row(
            kind="commitment",
            cell=each.cell,
            metric=each.metric,
            unit=each.unit,
            better=each.better if each.unit else "",
            promise=each.promise,
            promised=(each.low, each.high),
            measured=each.value,
            ci95=each.ci95,
            decision=(each.decided_low, each.decided_high),
            margin=each.margin,
            launches=each.launches,
            used=each.used,
            reference=each.reference,
            weight=each.weight / cells[each.number] if scored else None,
            factor=each.factor if scored else None,
            speedup=each.speedup,
            speedup_ci95=each.speedup_ci95,
        )
    if isinstance(each, JudgedVariation):
        return common.row(
            kind="variation",
            cell=each.cell,
            metric=f"variation of {each.metric}" if each.metric else "variation",
            better="less",
            promise=f"at most {each.at_most:g} between {each.between}",
            promised=(None, each.at_most),
            measured=each.value,
            decision=(each.decided_low, each.decided_high),
            margin=each.margin,
            launches=each.used,
            used=each.used,
        )
    if isinstance(each, JudgedAvailability):
        return common.row(
            kind="availability",
            metric="available node hours ÷ node hours",
            better="more",
            promise=f"at least {each.at_least:g} on {each.period_days} days",
            promised=(each.at_least, None),
            measured=each.value,
            decision=(each.low, each.high),
        )
    return common.row(
        kind="score",
        metric="score",
        better="more",
        promise=f"at least {each.at_least:g}",
        promised=(each.at_least, None),
        measured=found.score,
        ci95=found.score_ci95,
        decision=(each.decided_low, each.decided_high),
        margin=each.margin,
    )


@dataclass(frozen=True)
class _Common:
    """What all kinds of promises have."""

    number: int
    name: str
    each: Promised
    found: AcceptanceFindings

    def row(
        self,
        *,
        kind: str,
        metric: str,
        better: str,
        promise: str,
        promised: tuple[float | None, float | None],
        measured: float | None,
        decision: tuple[float | None, float | None],
        cell: str = "",
        unit: str = "",
        ci95: Interval | None = None,
        margin: float | None = None,
        launches: int | None = None,
        used: int | None = None,
        reference: float | None = None,
        weight: float | None = None,
        factor: float | None = None,
        speedup: float | None = None,
        speedup_ci95: Interval | None = None,
    ) -> WorksheetRow:
        """The row, with the amounts of the promise."""
        each, paid = self.each, bool(self.found.currency)
        penalty = None if isinstance(each, JudgedVariation) or not paid else each.penalty
        bonus = bonus_of(each) if paid and isinstance(each, JudgedCommitment) else None
        return WorksheetRow(
            number=self.number,
            kind=kind,
            name=self.name,
            cell=cell,
            metric=metric,
            unit=unit,
            better=better,
            promise=promise,
            promised_low=promised[0],
            promised_high=promised[1],
            measured=measured,
            ci95_low=_end(ci95, 0),
            ci95_high=_end(ci95, 1),
            decision_low=decision[0],
            decision_high=decision[1],
            margin=margin,
            verdict=each.outcome,
            launches=launches,
            used=used,
            reference=reference,
            weight=weight,
            factor=factor,
            speedup=speedup,
            speedup_low=_end(speedup_ci95, 0),
            speedup_high=_end(speedup_ci95, 1),
            worse_by=None if isinstance(each, JudgedVariation) else each.shortfall,
            penalty=_value(penalty),
            penalty_low=_end(None if penalty is None else penalty.interval, 0),
            penalty_high=_end(None if penalty is None else penalty.interval, 1),
            bonus=_value(bonus),
            bonus_low=_end(None if bonus is None else bonus.interval, 0),
            bonus_high=_end(None if bonus is None else bonus.interval, 1),
        )


def _value(amount: Amount | None) -> float | None:
    return None if amount is None else amount.value


def _end(interval: Interval | None, end: int) -> float | None:
    return None if interval is None else interval[end]


@dataclass(frozen=True)
class Total:
    """A line below the rows: its name, value and 95% interval or range."""

    name: str
    value: Value
    low: float | None = None
    high: float | None = None


def totals_of(found: AcceptanceFindings) -> list[Total]:
    """The verdict, the score, and the sums of penalties and bonuses."""
    totals = [Total("verdict", found.outcome)]
    if found.mean is not None:
        low, high = (_end(found.score_ci95, end) for end in (0, 1))
        totals.append(Total("score", found.score, low, high))
    if found.currency:
        for name, amount in (("penalty", found.penalty), ("bonus", found.bonus)):
            low, high = (_end(amount.interval, end) for end in (0, 1))
            totals.append(Total(f"{name} ({found.currency})", amount.value, low, high))
    return totals
