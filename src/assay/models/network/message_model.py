"""The model of message times: lines of time against size, and their consequences."""

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
    """Ping-pong over sizes. ``bytes`` ascend."""

    bytes: Floats
    #: Medians of half round trips, s; positive.
    seconds: Floats
    #: Relative standard error of each size; None if unknown.
    scatter: Floats | None = None
    #: Seconds by launch (rows) and size (columns), NaN if a launch did not measure the size. None
    #: if only medians are known, as for published curves.
    launches: Floats | None = None


@dataclass(frozen=True)
class ParameterEstimate:
    """A parameter with its 95% interval (None with fewer than six launches)."""

    #: Value in the parameter's unit.
    value: float
    #: 95% interval. Its ends are positive for times, gaps, bandwidths and sizes; a step of time has
    #: a sign.
    ci95: Interval | None


@dataclass(frozen=True)
class Piece:
    """One line: from size ``first`` to ``last`` (bytes).

    Latency and gap are None if they are not determined: the line's value is not positive, or its
    interval spans more than a factor of ten. ``intercept`` (s) and ``slope`` (s/B): the line
    itself. Far from 0 B the intercept is not a latency and may be negative.
    """

    #: Smallest message of the line, bytes.
    first: int
    #: Largest message of the line, bytes.
    last: int
    #: L + 2o (s).
    latency: ParameterEstimate | None
    #: G (s/B).
    gap: ParameterEstimate | None
    #: Number of sizes that the line is fitted to.
    points: int
    #: Intercept of the line, s. Far from 0 B it is not a latency and may be negative.
    intercept: float
    #: Slope of the line, s/B.
    slope: float

    @property
    def rate(self) -> ParameterEstimate | None:
        """1/G in B/s; None if G is not determined."""
        if self.gap is None:
            return None
        ends = self.gap.ci95
        return ParameterEstimate(1 / self.gap.value, (1 / ends[1], 1 / ends[0]) if ends else None)

    def seconds(self, bytes_: float) -> float:
        """The line's time for a size."""
        return self.intercept + self.slope * bytes_


@dataclass(frozen=True)
class ProtocolChange:
    """A change from one line to the next, above ``below`` bytes and at or below ``at``."""

    #: The change lies above this size, bytes.
    below: int
    #: The change lies at or below this size, bytes.
    at: int
    #: ``surely_after``, ``latest``: the range that the fit allows. The change lies above the former
    #: and at or below the latter.
    surely_after: int
    latest: int
    #: Jump of the time in s (negative: down), the smallest between ``below`` and ``at``.
    step: ParameterEstimate
    #: Jump relative to the time by the previous line, always above -1; 0 if a line has no positive
    #: time there, so that the step is not determined.
    share: float

    @property
    def place(self) -> ParameterEstimate:
        """First size of the new line in bytes, and the sizes between which the line begins."""
        return ParameterEstimate(float(self.at), (float(self.surely_after), float(self.latest)))

    @property
    def protocol(self) -> bool:
        """Whether the time jumps, rather than only the slope changing (as at the end of a cache).

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
    #: Changes from one line to the next.
    changes: tuple[ProtocolChange, ...]
    #: Message sizes at which the bandwidth falls and no change of protocol explains it.
    dips: tuple[Dip, ...]
    #: Asymptotic bandwidth r∞ = 1/G of the last piece, B/s.
    bandwidth: ParameterEstimate | None
    #: The smallest size that reaches half of it (B): Hockney's n½, which for a single line is
    #: latency/G. Each of them is None if it is not determined (its interval spans more than a
    #: factor of ten).
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
