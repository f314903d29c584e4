"""A plain model of first come, first served, for tests of what stands around the native one."""

from __future__ import annotations

import heapq

import numpy as np

from assay.usage.jobs import State
from assay.usage.scheduler.machine import Machine
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.schedule import Schedule, Workload


def first_come(workload: Workload, machine: Machine, policy: Policy) -> Schedule:
    """Jobs start in the order of submission as soon as their processors are free.

    Jobs end at their limit if the policy kills them. Failures, partitions and nodes are ignored.
    Jobs after others are submitted when those have ended.
    """
    count = len(workload)
    submit = workload.submit.copy()
    start, end = np.full(count, np.nan), np.full(count, np.nan)
    state = np.full(count, int(State.COMPLETED))
    followers: dict[int, list[int]] = {}
    queue: list[tuple[float, int]] = []
    for job in range(count):
        if workload.after[job] >= 0:
            followers.setdefault(int(workload.after[job]), []).append(job)
        else:
            heapq.heappush(queue, (float(submit[job]), job))
    running: list[tuple[float, int]] = []
    free, now = machine.processors, -np.inf
    while queue:
        when, job = heapq.heappop(queue)
        size = int(workload.processors[job])
        if size > machine.processors:
            state[job] = State.CANCELLED
            continue
        now = max(now, when)
        while running and (running[0][0] <= now or free < size):
            done, released = heapq.heappop(running)
            now, free = max(now, done), free + released
        run = float(workload.run[job])
        if policy.kill and run > workload.limit[job]:
            run, state[job] = float(workload.limit[job]), State.TIMEOUT
        start[job], end[job] = now, now + run
        free -= size
        heapq.heappush(running, (now + run, size))
        for other in followers.get(job, ()):
            submit[other] = end[job] + workload.think[other]
            heapq.heappush(queue, (float(submit[other]), other))
    zeros = np.zeros(count, dtype=np.int64)
    return Schedule(
        submit=submit,
        start=start,
        end=end,
        state=state.astype(np.int64),
        first_node=zeros - 1,
        lost=np.zeros(count),
        runs=zeros + 1,
        backfilled=zeros,
        longest_queue=0,
        passes=0,
    )
