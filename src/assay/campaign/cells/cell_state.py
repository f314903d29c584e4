"""The progress of each cell of a running campaign, and of all cells together."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.campaign.cells.budget_shares import SPARE
from assay.model.cell import Cell
from assay.model.placement import Value


@dataclass
class CellState:
    """The state of a cell: its launches' values by replicate, and its last measurement."""

    cell: Cell
    search: bool = False
    values: dict[int, float] = field(default_factory=dict)
    #: Duration of the last measurement, s.
    wall: float | None = None
    #: Time of the last measurement spent on samples, s; the rest is set-up and verification.
    sampling: float = 0.0
    #: Time per sample, s; expected before the first sample.
    sample: float = 0.0
    #: Whether it reached its precision or number of samples before its time ended.
    precise_enough: bool = False
    #: Whether it took all requested samples, fewer than the plan's maximum.
    short: bool = False
    failure: str | None = None
    satisfied: bool = False
    #: Whether it can't be measured now: there are too few hosts, or signals ended its launches
    #: before measurements (``lost`` says why).
    left_out: bool = False
    lost: str | None = None
    #: Whether it is a candidate of a search and not requested now.
    idle: bool = False
    #: Block in which it failed, if known.
    failed_in: int | None = None
    #: Reason why its kernel did not start a sample; the cell isn't tried again.
    too_long: str | None = None
    #: Facts that a search found.
    facts: dict[str, Value] = field(default_factory=dict)
    _lowest: int = 0

    @property
    def pending(self) -> bool:
        """Whether to measure the cell again if there is time."""
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
        """Seconds of the last measurement that were spent outside samples."""
        return max((self.wall or 0.0) - self.sampling, 0.0)

    @property
    def least(self) -> float:
        """Minimum seconds of a measurement, which has at least one sample."""
        return self.overhead + self.sample

    def expected(self, budget: float) -> float:
        """Expected seconds of a measurement with the share ``budget``."""
        most = max(budget, self.least)
        return min(most, SPARE * (self.wall or 0.0)) if self.precise_enough else most
