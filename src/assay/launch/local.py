"""Launching on this machine, with the toolchain's own mpirun."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from assay.errors import AssayError, nearest
from assay.kernels.toolchains import Toolchain
from assay.launch.executor import Launch, LaunchOrder
from assay.launch.outcome import judge, last_words
from assay.launch.process import LaunchProcess
from assay.plans.model import Placement
from assay.records.files import write_atomically
from assay.records.model import LaunchRecord

# Seconds between asking ranks to end and killing them.
GRACE = 5.0


class LocalExecutor:
    """Runs launches on this machine; keys of both maps are the toolchains' names in the plan."""

    def __init__(
        self,
        toolchains: Mapping[str, Toolchain],
        executables: Mapping[str, Path],
        *,
        grace: float = GRACE,
    ) -> None:
        self._toolchains = toolchains
        self._executables = executables
        self._grace = grace

    def start(self, order: LaunchOrder) -> Launch:
        """Write the job beside the stream and start mpirun. Raises AssayError if it can't."""
        toolchain = self._toolchains.get(order.toolchain)
        executable = self._executables.get(order.toolchain)
        if toolchain is None or executable is None:
            raise AssayError(
                f"There is no toolchain '{order.toolchain}' for this launch.",
                mend=nearest(order.toolchain, self._executables),
            )
        job = order.stream.with_suffix(".job.json")
        command = mpirun_command(toolchain, executable, order.placement, job, order.stream)
        for program in (toolchain.mpirun or "", str(executable)):
            if shutil.which(program) is None:
                raise AssayError(
                    f"The launch can't be started: there is no program '{program}'.",
                    mend="Look at `assay doctor`.",
                )
        write_atomically(job, msgspec.json.format(msgspec.json.encode(order.job)) + b"\n")
        return _LocalLaunch(order, command, executable, self._grace)


def mpirun_command(
    toolchain: Toolchain,
    executable: Path,
    placement: Placement,
    job: Path,
    stream: Path,
    *,
    cores: int | None = None,
    root: bool | None = None,
) -> list[str]:
    """The launch line, ready to paste.

    ``cores`` and ``root`` default to this machine's and this process's. The harness pins ranks and
    threads by itself, so that every MPI is treated alike: each launcher is told to bind nothing.
    Raises AssayError for what can't be launched on one machine.
    """
    if placement.nodes != 1:
        raise AssayError(
            f"The local launcher runs on one node, not on {placement.nodes}.",
            mend="Set nodes = 1, or launch through the cluster's scheduler.",
        )
    if placement.adapter is not None:
        raise AssayError(
            f"The local launcher can't use the network adapter '{placement.adapter}': "
            "ranks on one node talk through memory.",
            mend="Leave 'adapter' out of the placement.",
        )
    if toolchain.mpirun is None:
        raise AssayError(
            f"The toolchain '{toolchain.name}' has no mpirun beside its mpicxx or on PATH.",
            mend=f'Add mpirun = "…" to [toolchains.{toolchain.name}] in assay.toml.',
        )
    root = os.geteuid() == 0 if root is None else root
    crowded = placement.ranks > (_physical_cores() if cores is None else cores)
    threads = _thread_variables(placement.threads)
    site = [f"{name}={value}" for name, value in sorted(toolchain.environment.items())]
    count = ["-n", str(placement.ranks)]
    match toolchain.mpi_flavour:
        case "mpich":
            # fork, user: a scheduler's allocation around this process is no concern of this launch.
            flags = ["-launcher", "fork", "-rmk", "user", "-bind-to", "none"]
            flags += [word for name, value in threads.items() for word in ("-genv", name, value)]
        case "intel":
            flags = ["-bootstrap", "fork", "-ppn", str(placement.ppn)]
            pinning = {"I_MPI_PIN": "0", **threads}
            flags += [word for name, value in pinning.items() for word in ("-genv", name, value)]
        case "openmpi":
            flags = ["--bind-to", "none"]
            flags += ["--oversubscribe"] if crowded else []
            flags += ["--allow-run-as-root"] if root else []
            flags += [word for name, value in threads.items() for word in ("-x", f"{name}={value}")]
        case "other":
            flags = []
            site += [f"{name}={value}" for name, value in threads.items()]
    program = [str(executable), "--job", str(job), "--out", str(stream)]
    prefix = ["env", *site] if site else []
    return [*prefix, toolchain.mpirun, *count, *flags, *toolchain.launch_flags, *program]


def _thread_variables(threads: int) -> dict[str, str]:
    """The same number of threads for OpenMP and for every BLAS's own pool."""
    count = str(threads)
    return {
        "OMP_NUM_THREADS": count,
        "OMP_DYNAMIC": "false",
        "OMP_PROC_BIND": "false",
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "BLIS_NUM_THREADS": count,
    }


def _physical_cores() -> int:
    """Cores that this process may use, hardware threads not counted: what Open MPI calls slots."""
    import psutil

    allowed = len(os.sched_getaffinity(0))
    return min(psutil.cpu_count(logical=False) or allowed, allowed)


class _LocalLaunch:
    """One mpirun under way."""

    def __init__(
        self,
        order: LaunchOrder,
        command: list[str],
        executable: Path,
        grace: float,
    ) -> None:
        self._order = order
        self._command = command
        self._grace = grace
        self._out = order.stream.with_suffix(".out")
        self._err = order.stream.with_suffix(".err")
        self._utc = time.time()
        self._start = time.monotonic()
        self._ended_by: Literal["timeout", "interrupted"] | None = None
        self._kill_at = float("inf")
        self._record: LaunchRecord | None = None
        self._process = LaunchProcess(
            command,
            rank_program=executable,
            out=self._out,
            err=self._err,
        )

    def poll(self) -> LaunchRecord | None:
        """None while it runs; its record once it has ended. Ends it when its time is out."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> LaunchRecord | None:
        """As ``poll``, but waits up to so many seconds for the end."""
        until = time.monotonic() + seconds
        while self._record is None:
            if self._ended_by is None:
                next_deadline = self._start + self._order.timeout
            else:
                next_deadline = self._kill_at
            status = self._process.wait(min(until, next_deadline) - time.monotonic())
            if status is None and time.monotonic() >= next_deadline:
                if self._ended_by is None:
                    self._ask("timeout")
                else:
                    status = self._process.kill()
            if status is not None:
                self._record = self._finish(status)
            elif time.monotonic() >= until:
                break
        return self._record

    def stop(self) -> LaunchRecord:
        """End it: SIGTERM to the ranks, a little patience, then SIGKILL to the whole tree."""
        if self.poll() is None and self._ended_by is None:
            self._ask("interrupted")
        while True:
            record = self.wait(60.0)
            if record is not None:
                return record

    def _ask(self, why: Literal["timeout", "interrupted"]) -> None:
        self._ended_by = why
        self._kill_at = time.monotonic() + self._grace
        self._process.ask()

    def _finish(self, status: int) -> LaunchRecord:
        wall = time.monotonic() - self._start
        said = last_words(self._err, self._out)
        verdict = judge(self._order.stream, status, said, self._ended_by, after=self._order.timeout)
        for path in (self._out, self._err):
            if path.exists() and path.stat().st_size == 0:
                path.unlink()
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
        )
