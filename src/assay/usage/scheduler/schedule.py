"""Jobs as a modelled scheduler sees them, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass

from assay.arrays import Floats, Ints


@dataclass(frozen=True)
class Workload:
    """Jobs in the order of submission; each column has shape (n,)."""

    #: s, ascending.
    submit: Floats
    #: s, what the job needs.
    run: Floats
    #: s, the requested time.
    limit: Floats
    #: 0 where any number serves that holds the processors.
    nodes: Ints
    #: In total.
    processors: Ints
    #: Bytes and ``gpus``: in total.
    memory: Floats
    gpus: Ints
    #: ``user``, ``account``, ``qos``: indices into ``users``, ``accounts``, ``qualities``.
    user: Ints
    account: Ints
    #: Index into the machine's partitions.
    partition: Ints
    qos: Ints
    #: Index of an earlier job, -1 for none: the job is submitted ``think`` (s) after that one has
    #: ended, and ``submit`` is ignored. Feedback of users, who wait for their jobs.
    after: Ints
    think: Floats
    users: list[str]
    accounts: list[str]
    qualities: list[str]

    def __len__(self) -> int:
        return len(self.submit)


@dataclass(frozen=True)
class Schedule:
    """What became of each job; columns of shape (n,), times in s, NaN where it never came to it."""

    #: As it was (jobs ``after`` others).
    submit: Floats
    #: ``start``, ``end``: of its last run.
    start: Floats
    end: Floats
    #: Of ``assay.usage.jobs.State`` (COMPLETED, TIMEOUT, NODE_FAILURE, CANCELLED for a refused job,
    #: PENDING).
    state: Ints
    #: The lowest of its nodes, -1 where only their number was modelled.
    first_node: Ints
    #: Processor × s of earlier runs.
    lost: Floats
    #: How often it was started.
    runs: Ints
    #: 1 if it was started before a job that stood before it in the queue.
    backfilled: Ints
    #: Most waiting jobs at any time.
    longest_queue: int
    #: Of the scheduler over the queue.
    passes: int
