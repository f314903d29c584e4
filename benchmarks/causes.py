"""Causes of variation created on purpose, and the causes that the report then names.

    .venv/bin/python benchmarks/causes.py [--launches N] [--only NAME …] [--seed N] [--kernels PATH]

Each experiment launches one kernel some forty times; half of the launches, drawn at random, are
disturbed: a process competes for one core; a rank is stopped and continued, as by a CPU limiter; a
control group has a share of a CPU; memory is limited to half of a file's size; a link of a virtual
cluster is shaped and drops packets. The launches form a run, and the first cause in its report is
printed. Each experiment takes up to about a minute. As root, computing ranks and their disturbances
have priority over all other processes (SCHED_RR), so that other load on the machine doesn't matter.
The link needs root.
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
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import msgspec
import numpy as np
from termination import end_in_order

from assay.config import ClusterConfig, Config
from assay.kernels.building import build_kernels
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.toolchains import select_toolchain
from assay.lab import network
from assay.launch.mpi.mpirun import mpirun_command
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.questions.steadiness.causes.answer import part
from assay.questions.steadiness.causes.findings import CauseFindings, find
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.model import RunData
from assay.records.reading import measurement_id, read_run
from assay.records.schema import Job, MeasurementOrder
from assay.records.stream import read_stream
from assay.stats.repeats.repeats import repeats_of
from virtual_cluster import GIGABIT, VirtualCluster

LAUNCHES = 40
# Bytes of a file that is read repeatedly, and of the memory that the ranks may then use.
FILE, LIMIT = 128 << 20, 80 << 20
# Seconds after which a launch is given up, and its disturbance ends automatically.
PATIENCE = 60.0
# A share of a CPU, in microseconds per period of this length.
QUOTA, PERIOD = 8_000, 20_000
# A shaped link: bits per second, and a queue so short that it drops bursts.
SHAPED_RATE, SHAPED_QUEUE = 40_000_000, 12_000

# Called in a launch's process before its program begins.
Prepare = Callable[[], None]
# A disturbance of a launch, given the stream that it writes, for as long as it runs.
Disturb = Callable[[Path], AbstractContextManager[Prepare | None]]


@dataclass(frozen=True)
class Experiment:
    """``cause``: the expected first cause; ``samples``: minimum and maximum. ``calm``: applied to
    the launches that aren't disturbed.
    """

    name: str
    cause: str
    kernel: str
    parameters: dict[str, int | float | str]
    placement: Placement
    disturb: Disturb
    samples: tuple[int, int]
    budget: float
    cluster: VirtualCluster | None = None
    calm: Disturb = lambda _: contextlib.nullcontext()

    @property
    def ahead(self) -> bool:
        """Whether ranks have priority over all else; network and disk would be blocked by them, and
        a quota doesn't throttle real-time processes.
        """
        return self.kernel == "npb.ep" and self.name != "quota"


@dataclass(frozen=True)
class Outcome:
    """The outcome of an experiment. ``slowdown``: median cost with over median cost without."""

    experiment: Experiment
    data: RunData
    causes: CauseFindings | None
    disturbed: list[bool] = field(default_factory=list)
    slowdown: float = 1.0
    seconds: float = 0.0

    @property
    def named(self) -> list[str]:
        """The named causes, largest share first."""
        return [share.cause for share in self.causes.cells[0].named] if self.causes else []


# ---- disturbances of launches ------------------------------------------------------------------


def _ahead(cpu: int | None = None, priority: int = 1) -> None:
    """Give this thread, or a child before its program begins, real-time priority; on one CPU."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})


