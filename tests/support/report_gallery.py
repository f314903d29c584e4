"""Reports of every suite and command, of fake machines of several sizes, for tests of all reports.

Machines differ in what makes figures hard to draw: few and many cores and nodes, short and long
names, fast and slow kernels.
"""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np

from assay.cli.app import main
from assay.design.example import EXAMPLE
from assay.kernels.storage.io500 import DATA_PHASES, FILE_PHASES
from assay.records.reading import read_run
from assay.report import build_report
from assay.report.model import ReportModel
from assay.stats.cells.summarise import summarise_cells
from fleet_builder import CELLS, make_group
from history_builder import barrier, nightly, triad
from known_samples import solver
from profiles import two_ranks
from traces import stencil
from unsteady_run import unsteady_run
from usage_logs import MONDAY

# By machine: cores, nodes, NUMA domains, toolchains, factor of all times.
MACHINES: dict[str, tuple[int, int, int, tuple[str, ...], float]] = {
    "small": (2, 1, 1, ("gcc",), 1.0),
    "cluster": (16, 4, 2, ("gcc-14-openmpi", "clang"), 1.234567),
    "many": (4, 24, 1, ("gcc",), 1.0),
    "devices": (16, 1, 2, ("gcc",), 1.0),
    "odd": (96, 3, 8, ("a-compiler-with-a-long-name-13.2.1-openmpi-5.0.7-cuda", "x"), 7.0e-3),
}
# Each suite on the machine that makes its figures hardest to draw.
SUITES: Mapping[str, str] = {
    "quick": "small", "memory": "small", "storage": "small", "noise": "small", "linpack": "small",
    "npb": "cluster", "network": "cluster", "ring": "cluster", "steadiness": "cluster",
    "standard": "cluster", "full": "cluster", "placement": "cluster", "toolchains": "odd",
    "seth-2004": "cluster", "helix-2003": "cluster", "nersc-2003": "cluster",
    "isu-2005": "cluster", "dell-2005": "cluster", "congestion": "many",
    "io500": "cluster", "gpu": "devices",
}  # fmt: skip
# Shares of 20 s: 1 GiB or a thousand files in each phase, 1 GiB/s and 10,000 files a second.
_IO500 = ", ".join(
    f"{name} = {share}"
    for names, share in (
        ((*DATA_PHASES, "bandwidth_score"), 0.05),
        ((*FILE_PHASES, "metadata_score"), 0.005),
        (("score",), 0.0158),
    )
    for name in names
)
# Facts of a device as CUDA reports them.
_DEVICE = (
    'facts = { device_name = "NVIDIA H100 80GB HBM3", device_vendor = "NVIDIA", '
    'device_kind = "gpu", device_units = 132, device_memory = 85520809984, '
    'device_driver = "550.54.15", device_clock = 1980000000.0, '
    'library = "cuBLASLt 12.4" }\n'
    "phases = { device_time = 0.97 }\n"
    'covariates = { device_clock = "1.755e9", device_throttled = "0.02" }'
)
# A user's command whose name and arguments are long.
_APP = (
    "mpirun -n {ranks} --map-by slot /home/someone/projects/solver/build-release/bin/"
    "solver-with-a-long-name.x --input case-of-the-channel.toml --steps 1000"
)
_SCENARIO = """\
schema = 1
seed = 7
cores = {cores}
nodes = {nodes}
domains = {domains}
devices = 8
{toolchains}
[peers]
island = 4
[congestion]
slowed = {{ "incast/allreduce" = 12.0, "permutation/halo" = 1.4 }}
delayed = {{ "incast/allreduce" = 0.03 }}
[[kernel]]
match = "memory.stream"
time = "{factor} * (1e-7 + elements * 24 * ranks / (min(ranks * threads, 6) * 12e9))"
resolved = {{ elements = 40000000 }}
noise = {{ sigma = 0.01, launch_sigma = 0.008 }}
[[kernel]]
match = "compute.dgemm"
time = "{factor} * (1e-6 + 2 * n * n * n / (40e9 * threads))"
noise = {{ sigma = 0.01, launch_sigma = 0.004 }}
[[kernel]]
match = "npb.*"
time = "{factor} * (1e-5 + work_flops / (1.2e9 * (ranks * threads) ** 0.8))"
noise = {{ sigma = 0.02, launch_sigma = 0.01, slow_launches = 0.1, slow_factor = 1.3 }}
covariates = {{ other_cpu_seconds = "0.02", online_cpus = "{cores}" }}
[[kernel]]
match = "network.pingpong"
time = "{factor} * (1.3e-6 * nodes + bytes / 11e9 + 8e-7 * (bytes >= 65536))"
noise = {{ sigma = 0.03, phi = 0.3, launch_sigma = 0.01 }}
[[kernel]]
match = "gpu.stream"
time = "4e-6 + work_bytes / ranks / (3.05e12 + 6e12 * (elements > 0 and elements < 2000000))"
resolved = {{ elements = 33554432, backend = "cuda" }}
noise = {{ sigma = 0.004, launch_sigma = 0.003 }}
{device}
[[kernel]]
match = "gpu.transfer"
where = "direction == 'both'"
time = "9e-6 + work_bytes / ranks / (88e9 * (1 - 0.7 * (memory == 'pageable')))"
resolved = {{ backend = "cuda" }}
noise = {{ sigma = 0.01, launch_sigma = 0.005 }}
{device}
[[kernel]]
match = "gpu.transfer"
time = "9e-6 + work_bytes / ranks / (54e9 * (1 - 0.7 * (memory == 'pageable')))"
resolved = {{ backend = "cuda" }}
noise = {{ sigma = 0.01, launch_sigma = 0.005 }}
{device}
[[kernel]]
match = "gpu.gemm"
time = "1e-5 + work_flops / ranks / (58e12 + 320e12 * (type == 'tf32') + {half} + {eighth})"
resolved = {{ backend = "cuda", n = 8192 }}
noise = {{ sigma = 0.004, launch_sigma = 0.004 }}
{device}
[[kernel]]
match = "gpu.collective"
time = "2e-5 + work_bus_bytes / 360e9"
resolved = {{ backend = "cuda", bytes = 67108864 }}
noise = {{ sigma = 0.02, launch_sigma = 0.01 }}
{collectives}
[[kernel]]
match = "gpu.all"
time = "3e-4"
resolved = {{ backend = "cuda" }}
rates = {{ slowdown = "1.01 + 0.9 * (op == 'to device' or op == 'to host')", alone = "2.9e-4" }}
noise = {{ sigma = 0.01, launch_sigma = 0.005 }}
{device}
[[kernel]]
match = "gpu.*"
time = "4e-6"
resolved = {{ backend = "cuda" }}
noise = {{ sigma = 0.02, launch_sigma = 0.01 }}
{device}
[[kernel]]
match = "storage.io500"
time = "20"
phases = {{ {io500} }}
noise = {{ sigma = 0.03, launch_sigma = 0.02 }}
[[kernel]]
match = "linpack"
time = "{factor} * (n * n * n * 0.67 / (30e9 * ranks * threads) + 1e-3)"
resolved = {{ n = 12000, nb = 192 }}
[[kernel]]
match = "*"
time = "{factor} * 1.2e-5 * (1 + ranks / 8)"
noise = {{ sigma = 0.03, launch_sigma = 0.02 }}
"""


