"""Launches from this process, with the toolchain's mpirun or srun, on this machine or hosts."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.config import ClusterConfig
from assay.errors import AssayError, nearest
from assay.kernels import needs_thread_multiple
from assay.kernels.builds.toolchain import Toolchain
from assay.launch.commands.launch_command import RUNNER, is_command, prepare_command
from assay.launch.executor import HostsLost, Launch, LaunchOrder
from assay.launch.mpi.mpirun import hosts_of, launcher_of, mpirun_command, uses_hydra
from assay.launch.mpi.reachability import PATIENCE, check_hosts
from assay.launch.outages import silent_hosts
from assay.launch.outcome import EndedBy, judge, last_output
from assay.launch.output import cap
from assay.launch.process import LaunchProcess
from assay.launch.warden import AGENT, HERE, REMOTE
from assay.model.placement import Placement
from assay.records.files import write_atomically
from assay.records.model import LaunchRecord

# Seconds between asking ranks to end and killing them.
GRACE = 5.0


class LocalExecutor:
    """Runs launches on this machine, or on a cluster's hosts.

    Keys of both maps are the toolchains' names in the plan.
    """

    def __init__(
        self,
        toolchains: Mapping[str, Toolchain],
        executables: Mapping[str, Path],
        *,
        cluster: ClusterConfig | None = None,
        grace: float = GRACE,
    ) -> None:
        self._toolchains = toolchains
        self._executables = executables
        self._cluster = cluster
        self._grace = grace
        self._reached: set[tuple[str, Path, Path]] = set()

    def start(self, order: LaunchOrder) -> Launch:
        """Write the job next to the stream and start mpirun. Raises AssayError on failure."""
        if is_command(order):
            hosts = hosts_of(order.placement, self._cluster, order.seed)
            words = prepare_command(order, hosts, self._cluster)
            return LocalLaunch(order, words, RUNNER, self._grace, HERE)
        toolchain, executable = self._built(order)
        command = self.command(order)
        job = order.stream.with_suffix(".job.json")
        hosts = hosts_of(order.placement, self._cluster, order.seed)
        where = REMOTE if hosts else AGENT if uses_hydra(toolchain) else HERE
        self._reach(hosts, executable, job)
        return LocalLaunch(order, command, executable, self._grace, where)

    def command(self, order: LaunchOrder) -> list[str]:
        """Write the job next to the stream; the command line of the launch. Raises AssayError."""
        toolchain, executable = self._built(order)
        job = order.stream.with_suffix(".job.json")
        command = mpirun_command(
            toolchain,
            executable,
            order.placement,
            job,
            order.stream,
            cluster=self._cluster,
            seed=order.seed,
            thread_multiple=any(
                needs_thread_multiple(each.kernel, order.placement.threads)
                for each in order.job.measurements
            ),
        )
        hosts = hosts_of(order.placement, self._cluster, order.seed)
        shell = [self._cluster.remote_shell] if hosts and self._cluster else []
        for program in (launcher_of(toolchain, hosts, self._cluster), str(executable), *shell):
            if shutil.which(program) is None:
                raise AssayError(
                    f"The launch can't be started: there is no program '{program}'.",
                    fix="Run `assay doctor`.",
                )
        write_atomically(job, msgspec.json.format(msgspec.json.encode(order.job)) + b"\n")
        return command

    def _built(self, order: LaunchOrder) -> tuple[Toolchain, Path]:
        toolchain = self._toolchains.get(order.toolchain)
        executable = self._executables.get(order.toolchain)
        if toolchain is None or executable is None:
            raise AssayError(
                f"There is no toolchain '{order.toolchain}' for this launch.",
                fix=nearest(order.toolchain, self._executables),
            )
        return toolchain, executable

    def _reach(self, hosts: Sequence[str], executable: Path, job: Path) -> None:
        if self._cluster is None:
            return
        new = [h for h in hosts if (h, executable, job.parent) not in self._reached]
        try:
            check_hosts(self._cluster.remote_shell, new, executable, job)
        except HostsLost as lost:
            self._do_without(lost.hosts)
            raise
        self._reached |= {(host, executable, job.parent) for host in new}

    def fits(self, placement: Placement) -> bool:
        """Whether enough hosts are left for the launch."""
        return placement.nodes <= (len(self._cluster.hosts) if self._cluster else 1)

    def lost_hosts(self, order: LaunchOrder) -> tuple[str, ...]:
        """Check the hosts of a launch; returns those that don't answer. They are not used again."""
        if self._cluster is None:
            return ()
        hosts = hosts_of(order.placement, self._cluster, order.seed)
        lost = silent_hosts(self._cluster.remote_shell, hosts, patience=PATIENCE)
        self._do_without(lost)
        return lost

    def _do_without(self, lost: tuple[str, ...]) -> None:
        assert self._cluster is not None
        left = tuple(host for host in self._cluster.hosts if host not in lost)
        self._cluster = msgspec.structs.replace(self._cluster, hosts=left)


class LocalLaunch:
    """A running mpirun, or another running command."""

    def __init__(
        self,
        order: LaunchOrder,
        command: list[str],
        executable: Path,
        grace: float,
        where: str,
    ) -> None:
        self._order = order
        self._command = command
        self._grace = grace
        self._out = order.stream.with_suffix(".out")
        self._err = order.stream.with_suffix(".err")
        self._utc = time.time()
        self._start = time.monotonic()
        self._ended_by: EndedBy | None = None
        self._kill_at = float("inf")
        self._record: LaunchRecord | None = None
        self._process = LaunchProcess(
            command,
            rank_program=executable,
            where=where,
            out=self._out,
            err=self._err,
        )

    def poll(self) -> LaunchRecord | None:
        """None while it runs; its record once it has ended. Ends it when its time is over."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> LaunchRecord | None:
        """Like ``poll``, but wait up to ``seconds`` for the end."""
        until = time.monotonic() + seconds
        while self._record is None:
            if self._ended_by is None:
                next_deadline = self._start + min(self._order.timeout, self._order.allowance)
            else:
                next_deadline = self._kill_at
            status = self._process.wait(min(until, next_deadline) - time.monotonic())
            if status is None and time.monotonic() >= next_deadline:
                if self._ended_by is None:
                    late = self._order.timeout <= self._order.allowance
                    self._ask("timeout" if late else "budget")
                else:
                    status = self._process.kill()
            if status is not None:
                self._record = self._finish(status)
            elif time.monotonic() >= until:
                break
        return self._record

    def stop(self) -> LaunchRecord:
        """End it: SIGTERM to the ranks, a grace period, then SIGKILL to the whole process tree."""
        if self.poll() is None and self._ended_by is None:
            self._ask("interrupted")
        while True:
            record = self.wait(60.0)
            if record is not None:
                return record

    def _ask(self, why: EndedBy) -> None:
        self._ended_by = why
        self._kill_at = time.monotonic() + self._grace
        self._process.ask()

    def _finish(self, status: int) -> LaunchRecord:
        wall = time.monotonic() - self._start
        said = last_output(self._err, self._out)
        verdict = judge(self._order.stream, status, said, self._ended_by, after=self._order.timeout)
        for path in (self._out, self._err):
            if path.exists() and path.stat().st_size == 0:
                path.unlink()
            cap(path)
        return LaunchRecord(
            launch=self._order.launch,
            toolchain=self._order.toolchain,
            command=self._command,
            utc=self._utc,
            wall=wall,
            exit=status,
            outcome=verdict.outcome,
            error=verdict.error,
            blamed=verdict.blamed,
            stderr=said,
            signal=verdict.signal,
        )
