"""LogGP from a ping-pong: the time of a message as a piecewise linear function of its size.

Half a round trip of s bytes takes L + 2o + (s - 1) G (Culler et al. 1993; Alexandrov et al. 1995),
so a line through times against sizes has the intercept L + 2o, if G counts from the first byte (a
difference of one G), and the slope G, in s/B. MPI libraries change their protocol with the size
(eager, rendezvous; Hoefler, Lichei & Rehm 2007), so L + 2o and G apply piecewise, as in PLogP
(Kielmann et al. 2000). A ping-pong alone neither separates L from o nor determines g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.models.network.dips import MIN_DEPTH, Dip, dip_at, valleys
from assay.models.network.message_model import (
    LogGP,
    ParameterEstimate,
    Piece,
    ProtocolChange,
    Sweep,
)
from assay.models.network.minimum import DETERMINED
from assay.models.network.piecewise_linear import (
    MAX_PIECES,
    Cut,
    best_cut,
    fit_line,
    other_places,
    relative,
)
from assay.stats.core.intervals import median_interval

# Represents infinity, which intervals can't hold. An interval that reaches it is undetermined.
_UNBOUNDED = 1e300
# Confidence of the range in which a change lies, for intervals of other parameters. It may use only
# a little of their 5% error.
_CERTAIN_PLACE = 0.99
# Maximum number of sizes in the search for pieces; powers of 2 are about 25.
MAX_SIZES = 200


def fit(sweep: Sweep, most: int = MAX_PIECES) -> LogGP | None:
    """The model of a sweep; None if it has too few sizes for a line (three) or times of 0.

    ``most``: maximum number of lines.
    """
    sweep = _thinned(sweep)
    x, y = sweep.bytes, sweep.seconds
    if x.size < 3 or not (np.isfinite(y).all() and (y > 0).all()):
        return None
    scatter = _weights(sweep)
    cut = best_cut(x, y, scatter, most)
    if cut is None:
        return None
    solver = _Solver(sweep, cut, scatter)
    bandwidth = solver.positive(_bandwidth)
    changes = tuple(solver.changes())
    misfit = float(np.sqrt(cut.residual / max(cut.freedom, 1)))
    return LogGP(
        pieces=tuple(solver.pieces()),
        changes=changes,
        dips=_dips(sweep, solver, misfit, changes),
        bandwidth=bandwidth,
        half_size=solver.positive(solver.half_size) if bandwidth else None,
        misfit=misfit,
        left_out=tuple(int(x[i]) for i in cut.left_out),
    )


def _thinned(sweep: Sweep) -> Sweep:
    """A sweep of at most about ``MAX_SIZES`` sizes, chosen nearest to equal ratios.

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
    """Each size's scatter combined with the typical one, which bounds the weights.

    Deviations from a line are seldom noise between launches, so a size with very repeatable times
    must not dominate the fit.
    """
    if sweep.scatter is None:
        return np.ones(sweep.bytes.size)
    typical = float(np.median(sweep.scatter))
    if typical <= 0.0:
        return np.ones(sweep.bytes.size)
    return np.hypot(sweep.scatter, typical)


Parameters = Floats  # rows: pieces; columns: latency, gap
# A quantity that follows from the parameters. The second argument is the index of each line's first
# size.
Quantity = Callable[[Parameters, tuple[int, ...]], float | None]


