"""What all nodes share over time: a profile of the day, and sessions of checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints
from assay.check.baseline.samples import SeriesSample
from assay.check.baseline.sessions import FoundSessions, sessions_of

# Minimum numbers of hours, of checks in each of them, and of days for a profile of the day.
_HOURS, _PER_HOUR, _DAYS = 18, 20, 2
_HOUR, _OF_DAY = 3600.0, 24


@dataclass(frozen=True)
class CommonCourse:
    """Deviations that all nodes share."""

    #: Of each check of the sample.
    of_check: Floats
    #: By hour of the day (UTC); empty if it isn't known.
    hours: list[float]
    #: How sessions differ, without the profile of the day.
    sessions: FoundSessions


def common_course(sample: SeriesSample, costs: Floats) -> CommonCourse:
    """The common course of a sample whose checks have these costs.

    Two harmonics of the day if checks cover it, and the deviation of each session from them.
    """
    deviations = costs - _node_medians(sample, costs)
    hour = (sample.utc // _HOUR).astype(np.int64) % _OF_DAY
    profile = _profile(deviations, hour, sample.utc)
    if profile is None:
        sessions = sessions_of(sample, costs)
        return CommonCourse(sessions.of_check, [], sessions)
    sessions = sessions_of(sample, costs - profile[hour])
    hours = [round(each, 6) for each in profile.tolist()]
    return CommonCourse(profile[hour] + sessions.of_check, hours, sessions)


def hours_covered(sample: SeriesSample) -> int:
    """The number of hours of the day with a check."""
    return int(np.unique((sample.utc // _HOUR).astype(np.int64) % _OF_DAY).size)


def _node_medians(sample: SeriesSample, costs: Floats) -> Floats:
    order = np.argsort(sample.node, kind="stable")
    found = np.empty(costs.size)
    for part in np.split(order, np.flatnonzero(np.diff(sample.node[order])) + 1):
        found[part] = np.median(costs[part])
    return found


def _profile(deviations: Floats, hour: Ints, utc: Floats) -> Floats | None:
    counts = np.bincount(hour, minlength=_OF_DAY)
    enough = np.flatnonzero(counts >= _PER_HOUR)
    if enough.size < _HOURS or np.ptp(utc) < _DAYS * _OF_DAY * _HOUR:
        return None
    middle = np.array([np.median(deviations[hour == each]) for each in enough])
    fitted, *_ = np.linalg.lstsq(_harmonics(enough), middle, rcond=None)
    profile = _harmonics(np.arange(_OF_DAY)) @ fitted
    return np.asarray(profile - np.median(profile))


def _harmonics(hours: Ints) -> Floats:
    angle = 2.0 * np.pi * (hours + 0.5) / _OF_DAY
    waves = [np.ones(hours.size)]
    for order in (1, 2):
        waves += [np.cos(order * angle), np.sin(order * angle)]
    return np.stack(waves, axis=1)
