"""Jobs as a modelled scheduler sees them, and the schedule that it makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from assay.arrays import Floats, Ints


@dataclass(frozen=True)
class Workload:
    """Jobs in the order of submission; each column has shape (n,)."""

    #: Time of submission, s; ascending.
    submit: Floats
    #: Time that the job needs, s.
    run: Floats
    #: Requested time, s.
    limit: Floats
    #: Number of nodes; 0 if any number that holds the processors will do.
    nodes: Ints
    #: Number of processors on all nodes together.
    processors: Ints
    #: Bytes of memory. ``gpus``: number of GPUs. Both count all nodes together.
    memory: Floats
    gpus: Ints
    #: ``user``, ``account``, ``qos``: indices into ``users``, ``accounts``, ``qualities``.
    user: Ints
    account: Ints
    #: Index of the job's partition in the machine's partitions.
    partition: Ints
    qos: Ints
    #: Index of an earlier job; -1 for none. The job is submitted ``think`` seconds after the
    #: earlier job ends, and its ``submit`` is ignored. This models users who wait for their jobs.
    after: Ints
    think: Floats
    users: list[str]
    accounts: list[str]
    qualities: list[str]

    def __len__(self) -> int:
        return len(self.submit)


@dataclass(frozen=True)
class Schedule:
    """The schedule of each job: columns of shape (n,), times in s, NaN for an event that never
    came."""

    #: Time of submission; it differs from the workload's for jobs ``after`` others.
    submit: Floats
    #: ``start``, ``end``: start and end of the job's last run.
    start: Floats
    end: Floats
    #: Values of ``assay.usage.jobs.State``: COMPLETED, TIMEOUT, NODE_FAILURE, PENDING, or CANCELLED
    #: for a refused job.
    state: Ints
    #: The job's lowest node; -1 if only the number of nodes was modelled.
    first_node: Ints
    #: Processor time of earlier runs, processors × s.
    lost: Floats
    #: Number of times that the job was started.
    runs: Ints
    #: 1 if the job started before another that was ahead of it in the queue.
    backfilled: Ints
    #: Largest number of waiting jobs at any time.
    longest_queue: int
    #: Number of the scheduler's passes over the queue.
    passes: int
