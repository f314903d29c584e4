"""A Slurm over virtual hosts for tests: the condition to run it, and its commands."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping

import pytest

from assay.errors import AssayError
from assay.lab import network, slurm
from assay.lab.cluster import VirtualCluster
from assay.lab.slurm import SlurmCluster
from assay.schedulers.model import BatchScheduler, JobStatus

reason = network.why_not() or slurm.why_not()


@contextlib.contextmanager
def running_slurm(
    hosts: int = 4, *, login: bool = True, settings: Mapping[str, str] | None = None
) -> Iterator[SlurmCluster]:
    """A Slurm whose commands are on PATH within the context.

    ``login``: whether the first host only runs the controller, so that each node can be killed.
    """
    if reason:
        pytest.skip(reason)
    with VirtualCluster(hosts + login, rates=(None,)) as cluster:
        nodes = cluster.hosts[1:] if login else cluster.hosts
        slurm = SlurmCluster(cluster, nodes=nodes, settings=settings)
        with slurm, pytest.MonkeyPatch.context() as patch:
            for name, value in slurm.environment().items():
                patch.setenv(name, value)
            yield slurm


def follow(
    scheduler: BatchScheduler, job: str, until: Collection[str], patience: float = 90.0
) -> JobStatus:
    """Poll a job until it is in one of the states; fail if it ends in another."""
    end = time.monotonic() + patience
    while True:
        status = scheduler.status([job])[job]
        if status.state in until:
            return status
        if status.ended or time.monotonic() > end:
            raise AssayError(f"The job {job} is {status}, not {until}.")
        time.sleep(0.25)
