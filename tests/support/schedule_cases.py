"""Small random cases for the scheduler's model: few jobs and nodes, whole seconds, many ties."""

from __future__ import annotations

import dataclasses
import random

import msgspec
import numpy as np

from assay.usage.scheduler.machine import EqualNodes, FailedNodes, Machine, Partition, Reservation
from assay.usage.scheduler.policy import Maui, Multifactor, Policy, Timing
from assay.usage.scheduler.replay import Replay
from assay.usage.scheduler.schedule import Workload

USERS, ACCOUNTS, QUALITIES = ["ann", "bob", "cy"], ["phys", "chem"], ["low", "high"]
FAMILIES = (
    *("fcfs", "easy", "conservative", "multifactor", "maui", "contiguous", "shared"),
    *("disturbed", "partitions", "timing", "feedback", "slurm"),
)


def workload(**columns) -> Workload:
    """A workload from the columns that matter; ``submit`` and ``run`` at least."""
    n = len(columns["submit"])
    nodes = columns.get("nodes", columns.get("processors", [1] * n))
    defaults = {
        "limit": [max(1, each) for each in columns["run"]],
        "nodes": [0] * n,
        "processors": [max(1, each) for each in nodes],
        "memory": [0.0] * n,
        "think": [0.0] * n,
        "after": [-1] * n,
        **{name: [0] * n for name in ("gpus", "user", "account", "partition", "qos")},
    }
    floats = ("submit", "run", "limit", "memory", "think")
    made = {
        name: np.array(values, dtype=np.float64 if name in floats else np.int64)
        for name, values in {**defaults, **columns}.items()
    }
    return Workload(**made, users=USERS, accounts=ACCOUNTS, qualities=QUALITIES)


def draw(family: str, seed: int) -> Replay:
    """A case of a family: what its policy is about is varied, with everything else it allows."""
    rng = random.Random(f"{family} {seed}")
    policy = Policy(
        order=family if family in ("multifactor", "maui") else "fcfs",
        backfill=family
        if family in ("easy", "conservative", "slurm")
        else "none"
        if family == "fcfs"
        else rng.choice(("none", "easy", "easy", "conservative")),
        reservations=rng.choice((1, 1, 1, 2, 3, 0)),
        allocation="contiguous" if family == "contiguous" else "free",
        sharing="processor" if family == "shared" else "node",
        kill=rng.random() < 0.7,
        requeue=rng.random() < 0.6,
        resubmit=rng.random() < 0.2,
    )
    machine = Machine(nodes=(EqualNodes(count=rng.randint(1, 8)),))
    if family == "shared" or (family == "contiguous" and rng.random() < 0.5):
        machine = _mixed(rng)
        if rng.random() < 0.5:
            policy = msgspec.structs.replace(policy, sharing="processor")
    if family in ("disturbed", "partitions", "feedback"):
        if rng.random() < 0.5:
            policy = msgspec.structs.replace(policy, sharing="processor")
        if rng.random() < 0.3:
            machine = _mixed(rng)
        if rng.random() < 0.2:
            policy = msgspec.structs.replace(policy, allocation="contiguous")
    if crowded := family == "easy" and rng.random() < 0.5:
        # What passes a waiting job, and what it leaves to others, differs only in long queues.
        machine = Machine(nodes=(EqualNodes(count=rng.randint(4, 8)),))
        policy = msgspec.structs.replace(policy, reservations=1, kill=rng.random() < 0.4)
    jobs = _jobs(rng, machine, family, crowded)
    if (
        family in ("disturbed", "feedback")
        or (family == "slurm" and rng.random() < 0.3)
        or rng.random() < 0.1
    ):
        machine = _disturb(rng, machine)
    if family == "partitions" or rng.random() < 0.1:
        machine = _divide(rng, machine)
        jobs = dataclasses.replace(
            jobs,
            partition=np.array(
                [rng.randrange(len(machine.partitions)) for _ in range(len(jobs))], dtype=np.int64
            ),
        )
    if family == "timing":
        policy = msgspec.structs.replace(policy, order=rng.choice(("fcfs", "multifactor", "maui")))
    policy = _weigh(rng, policy, family)
    return jobs, machine, policy


def _mixed(rng: random.Random) -> Machine:
    def kind() -> EqualNodes:
        memory = rng.choice((float("inf"), 8.0, 16.0))
        return EqualNodes(
            count=rng.randint(1, 4),
            processors=rng.choice((1, 2, 4)),
            memory=memory,
            gpus=rng.choice((0, 0, 2)),
        )

    return Machine(nodes=tuple(kind() for _ in range(rng.choice((1, 1, 2)))))


