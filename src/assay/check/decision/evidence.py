"""Evidence that a node is slow, accumulated over its checks: a sequential test.

A check's probability p becomes a factor of evidence, k p^(k-1) with 0 < k < 1: its expectation is
at most 1 for a healthy node (V. Vovk & R. Wang: E-values: calibration, combination and
applications, Annals of Statistics 49, 2021, 1736-1754). Evidence is the product of the factors,
begun again at 1 whenever it falls below (E. S. Page: Continuous inspection schemes, Biometrika 41,
1954, 100-115). On a healthy node it takes at least 1 / a checks on average until it reaches 1 / a,
however its checks depend on each other (J. Shin, A. Ramdas & A. Rinaldo: E-detectors, New England
Journal of Statistics in Data Science 2, 2024, 229-260). All values here are logarithms.
"""

from __future__ import annotations

import math

#: Exponents: a small one for large deviations, a larger one for many small deviations.
FAST, PATIENT = 0.15, 0.5
#: Evidence accumulated per series: two references times two exponents.
ACCUMULATED = 4
#: What evidence may exceed the limit by, so that a repaired node isn't suspected for long.
_BEYOND = 2.0
# Shares of the rate of false drains: for nodes that differ more than is assumed, and for sessions.
_FOR_LEVELS, _FOR_SESSIONS = 0.4, 0.1
_LOG_FAST, _LOG_PATIENT = math.log(FAST), math.log(PATIENT)


def evidence_limit(false_drains: float, series: int) -> float:
    """The evidence at which a node fails.

    Half of the rate of false drains is for evidence, divided among series and accumulators. The
    other half is for nodes whose own level is beyond the fleet's (``level_share``) and for sessions
    in which all nodes are slower than is assumed (``session_share``).
    """
    return math.log(2.0 * ACCUMULATED * max(series, 1) / false_drains)


def level_share(false_drains: float, series: int) -> float:
    """The share of healthy nodes whose own level may exceed the highest that is assumed."""
    return _FOR_LEVELS * false_drains / max(series, 1)


def session_share(false_drains: float, series: int) -> float:
    """The share of sessions in which all nodes may be slower than is assumed."""
    return _FOR_SESSIONS * false_drains / max(series, 1)


def accumulate(
    before: tuple[float, float, float, float],
    log_fleet: float,
    log_own: float | None,
    limit: float,
) -> tuple[float, float, float, float]:
    """The evidence after a check with these logarithms of probabilities.

    One check counts little more than half of the limit, as much as two checks with a usual one
    between them need: no probability is known well enough to fail a node by one check. Without an
    own level its evidence stays as it is.
    """
    most, cap = 0.5 * (limit - _LOG_FAST) + 1e-9, limit + _BEYOND

    def after(old: float, log_exponent: float, exponent: float, log_p: float) -> float:
        new = max(old, 0.0) + min(log_exponent + (exponent - 1.0) * log_p, most)
        return min(new, cap)

    return (
        after(before[0], _LOG_FAST, FAST, log_fleet),
        after(before[1], _LOG_PATIENT, PATIENT, log_fleet),
        before[2] if log_own is None else after(before[2], _LOG_FAST, FAST, log_own),
        before[3] if log_own is None else after(before[3], _LOG_PATIENT, PATIENT, log_own),
    )
