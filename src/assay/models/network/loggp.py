"""LogGP from a ping-pong: the time of a message as a piecewise linear function of its size.

Half a round trip of s bytes takes L + 2o + (s - 1) G (Culler et al. 1993; Alexandrov et al. 1995),
so the intercept of a line through times against sizes is L + 2o, with G taken as beginning at the
first byte (a difference of one G), and its slope is G, in s/B. MPI libraries change their
way of sending with the size (eager, rendezvous; Hoefler, Lichei & Rehm 2007), so L + 2o and G hold
piecewise, as in PLogP (Kielmann et al. 2000). A ping-pong alone separates neither L from o, nor
gives g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from assay.models.network.dips import Dip, dip_at, valleys
from assay.models.network.piecewise_linear import Cut, best_cut, fit_line, other_places, relative
from assay.stats.core.intervals import Interval, median_interval

Floats = npt.NDArray[np.float64]

# A change whose step is at least this share of the time is one of protocol.
MIN_STEP = 0.05
# Sizes that the search for pieces takes; powers of 2 are some 25.
MAX_SIZES = 200


@dataclass(frozen=True)
class Sweep:
    """Ping-pong over sizes. ``bytes`` ascend; ``seconds``: median half round trips, positive.

    ``scatter``: relative standard error of each, or None where unknown. ``launches``: seconds by
    launch (rows) and size (columns), NaN where a launch did not measure it; None where only
    medians are known, as of published curves.
    """

    bytes: Floats
    seconds: Floats
    scatter: Floats | None = None
    launches: Floats | None = None


@dataclass(frozen=True)
class ParameterEstimate:
    """A parameter with its 95% interval; None with fewer than six launches.

    ``value`` in the parameter's unit; ``ci95``: its 95% interval.
    """

    value: float
    ci95: Interval | None

    @property
    def positive(self) -> bool:
        """Whether the value, and all of its interval where there is one, is above 0."""
        return self.value > 0 and (self.ci95 is None or self.ci95[0] > 0)


@dataclass(frozen=True)
class Piece:
    """One line: from size ``first`` to ``last`` (bytes). ``latency``: L + 2o (s). ``gap``: G (s/B).

    ``points``: sizes it was fitted to.
    """

    first: int
    last: int
    latency: ParameterEstimate
    gap: ParameterEstimate
    points: int

    @property
    def rate(self) -> ParameterEstimate | None:
        """1/G in B/s; None where the sizes span too little for G to differ from 0."""
        if not self.gap.positive:
            return None
        ends = self.gap.ci95
        return ParameterEstimate(1 / self.gap.value, (1 / ends[1], 1 / ends[0]) if ends else None)

    @property
    def latency_resolved(self) -> bool:
        """Whether L + 2o is above 0 within its interval."""
        return self.latency.positive

    def seconds(self, bytes_: float) -> float:
        """The line's time for a size."""
        return self.latency.value + self.gap.value * bytes_


@dataclass(frozen=True)
class ProtocolChange:
    """Where a line ends and another begins: above ``below`` bytes and no later than ``at``.

    ``surely_after``, ``latest``: where else the fit allows it: above the one and no later than at
    the other. ``step``: seconds by which the time jumps (negative: down), the least of all
    places between ``below`` and ``at``; ``share``: of the time by the line before.
    """

    below: int
    at: int
    surely_after: int
    latest: int
    step: ParameterEstimate
    share: float

    @property
    def place(self) -> ParameterEstimate:
        """The first size of the new line in bytes, and between which sizes it begins."""
        return ParameterEstimate(float(self.at), (float(self.surely_after), float(self.latest)))

    @property
    def protocol(self) -> bool:
        """Whether time jumps here, which a change of slope alone (a cache's end) never does.

        It jumps up where a rendezvous begins, and down where that would have paid earlier.
        """
        certain = self.step.ci95 is None or not self.step.ci95[0] <= 0 <= self.step.ci95[1]
        return certain and abs(self.share) >= MIN_STEP


@dataclass(frozen=True)
class LogGP:
    """The model of a sweep.

    ``bandwidth``: asymptotic r∞ = 1/G of the last piece (B/s), None where its time does not grow.
    ``half_size``: the smallest size that reaches half of it (B): Hockney's n½, which for a single
    line is latency/G. ``misfit``: root mean square of the relative residuals. ``left_out``: sizes
    that no line fits (slower or faster than their neighbours).

    ``pieces``: the straight lines, by message size; ``changes``: where one follows another;
    ``dips``: message sizes at which the bandwidth falls.
    """

    pieces: tuple[Piece, ...]
    changes: tuple[ProtocolChange, ...]
    dips: tuple[Dip, ...]
    bandwidth: ParameterEstimate | None
    half_size: ParameterEstimate | None
    misfit: float
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