def scenario(machine: str) -> str:
    cores, nodes, domains, toolchains, factor = MACHINES[machine]
    named = "\n".join(
        f'[toolchain."{name}"]\ncxx = "{name.split("-")[0]}"\nmpi_flavour = "openmpi"'
        for name in toolchains
    )
    return _SCENARIO.format(
        cores=cores,
        nodes=nodes,
        domains=domains,
        toolchains=named,
        factor=factor,
        io500=_IO500,
        device=_DEVICE,
        collectives=_DEVICE.replace("cuBLASLt 12.4", "NCCL 2.21.5"),
        half="640e12 * (type == 'fp16' or type == 'bf16')",
        eighth="1290e12 * (type == 'fp8' or type == 'int8')",
    )


def report_of(folder: Path, name: str) -> ReportModel:
    """The report of a suite on its fake machine, or of the other pages' one of this name."""
    if name in OTHERS:
        return OTHERS[name](folder)
    return _of_run(measured_suite(folder, name, SUITES[name]))


def measured_suite(folder: Path, suite: str, machine: str, *more: str) -> Path:
    """The folder of a run of the suite on the machine; ``more``: further words of the command."""
    plan, runs = folder / "machine.toml", folder / "runs"
    before = set(runs.glob("*"))
    plan.write_text(scenario(machine))
    _assay(
        *("run", suite, "--fake", str(plan), "--runs", str(runs), "--seed", "1"),
        *("--budget", "3 s", "--whole", "--launches", "1..6", "--no-report"),
        *("--fail-on", "never", *more),
    )  # fmt: skip
    (path,) = set(runs.glob("*")) - before
    return path


