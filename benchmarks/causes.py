"""Causes of variation made on purpose, and what the report then names.

    .venv/bin/python benchmarks/causes.py [--launches N] [--only NAME …] [--seed N] [--kernels PATH]

Each experiment launches one kernel some forty times; in half of the launches, drawn at random,
something is done to it: a process competes for one core; a rank is stopped and continued, as a CPU
limiter does; a process streams through 1 GiB of memory; a link of a virtual cluster is shaped and
drops packets. A run is made of the launches, and what its report names first is printed. Bounded to
about a minute each. As root, ranks and what competes with them run at a higher priority, so that it
doesn't matter what else the machine does; the shaped link needs root.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from assay.answers.causes import Causes, causes_of, part_of
from assay.config import ClusterConfig, Config
from assay.kernels.building import build_kernels
from assay.kernels.toolchains import Toolchain, select_toolchain
from assay.lab import network
from assay.lab.cluster import GIGABIT, VirtualCluster
from assay.launch.mpirun import mpirun_command
from assay.plans.model import Cell, Placement, Plan, Replication
from assay.records.directory import RunDirectory, create_run
from assay.records.model import RunData
from assay.records.reading import measurement_id, read_run
from assay.records.schema import Job, MeasurementOrder
from assay.records.stream import read_stream
from assay.stats.repeats import repeats_of

LAUNCHES = 40
HOG = 1 << 30  # bytes
PRIORITY = -15
# Seconds after which a launch is given up.
PATIENCE = 60.0
# A shaped link: so many bits a second, and so short a queue that it drops what comes too fast.
SHAPED_RATE, SHAPED_QUEUE = 200_000_000, 12_000

# What is done to a launch: of the stream that it writes, for as long as it runs.
Disturb = Callable[[Path], AbstractContextManager[None]]


@dataclass(frozen=True)
class Experiment:
    """``cause``: what the report should name first; ``samples``: the fewest and the most."""

    name: str
    cause: str
    kernel: str
    parameters: dict[str, int | float | str]
    placement: Placement
    disturb: Disturb
    samples: tuple[int, int]
    budget: float
    cluster: VirtualCluster | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment. ``slowdown``: median cost with over median cost without."""

    experiment: Experiment
    data: RunData
    causes: Causes | None
    disturbed: list[bool] = field(default_factory=list)
    slowdown: float = 1.0
    seconds: float = 0.0

    @property
    def named(self) -> list[str]:
        """The causes named, the greatest share first."""
        return [share.cause for share in self.causes.cells[0].named] if self.causes else []


# ---- what is done to launches ------------------------------------------------------------------


def _prioritised(cpu: int | None) -> Callable[[], None]:
    """For a child, before its program begins: the experiment's priority, and one CPU."""

    def prepare() -> None:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})

    return prepare


@contextlib.contextmanager
def _beside(cpu: int, program: str) -> Iterator[None]:
    """A Python program on one CPU, once it has said that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, preexec_fn=_prioritised(cpu)
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.kill()


def competing(cpu: int) -> Disturb:
    """A process that never gives that CPU away."""
    return lambda _: _beside(cpu, "print(flush=True)\nwhile True: pass")


def streaming(cpu: int) -> Disturb:
    """A process on another CPU that writes 1 GiB over and over."""
    program = f"import numpy; a = numpy.ones({HOG // 8}); print(flush=True)\nwhile True: a += 1.0"
    return lambda _: _beside(cpu, program)


def stopping(rank: int, span: float = 0.02) -> Disturb:
    """SIGSTOP and SIGCONT to a rank in turn, each for ``span`` s."""

    def limit(stream: Path, over: threading.Event) -> None:
        handle = _handle_of(stream, rank, over)
        if handle is None:
            return
        try:
            while not over.wait(span):
                signal.pidfd_send_signal(handle, signal.SIGSTOP)
                over.wait(span)
                signal.pidfd_send_signal(handle, signal.SIGCONT)
        except ProcessLookupError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGCONT)
            os.close(handle)

    @contextlib.contextmanager
    def disturb(stream: Path) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=limit, args=(stream, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    return disturb


def _handle_of(stream: Path, rank: int, over: threading.Event) -> int | None:
    """A handle of the rank's process, which can't become another's, as soon as it is told."""
    while not over.wait(0.005):
        ranks = read_stream(stream).ranks if stream.exists() else []
        pid = next((each.pid for each in ranks if each.rank == rank), None)
        if pid is not None:
            try:
                return os.pidfd_open(pid)
            except ProcessLookupError:
                return None
    return None


def shaped(cluster: VirtualCluster) -> Disturb:
    """The first host's link at a fifth of its rate, with a queue that drops."""
    where = ("tc", "-n", cluster.hosts[0].namespace, "qdisc")
    device = ("dev", "eth0", "root", "handle", "1:")

    @contextlib.contextmanager
    def disturb(_: Path) -> Iterator[None]:
        usual = network.burst_of(GIGABIT)
        network.run(
            *(*where, "change", *device, "tbf", "rate", f"{SHAPED_RATE}bit"),
            *("burst", "3200", "limit", str(SHAPED_QUEUE)),
        )
        try:
            yield
        finally:
            network.run(
                *(*where, "change", *device, "tbf", "rate", f"{GIGABIT:.0f}bps"),
                *("burst", str(usual), "limit", str(usual + (6 << 20))),
            )

    return disturb


# ---- the experiments ---------------------------------------------------------------------------