def fit(sweep: Sweep) -> LogGP | None:
    """The model of a sweep; None if it has too few sizes for a line (three) or times of 0."""
    sweep = _thinned(sweep)
    x, y = sweep.bytes, sweep.seconds
    if x.size < 3 or not (np.isfinite(y).all() and (y > 0).all()):
        return None
    scatter = _weights(sweep)
    cut = best_cut(x, y, scatter)
    if cut is None:
        return None
    solver = _Solver(sweep, cut, scatter)
    bandwidth = solver.estimate(_bandwidth)
    changes = tuple(solver.changes())
    misfit = float(np.sqrt(cut.residual / max(cut.freedom, 1)))
    return LogGP(
        pieces=tuple(solver.pieces()),
        changes=changes,
        dips=_dips(sweep, solver, misfit),
        bandwidth=bandwidth,
        half_size=solver.estimate(solver.half_size) if bandwidth else None,
        misfit=misfit,
        left_out=tuple(int(x[i]) for i in cut.left_out),
    )


def _thinned(sweep: Sweep) -> Sweep:
    """A sweep of no more than about ``MAX_SIZES`` sizes: the nearest to equal ratios apart.

    The search for the best cut takes time and memory that grow with the square of the sizes.
    """
    x = sweep.bytes
    if x.size <= MAX_SIZES:
        return sweep
    wanted = np.geomspace(max(float(x[0]), 1.0), float(x[-1]), MAX_SIZES)
    kept = np.unique(np.minimum(np.searchsorted(x, wanted), x.size - 1))
    kept = np.union1d(kept, [0, x.size - 1])
    return replace(
        sweep,
        bytes=x[kept],
        seconds=sweep.seconds[kept],
        scatter=None if sweep.scatter is None else sweep.scatter[kept],
        launches=None if sweep.launches is None else sweep.launches[:, kept],
    )


def _weights(sweep: Sweep) -> Floats:
    """Each size's scatter, none taken as more than about √2 times as exact as the typical one.

    Deviations from a line are seldom the noise between launches, so a size that repeats very well
    must not dominate the fit.
    """
    if sweep.scatter is None:
        return np.ones(sweep.bytes.size)
    typical = float(np.median(sweep.scatter))
    if typical <= 0.0:
        return np.ones(sweep.bytes.size)
    return np.hypot(sweep.scatter, typical)


Parameters = Floats  # rows: pieces; columns: latency, gap
Quantity = Callable[[Parameters], float | None]