@contextlib.contextmanager
def _beside(cpu: int, setup: str, turn: str) -> Iterator[None]:
    """A Python program on one CPU, once it is set up; a time slice lasts some milliseconds."""
    program = (
        f"import time; until = time.monotonic() + {PATIENCE}; {setup}; print(flush=True)\n"
        f"while time.monotonic() < until: {turn}"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, preexec_fn=partial(_ahead, cpu)
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.kill()


def competing(cpu: int) -> Disturb:
    """A process that takes some 30 ms of that CPU whenever it is scheduled.

    If it used the whole time slices of SCHED_RR, of 100 ms, ranks that wait for each other would
    take seconds to begin.
    """
    return lambda _: _beside(cpu, "import os", "sum(range(2_000_000)); os.sched_yield()")


def parent_of_groups(controller: str) -> Path | None:
    """Where a control group that limits "memory" or "cpu" can be created; None if nowhere.

    In version 1 within this process's own group; in version 2, where a group with processes can't
    hold groups, next to it.
    """
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            folder = Path(f"/sys/fs/cgroup/{controller}{path}")
        elif not controllers and path != "/":
            folder = Path(f"/sys/fs/cgroup{path}").parent
            handed_on = folder / "cgroup.subtree_control"
            if not handed_on.exists() or controller not in handed_on.read_text().split():
                continue
        else:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


def grouped(where: Path, of_old: dict[str, int], of_new: dict[str, str]) -> Disturb:
    """Put the ranks in a control group with these settings, of version 1 or 2."""

    @contextlib.contextmanager
    def disturb(_: Path) -> Iterator[Prepare]:
        group = where / f"assay-causes-{os.getpid()}"
        group.mkdir()
        try:
            old = all((group / name).exists() for name in of_old)
            for name, value in (of_old if old else of_new).items():
                (group / name).write_text(str(value))

            def join() -> None:
                (group / "cgroup.procs").write_text(str(os.getpid()))

            yield join
        finally:
            _remove(group)

    return disturb


def _remove(group: Path) -> None:
    """Remove a control group, once its ending processes have left it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def limited(where: Path) -> Disturb:
    """Half the memory of the ranks' file."""
    return grouped(where, {"memory.limit_in_bytes": LIMIT}, {"memory.max": str(LIMIT)})


def rationed(where: Path, limit: bool) -> Disturb:
    """Real-time priority on a CPU; with a limit, at most a share of the CPU."""
    old = {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": QUOTA if limit else -1}
    return grouped(
        where,
        {**old, "cpu.shares": 262_144},
        {"cpu.max": f"{QUOTA if limit else 'max'} {PERIOD}", "cpu.weight": "10000"},
    )


def stopping(rank: int, span: float = 0.02) -> Disturb:
    """SIGSTOP and SIGCONT to a rank alternately, each for ``span`` s."""

    def limit(stream: Path, over: threading.Event) -> None:
        _ahead(priority=2)  # its own short work doesn't wait for the ranks
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
    """A handle of the rank's process, which can't refer to another process, once the pid is
    reported.
    """
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
    """The first host's link at 4% of its rate, with a queue that drops packets."""
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
    """The named experiments, or all that this machine and its user allow."""
    cpus = sorted(os.sched_getaffinity(0))
    two = len(cpus) > 1
    wanted = names or NAMES
    if "competition" in wanted and two:
        yield Experiment(
            *("competition", "competition", "npb.ep", {"class": "W"}, Placement(ppn=2)),
            *(competing(cpus[1]), (1, 1), 5.0),
        )
    if "stopped" in wanted and two:
        yield Experiment(
            *("stopped", "stopped", "npb.ep", {"class": "A"}, Placement(ppn=2)),
            *(stopping(1), (2, 2), 5.0),
        )
    where = parent_of_groups("cpu")
    if "quota" in wanted and where is not None:
        yield Experiment(
            *("quota", "quota", "npb.ep", {"class": "W"}, Placement(), rationed(where, True)),
            *((1, 1), 5.0),
            calm=rationed(where, False),
        )
    where = parent_of_groups("memory")
    if "memory" in wanted and where is not None:
        yield Experiment(
            *("memory", "memory", "storage.file", {"op": "reread", "file_size": FILE}),
            *(Placement(), limited(where), (3, 6), 0.4),
        )
    if "retransmits" in wanted and network.why_not() is None:
        with VirtualCluster(2, rates=(GIGABIT,)) as cluster:
            yield Experiment(
                *("retransmits", "retransmits", "network.pingpong", {"bytes": 1 << 18}),
                *(Placement(nodes=2), shaped(cluster), (10, 60), 0.3, cluster),
            )


NAMES = ("competition", "stopped", "quota", "memory", "retransmits")


def execute_campaign(
    experiment: Experiment,
    toolchain: Toolchain,
    executable: Path,
    folder: Path,
    launches: int = LAUNCHES,
    seed: int = 1,
) -> Outcome:
    """Launch it this many times, disturbed in half of them, drawn by the seed; read the run."""
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
        around = (experiment.disturb if disturb else experiment.calm)(stream)
        _launch(experiment, toolchain, executable, run, cell, replicate, stream, around)
    data = read_run(run.path)
    repeats = repeats_of(data)
    with_it = np.array([disturbed[int(launch)] for launch in repeats[0].launch])
    cost = repeats[0].cost
    return Outcome(
        experiment,
        data,
        find(repeats, data),
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
    around: AbstractContextManager[Prepare | None],
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
    with around as first:

        def prepare() -> None:
            if experiment.ahead:
                _ahead()
            if first is not None:
                first()

        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            preexec_fn=prepare,
            cwd=run.path,  # measured files are created there, and removed with it
        )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


def summary_line(outcome: Outcome) -> str:
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
        lines.append(f"  {part(outcome.causes).remark}")
    return "\n".join(lines)


def main() -> int:
    end_in_order()
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
        contextlib.closing(experiments(given.only)) as run_experiments,
    ):
        for experiment in run_experiments:
            outcome = execute_campaign(
                experiment, toolchain, executable, Path(folder), given.launches, given.seed
            )
            print(summary_line(outcome), flush=True)
            wrong += outcome.named[:1] != [experiment.cause]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
