"""Sites whose scheduler has rules that their logs don't show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.usage.queue.policies import POLICIES
from assay.usage.scheduler.machine import (
    EqualNodes,
    FailedNodes,
    Machine,
    Partition,
    Reservation,
)
from assay.usage.scheduler.policy import Maui, Multifactor, Policy, Timing
from assay.usage.scheduler.schedule import Schedule, Workload
from assay.usage.workload.change import chosen_repeated
from assay.usage.workload.resample import WEEK
from usage_logs import MONDAY

_DAY, _HOUR = 86400.0, 3600.0


@dataclass(frozen=True)
class Site:
    """What really happens: ``workload`` as users submit it, ``machine`` and ``policy``."""

    workload: Workload
    machine: Machine
    policy: Policy


Replay = Callable[[Workload, Machine, Policy], Schedule]
Rules = Callable[[Site, np.random.Generator], Site]


def machine_of(nodes: int) -> Machine:
    """Nodes of one processor."""
    return Machine(nodes=(EqualNodes(count=nodes),))


def _with(policy: Policy) -> Rules:
    return lambda site, _: replace(site, policy=policy)


def _priorities(site: Site, random: np.random.Generator) -> Site:
    """Fair share with shares that differ by user, above all else."""
    shares = {name: float(random.lognormal(0.0, 1.5)) for name in site.workload.users}
    factors = Multifactor(age=500.0, fair_share=10000.0, shares=shares)
    return replace(site, policy=Policy(order="multifactor", backfill="easy", multifactor=factors))


def _sizes(site: Site, random: np.random.Generator) -> Site:
    """Small jobs first, or large ones."""
    factors = Multifactor(age=300.0, size=10000.0, favor_small=bool(random.integers(2)))
    return replace(site, policy=Policy(order="multifactor", backfill="easy", multifactor=factors))


def _reservations(site: Site, random: np.random.Generator) -> Site:
    """Some nodes are kept for one user in working hours."""
    weeks = int(site.workload.submit[-1] // WEEK) + 2
    last = int(random.uniform(0.05, 0.3) * site.machine.size)
    user = site.workload.users[int(random.integers(min(5, len(site.workload.users))))]
    kept = [
        Reservation(
            begin=week * WEEK + day * _DAY + 8 * _HOUR,
            end=week * WEEK + day * _DAY + 20 * _HOUR,
            first=0,
            last=last,
            users=(user,),
        )
        for week in range(weeks)
        for day in range(5)
    ]
    return replace(site, machine=msgspec.structs.replace(site.machine, reservations=tuple(kept)))


def _partitions(site: Site, random: np.random.Generator) -> Site:
    """Short jobs and long ones have their own nodes."""
    size = site.machine.size
    cut = float(random.choice([1.0, 2.0, 4.0])) * _HOUR
    load = site.workload
    short = (load.limit <= cut) & (load.processors <= size // 2)
    work = load.processors * load.run
    share = float(work[short].sum() / work.sum()) * float(random.uniform(1.0, 2.0))
    # Jobs have at most half of the nodes. Nodes that a what-if adds are for long jobs.
    own = max(int(share * size), int(load.processors[short].max(initial=1)))
    own = min(own, size // 2)
    parts = (Partition(name="long", first=own), Partition(name="short", last=own - 1))
    machine = msgspec.structs.replace(site.machine, partitions=parts)
    return replace(site, machine=machine, workload=replace(load, partition=short.astype(np.int64)))


def _maintenance(site: Site, random: np.random.Generator) -> Site:
    """The whole machine is down for a day, every second to fourth week."""
    weeks = int(site.workload.submit[-1] // WEEK) + 2
    length = float(random.uniform(0.5, 2.0)) * _DAY
    begins = np.arange(int(random.integers(2, 5)), weeks, int(random.integers(2, 5))) * WEEK
    kept = tuple(
        Reservation(begin=float(begin), end=float(begin) + length, users=("the site",))
        for begin in begins + 30 * _HOUR
    )
    return replace(site, machine=msgspec.structs.replace(site.machine, reservations=kept))


def _down(site: Site, random: np.random.Generator) -> Site:
    """Some nodes are down for weeks."""
    size = site.machine.size
    nodes = max(int(random.uniform(0.05, 0.25) * size), 1)
    weeks = float(site.workload.submit[-1]) / WEEK + 1.0
    begin = float(random.uniform(0.0, 0.5)) * weeks * WEEK
    end = begin + float(random.uniform(0.3, 1.0)) * weeks * WEEK
    failed = FailedNodes(begin=begin, end=end, first=0, last=nodes - 1)
    return replace(site, machine=msgspec.structs.replace(site.machine, failures=(failed,)))


def _holds(site: Site, random: np.random.Generator) -> Site:
    """Some jobs may start only hours after they were submitted: holds, dependencies, limits."""
    load = site.workload
    held = random.random(len(load)) < random.uniform(0.05, 0.4)
    by = np.floor(random.exponential(float(random.uniform(1.0, 12.0)) * _HOUR, len(load)))
    submit = load.submit + np.where(held, by, 0.0)
    return replace(site, workload=replace(load, submit=submit))


def _slow(site: Site, random: np.random.Generator) -> Site:
    """Backfilling looks at few jobs, and seldom."""
    timing = Timing(
        backfill=float(random.choice([300.0, 900.0, 1800.0])),
        depth=int(random.choice([0, 5, 20, 50])),
    )
    return replace(site, policy=msgspec.structs.replace(site.policy, timing=timing))


#: Rules by name; those of a named policy first.
RULES: dict[str, Rules] = {
    **{name: _with(policy) for name, policy in POLICIES.items()},
    "expansion": _with(
        Policy(order="maui", backfill="easy", maui=Maui(queue_time=0.1, expansion=100.0))
    ),
    "priorities": _priorities,
    "sizes": _sizes,
    "reservations": _reservations,
    "partitions": _partitions,
    "maintenance": _maintenance,
    "down": _down,
    "holds": _holds,
    "slow": _slow,
}


def real_starts(site: Site, replay: Replay) -> Floats | None:
    """When the jobs of a site really start, in the order of its workload; None if one never does.

    Jobs that are held are submitted to the scheduler in another order than to the log.
    """
    order = np.argsort(site.workload.submit, kind="stable")
    schedule = replay(chosen_repeated(site.workload, order), site.machine, site.policy)
    start = np.empty(order.size)
    start[order] = schedule.start
    return None if np.isnan(start).any() else start


def site_log(logged: Workload, site: Site, replay: Replay) -> str:
    """The log of a site in SWF: ``logged`` as users submit it, with the waits of the site."""
    start = real_starts(site, replay)
    assert start is not None
    waits = np.floor(start - logged.submit)
    head = f"; UnixStartTime: {MONDAY}\n; TimeZoneString: UTC\n; MaxProcs: {site.machine.size}\n"
    return head + "".join(
        f"{job + 1} {int(logged.submit[job])} {int(waits[job])} {int(logged.run[job])} "
        f"{logged.processors[job]} -1 -1 {logged.processors[job]} {int(logged.limit[job])} -1 1 "
        f"{logged.user[job] + 1} 1 -1 {site.workload.partition[job] + 1} -1 -1 -1\n"
        for job in range(len(logged))
    )