class _Solver:
    """Lines of a cut through the medians and through each launch separately.

    The interval across launches is the interval of a median (docs/methods/sampling.md). It doesn't
    cover deviations of the curve from a line, which are the same in all launches; the interval by
    residuals does. The result is the union of both. If a change of lines may lie elsewhere, the
    interval is widened by the resulting change of the quantity.
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
        self.places = list(other_places(cut, sweep.bytes, sweep.seconds, scatter))
        self.moved = [(cut.firsts, self._lines(cut)) for cut in self._moved()]

    def _line(self, piece: npt.NDArray[np.intp], seconds: Floats) -> tuple[Floats, Floats]:
        return fit_line(self.sweep.bytes[piece], seconds[piece], self.root[piece])

    def _lines(self, cut: Cut) -> Parameters:
        """The lines of another cut through the medians."""
        pieces = [np.array(piece) for piece in cut.pieces(self.sweep.bytes.size)]
        return np.array([self._line(piece, self.sweep.seconds)[0] for piece in pieces])

    def _moved(self) -> list[Cut]:
        """The cuts with one change moved within the range in which it may lie."""
        kept = [i for i in range(self.sweep.bytes.size) if i not in self.cut.left_out]
        ranges = other_places(
            self.cut, self.sweep.bytes, self.sweep.seconds, self.scatter, _CERTAIN_PLACE
        )
        moved = []
        for number, (before_it, latest) in enumerate(ranges, 1):
            for first in kept[kept.index(before_it) + 1 : kept.index(latest) + 1]:
                if first == self.cut.firsts[number]:
                    continue
                firsts = (*self.cut.firsts[:number], first, *self.cut.firsts[number + 1 :])
                moved.append(replace(self.cut, firsts=firsts))
        return moved

    def _launches(self) -> list[Parameters]:
        """The parameters from each launch that measured enough sizes of every piece."""
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

    def positive(self, quantity: Quantity) -> ParameterEstimate | None:
        """A quantity that can only be positive, with its interval; None if it is not determined.

        The interval by residuals is computed for the logarithm (delta method). A launch whose lines
        give no positive value counts as 0, and a launch in which the quantity is not reached counts
        as infinite. So no end is negative, and a quantity whose interval reaches 0 or infinity is
        not determined.
        """
        firsts = self.cut.firsts
        value = quantity(self.parameters, firsts)
        if value is None or value <= 0:
            return None
        spread = self._by_residuals(lambda p: quantity(p, firsts), value) / value
        if 2 * spread > math.log(DETERMINED):
            return None
        low, high = value * math.exp(-spread), value * math.exp(spread)
        if self.sweep.launches is None:
            return ParameterEstimate(value, (low, high) if spread else None)
        found = [quantity(row, firsts) for row in self.launches]
        each = [_UNBOUNDED if one is None else max(one, 0.0) for one in found]
        across = median_interval(each) if each else None
        if across is None:
            return ParameterEstimate(value, None)
        low, high = min(across[0], low), max(across[1], high)
        elsewhere = [quantity(parameters, moved) for moved, parameters in self.moved]
        ratios = [1.0, *(max(one or 0.0, 0.0) / value for one in elsewhere)]
        low, high = low * min(ratios), high * max(ratios)
        return ParameterEstimate(value, (low, high)) if 0 < high <= DETERMINED * low else None

    def signed(self, quantity: Callable[[Parameters], float]) -> ParameterEstimate:
        """A quantity that may have either sign, with its interval."""
        value = quantity(self.parameters)
        spread = self._by_residuals(quantity, value)
        if self.sweep.launches is None:
            return ParameterEstimate(value, (value - spread, value + spread) if spread else None)
        across = median_interval([quantity(row) for row in self.launches] or [value])
        if across is None:
            return ParameterEstimate(value, None)
        return ParameterEstimate(
            value, (min(across[0], value - spread), max(across[1], value + spread))
        )

    def seconds(self, index: int) -> float:
        """The time of the size at this index, by its line."""
        number = sum(first <= index for first in self.cut.firsts) - 1
        latency, gap = self.parameters[number]
        return float(latency + gap * self.sweep.bytes[index])

    def _by_residuals(self, quantity: Callable[[Parameters], float | None], value: float) -> float:
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
            latency = self.positive(lambda p, _, n=number: float(p[n, 0]))  # type: ignore[misc]
            gap = self.positive(lambda p, _, n=number: float(p[n, 1]))  # type: ignore[misc]
            first, last = self._span(number)
            intercept, slope = (float(value) for value in self.parameters[number])
            pieces.append(
                Piece(
                    first=first,
                    last=last,
                    latency=latency,
                    gap=gap,
                    points=piece.size,
                    intercept=intercept,
                    slope=slope,
                )
            )
        return pieces

    def _span(self, number: int) -> tuple[int, int]:
        firsts = [*self.cut.firsts, self.sweep.bytes.size]
        return int(self.sweep.bytes[firsts[number]]), int(self.sweep.bytes[firsts[number + 1] - 1])

    def changes(self) -> list[ProtocolChange]:
        """Each place where a line ends, with the step there."""
        changes = []
        for number, (before_it, latest) in enumerate(self.places, 1):
            first = self.cut.firsts[number]
            below, at = (float(size) for size in self.sweep.bytes[first - 1 : first + 1])
            step = self.signed(lambda p, n=number, ends=(below, at): _step(p, n, ends)[0])  # type: ignore[misc]
            _, where = _step(self.parameters, number, (below, at))
            before = float(self.parameters[number - 1] @ np.array([1.0, where]))
            possible = before > 0 and before + step.value > 0
            changes.append(
                ProtocolChange(
                    below=int(below),
                    at=int(at),
                    surely_after=int(self.sweep.bytes[before_it]),
                    latest=int(self.sweep.bytes[latest]),
                    step=step,
                    share=step.value / before if possible else 0.0,
                )
            )
        return changes

    def half_size(self, parameters: Parameters, firsts: tuple[int, ...]) -> float | None:
        """The smallest size at which the modelled bandwidth is half of the asymptotic one."""
        bandwidth = _bandwidth(parameters, firsts)
        if bandwidth is None:
            return None
        wanted = bandwidth / 2
        starts = [float(self.sweep.bytes[first]) for first in firsts]
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
    """The smallest step of the time where line ``number`` begins, and its size in bytes.

    The change lies between two sizes. Lines that cross between them have no step.
    """
    below, at = (
        float((parameters[number] - parameters[number - 1]) @ np.array([1.0, end])) for end in ends
    )
    if below * at <= 0:
        return 0.0, ends[1]
    return (below, ends[0]) if abs(below) < abs(at) else (at, ends[1])


def _bandwidth(parameters: Parameters, _: tuple[int, ...]) -> float | None:
    gap = float(parameters[-1, 1])
    return 1.0 / gap if gap > 0 else None


def _dips(
    sweep: Sweep, solver: _Solver, misfit: float, changes: Sequence[ProtocolChange]
) -> tuple[Dip, ...]:
    """Falls of the bandwidth, and sizes that are slower than their neighbours' line.

    A change of protocol takes precedence: a fall that it explains is not a dip.
    """
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
    found = (
        dip_at(bytes_, seconds, places[at], launches)
        for at in sorted(places)
        if not _by_change(
            (bytes_[places[at][0]], bytes_[at], bytes_[places[at][2]]),
            excess=seconds[at] / max(solver.seconds(int(some[at])), 1 / _UNBOUNDED) - 1,
            changes=changes,
        )
    )
    return tuple(dip for dip in found if dip is not None)


def _by_change(
    place: tuple[float, float, float], excess: float, changes: Sequence[ProtocolChange]
) -> bool:
    """Whether a change of protocol explains a fall between two shoulders.

    ``place``: left shoulder, bottom and right shoulder in bytes. A change explains the fall if it
    lies between the shoulders and the bottom's time equals the time by its line (``excess``: the
    share by which it is longer), or if the change may lie at the bottom itself.
    """
    left, bottom, right = place
    return any(
        (change.surely_after < right and change.latest > left and excess < MIN_DEPTH)
        or change.surely_after < bottom <= change.latest
        for change in changes
        if change.protocol
    )
