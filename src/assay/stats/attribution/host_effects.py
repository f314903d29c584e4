"""Host effects: hosts that slow down the sets to which they belong, by regression on membership.

Where the same cell ran on several sets of hosts, the logarithm of its cost is a constant, plus the
effect of each host in the set, plus random differences of sets and of launches. The unit is the
set, and its value the mean of its launches. Hosts enter the regression one after the other, the
most significant first (forward selection), while the adjusted p stays within the level (Benjamini &
Hochberg 1995 over hosts; Simes 1986 over cells). Hosts that are always in the same sets can't be
distinguished and are named together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.stats.core.multiple import corrected, corrected_rows
from assay.stats.core.rounding import LEAST_DIVISOR, PROJECTED
from assay.stats.fleet.fleet import LEVEL

# Minimum number of sets, and of sets with and without a host; maximum of hosts in the regression.
MIN_SETS = 6
_MIN_EACH = 2
_MAX_HOSTS = 5


@dataclass(frozen=True)
class HostEffect:
    """Hosts whose presence in a set makes it slower: ``effect``, a difference of logarithms of
    costs, with its 95% ``interval``, in the ``cell`` with the smallest p.
    """

    hosts: tuple[str, ...]
    cell: int
    effect: float
    #: 95% interval; None where there is none.
    interval: tuple[float, float]
    #: Number of sets with these hosts, out of ``of`` sets.
    sets: int
    of: int
    #: p of the effect, adjusted over hosts and cells.
    p: float


def find_host_effects(
    costs: Sequence[Floats], hosts: Sequence[Sequence[tuple[str, ...]]], level: float = LEVEL
) -> list[HostEffect]:
    """The hosts that make sets slower, the most significant first.

    ``costs``: of each cell the launches' costs, positive, more is worse; ``hosts``: of each cell
    the hosts of each launch. Cells with fewer than ``MIN_SETS`` different sets are left out.
    """
    cells = [_by_set(c, h) for c, h in zip(costs, hosts, strict=True)]
    usable = [i for i, (_, sets) in enumerate(cells) if len(sets) >= MIN_SETS]
    names = sorted({host for i in usable for hosts_ in cells[i][1] for host in hosts_})
    groups = _inseparable(names, [cells[i][1] for i in usable])
    taken: list[tuple[str, ...]] = []
    found: list[HostEffect] = []
    while groups and len(taken) < _MAX_HOSTS:
        rows = [_effects(cells[i], groups, taken) for i in usable]
        p = np.array([row[0] for row in rows]).T  # [group, cell]
        over = np.nan_to_num(corrected_rows(p), nan=2.0).min(axis=1)
        over[over > 1.0] = np.nan
        adjusted = corrected(over, "bh")
        if not np.isfinite(adjusted).any() or np.nanmin(adjusted) > level:
            break
        best = int(np.nanargmin(over))
        place = int(np.nanargmin(p[best]))
        cell, (_, effects, halves) = usable[place], rows[place]
        sets = cells[cell][1]
        effect, half = float(effects[best]), float(halves[best])
        found.append(
            HostEffect(
                hosts=groups[best],
                cell=cell,
                effect=effect,
                interval=(effect - half, effect + half),
                sets=sum(groups[best][0] in hosts_ for hosts_ in sets),
                of=len(sets),
                p=float(adjusted[best]),
            )
        )
        taken.append(groups[best])
        groups = [group for group in groups if group != groups[best]]
    return found


def _by_set(costs: Floats, hosts: Sequence[tuple[str, ...]]) -> tuple[Floats, list[frozenset[str]]]:
    """The mean logarithm of each distinct set, and the sets."""
    sets = [frozenset(each) for each in hosts]
    different = list(dict.fromkeys(sets))
    logs = np.log(np.asarray(costs, dtype=np.float64))
    place = np.array([different.index(each) for each in sets], dtype=np.int64)
    sums = np.bincount(place, weights=logs, minlength=len(different))
    return sums / np.bincount(place, minlength=len(different)), different


def _inseparable(
    names: Sequence[str], cells: Sequence[Sequence[frozenset[str]]]
) -> list[tuple[str, ...]]:
    """The hosts grouped by the sets that they are in."""
    groups: dict[tuple[bool, ...], list[str]] = {}
    for name in names:
        pattern = tuple(name in hosts for sets in cells for hosts in sets)
        groups.setdefault(pattern, []).append(name)
    return [tuple(group) for group in groups.values()]


def _effects(
    cell: tuple[Floats, list[frozenset[str]]],
    groups: Sequence[tuple[str, ...]],
    taken: Sequence[tuple[str, ...]],
) -> tuple[Floats, Floats, Floats]:
    """Each group's one-sided p, effect and half-width of the interval, given the groups already in
    the regression; p is nan where the sets can't determine it.
    """
    from scipy.special import stdtr, stdtrit

    values, sets = cell
    given = np.array([[group[0] in hosts for group in taken] for hosts in sets], dtype=np.float64)
    base = np.column_stack([np.ones(len(sets)), given.reshape(len(sets), len(taken))])
    there = np.array([[group[0] in hosts for group in groups] for hosts in sets], dtype=np.float64)
    q, _ = np.linalg.qr(base)
    y = values - q @ (q.T @ values)
    x = there - q @ (q.T @ there)
    freedom = len(sets) - base.shape[1] - 1
    own = (x**2).sum(axis=0)
    count = there.sum(axis=0)
    usable = (own > PROJECTED) & (count >= _MIN_EACH) & (len(sets) - count >= _MIN_EACH)
    if freedom < 2:
        usable[:] = False
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = (x.T @ y) / own
        left = np.maximum((y**2).sum() - effect**2 * own, 0.0)
        error = np.sqrt(left / max(freedom, 1) / own)
        p = stdtr(max(freedom, 1), -effect / np.maximum(error, LEAST_DIVISOR))
    half = error * float(stdtrit(max(freedom, 1), 0.975))
    return np.where(usable, p, np.nan), effect, half
