"""Slurm's plan for the slow model of a scheduler: sets of nodes, every period looked at.

It follows docs/methods/scheduler.md ("As Slurm plans") sentence by sentence.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedule_reference import Reference

Kept = list[tuple[float, float, set[int]]]  # begin, end and nodes of the pass's reservations


class SlurmPass:
    """One pass at ``now``; ``reference``: jobs, machine and what runs."""

    def __init__(self, reference: Reference, now: float) -> None:
        self.of, self.now = reference, math.floor(now)
        self.resolution = max(1.0, reference.timing.resolution)
        self.kept: Kept = []

    def start(self, j: int) -> list[int] | None:
        """The nodes on which the job starts now."""
        nodes, _ = self.allowed(j, self.now)
        taken = {node for shares in self.of.shares.values() for node in shares}
        free = sorted(nodes - taken)
        count = self.of.demand(j)[0]
        return free[:count] if len(free) >= count else None

    def reserve(self, j: int, horizon: float) -> bool:
        limit, begin = self.of.limit[j], self.now
        while begin < math.inf:
            nodes, later = self.allowed(j, begin)
            when, chosen = self.earliest(j, nodes)
            start = max(begin, when)
            if start == math.inf or start > later:
                begin = later
                continue
            if start > horizon:
                return False
            first, last = self.down(start), self.down(start + limit)
            if start > self.now and any(
                first < until and since < last and chosen & held for since, until, held in self.kept
            ):
                begin = start
                continue
            first = max(first, self.down(self.now))
            self.kept.append((first, max(last, first + self.resolution), chosen))
            return True
        return False

    def down(self, time: float) -> float:
        return math.floor(time / self.resolution) * self.resolution

    def held(self, time: float) -> set[int]:
        """Nodes that reservations of this pass have at a time."""
        return {n for since, until, nodes in self.kept if since <= time < until for n in nodes}

    def allowed(self, j: int, begin: float) -> tuple[set[int], float]:
        """Nodes from ``begin`` to the job's limit, and when others may be tried."""
        of, end = self.of, begin + self.of.limit[j]
        mine = of.partitions[of.jobs[j]["partition"]]
        last = of.size - 1 if mine.last is None else mine.last
        broken = {node for _, node in of.down}
        usable = {
            node
            for node in range(mine.first, last + 1)
            if node not in broken and not of.closed(j, begin, node)
        }
        user = of.workload.users[of.jobs[j]["user"]]
        later = min(
            (
                each.end
                for each in of.machine.reservations
                if begin < each.end and end > each.begin and user not in each.users
            ),
            default=math.inf,
        )
        cuts = sorted({self.down(self.now), *(t for one in self.kept for t in one[:2])})
        periods = list(zip(cuts, [*cuts[1:], math.inf], strict=True))
        nodes, found = usable, False
        for (since, until), after in zip(periods, [*periods[1:], None], strict=True):
            if until <= begin:
                continue
            here = nodes - self.held(since)
            if not found and after and (usable - self.held(after[0])) - here:
                found, later = True, min(later, until)
            if since > end:
                break
            nodes = here
        return nodes, later

    def earliest(self, j: int, nodes: set[int]) -> tuple[float, set[int]]:
        """When enough of the nodes are free, as running jobs end one after the other."""
        of, count = self.of, self.of.demand(j)[0]
        taken = {node for shares in of.shares.values() for node in shares}
        free = nodes - taken
        if len(free) >= count:
            return self.now, best_fit(free, count)
        for end, job in sorted((end, job) for job, end in of.planned.items()):
            free |= nodes & set(of.shares[job])
            if len(free) >= count:
                return (end if end > self.now else self.now + 1), best_fit(free, count)
        return math.inf, set()


def best_fit(free: set[int], count: int) -> set[int]:
    """The smallest row of consecutive nodes that is enough, else the largest ones."""
    chosen: set[int] = set()
    rest = set(free)
    while len(chosen) < count:
        rows: list[list[int]] = []
        for node in sorted(rest):
            if rows and rows[-1][-1] == node - 1:
                rows[-1].append(node)
            else:
                rows.append([node])
        need = count - len(chosen)
        enough = [row for row in rows if len(row) >= need]
        row = min(enough, key=len) if enough else max(rows, key=len)
        chosen |= set(row[:need])
        rest -= set(row[:need])
    return chosen