def _jobs(rng: random.Random, machine: Machine, family: str, crowded: bool) -> Workload:
    n = rng.randint(8, 14) if crowded else rng.randint(1, 12)
    span = rng.choice((1, 10)) if crowded else rng.choice((1, 10, 40))
    memory = any(kind.memory < 1e9 for kind in machine.nodes) and rng.random() < 0.7
    gpus = any(kind.gpus for kind in machine.nodes) and rng.random() < 0.7
    columns: dict[str, list] = {name: [] for name in ("submit", "run", "limit", "nodes")}
    columns |= {name: [] for name in ("processors", "memory", "gpus", "after", "think")}
    columns |= {name: [] for name in ("user", "account", "qos")}
    for j in range(n):
        run = rng.choice((0, 1, 1, 2, 3, 5, 8, 13))
        columns["submit"].append(rng.randint(0, span))
        columns["run"].append(run)
        exact = rng.random() < 0.4
        more = rng.randint(-4, 5) if crowded else rng.randint(-2, 9)
        columns["limit"].append(max(1, run if exact else run + more))
        nodes = rng.choice((0, 1, 1, 2, 3, machine.size, machine.size + rng.randint(0, 1)))
        if crowded:
            nodes = rng.randint(1, machine.size)
        columns["nodes"].append(nodes)
        most = nodes * rng.choice((1, 1, 2, 4)) or rng.randint(1, machine.processors + 1)
        columns["processors"].append(rng.randint(1, most) if rng.random() < 0.5 else most)
        columns["memory"].append(rng.choice((0, 1, 7.5, 8, 20)) if memory else 0)
        columns["gpus"].append(rng.choice((0, 0, 1, 2, 3)) if gpus else 0)
        feedback = family == "feedback" and j > 0 and rng.random() < 0.4
        columns["after"].append(rng.randrange(j) if feedback else -1)
        columns["think"].append(rng.choice((0, 0, 1, 5)))
        columns["user"].append(rng.randrange(len(USERS)))
        columns["account"].append(rng.randrange(len(ACCOUNTS)))
        columns["qos"].append(rng.randrange(len(QUALITIES)))
    columns["submit"].sort()
    return workload(**columns)


def _range(rng: random.Random, size: int) -> tuple[int, int | None]:
    first = rng.randrange(size)
    return (0, None) if rng.random() < 0.3 else (first, rng.randrange(first, size))


def _disturb(rng: random.Random, machine: Machine) -> Machine:
    size = machine.size

    def period() -> tuple[float, float]:
        begin = rng.randint(0, 30)
        return begin, float("inf") if rng.random() < 0.1 else begin + rng.randint(0, 12)

    reservations, failures = [], []
    for _ in range(rng.choice((0, 1, 1, 2))):
        (begin, end), (first, last) = period(), _range(rng, size)
        users = tuple(rng.sample(USERS, rng.choice((0, 0, 1))))
        reservations.append(Reservation(begin=begin, end=end, first=first, last=last, users=users))
    for _ in range(rng.choice((0, 1, 2, 3))):
        (begin, end), (first, last) = period(), _range(rng, size)
        last = size - 1 if last is None else last
        failures.append(FailedNodes(begin=begin, end=end, first=first, last=last))
    return msgspec.structs.replace(
        machine, reservations=tuple(reservations), failures=tuple(failures)
    )


def _divide(rng: random.Random, machine: Machine) -> Machine:
    partitions = []
    for name in ("a", "b", "c")[: rng.randint(1, 3)]:
        first, last = _range(rng, machine.size)
        partitions.append(
            Partition(
                name=name,
                first=first,
                last=last,
                longest=rng.choice((float("inf"), 10.0)),
                largest=rng.choice((0, 0, 2)),
                tier=rng.choice((0, 0, 1, 2)),
            )
        )
    return msgspec.structs.replace(machine, partitions=tuple(partitions))


def _weigh(rng: random.Random, policy: Policy, family: str) -> Policy:
    multifactor = Multifactor(
        age=rng.choice((0, 1000)),
        size=rng.choice((0, 500)),
        fair_share=rng.choice((0, 1000)),
        qos=rng.choice((0, 300)),
        partition=rng.choice((0, 300)),
        max_age=rng.choice((10, 100)),
        favor_small=rng.random() < 0.5,
        half_life=rng.choice((5, 20)),
        period=rng.choice((1, 4, 10)),
        damping=rng.choice((1, 2)),
        shares=rng.choice(({}, {"ann": 3}, {"phys": 2, "bob": 5})),
        qos_priority=rng.choice(({}, {"high": 10, "low": 5})),
    )
    maui = Maui(
        queue_time=rng.choice((0, 1)),
        expansion=rng.choice((0, 1, 10)),
        processors=rng.choice((0, 1, -1)),
        fair_share=rng.choice((0, 1)),
        window=rng.choice((3, 10)),
        windows=rng.choice((1, 3)),
        decay=rng.choice((0.5, 1.0)),
        targets=rng.choice(({}, {"ann": 20, "cy": 60})),
    )
    timing = policy.timing
    if family == "timing" or (family == "slurm" and rng.random() < 0.7):
        timing = Timing(
            main=rng.choice((0, 0, 3)),
            delay=rng.choice((0, 0, 2, 4)),
            tick=rng.choice((0, 0, 1, 1.25, 3)),
            tick_offset=rng.choice((0, 0.5, 2)),
            backfill=rng.choice((0, 2, 5)),
            offset=rng.choice((0, 0, 1, 3)),
            resolution=rng.choice((0, 0, 4)),
            depth=rng.choice((0, 0, 1, 3)),
            window=rng.choice((0, 0, 10)),
            launch=rng.choice((0, 1, 0.3)),
            done=rng.choice((0, 0, 2, 0.2)),
        )
    elif family in ("disturbed", "easy", "shared") and rng.random() < 0.2:
        timing = Timing(launch=rng.choice((0, 1)), done=rng.choice((0, 2)))
    reserved = rng.choice(("latest", "lowest")) if family in ("timing", "disturbed") else "latest"
    return msgspec.structs.replace(
        policy, multifactor=multifactor, maui=maui, timing=timing, reserved=reserved
    )