def _of_run(path: Path) -> ReportModel:
    run = read_run(path)
    return build_report(run, summarise_cells(run))


def app_report(folder: Path) -> ReportModel:
    """A search for the best placement of a user's command."""
    return _of_run(measured_suite(folder, "placement", "cluster", "--app", _APP))


def compared(folder: Path) -> ReportModel:
    """Two runs of one suite on machines of different speeds."""
    from assay.report.comparison.build import build_comparison
    from assay.subjects.compare.findings import find
    from assay.subjects.compare.sides import read_sides

    names = [measured_suite(folder, "npb", machine).name for machine in ("small", "cluster")]
    return build_comparison(find(read_sides(folder / "runs", names)))


def profiled(folder: Path) -> ReportModel:
    """A profile of two ranks, a trace of eight, and samples of four with two threads."""
    from assay.report.profile.write import build_profile
    from assay.subjects.profile.findings import find
    from assay.subjects.profile.sampled.findings import find_samples
    from assay.subjects.profile.traced.findings import find_trace
    from assay.trace.reading import read_profile

    return build_profile(
        find(read_profile(two_ranks(folder / "profile"))),
        find_trace(stencil(8, 10)),
        find_samples(solver()),
    )


def of_nodes(folder: Path) -> ReportModel:
    """Forty nodes with long names in racks, two of them slow."""
    from assay.records.group import read_group
    from assay.report.nodes.build import build_group
    from assay.subjects.nodes.findings import find

    draw = np.random.default_rng(1)
    hosts = [f"cluster-rack{n % 4}-node{n:04d}.example" for n in range(40)]
    slow = {(hosts[3], "memory.stream"): 1.2, (hosts[17], "compute.dgemm"): 1.1}
    group = make_group(
        folder,
        hosts,
        lambda host, cell, _: (
            1e-3
            * (1 + CELLS.index(cell))
            * slow.get((host, cell.kernel), 1.0)
            * float(np.exp(0.01 * draw.standard_normal()))
        ),
        node_groups={host: {"rack": str(n % 4)} for n, host in enumerate(hosts)},
    )
    data = read_group(group.path)
    return build_group(data, find(data))


def over_time(folder: Path) -> ReportModel:
    """Forty nights with a step of 5% in one of two cells."""
    from assay.records.store import RunFilter
    from assay.report.subject import build_subject
    from assay.subjects.history.findings import find
    from assay.subjects.history.query import HistoryQuery
    from assay.subjects.history.subject import SUBJECT

    nightly(
        folder,
        40,
        [
            (triad(), lambda night: 1e-3 * (1.05 if night >= 25 else 1.0)),
            (barrier(), lambda _: 2e-6),
        ],
        seed=2,
    )
    return build_subject(SUBJECT, find(folder, HistoryQuery(RunFilter())))


def used(folder: Path) -> ReportModel:
    """A scheduler's log, and what-ifs on it."""
    log = folder / "log.swf"
    log.write_text(swf(400))
    return _written(
        folder, "usage", str(log), "--model", "easy", "--what-if", "nodes=+10%", "--resamples", "3"
    )


def designed(folder: Path) -> ReportModel:
    """The design of the example."""
    specification = folder / "design.toml"
    specification.write_text(EXAMPLE)
    return _written(folder, "design", str(specification))


