"""Causes of variation: shares of each cell's variance by associated cause, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.kernels.naming import cell_labels
from assay.model.cell import Cell
from assay.questions.common.findings import INTERNAL
from assay.questions.steadiness.causes.accounting import AccountedJobs, accounting_of
from assay.questions.steadiness.causes.periodic import PeriodicCause, periodic_causes
from assay.questions.steadiness.causes.scatter import (
    CovariateScatter,
    leading_covariate,
    scatter_of,
)
from assay.questions.steadiness.noise.findings import NoiseFindings
from assay.records.model import RunData
from assay.stats.attribution.attribution import ALPHA, LEAST, Attribution, CauseShare, attribute
from assay.stats.attribution.wall_clock import WallClock, wall_clock
from assay.stats.compare.directions import LEVEL
from assay.stats.repeats.repeats import Repeats

# A cause is named if it explains at least this share of a cell's variance.
MIN_SHARE = 0.05
# Probability that a report finds a cause although there is none, divided among the cells. It names
# one with a probability below ``LEVEL``.
REPORT_ALPHA = 0.05
# Topics of an answer on steadiness that may state a direction, which share ``LEVEL``.
_TOPICS = 4
# Maximum number of cells whose cost is drawn against their leading covariate.
_SCATTERS = 3


@dataclass(frozen=True)
class CellCauses:
    """Causes of one cell's variation."""

    #: Id of the cell.
    cell: Cell
    #: Text that distinguishes the cell from the other cells of the run.
    label: str
    #: Share of the cell's variance that is associated with each cause.
    attribution: Attribution
    #: Variation by wall clock and by CPU time; None if CPU times are unknown.
    clocks: WallClock | None
    #: Greatest p of a cause that is named.
    level: float = LEVEL

    @property
    def named(self) -> list[CauseShare]:
        """The causes of at least 5% of the variance whose p is small enough, the greatest first."""
        shares = self.attribution.shares
        return [each for each in shares if each.share >= MIN_SHARE and each.p <= self.level]

    @property
    def clocks_differ(self) -> bool:
        """Whether one clock varies more than the other, with a p that is small enough."""
        clocks = self.clocks
        if clocks is None or clocks.verdict not in ("kept from running", "ran longer"):
            return False
        return clocks.p <= self.level

    @property
    def explained(self) -> float:
        """Variance of the logarithm of the cost that the named causes explain."""
        share = sum(share.share for share in self.named)
        return share * self.attribution.deviation**2


@dataclass(frozen=True)
class CauseFindings:
    """The causes of variation of all cells.

    Internal, for the figures: ``scatters``, cost against the leading covariate.
    """

    #: Cells with enough measurements.
    cells: tuple[CellCauses, ...]
    #: Number of cells with too few measurements.
    few: int
    #: Periodic interruptions in the noise traces that can add to samples' variance.
    periodic: tuple[PeriodicCause, ...]
    #: Variation of whole jobs by their scheduler's accounting; None without accounting.
    accounted: AccountedJobs | None
    #: Cost against the leading covariate, for the cells that it explains most.
    scatters: tuple[CovariateScatter, ...] = field(metadata=INTERNAL)


def find(
    repeats: Sequence[Repeats], run: RunData, noise: NoiseFindings | None = None
) -> CauseFindings | None:
    """Find the causes of variation of a run's cells; None if no cell has enough measurements.

    ``noise``: findings from the run's noise traces.
    """
    enough = [each for each in repeats if len(each) >= LEAST]
    if not enough:
        return None
    alpha = min(ALPHA, REPORT_ALPHA / len(enough))
    labels = cell_labels([each.cell for each in enough])
    found = [
        CellCauses(
            each.cell,
            labels[each.cell.id],
            attribute(each, alpha=alpha),
            wall_clock(each),
            LEVEL / _TOPICS / len(enough),
        )
        for each in enough
    ]
    pairs = list(zip(found, enough, strict=True))
    led = [
        (cell, share, results)
        for cell, results in sorted(pairs, key=lambda pair: -pair[0].explained)
        if (share := leading_covariate(cell.named)) is not None
    ]
    return CauseFindings(
        cells=tuple(found),
        few=len(repeats) - len(enough),
        periodic=tuple(
            periodic_causes([(cell.label, results) for cell, results in pairs], run, noise)
        ),
        accounted=accounting_of(run),
        scatters=tuple(
            scatter_of(cell.label, share, results) for cell, share, results in led[:_SCATTERS]
        ),
    )
