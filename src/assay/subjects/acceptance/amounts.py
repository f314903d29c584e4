"""What is due by a verdict, and sums of amounts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.acceptance.contract import Payment
from assay.acceptance.decision import Outcome
from assay.acceptance.score import capped, payment
from assay.subjects.acceptance.model import Amount
from assay.units import Interval

NOTHING_DUE = Amount(0.0, (0.0, 0.0))


def amount_due(
    paid: Payment | None,
    outcome: Outcome,
    due: Outcome,
    share: float | None,
    ends: Interval | None,
) -> Amount:
    """What is due: something only if the outcome is ``due``; for an undecided commitment perhaps.

    A bonus is due only for what the whole interval exceeds the promise by, so that noise earns
    none.
    """
    if paid is None or outcome not in (due, "undecided"):
        return NOTHING_DUE
    if share is None:
        return Amount(0.0, None)
    if due == "accepted":
        sure = payment(paid, ends[0]) if ends is not None else 0.0
        most = payment(paid, ends[1]) if ends is not None else None
        value = sure if outcome == due else 0.0
        return Amount(value, None if most is None else (value, most))
    if ends is None:
        return Amount(payment(paid, share) if outcome == due else 0.0, None)
    low, high = (payment(paid, each) for each in ends)
    return Amount(payment(paid, share), (low, high)) if outcome == due else Amount(0.0, (0.0, high))


def sum_of(amounts: Sequence[Amount], cap: float | None) -> Amount:
    """The sum with its range, both at most ``cap``."""
    value = capped(math.fsum(each.value for each in amounts), cap)
    if any(each.interval is None for each in amounts):
        return Amount(value, None)
    low, high = (
        capped(math.fsum(each.interval[end] for each in amounts if each.interval), cap)
        for end in (0, 1)
    )
    return Amount(value, (low, high))
