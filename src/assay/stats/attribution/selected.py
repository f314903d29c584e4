"""Intervals of the share of a cause that was selected because its association is significant.

Weak associations are selected only if chance makes them look strong (the winner's curse), so that
intervals which ignore the selection are too high.
"""

from __future__ import annotations

import math

from assay.units import Interval

_TAIL = 0.025
_NORMAL = 1.959963984540054
_HALVINGS = 60


def conditional_interval(share: float, interval: Interval, p: float, threshold: float) -> Interval:
    """The 95% interval of a ``share`` of variance that is given only if p <= ``threshold``.

    ``interval``: the interval that ignores the selection. ``p`` and ``threshold``: of the same
    test, uncorrected and one-sided. The correlation, the root of the share, is nearly normal as
    arctanh (Fisher 1921). Given that it exceeds the threshold its distribution is truncated there
    (S. Zollner, J. Pritchard: Overcoming the winner's curse, American Journal of Human Genetics 80,
    2007, 605-615; J. Lee, D. Sun, Y. Sun, J. Taylor: Exact post-selection inference, with
    application to the lasso, Annals of Statistics 44, 2016, 907-927): the lower end is the
    correlation for which an association this strong has a probability of 2.5% among the selected
    ones. The upper end comes from ``interval``: selection only makes the estimate too high.
    """
    from scipy.special import ndtri

    beyond = float(ndtri(threshold) - ndtri(p)) if p > 0.0 else math.inf
    distance = conditional_distance(beyond)
    scale = _fisher(share), _fisher(interval[0]), _fisher(interval[1])
    # The error below the estimate; a bootstrap of few values may have none.
    error = max(scale[0] - scale[1], (scale[2] - scale[1]) / 2.0) / _NORMAL
    low = math.tanh(max(scale[0] - distance * error, 0.0)) ** 2
    return min(interval[0], low), interval[1]


def conditional_distance(beyond: float) -> float:
    """Standard errors from an estimate down to its conditional lower limit; at least 1.96.

    ``beyond``: standard errors by which the estimate exceeds the threshold. The limit is the mean
    of a normal distribution, truncated at the threshold, that exceeds the estimate with probability
    2.5%. Infinite at the threshold.
    """
    from scipy.special import log_ndtr

    if beyond <= 0.0:
        return math.inf
    if math.isinf(beyond):
        return _NORMAL

    def excess(distance: float) -> float:
        chance = float(log_ndtr(-distance)) - float(log_ndtr(beyond - distance))
        return chance - math.log(_TAIL)

    low, high = _NORMAL, 2.0 * _NORMAL
    while excess(high) > 0.0:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return high


def _fisher(share: float) -> float:
    return math.atanh(math.sqrt(min(max(share, 0.0), 1.0 - 1e-12)))
