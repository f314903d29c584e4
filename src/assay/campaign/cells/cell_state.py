"""Progress of each cell of a running campaign, and of all of them together."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.campaign.cells.budget_shares import SPARE
from assay.model.cell import Cell
from assay.model.placement import Value


@dataclass
class CellState:
    """State of one cell: its launches' values by replicate, and its last measurement."""

    cell: Cell
    search: bool = False
    values: dict[int, float] = field(default_factory=dict)
    #: Seconds of the last measurement.
    wall: float | None = None
    #: The part spent on samples; the rest is set-up and verification.
    sampling: float = 0.0
    #: Seconds per sample, expected before the first is taken.
    sample: float = 0.0
    #: It reached its precision or number of samples before its time was up.
    precise_enough: bool = False
    #: It took the requested samples, fewer than the plan's maximum.
    short: bool = False
    failure: str | None = None
    satisfied: bool = False
    #: It can't be measured now: there are too few hosts, or signals ended its launches before they
    #: began (``lost`` says why).
    left_out: bool = False
    lost: str | None = None
    #: It is a candidate of a search and not requested now.
    idle: bool = False
    #: The block in which it failed, if known.
    failed_in: int | None = None
    #: Why its kernel did not begin a sample; it isn't tried again.
    too_long: str | None = None
    #: Results of a search.
    facts: dict[str, Value] = field(default_factory=dict)
    _lowest: int = 0

    @property
    def pending(self) -> bool:
        """Whether it is to be measured again if there is time."""
        possible = self.failure is None and self.too_long is None and not self.left_out
        return possible and not self.satisfied and not self.idle

    @property
    def missing(self) -> int:
        """The lowest replicate without a value."""
        while self._lowest in self.values:
            self._lowest += 1
        return self._lowest

    @property
    def overhead(self) -> float:
        """Seconds of the last measurement that were not spent on samples."""
        return max((self.wall or 0.0) - self.sampling, 0.0)

    @property
    def least(self) -> float:
        """Minimum seconds of a measurement: one sample is always taken."""
        return self.overhead + self.sample

    def expected(self, budget: float) -> float:
        """Expected seconds of a measurement that is granted ``budget``."""
        most = max(budget, self.least)
        return min(most, SPARE * (self.wall or 0.0)) if self.precise_enough else most
