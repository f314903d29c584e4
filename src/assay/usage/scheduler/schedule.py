"""Jobs as a modelled scheduler sees them, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass

from assay.arrays import Floats, Ints


@dataclass(frozen=True)
class Workload:
    """Jobs in the order of submission; each column has shape (n,).

    ``submit``: s, ascending. ``run``: s, what the job needs. ``limit``: s, the requested time.
    ``nodes``: 0 where any number serves that holds the processors. ``processors``: in total.
    ``memory``: bytes and ``gpus``: in total. ``user``, ``account``, ``qos``: indices into
    ``users``, ``accounts``, ``qualities``; ``partition``: index into the machine's partitions.
    ``after``: index of an earlier job, -1 for none: the job is submitted ``think`` (s) after that
    one has ended, and ``submit`` is ignored. Feedback of users, who wait for their jobs.
    """

    submit: Floats
    run: Floats
    limit: Floats
    nodes: Ints
    processors: Ints
    memory: Floats
    gpus: Ints
    user: Ints
    account: Ints
    partition: Ints
    qos: Ints
    after: Ints
    think: Floats
    users: list[str]
    accounts: list[str]
    qualities: list[str]

    def __len__(self) -> int:
        return len(self.submit)


@dataclass(frozen=True)
class Schedule:
    """What became of each job; columns of shape (n,), times in s, NaN where it never came to it.

    ``submit``: as it was (jobs ``after`` others). ``start``, ``end``: of its last run. ``state``:
    of ``assay.usage.jobs.State`` (COMPLETED, TIMEOUT, NODE_FAILURE, CANCELLED for a refused job,
    PENDING). ``first_node``: the lowest of its nodes, -1 where only their number was modelled.
    ``lost``: processor × s of earlier runs. ``runs``: how often it was started. ``backfilled``: 1
    if it was started before a job that stood before it in the queue.

    ``longest_queue``: most waiting jobs at any time. ``passes``: of the scheduler over the queue.
    """

    submit: Floats
    start: Floats
    end: Floats
    state: Ints
    first_node: Ints
    lost: Floats
    runs: Ints
    backfilled: Ints
    longest_queue: int
    passes: int
