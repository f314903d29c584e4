"""What a session that wasn't seen may add: the predictive distribution of a new session's shift.

Shifts of sessions are normal about their mean, with a standard deviation on which nothing is
assumed but its order of magnitude (a uniform prior of its logarithm), and each was measured with an
error. Without errors the predictive distribution is Student's t with one degree of freedom less
than there are sessions (A. Gelman et al.: Bayesian Data Analysis, 3rd edition, 2013, section 3.2),
so that a new session exceeds its quantiles as often as they say, however much the fleet moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from assay.arrays import Floats
from assay.check.baseline.exceedance import GRID, exceeded_with
from assay.check.baseline.fits import increasing
from assay.check.baseline.model import SessionShift

# Standard deviations that are tried: from a third of a tenth of a percent, which no check can see,
# to a factor of 20.
_DEVIATIONS = np.exp(np.linspace(math.log(3e-4), math.log(3.0), 241))
# Sessions move if errors alone would let them differ as much with this probability, and if the
# bound of a new session at this share exceeds a deviation. A smaller bound is an allowance with
# which slow nodes are still found.
_BY_CHANCE, _BOUND, _WIDE = 0.01, 1e-6, 0.1


def movement_table(sessions: Sequence[SessionShift]) -> list[float]:
    """The deviations of a new session by their probability (``GRID``); empty for one session.

    They are at least about the level, if the mean session is faster.
    """
    if len(sessions) < 2:
        return []
    shifts = np.array([each.shift for each in sessions])
    errors = np.array([each.error for each in sessions])
    weights = _posterior(shifts, errors)
    spread = _DEVIATIONS * math.sqrt(1.0 + 1.0 / shifts.size)
    grid = np.array(GRID)
    low, high = np.full(grid.size, -1e4), np.full(grid.size, 1e4)
    for _ in range(80):
        middle = 0.5 * (low + high)
        over = special.ndtr(-middle[:, None] / spread) @ weights > grid
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return increasing(0.5 * (low + high) + max(float(shifts.mean()), 0.0))


def moves(sessions: Sequence[SessionShift], table: Sequence[float]) -> bool:
    """Whether sessions differ by more than their errors explain, and too much for an allowance.

    They do as long as nothing is known of them.
    """
    if len(sessions) < 2 or not table:
        return True
    if exceeded_with(table, _BOUND) < _WIDE:
        return False
    errors = np.array([each.error for each in sessions])
    if errors.min() <= 0.0:
        return True
    shifts = np.array([each.shift for each in sessions])
    weights = errors**-2.0
    square = float((weights * (shifts - (weights * shifts).sum() / weights.sum()) ** 2).sum())
    return float(special.chdtrc(shifts.size - 1, square)) < _BY_CHANCE


def deviation(sessions: Sequence[SessionShift]) -> float:
    """The standard deviation of sessions without that of their errors."""
    if len(sessions) < 2:
        return 0.0
    errors = np.array([each.error for each in sessions])
    found = np.var([each.shift for each in sessions], ddof=1) - float((errors**2).mean())
    return math.sqrt(max(float(found), 0.0))


def _posterior(shifts: Floats, errors: Floats) -> Floats:
    """The probability of each standard deviation."""
    weights = 1.0 / (_DEVIATIONS[:, None] ** 2 + errors**2)
    total = weights.sum(axis=1)
    mean = (weights * shifts).sum(axis=1) / total
    square = (weights * (shifts - mean[:, None]) ** 2).sum(axis=1)
    logs = 0.5 * (np.log(weights).sum(axis=1) - np.log(total) - square)
    found = np.exp(logs - logs.max())
    return np.asarray(found / found.sum())