def unsteady(_: Path) -> ReportModel:
    """Cells that vary in every way, and noise."""
    run = unsteady_run()
    return build_report(run, summarise_cells(run))


def imported(folder: Path) -> ReportModel:
    """Results of other tools."""
    data = Path(__file__).parents[1] / "data" / "importers"
    files = [str(data / name) for name in ("hpl-2.3.out", "imb-2019.out", "fio-3.json")]
    _assay("import", *files, "--runs", str(folder / "imported"), "--system", "elsewhere")
    (path,) = (folder / "imported").glob("*")
    return _of_run(path)


def simulated(_: Path) -> ReportModel:
    """A program on a described cluster, by SimGrid and by the closed form."""
    from assay.report.subject import build_subject
    from assay.subjects.simulation.model import SIMULATION_SCHEMA, SimulationFindings
    from assay.subjects.simulation.subject import SUBJECT

    return build_subject(
        SUBJECT,
        SimulationFindings(
            schema=SIMULATION_SCHEMA, utc=MONDAY, program="npb.cg.C", cluster="A cluster of 2004",
            file="/home/someone/descriptions/a-cluster-with-a-long-name.toml",
            topology="torus of 8 x 8", ranks=128, nodes=64, per_node=2, recorded=61.7,
            simulator="SimGrid 3.36", simulated=52.3, interval=(42.4, 76.3), mean=56.9, draws=200,
            seed=1, closed_form=43.8, computing=38.25, factor=25.0,
            left_out=["2 calls of MPI_Waitany are replayed as MPI_Waitall."],
            unknown=["The description doesn't say how nodes vary over days."],
            mean_ci95=(56.4, 57.4), drawn_interval=(54.1, 60.2), closed_interval=(32.7, 58.7),
            error_runs="CG, class W, on labs with two or four hosts", error_rows=9, error_ranks=4,
            error_held=0.91, error_held_of=99,
        )
    )  # fmt: skip


def accepted(state: str) -> Callable[[Path], ReportModel]:
    """An acceptance in a state of ``acceptance_pages``."""
    from acceptance_pages import acceptance_report

    return lambda folder: acceptance_report(folder, state)


# Pages that are not of a suite.
OTHERS: Mapping[str, Callable[[Path], ReportModel]] = {
    "app": app_report, "compare": compared, "profile": profiled, "nodes": of_nodes,
    "history": over_time, "usage": used, "design": designed, "import": imported,
    "unsteady": unsteady, "simulate": simulated, "accept": accepted("rejected"),
    "accept-many": accepted("many"), "accept-nodes": accepted("nodes"),
    "accept-availability": accepted("availability"),
}  # fmt: skip


def swf(jobs: int, nodes: int = 64) -> str:
    """A log of jobs over some weeks in SWF, with days, nights and several queues."""
    draw = random.Random(5)
    lines = [
        "; Version: 2.2",
        f"; UnixStartTime: {MONDAY}",
        f"; MaxNodes: {nodes}",
        f"; MaxProcs: {nodes * 16}",
    ]
    time = 0.0
    for number in range(1, jobs + 1):
        time += draw.expovariate(1 / 4000)
        wait = int(draw.expovariate(1 / 2500)) if draw.random() < 0.6 else 0
        run = int(draw.lognormvariate(7.5, 1.6)) + 1
        size = 2 ** draw.randrange(0, 10)
        status = 1 if draw.random() < 0.9 else draw.choice((0, 5))
        user, queue = draw.randrange(1, 30), draw.randrange(1, 4)
        lines.append(
            f"{number} {int(time)} {wait} {run} {size} -1 -1 {size} {2 * run + 600} -1 {status} "
            f"{user} {user % 5} -1 {queue} -1 -1 -1"
        )
    return "\n".join(lines) + "\n"


def _written(folder: Path, command: str, *words: str) -> ReportModel:
    path = folder / f"{command}.json"
    _assay(command, *words, "--format", "json", "--output", str(path))
    return msgspec.json.decode(path.read_bytes(), type=ReportModel)


def _assay(*words: str) -> None:
    """Run a command of assay in this process."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            main(words)
    except SystemExit as ended:
        assert not ended.code, (words, said.getvalue()[-2000:])
