"""The costs of many checks as arrays, from learning checks and from records of earlier ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from assay.arrays import Bools, Floats, Ints
from assay.check.baseline.costs import CORE_GAP, core_cost, core_costs, cost_of, reading_cost
from assay.check.baseline.coverage import OTHERS, TOO_FEW
from assay.check.components import BY_NAME, CORE
from assay.check.model import CheckRecord, DeviceSet, Reading

# Rounds of a learning check that are used.
_MOST_ROUNDS = 4


def tells_usual(record: CheckRecord) -> bool:
    """Whether the record of a check may be learned from.

    It was healthy, or its only fault was slowness on which the baseline couldn't decide yet.
    Without the latter, the slow times of a fleet would never be learned.
    """
    if record.outcome == "undecided":
        return TOO_FEW in record.reason and OTHERS not in record.reason
    return record.outcome == "healthy"


@dataclass(frozen=True)
class LearningCheck:
    """One check by ``assay check --record``: all readings of all rounds."""

    host: str
    #: Unix time, s.
    utc: float
    #: By component, a mapping for each round.
    rounds: Sequence[Mapping[str, Reading]]
    #: The devices that were measured; None without any.
    devices: DeviceSet | None = None


@dataclass(frozen=True)
class SeriesSample:
    """The costs of one series. Arrays have an entry per check, or a row per check."""

    hosts: tuple[str, ...]
    #: Index into ``hosts``, and Unix time, s.
    node: Ints
    utc: Floats
    #: Costs of single rounds, and the better of two rounds, for each pair of rounds; nan where
    #: there is none. Records of earlier checks have one value, in both.
    singles: Floats
    bests: Floats

    @property
    def checks(self) -> int:
        """The number of checks."""
        return int(self.node.size)

    def take(self, which: Bools) -> SeriesSample:
        """The chosen checks."""
        return SeriesSample(
            self.hosts, self.node[which], self.utc[which], self.singles[which], self.bests[which]
        )


def series_samples(
    checks: Sequence[LearningCheck], records: Mapping[str, Sequence[CheckRecord]]
) -> dict[str, SeriesSample]:
    """The costs by series. Readings without a value, or with a wrong result, are left out.

    Records count if they tell what is usual (``tells_usual``): their values are the better of two
    rounds where one was slow, as in ``check_table``.
    """
    hosts = sorted({each.host for each in checks} | set(records))
    number = {host: place for place, host in enumerate(hosts)}
    rows: dict[str, list[tuple[int, float, list[float], list[float]]]] = {}
    for check in checks:
        for name, singles, bests in _series(check):
            rows.setdefault(name, []).append((number[check.host], check.utc, singles, bests))
    for host, recent in records.items():
        for record in recent:
            if not tells_usual(record):
                continue
            for name, value in record.values.items():
                cost = cost_of(name, value) if name in BY_NAME else None
                if cost is not None:
                    row = (number[host], record.utc, [cost], [cost])
                    rows.setdefault(name, []).append(row)
    return {name: _sample(tuple(hosts), each) for name, each in rows.items()}


def _series(check: LearningCheck) -> Iterator[tuple[str, list[float], list[float]]]:
    for name in BY_NAME:
        readings = [each[name] for each in check.rounds if name in each][:_MOST_ROUNDS]
        readings = [each for each in readings if each.verified]
        costs = [cost for each in readings if (cost := reading_cost(each)) is not None]
        if costs:
            bests = [min(one, two) for n, one in enumerate(costs) for two in costs[n + 1 :]]
            yield name, costs, bests or costs
        if name == CORE:
            gaps, pairs = _gaps(readings)
            if gaps:
                yield CORE_GAP, gaps, pairs or gaps


def _gaps(readings: Sequence[Reading]) -> tuple[list[float], list[float]]:
    """The gap of the slowest CPU in each round, and the lesser gap of this CPU in two rounds."""
    found = [(each, cores) for each in readings if (cores := core_costs(each)) is not None]
    usual = [(each, cores, cores.usual) for each, cores in found if cores.usual is not None]
    gaps = [cores.slowest - middle for _, cores, middle in usual]
    pairs = []
    for (_, cores, middle), (other, _, there) in permutations(usual, 2):
        again = core_cost(other, cores.cpu)
        if again is not None:
            pairs.append(min(cores.slowest - middle, again - there))
    return gaps, pairs


def _sample(
    hosts: tuple[str, ...], rows: Sequence[tuple[int, float, list[float], list[float]]]
) -> SeriesSample:
    return SeriesSample(
        hosts=hosts,
        node=np.array([row[0] for row in rows], dtype=np.int64),
        utc=np.array([row[1] for row in rows]),
        singles=_padded([row[2] for row in rows]),
        bests=_padded([row[3] for row in rows]),
    )


def _padded(rows: Sequence[Sequence[float]]) -> Floats:
    filled = np.full((len(rows), max(map(len, rows))), np.nan)
    for place, row in enumerate(rows):
        filled[place, : len(row)] = row
    return filled
