"""A stated rate compared with the rate found in trials with planted parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.stats.core.proportions import clopper_pearson

Kind = Literal["detection", "false alarm", "coverage"]
Verdict = Literal["met", "within chance", "missed"]


@dataclass(frozen=True)
class Rate:
    """One line of the table.

    ``what`` is stated to occur in a share ``stated`` of the trials: at least, or, for a false
    alarm, at most. ``planted``: the planted parameters of the trials. ``found`` counts the trials,
    out of ``of``, in which it did.
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
        """``within chance``: on the wrong side, but the 99.9% interval contains the stated rate.

        With more than a hundred rates, some 95% intervals miss the true rate.
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
