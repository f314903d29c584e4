"""Updates a baseline from healthy checks, within limits that keep a decline from becoming usual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.check.baseline.common_course import common_course
from assay.check.baseline.model import APART, Baseline, ComponentBaseline
from assay.check.baseline.movement import movement_table, moves
from assay.check.baseline.samples import SeriesSample, series_samples
from assay.check.baseline.sessions import centred, merged, sessions_of
from assay.check.components import BY_NAME
from assay.check.model import CheckRecord

# Minimum number of nodes that move a level, and their minimum share of the nodes learned from.
_LEAST_NODES, _LEAST_SHARE = 5, 0.5
# Of normal values: the standard error of a median times sqrt(n), over the median deviation; and
# the number of standard errors beyond which a change of all is reported.
_MEDIAN_ERROR, _CERTAIN = 1.2533 * 1.4826, 3.0
_HOUR, _OF_DAY = 3600.0, 24


@dataclass(frozen=True)
class CommonDecline:
    """A component that became slower on the nodes of a kind as a whole."""

    component: str
    #: Relative to the level that was learned, as a deviation, and its 95% interval.
    shift: float
    interval: tuple[float, float]
    nodes: int


@dataclass(frozen=True)
class UpdatedBaseline:
    """The result of an update."""

    baseline: Baseline
    declines: list[CommonDecline]


def update(
    baseline: Baseline, records: Mapping[str, Sequence[CheckRecord]], now: float
) -> UpdatedBaseline:
    """The baseline after further checks; ``now``: Unix time, s.

    Only healthy checks count, and those whose slowness couldn't be decided. Their sessions are
    added to those of the baseline. A level moves to the median of the nodes' medians, by at most
    ``drift`` from the level that was learned. A profile of the day is added if the level moved less
    than that. Scatter and tails stay as they were learned: healthy checks alone would narrow them.
    If all nodes became slower than a level may move, that is a decline. Nodes' own levels are kept.
    """
    parts = dict(baseline.components)
    declines = []
    for name, sample in series_samples([], records).items():
        usual = parts.get(name)
        if usual is None or name not in BY_NAME:
            continue
        parts[name] = usual = _lengthened(usual, sample, virtual=baseline.virtual)
        medians = _node_medians(usual, sample)
        if medians.size < max(_LEAST_NODES, _LEAST_SHARE * usual.nodes):
            continue
        parts[name], decline = _moved(name, usual, sample, medians)
        if decline is not None:
            declines.append(decline)
    changed = msgspec.structs.replace(
        baseline, version=baseline.version + 1, created=now, components=parts
    )
    return UpdatedBaseline(changed, declines)


def _lengthened(
    usual: ComponentBaseline, sample: SeriesSample, *, virtual: bool
) -> ComponentBaseline:
    """With the sessions after those of the baseline.

    They are compared only with each other, so that a slow decline from one update to the next
    doesn't count as movement.
    """
    until = max((each.begin for each in usual.sessions), default=-np.inf) + APART
    later = sample.take(sample.utc >= until)
    if not later.checks:
        return usual
    costs = later.bests[:, 0] - _profile(usual, later)
    found = merged(centred(sessions_of(later, costs).shifts), usual.sessions)
    movement = movement_table(found)
    moving = virtual or moves(found, movement)
    return msgspec.structs.replace(usual, sessions=found, movement=movement, moving=moving)


def _profile(usual: ComponentBaseline, sample: SeriesSample) -> Floats:
    """The part of the hour of each check."""
    if not usual.hours:
        return np.zeros(sample.checks)
    hour = (sample.utc // _HOUR).astype(np.int64) % _OF_DAY
    return np.asarray(np.array(usual.hours)[hour])


def _node_medians(usual: ComponentBaseline, sample: SeriesSample) -> Floats:
    """Each node's median deviation from the level."""
    deviations = sample.bests[:, 0] - usual.level - _profile(usual, sample)
    order = np.argsort(sample.node, kind="stable")
    parts = np.split(deviations[order], np.flatnonzero(np.diff(sample.node[order])) + 1)
    return np.array([np.median(each) for each in parts])


def _moved(
    name: str, usual: ComponentBaseline, sample: SeriesSample, medians: Floats
) -> tuple[ComponentBaseline, CommonDecline | None]:
    middle = float(np.median(medians))
    spread = float(np.median(np.abs(medians - middle)))
    error = _MEDIAN_ERROR * spread / float(np.sqrt(medians.size))
    shift = usual.level + middle - usual.learned_level
    kept = float(np.clip(shift, -usual.drift, usual.drift))
    changed = msgspec.structs.replace(usual, level=usual.learned_level + kept)
    if not usual.hours and abs(shift) <= usual.drift:
        course = common_course(sample, sample.bests[:, 0])
        if course.hours:
            changed = msgspec.structs.replace(changed, hours=course.hours)
    if shift - _CERTAIN * error <= usual.drift:
        return changed, None
    interval = (shift - 1.96 * error, shift + 1.96 * error)
    return changed, CommonDecline(name, shift, interval, int(medians.size))