def experiments(names: Sequence[str] = ()) -> Generator[Experiment]:
    """Those of the names given, or all that this machine and its user allow."""
    cpus = sorted(os.sched_getaffinity(0))
    two = len(cpus) > 1
    wanted = names or NAMES
    ep = ("npb.ep", {"class": "S"})
    if "competition" in wanted and two:
        yield Experiment(
            *("competition", "competition", *ep, Placement(ppn=2), competing(cpus[1])), (2, 2), 2.0
        )
    if "stopped" in wanted and two:
        yield Experiment(*("stopped", "stopped", *ep, Placement(ppn=2), stopping(1)), (2, 2), 2.0)
    if "memory" in wanted and two:
        # A working set that the last-level cache holds, as long as it has it for itself.
        yield Experiment(
            *("memory", "memory", "memory.latency", {"bytes": 16 << 20}, Placement()),
            *(streaming(cpus[1]), (10, 200), 0.6),
        )
    if "retransmits" in wanted and network.why_not() is None:
        with VirtualCluster(2, rates=(GIGABIT,)) as cluster:
            yield Experiment(
                *("retransmits", "retransmits", "network.pingpong", {"bytes": 1 << 18}),
                *(Placement(nodes=2), shaped(cluster), (10, 200), 0.6, cluster),
            )


NAMES = ("competition", "stopped", "memory", "retransmits")


def carry_out(
    experiment: Experiment,
    toolchain: Toolchain,
    executable: Path,
    folder: Path,
    launches: int = LAUNCHES,
    seed: int = 1,
) -> Outcome:
    """Launch it so many times, disturbed in half of them, drawn by the seed; read the run."""
    began = time.monotonic()
    cell = Cell(experiment.kernel, experiment.parameters, experiment.placement, toolchain.name)
    plan = Plan("causes", "Causes made on purpose", (cell,), Replication(), seed)
    run = create_run(
        folder,
        plan=plan,
        system_name="here",
        system={"hostname": os.uname().nodename},
        toolchains={toolchain.name: {}},
        command=["benchmarks/causes.py"],
    )
    disturbed = np.random.default_rng(seed).permutation(np.arange(launches) % 2 == 0).tolist()
    for replicate, disturb in enumerate(disturbed):
        stream = run.raw / f"{replicate:04d}.jsonl"
        around = experiment.disturb(stream) if disturb else contextlib.nullcontext()
        _launch(experiment, toolchain, executable, run, cell, replicate, stream, around)
    data = read_run(run.path)
    repeats = repeats_of(data)
    with_it = np.array([disturbed[int(launch)] for launch in repeats[0].launch])
    cost = repeats[0].cost
    return Outcome(
        experiment,
        data,
        causes_of(repeats, data),
        disturbed,
        float(np.median(cost[with_it]) / np.median(cost[~with_it])),
        time.monotonic() - began,
    )


def _launch(
    experiment: Experiment,
    toolchain: Toolchain,
    executable: Path,
    run: RunDirectory,
    cell: Cell,
    replicate: int,
    stream: Path,
    around: AbstractContextManager[None],
) -> None:
    order = MeasurementOrder(
        *(measurement_id(cell, replicate), cell.kernel, cell.parameters),
        *(0.001, 0.95, experiment.budget, *experiment.samples),
    )
    job = run.raw / f"{replicate:04d}.job.json"
    job.write_bytes(msgspec.json.encode(Job(1, f"{replicate:04d}", 1, "compact", 1, [order])))
    cluster, config = experiment.cluster, None
    if cluster is not None:
        addresses = [host.addresses[0] for host in cluster.hosts]
        config = ClusterConfig(
            hosts=addresses, remote_shell=str(cluster.remote_shell), local_address=addresses[0]
        )
    command = mpirun_command(toolchain, executable, cell.placement, job, stream, cluster=config)
    if cluster is not None:
        command = cluster.command(cluster.hosts[0], *command)
    with around:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            preexec_fn=_prioritised(None),
        )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


def told(outcome: Outcome) -> str:
    """One experiment's lines."""
    experiment = outcome.experiment
    right = outcome.named[:1] == [experiment.cause]
    others = [name for name in outcome.named if name in NAMES and name != experiment.cause]
    verdict = "named first" if right else "NOT named first"
    lines = [
        f"{experiment.name}: {verdict}"
        + (f", and {', '.join(others)} besides" if others else ", no other of these named"),
        f"  {experiment.kernel}, {len(outcome.disturbed)} launches in {outcome.seconds:.0f} s; "
        f"disturbed ones take {outcome.slowdown:.2f} times as long",
    ]
    if outcome.causes is not None:
        lines.append(f"  {part_of(outcome.causes).remark}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--launches", type=int, default=LAUNCHES)
    parser.add_argument("--only", nargs="+", default=[], choices=NAMES, metavar="NAME")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", type=Path, help="an assay-kernels that is built already")
    given = parser.parse_args()
    toolchain = select_toolchain(None, Config())
    executable = given.kernels or build_kernels(toolchain)
    wrong = 0
    with (
        tempfile.TemporaryDirectory(prefix="assay-causes-") as folder,
        contextlib.closing(experiments(given.only)) as made,
    ):
        for experiment in made:
            outcome = carry_out(
                experiment, toolchain, executable, Path(folder), given.launches, given.seed
            )
            print(told(outcome), flush=True)
            wrong += outcome.named[:1] != [experiment.cause]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
