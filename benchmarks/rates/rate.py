"""A stated rate beside the rate that was found in trials with planted truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.stats.core.proportions import clopper_pearson

Kind = Literal["detection", "false alarm", "coverage"]
Verdict = Literal["met", "within chance", "missed"]


@dataclass(frozen=True)
class Rate:
    """One line of the table.

    ``what`` is stated to happen in a share ``stated`` of the trials: at least so often, or, of a
    false alarm, at most. ``planted``: the truth that the trials were made with. ``found`` counts
    the trials, ``of`` so many, in which it did.
    """

    what: str
    planted: str
    found: int
    of: int
    stated: float
    kind: Kind

    @property
    def rate(self) -> float:
        """The share of trials."""
        return self.found / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% Clopper-Pearson interval of the rate."""
        return clopper_pearson(self.found, self.of)

    @property
    def verdict(self) -> Verdict:
        """``within chance``: on the wrong side, but the 99.9% interval holds the stated rate.

        With a hundred rates and more, some 95% intervals leave out the truth.
        """
        low, high = clopper_pearson(self.found, self.of, 0.999)
        if self.kind == "false alarm":
            return _verdict(self.rate <= self.stated, low <= self.stated)
        return _verdict(self.rate >= self.stated, high >= self.stated)


def _verdict(reached: bool, possible: bool) -> Verdict:
    return "met" if reached else "within chance" if possible else "missed"


def percent(share: float) -> str:
    """A share in percent, with the digits that small ones need."""
    if 0.0 < share < 0.01 or 0.99 < share < 1.0:
        return f"{100.0 * share:.2g}%" if share < 0.5 else f"{100.0 * share:.4g}%"
    return f"{100.0 * share:.1f}%"