class _Solver:
    """Lines of a cut through the medians and through each launch alone.

    An interval across launches is the median's, as everywhere (docs/methods/sampling.md). It does
    not cover deviations of the curve itself from a line, which are the same in all launches; the
    residuals do. An interval therefore reaches as far as the farther of the two.
    """

    def __init__(self, sweep: Sweep, cut: Cut, scatter: Floats) -> None:
        self.sweep, self.cut = sweep, cut
        self.root = relative(sweep.seconds, scatter)
        self.scatter = scatter
        self.indices = [np.array(piece) for piece in cut.pieces(sweep.bytes.size)]
        fits = [self._line(piece, sweep.seconds) for piece in self.indices]
        self.parameters = np.array([line for line, _ in fits])
        self.covariances = [covariance for _, covariance in fits]
        self.launches = self._launches()

    def _line(self, piece: npt.NDArray[np.intp], seconds: Floats) -> tuple[Floats, Floats]:
        return fit_line(self.sweep.bytes[piece], seconds[piece], self.root[piece])

    def _launches(self) -> list[Parameters]:
        """The parameters by each launch that measured enough of every piece."""
        if self.sweep.launches is None:
            return []
        launches = []
        for row in self.sweep.launches:
            known = [piece[np.isfinite(row[piece])] for piece in self.indices]
            if all(
                part.size >= max(3, piece.size / 2)
                for part, piece in zip(known, self.indices, strict=True)
            ):
                launches.append(np.array([self._line(part, row)[0] for part in known]))
        return launches

    def estimate(self, quantity: Quantity) -> ParameterEstimate | None:
        """A quantity of the parameters with its interval; None if it does not exist."""
        value = quantity(self.parameters)
        if value is None:
            return None
        spread = self._by_residuals(quantity, value)
        if self.sweep.launches is None:
            return ParameterEstimate(value, (value - spread, value + spread) if spread else None)
        each = [found for row in self.launches if (found := quantity(row)) is not None]
        across = median_interval(each) if each else None
        if across is None:
            return ParameterEstimate(value, None)
        return ParameterEstimate(
            value, (min(across[0], value - spread), max(across[1], value + spread))
        )

    def _by_residuals(self, quantity: Quantity, value: float) -> float:
        """Half the 95% interval by the scatter of sizes around their lines (delta method)."""
        from scipy.special import stdtrit

        if self.cut.freedom < 1:
            return 0.0
        variance = 0.0
        scale = self.cut.residual / self.cut.freedom
        for number, covariance in enumerate(self.covariances):
            sizes = np.sqrt(np.diag(covariance) * scale)
            slopes = np.zeros(2)
            for which, size in enumerate(sizes):
                if size == 0.0:
                    continue
                moved = self.parameters.copy()
                moved[number, which] += 1e-3 * size
                after = quantity(moved)
                slopes[which] = 0.0 if after is None else (after - value) / (1e-3 * size)
            variance += scale * float(slopes @ covariance @ slopes)
        return float(stdtrit(self.cut.freedom, 0.975)) * float(np.sqrt(max(variance, 0.0)))

    def pieces(self) -> list[Piece]:
        """Each line with its intervals."""
        pieces = []
        for number, piece in enumerate(self.indices):
            latency = self.estimate(lambda p, n=number: float(p[n, 0]))  # type: ignore[misc]
            gap = self.estimate(lambda p, n=number: float(p[n, 1]))  # type: ignore[misc]
            assert latency is not None and gap is not None
            first, last = self._span(number)
            pieces.append(Piece(first, last, latency, gap, piece.size))
        return pieces

    def _span(self, number: int) -> tuple[int, int]:
        firsts = [*self.cut.firsts, self.sweep.bytes.size]
        return int(self.sweep.bytes[firsts[number]]), int(self.sweep.bytes[firsts[number + 1] - 1])

    def changes(self) -> list[ProtocolChange]:
        """Each place where a line ends, with the step there."""
        changes = []
        places = other_places(self.cut, self.sweep.bytes, self.sweep.seconds, self.scatter)
        for number, (before_it, latest) in enumerate(places, 1):
            first = self.cut.firsts[number]
            below, at = (float(size) for size in self.sweep.bytes[first - 1 : first + 1])
            step = self.estimate(lambda p, n=number, ends=(below, at): _step(p, n, ends)[0])  # type: ignore[misc]
            _, where = _step(self.parameters, number, (below, at))
            assert step is not None
            before = float(self.parameters[number - 1] @ np.array([1.0, where]))
            changes.append(
                ProtocolChange(
                    below=int(below),
                    at=int(at),
                    surely_after=int(self.sweep.bytes[before_it]),
                    latest=int(self.sweep.bytes[latest]),
                    step=step,
                    share=step.value / before,
                )
            )
        return changes

    def half_size(self, parameters: Parameters) -> float | None:
        """The smallest size at which the modelled bandwidth is half of the asymptotic one."""
        bandwidth = _bandwidth(parameters)
        if bandwidth is None:
            return None
        wanted = bandwidth / 2
        starts = [float(self.sweep.bytes[first]) for first in self.cut.firsts]
        for number, (latency, gap) in enumerate(parameters):
            start = max(starts[number], 0.0)
            end = starts[number + 1] if number + 1 < len(starts) else np.inf
            if start > 0 and start >= wanted * (latency + gap * start):
                return start
            reached = wanted * latency / (1 - wanted * gap) if wanted * gap < 1 else np.inf
            if start <= reached < end:
                return float(reached)
        return None


def _step(parameters: Parameters, number: int, ends: tuple[float, float]) -> tuple[float, float]:
    """The smallest step of the time where line ``number`` begins, and at which size.

    The change lies somewhere between two sizes. Lines that cross between them need no step.
    """
    below, at = (
        float((parameters[number] - parameters[number - 1]) @ np.array([1.0, end])) for end in ends
    )
    if below * at <= 0:
        return 0.0, ends[1]
    return (below, ends[0]) if abs(below) < abs(at) else (at, ends[1])


def _bandwidth(parameters: Parameters) -> float | None:
    gap = float(parameters[-1, 1])
    return 1.0 / gap if gap > 0 else None


def _dips(sweep: Sweep, solver: _Solver, misfit: float) -> tuple[Dip, ...]:
    """Falls of the bandwidth, and sizes that are slower than the line that their neighbours fit."""
    some = np.flatnonzero(sweep.bytes > 0)
    bytes_, seconds = sweep.bytes[some], sweep.seconds[some]
    if sweep.scatter is None:
        scatter = np.full(bytes_.size, misfit)
    else:
        # With few launches an interval may be narrow by chance.
        scatter = np.maximum(sweep.scatter[some], np.median(sweep.scatter))
    places = {place[1]: place for place in valleys(bytes_, seconds, scatter)}
    for index in solver.cut.left_out:  # sizes faster than the line have no depth
        at = int(np.searchsorted(some, index))
        if 0 < at < some.size - 1 and not {at - 1, at, at + 1} & places.keys():
            places[at] = (at - 1, at, at + 1)
    launches = None if sweep.launches is None else sweep.launches[:, some]
    found = (dip_at(bytes_, seconds, places[at], launches) for at in sorted(places))
    return tuple(dip for dip in found if dip is not None)
