"""The model of message times: lines of time against size, with what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.arrays import Floats
from assay.models.network.dips import Dip
from assay.models.network.minimum import DETERMINED
from assay.units import Interval

# A change with a step of at least this share of the time is a change of protocol.
MIN_STEP = 0.05


@dataclass(frozen=True)
class Sweep:
    """Ping-pong over sizes. ``bytes`` ascend;"""

    bytes: Floats
    #: Median half round trips, positive.
    seconds: Floats
    #: Relative standard error of each, or None where unknown.
    scatter: Floats | None = None
    #: Seconds by launch (rows) and size (columns), NaN where a launch did not measure it; None
    #: where only medians are known, as of published curves.
    launches: Floats | None = None


@dataclass(frozen=True)
class ParameterEstimate:
    """A parameter with its 95% interval; None with fewer than six launches.

    ``value`` in the parameter's unit;
    """

    #: In the parameter's unit.
    value: float
    #: Its 95% interval. Both are positive for times, gaps, bandwidths and sizes; a step of time has
    #: a sign.
    ci95: Interval | None


@dataclass(frozen=True)
class Piece:
    """One line: from size ``first`` to ``last`` (bytes).

    Both are None where not determined: the line's value is not positive, or its interval spans more
    than a factor of ten. ``intercept`` (s) and ``slope`` (s/B): the line itself. Far from 0 B the
    intercept is no latency, and may be negative.
    """

    #: Smallest message of the line, bytes.
    first: int
    #: Largest message of the line, bytes.
    last: int
    #: L + 2o (s).
    latency: ParameterEstimate | None
    #: G (s/B).
    gap: ParameterEstimate | None
    #: Sizes it was fitted to.
    points: int
    #: s. Far from 0 B the intercept is not a latency and may be negative.
    intercept: float
    #: s/B.
    slope: float

    @property
    def rate(self) -> ParameterEstimate | None:
        """1/G in B/s; None where G is not determined."""
        if self.gap is None:
            return None
        ends = self.gap.ci95
        return ParameterEstimate(1 / self.gap.value, (1 / ends[1], 1 / ends[0]) if ends else None)

    def seconds(self, bytes_: float) -> float:
        """The line's time for a size."""
        return self.intercept + self.slope * bytes_


@dataclass(frozen=True)
class ProtocolChange:
    """Where one line ends and another begins: above ``below`` bytes and at most at ``at``."""

    #: The change lies above this size, bytes.
    below: int
    #: The change lies at or below this size, bytes.
    at: int
    #: ``surely_after``, ``latest``: the range that the fit allows: above the former and at most at
    #: the latter.
    surely_after: int
    latest: int
    #: Seconds by which the time jumps (negative: down), the smallest between ``below`` and ``at``.
    step: ParameterEstimate
    #: Of the time by the line before, always above -1; 0 where a line has no positive time there,
    #: so that the step is not determined.
    share: float

    @property
    def place(self) -> ParameterEstimate:
        """The first size of the new line in bytes, and between which sizes it begins."""
        return ParameterEstimate(float(self.at), (float(self.surely_after), float(self.latest)))

    @property
    def protocol(self) -> bool:
        """Whether the time jumps, unlike at a change of slope alone (the end of a cache).

        It jumps up where rendezvous begins, or down if an earlier switch would have been faster.
        The step's interval excludes 0, and its place is known to within a factor of ten.
        """
        certain = self.step.ci95 is None or not self.step.ci95[0] <= 0 <= self.step.ci95[1]
        placed = self.latest <= DETERMINED * max(self.surely_after, 1)
        return certain and placed and abs(self.share) >= MIN_STEP


@dataclass(frozen=True)
class LogGP:
    """The model of a sweep."""

    #: The straight lines, by message size.
    pieces: tuple[Piece, ...]
    #: Where one follows another.
    changes: tuple[ProtocolChange, ...]
    #: Message sizes at which the bandwidth falls and no change of protocol explains it.
    dips: tuple[Dip, ...]
    #: Asymptotic r∞ = 1/G of the last piece (B/s).
    bandwidth: ParameterEstimate | None
    #: The smallest size that reaches half of it (B): Hockney's n½, which for a single line is
    #: latency/G. Either is None where it is not determined (its interval spans more than a factor
    #: of ten).
    half_size: ParameterEstimate | None
    #: Root mean square of the relative residuals.
    misfit: float
    #: Sizes that no line fits (slower or faster than their neighbours).
    left_out: tuple[int, ...] = field(default=())

    def seconds(self, bytes_: float) -> float:
        """The modelled time of half a round trip."""
        return next(
            (piece for piece in reversed(self.pieces) if bytes_ >= piece.first), self.pieces[0]
        ).seconds(bytes_)

    @property
    def threshold(self) -> ProtocolChange | None:
        """The change of protocol with the greatest step: most likely eager to rendezvous."""
        changes = [change for change in self.changes if change.protocol]
        return max(changes, key=lambda change: abs(change.share), default=None)
