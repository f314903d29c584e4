"""Earlier measurements of the same nodes: earlier groups, and single runs pooled by day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.records.directory import RunDirectory, list_runs
from assay.records.group import GroupData
from assay.records.store import RunFilter, Store
from assay.stats.fleet.peers import MIN_VALUES
from assay.stats.repeats.repeats import Repeats
from assay.stats.repeats.stored_repeats import repeats_in

# Maximum number of occasions; the newest are kept.
MOST = 24
_DAY = 86400.0


@dataclass(frozen=True)
class EarlierRun:
    """One earlier measurement of nodes."""

    #: Name of the group, or the day of single runs.
    name: str
    #: Unix time of the occasion, s.
    utc: float
    #: Medians of the launches' costs, by cell id and host.
    costs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def earlier_runs_before(group: GroupData, cells: Collection[str]) -> list[EarlierRun]:
    """Earlier measurements of these cells in the folder of a group, in order of time.

    Each group is one; runs on single hosts are pooled by day (UTC). Only measurements with enough
    hosts for a comparison are returned. Unreadable runs are skipped.
    """
    root, until = group.path.parent, group.request.utc
    collected: list[EarlierRun] = []
    earlier = (run for run in list_runs(root) if run.path != group.path)
    for utc, run in sorted(_groups(earlier, until), key=lambda found: -found[0])[:MOST]:
        costs = _by_host(_read(Store(run.path / "members")), cells)
        collected.append(EarlierRun(run.name, utc, costs))
    collected += _days(_read(Store(root), RunFilter(until=until)), cells)
    usable = [
        each for each in collected if any(len(hosts) >= MIN_VALUES for hosts in each.costs.values())
    ]
    return sorted(usable, key=lambda each: each.utc)[-MOST:]


def with_now(
    occasions: Iterable[EarlierRun], now: EarlierRun, hosts: list[str], cells: list[str]
) -> tuple[Floats, Floats]:
    """Costs [host, cell, occasion] with ``now`` last, nan for none; and the occasions' times."""
    found = [*occasions, now]
    costs = np.full((len(hosts), len(cells), len(found)), np.nan)
    places = {host: place for place, host in enumerate(hosts)}
    for when, occasion in enumerate(found):
        for column, cell in enumerate(cells):
            for host, cost in occasion.costs.get(cell, {}).items():
                if host in places:
                    costs[places[host], column, when] = cost
    return costs, np.array([each.utc for each in found])


def _groups(runs: Iterable[RunDirectory], until: float) -> Iterable[tuple[float, RunDirectory]]:
    for run in runs:
        try:
            request = run.request()
        except AssayError:
            continue
        if request is not None and request.members is not None and request.utc < until:
            yield request.utc, run


def _read(store: Store, choice: RunFilter | None = None) -> list[Repeats]:
    try:
        return repeats_in(store, choice)
    except AssayError:
        return []


def _by_host(found: Iterable[Repeats], cells: Collection[str]) -> dict[str, dict[str, float]]:
    """The median cost of each cell on each host."""
    collected: dict[str, dict[str, float]] = {}
    for repeats in found:
        if repeats.cell.id in cells:
            collected[repeats.cell.id] = _medians(repeats.hosts, repeats.cost)
    return collected


def _medians(hosts: Iterable[str], costs: Floats) -> dict[str, float]:
    of_host: dict[str, list[float]] = defaultdict(list)
    for host, cost in zip(hosts, costs.tolist(), strict=True):
        if host:
            of_host[host].append(cost)
    return {host: float(np.median(values)) for host, values in of_host.items()}


def _days(found: Iterable[Repeats], cells: Collection[str]) -> list[EarlierRun]:
    """Runs on single hosts, pooled by day."""
    import datetime

    days: dict[int, dict[str, dict[str, float]]] = defaultdict(dict)
    for repeats in found:
        if repeats.cell.id not in cells or repeats.cell.placement.nodes != 1:
            continue
        day_of = np.floor(repeats.utc / _DAY).astype(np.int64)
        for day in np.unique(day_of):
            of_day = repeats.take(day_of == day)
            days[int(day)][repeats.cell.id] = _medians(of_day.hosts, of_day.cost)
    return [
        EarlierRun(
            datetime.datetime.fromtimestamp(day * _DAY, datetime.UTC).date().isoformat(),
            (day + 0.5) * _DAY,
            costs,
        )
        for day, costs in days.items()
    ]
