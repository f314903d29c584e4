"""Distributions of the differences between nodes, with the scatter of launches added.

Nodes differ by nature, and each node's value has an error from its launches, which is normal and of
known size. The distribution of values is the convolution of both. A fleet that looks normal because
its launches scatter may have a long tail, and a fleet whose launches scatter little shows its tail.

The natural differences are a t, a two-piece t with the slower side twice as wide (C. Fernandez &
M. F. J. Steel: On Bayesian modeling of fat tails and skewness, Journal of the American Statistical
Association 93, 1998, 359-371) or a shifted lognormal distribution, of unknown scale. The heaviest
tails are t with three degrees of freedom, which is the heaviest with a skewness, and lognormal with
sigma 1.25.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints

_FREEDOM = (np.inf, 10.0, 6.0, 4.0, 3.0)
_WIDER = 2.0
_SKEWS = (0.25, 0.5, 0.75, 1.0, 1.25)
# The longest lognormal distributions are the easiest to mistake for a short one with a slow node.
# With this weight beforehand as many of their fleets name a node as of t with three degrees of
# freedom (an approximation to the least favourable prior).
_LONGEST, _WEIGHT = 2, 3.0
# Scales of the natural differences in units of the scatter of values.
_SCALES: Floats = np.exp(np.linspace(-2.0, 1.0, 19))
# Places of the tables in units of the scatter. The steps are small beside the smallest tabulated
# error, and values beyond the ends count as at the ends.
_STEP, _FIRST, _PLACES = 0.04, -24.0, 2200
# Zeros keep one end of a convolved density from the other.
_PADDED = 2400
_AT: Floats = np.linspace(_FIRST, _FIRST + _STEP * (_PLACES - 1), _PLACES)
# Errors of values over their scatter are tabulated in these steps.
_ERRORS: Floats = np.linspace(0.1, 0.9, 9)
# Medians that are tried, in standard errors of the normal distribution's median.
_MEDIANS = (-1.5 * 1.253, 0.0, 1.5 * 1.253)
_LEAST = 1e-300
# The inverse transform has absolute errors of this order. The natural density is used below it.
_ROUNDING = 1e-11


@dataclass(frozen=True)
class Tails:
    """Logarithms of densities and tails of all distributions [model, place], median 0."""

    density: npt.NDArray[np.float32]
    tail: npt.NDArray[np.float32]
    #: Logarithms of the weights of the distributions beforehand [model].
    weight: Floats


def tails(error: float) -> Tails:
    """The distributions of values whose launches' error is ``error`` times the values' scatter."""
    return _tabulated(int(np.argmin(np.abs(_ERRORS - error))))


def medians(nodes: int) -> list[float]:
    """Medians that are tried beside that of the values, in units of their scatter."""
    return [tried / math.sqrt(nodes) for tried in _MEDIANS]


def places(values: Floats) -> Ints:
    """The places of values, in units of their scatter, in the tables."""
    near = np.rint((values - _FIRST) / _STEP)
    return np.asarray(np.clip(near, 0, _PLACES - 1), dtype=np.int64)


@lru_cache(maxsize=_ERRORS.size)
def _tabulated(error: int) -> Tails:
    frequency = 2.0 * np.pi * np.fft.rfftfreq(_PADDED, _STEP)
    smooth = np.exp(-0.5 * (frequency * _ERRORS[error]) ** 2)
    natural, beyond = _natural_of_all_scales()
    both = np.fft.rfft(natural, _PADDED, axis=1) * smooth
    density = np.fft.irfft(both, _PADDED, axis=1)[:, :_PLACES]
    density = np.where(density < _ROUNDING, np.maximum(natural, _LEAST), density)
    # Half of a place's own step lies above it.
    above = np.cumsum(density[:, ::-1], axis=1)[:, ::-1] - 0.5 * density
    tail = above * _STEP + beyond[:, None]
    log_density, log_tail = np.log(density), np.log(tail / tail[:, :1])
    for row in range(tail.shape[0]):
        median = np.interp(np.log(2.0), -log_tail[row], _AT)
        log_density[row] = np.interp(_AT + median, _AT, log_density[row])
        log_tail[row] = np.interp(_AT + median, _AT, log_tail[row])
    weight = np.zeros((_SCALES.size, natural.shape[0] // _SCALES.size))
    weight[:, -_LONGEST:] = math.log(_WEIGHT)
    return Tails(log_density.astype(np.float32), log_tail.astype(np.float32), weight.ravel())


@lru_cache(maxsize=1)  # for the tables of all errors: they take most of the time of the first
def _natural_of_all_scales() -> tuple[Floats, Floats]:
    """Densities [model, place] of the natural differences, and tails beyond the last place."""
    densities, beyond = zip(*map(_natural, _SCALES), strict=True)
    return np.concatenate(densities), np.concatenate(beyond)


def _natural(scale: float) -> tuple[Floats, Floats]:
    """Densities [family, place] of the natural differences, and tails beyond the last place."""
    from scipy import stats

    x, last = _AT / scale, (_AT[-1] + _STEP) / scale
    densities, beyond = [], []
    for freedom in _FREEDOM:
        t = stats.norm if np.isinf(freedom) else stats.t(freedom)
        densities += [t.pdf(x), t.pdf(np.where(x > 0.0, x / _WIDER, x)) * 2.0 / (1.0 + _WIDER)]
        beyond += [t.sf(last), t.sf(last / _WIDER) * 2.0 * _WIDER / (1.0 + _WIDER)]
    for skew in _SKEWS:
        inside = np.maximum(1.0 + skew * x, 1e-9)
        z = np.log(inside) / skew
        densities.append(np.where(1.0 + skew * x > 0.0, stats.norm.pdf(z) / inside, 0.0))
        beyond.append(stats.norm.sf(np.log1p(skew * last) / skew))
    return np.array(densities) / scale, np.array(beyond)


@dataclass(frozen=True)
class Models:
    """Densities of all families and every third scale [model, place], median 0.

    Models are ordered by scale, with ``families`` models each. ``spread`` [model]: the deviation of
    normal differences of this scale with the launches' error.
    """

    density: Floats
    spread: Floats
    families: int


def models(error: float) -> Models:
    """The densities of values whose launches' error is ``error`` times the values' scatter."""
    return _thinned(int(np.argmin(np.abs(_ERRORS - error))))


@lru_cache(maxsize=_ERRORS.size)
def _thinned(error: int) -> Models:
    logs = _tabulated(error).density
    families = logs.shape[0] // _SCALES.size
    rows = logs.reshape(_SCALES.size, families, _PLACES)[::3].reshape(-1, _PLACES)
    spread = np.repeat(np.hypot(_SCALES[::3], _ERRORS[error]), families)
    return Models(np.exp(rows.astype(np.float64)), spread, families)
