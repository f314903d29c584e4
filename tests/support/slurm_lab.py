"""A Slurm over virtual hosts for tests: the condition to run it, and its commands."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Collection, Iterator, Mapping

import pytest

from assay.errors import AssayError
from assay.lab import network, slurm
from assay.lab.slurm import CONTROLLER, SlurmCluster
from assay.schedulers.model import BatchScheduler, JobStatus
from virtual_cluster import VirtualCluster

reason = network.why_not() or slurm.why_not()


class FailingSlurm(SlurmCluster):
    """A Slurm whose nodes and controller can fail."""

    def kill_node(self, name: str) -> None:
        """Kill a node's slurmd and all processes of jobs there, as in a power failure."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()
        self._end_jobs(self.node(name))

    def start_node(self, name: str) -> None:
        """Start the slurmd of a node that was killed."""
        self._start_slurmd(self.node(name))

    def crash_controller(self, *, losing_state: bool = False) -> None:
        """Kill the controller; ``losing_state``: its saved state is gone, too, as on a failed disk.

        Jobs continue until a controller that doesn't know them is started.
        """
        daemon = self._daemons.pop(CONTROLLER)
        daemon.kill()
        daemon.wait()
        if losing_state:
            for path in (self.folder / "state").iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextlib.contextmanager
def running_slurm(
    hosts: int = 4, *, login: bool = True, settings: Mapping[str, str] | None = None
) -> Iterator[FailingSlurm]:
    """A Slurm whose commands are on PATH within the context.

    ``login``: whether the first host only runs the controller, so that each node can be killed.
    """
    if reason:
        pytest.skip(reason)
    with VirtualCluster(hosts + login, rates=(None,)) as cluster:
        nodes = cluster.hosts[1:] if login else cluster.hosts
        slurm = FailingSlurm(cluster, nodes=nodes, settings=settings)
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
