"""Model, simulator and reality: programs on hosts of a lab, predicted from one host.

    .venv/bin/python benchmarks/lab_prediction.py [--rates "100 Mbit/s,1 Gbit/s"] [--simgrid PATH]
    .venv/bin/python benchmarks/lab_prediction.py --program "CoMD=…/CoMD-mpi -i {ranks} -N 20"
    .venv/bin/python benchmarks/lab_prediction.py --again    from the stored measurements

Measurements are stored in ``--results FILE``, one per kind of machine; the traces of programs stay
in ``--keep FOLDER``, from which ``--again`` repeats the predictions. Measured on a virtual cluster
of each rate: the NPB (class W) on 2 and 4 hosts with a rank each, and Linpack (N = 1,500).
Predicted from: the same NPB with two ranks on one host (all their computing, with both cores busy
as they are on several hosts of the lab), DGEMM on one host, and a ping-pong between two hosts; for
four hosts by two pairs at once, since their four ranks share the CPUs with which they send and
receive, too. The hosts divide this machine's CPUs. If it has two, at most two ranks compute at
once, and with four hosts each computes at half speed. Ranks on several hosts are not bound, as each
host would bind its first rank to the same CPU. Programs of ``--program`` are predicted from a trace
with all ranks on one host, whose computing times include this effect. Predicted by the closed form
of `assay simulate`, by SimGrid if it is found, and Linpack by described/linpack_time.py.

The 90% interval has the ping-pong's and the one-host times' spread and, for the model itself,
SPREAD, which was written down before the first comparison. On four hosts the intervals of IS, MG
and FT also include the additional time if long messages wait for each other (`out_of_step`), which
was found in a comparison. The measured number is the median of four launches, which does not allow
high confidence.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from common import PeerError, build, cores, machine, machine_name, parser, say
from lab_programs import program_prediction, program_times
from placement import lab, measured
from termination import end_in_order

from assay.lab import network
from assay.models.linpack.time import fitted_coefficients
from assay.questions.network.messages.sweeps import sweeps
from assay.records.model import RunData
from assay.simulation.cluster import SimulatedCluster, cluster_of
from assay.simulation.simgrid import SimGrid, find_simgrid
from assay.stats.cells.summarise import launch_value, summarise_cells
from assay.subjects.simulation.findings import (
    SimulationSettings,
    find_simulation,
    linpack_input,
    npb_input,
)
from assay.toml import parse_toml
from assay.topologies.kinds import Single
from assay.units import parse_quantity
from described.figure import measured as figure
from described.linpack_time import predict
from described.machine import DescribedMachine, Interconnect, MachineNode

RESULTS = Path(__file__).with_name("results") / "lab_prediction"
RATES = ("100 Mbit/s", "1 Gbit/s", "10 Gbit/s")
KERNELS = ("ep", "is", "cg", "mg", "ft", "lu", "bt", "sp")
HOSTS = (2, 4)
CLASS = "W"
ORDER, BLOCK, DGEMM_ORDER = 1_500, 96, 500
# Order of half of DGEMM's maximum rate: OpenBLAS on one thread (benchmarks/results/tables.md).
HALF = 9.4
# Of the measurements on one host.
RANKS_ALONE = 2
CROWDED = "all hosts at once"
# Standard deviation of the model's own error, of the logarithm; stated before the first run.
SPREAD = 0.10
_NINETY = 1.645
# Programs whose ranks exchange long messages with one rank after the other, and bytes of a long
# one. Ranks that are not in step leave links idle meanwhile: NASA's FT (class W, four hosts at 100
# Mbit/s) takes 1.66 to 1.86 s with MPICH's pairwise exchange, and 1.12 s if it sends to all at
# once.
EXCHANGES, LONG = ("is", "mg", "ft"), 65536
# A byte takes at least this share of a message's time per byte, where noise hides its cost.
LEAST_SLOPE = 0.01

PLAN = """schema = 1
title = "Model, simulator, reality"
seed = 7
portable = true
oversubscribe = true
[replication]
precision = "2%"
budget = "{limit} s"
min_launches = 3
max_launches = 4
min_samples = 1
max_samples = 20
cell_budget = "0.15 s"
[[measure]]
kernel = "network.pingpong"
bytes = [8, 1024, 8192, 65536, 262144, 1048576]
nodes = 2
[[measure]]
kernel = "network.multi_pingpong"
bytes = [8, 1024, 8192, 65536, 262144, 1048576]
nodes = {most}
binding = "none"
[[measure]]
kernel = "compute.dgemm"
n = {dgemm}
ppn = {alone}
[[measure]]
kernel = [{kernels}]
class = "{npb_class}"
ppn = {alone}
[[measure]]
kernel = [{kernels}]
class = "{npb_class}"
nodes = [{hosts}]
binding = "none"
[[measure]]
kernel = "linpack"
n = {order}
nb = {block}
nodes = [{hosts}]
binding = "none"
"""


def numbers(run: RunData) -> dict[str, object]:
    """What was measured: the ping-pong's line of costs, and each program's launches in s."""
    cells = summarise_cells(run)
    times: dict[str, list[float]] = {}
    for measurement in run.measurements:
        value = launch_value(measurement)
        cell = measurement.cell
        if value is not None and not cell.kernel.endswith("pingpong"):
            place = f"{cell.kernel} {cell.placement.nodes}x{cell.placement.ppn}"
            times.setdefault(place, []).append(value)
    costs: dict[str, list[tuple[int, float]]] = {}
    for sweep in sweeps(cells, run):
        points = [(size, sweep.at(size).metric.median) for size in sweep.sizes]
        costs.setdefault(sweep.reach, points)
    costs[CROWDED] = sorted(
        (int(one.cell.parameters["bytes"]), median)
        for one in cells
        if one.cell.kernel == "network.multi_pingpong"
        and (median := one.metrics["time"].median) is not None
    )
    return {"cpus": cores(), "times": times, "costs": costs}


def share(taken: Mapping[str, Any], hosts: int) -> float:
    """Share of a CPU that each host's rank has."""
    return min(float(taken["cpus"]) / hosts, 1.0)


def costs_of(rate: str, taken: Mapping[str, Any], hosts: int) -> list[tuple[int, float]]:
    """Times of messages by size, s; if ranks outnumber CPUs, with the same number of hosts at once.

    After a pause, a lab's links pass some KB without delay, and a ping-pong has a pause before each
    message. Programs send more at once, so no size is faster than the link.
    """
    costs = taken["costs"]
    crowded = costs.get(CROWDED, []) if share(taken, hosts) < 1.0 else []
    least = 1.0 / parse_quantity(rate, "B/s", where="--rates")
    return [
        (int(size), max(float(time), int(size) * least))
        for size, time in crowded or costs.get("between nodes", [])
    ]


def cluster(hosts: int, costs: list[tuple[int, float]], speed: float) -> SimulatedCluster:
    """The lab as measured: a latency and a bandwidth per range of sizes, through its points.

    ``speed``: of a rank's computing, relative to where its times are from.
    """
    pieces = []
    for (size, seconds), (larger, more) in itertools.pairwise(costs):
        slope = max((more - seconds) / (larger - size), LEAST_SLOPE * more / larger)
        pieces.append((size, max(seconds - slope * size, 0.05 * seconds), slope))
    # Messages share the links' rate, which long ones reach.
    rate = 1 / pieces[-1][2]
    lines = ["schema = 1", "[topology]", 'kind = "single"', f"hosts = {hosts}", "[network]"]
    lines += [f'latency = "{pieces[0][1]:.6g} s"', f'bandwidth = "{rate:.6g} B/s"']
    lines += ["[node]", "cores = 1", f"speed = {speed}"]
    lines += ["[linpack]", f"block = {BLOCK}", f"dgemm_half = {HALF}", "network = 1.0"]
    lines += ["look_ahead = true"]
    for size, latency, slope in ((0, *pieces[0][1:]), *pieces[1:]):
        lines += ["[[size]]", f"above = {size}", f'latency = "{latency:.6g} s"']
        lines += [f'bandwidth = "{1 / slope:.6g} B/s"']
    return cluster_of(parse_toml("\n".join(lines), Path("lab.toml")))


def predicted(
    kernel: str, hosts: int, alone: list[float], where: SimulatedCluster, simgrid: SimGrid | None
) -> tuple[float | None, float | None]:
    """Run times of an NPB kernel by the closed form and by SimGrid, s."""
    from assay.models.calls.npb import npb_operations

    # The ranks on one host took this long, computing all the time.
    computing = RANKS_ALONE * statistics.median(alone)
    rate = npb_operations(kernel, CLASS, hosts) / computing
    found = find_simulation(
        npb_input(kernel, CLASS, hosts, rate), where, Path("lab.toml"), simgrid,
        SimulationSettings(1, draws=1),
    )  # fmt: skip
    return found.closed_form, found.simulated


def out_of_step(kernel: str, hosts: int, costs: list[tuple[int, float]]) -> float:
    """How much longer a run takes if each long message waits for another, s; 0 on two hosts."""
    from assay.models.calls.npb import npb_messages

    if kernel not in EXCHANGES or hosts <= 2:
        return 0.0
    messages = npb_messages(kernel, CLASS, hosts)
    long = sum(size * number for size, number in messages.items() if size > LONG)
    return long / hosts / long_rate(costs)


def long_rate(costs: list[tuple[int, float]]) -> float:
    """Bandwidth of the longest messages, B/s."""
    (size, seconds), (larger, more) = costs[-2:]
    return (larger - size) / (more - seconds)


def linpack(hosts: int, speed: float, costs: list[tuple[int, float]]) -> float:
    """Linpack's time by the model of described/linpack_time.py, s; ``speed``: of a rank, flop/s."""
    latency, rate = costs[0][1], long_rate(costs)
    node = MachineNode(
        1, figure(speed, "DGEMM"), figure(speed, "DGEMM"), figure(1e9, "enough"),
        figure(1e10, "not needed"), figure(1e10, "not needed"),
    )  # fmt: skip
    machine = DescribedMachine(
        "lab", node, Interconnect("lab", figure(latency, "ping-pong"), figure(rate, "ping-pong")),
        Single(hosts),
    )  # fmt: skip
    return predict(machine, fitted_coefficients().values, ORDER, BLOCK).time.seconds


def compare(
    found: dict[str, dict[str, Any]], keep: Path | None, simgrid: SimGrid | None
) -> list[dict[str, object]]:
    """A row per program, number of hosts and rate."""
    rows = []
    for rate, taken in found.items():
        times = taken["times"]
        for hosts in HOSTS:
            costs = costs_of(rate, taken, hosts)
            if len(costs) < 2:
                say(f"{rate}: no ping-pong between hosts")
                continue
            where = cluster(hosts, costs, share(taken, hosts))
            for kernel in KERNELS:
                real = times.get(f"npb.{kernel} {hosts}x1")
                alone = times.get(f"npb.{kernel} 1x2")
                if real and alone:
                    closed, simulated = predicted(kernel, hosts, alone, where, simgrid)
                    waiting = out_of_step(kernel, hosts, costs)
                    rows.append(row(rate, kernel, hosts, real, alone, closed, simulated, waiting))
            real, dgemm = times.get(f"linpack {hosts}x1"), times.get("compute.dgemm 1x2")
            if real and dgemm:
                speed = 2 * DGEMM_ORDER**3 / statistics.median(dgemm)
                closed = linpack(hosts, share(taken, hosts) * speed, costs)
                source = linpack_input(ORDER, hosts, speed * (1 + HALF / DGEMM_ORDER), where)
                solved = None
                if simgrid is not None:
                    solved = find_simulation(
                        source, where, Path("lab.toml"), simgrid, SimulationSettings(1, draws=1)
                    ).simulated
                rows.append(row(rate, "linpack", hosts, real, dgemm, closed, solved))
        rows += foreign(rate, taken, keep, simgrid)
    return rows


def foreign(
    rate: str, taken: Mapping[str, Any], keep: Path | None, simgrid: SimGrid | None
) -> list[dict[str, object]]:
    """Rows of programs from elsewhere whose traces on one host are kept."""
    rows = []
    for place, real in taken.get("programs", {}).items():
        name, _, ranks = place.rpartition(" ")
        hosts = int(ranks.partition("x")[0])
        if keep is None or not (keep / f"{name}-{hosts}" / "run.json").exists():
            say(f"{rate}, {place}: no trace in --keep")
            continue
        # The trace's computing times have the sharing of CPUs in them.
        where = cluster(hosts, costs_of(rate, taken, hosts), 1.0)
        closed, simulated = program_prediction(name, hosts, keep, where, simgrid)
        # One trace: of its spread nothing is known.
        rows.append(row(rate, name, hosts, real, [1.0], closed, simulated))
    return rows


def row(
    rate: str,
    name: str,
    hosts: int,
    real: list[float],
    alone: list[float],
    closed: float | None,
    simulated: float | None,
    waiting: float = 0.0,
) -> dict[str, object]:
    """One comparison; ``holds``: whether the prediction's interval contains the median.

    ``waiting``: s by which the run may take longer, as from `out_of_step`.
    """
    middle = statistics.median(real)
    best = simulated or closed
    assert best is not None
    spread = math.hypot(SPREAD, max(alone) / statistics.median(alone) - 1.0)
    width = math.exp(_NINETY * spread)
    low, high = best / width, (best + waiting) * width
    return {
        "rate": rate, "program": name, "hosts": hosts, "measured": middle,
        "launches": [min(real), max(real), len(real)], "closed": closed, "simulated": simulated,
        "interval": [low, high], "holds": low <= middle <= high,
    }  # fmt: skip


def show(rows: list[dict[str, Any]]) -> None:
    """The table, and the errors in the median by hosts."""
    print(
        f"{'rate':<12}{'program':<9}{'hosts':>6}{'measured':>10}{'closed':>9}{'SimGrid':>9}  in 90%"
    )
    for one in rows:
        errors = [
            "" if one[key] is None else f"{one[key] / one['measured'] - 1:+.1%}"
            for key in ("closed", "simulated")
        ]
        print(
            f"{one['rate']:<12}{one['program']:<9}{one['hosts']:>6}{one['measured']:>9.4f}s"
            f"{errors[0]:>9}{errors[1]:>9}  {'yes' if one['holds'] else 'no'}"
        )
    for hosts in (*HOSTS, None):
        some = [one for one in rows if hosts in (None, one["hosts"])]
        if not some:
            continue
        text = f"{hosts or 'all'} hosts, {len(some)} rows: median error"
        for key in ("closed", "simulated"):
            off = [abs(one[key] / one["measured"] - 1) for one in some if one[key] is not None]
            if off:
                text += f" {statistics.median(off):.1%} ({key})"
        held = sum(one["holds"] for one in some) / len(some)
        print(f"{text}; intervals hold in {held:.0%}")


def main() -> int:
    end_in_order()
    options = parser(__doc__)
    options.add_argument("--rates", default=",".join(RATES))
    options.add_argument("--limit", type=float, default=100.0, help="s for each rate")
    options.add_argument("--simgrid", type=Path)
    options.add_argument("--program", action="append", default=[], metavar="NAME=COMMAND")
    options.add_argument("--only-programs", action="store_true", help="beside stored measurements")
    options.add_argument("--again", action="store_true", help="from the stored measurements")
    options.add_argument("--keep", type=Path, help="folder of the traces of --program")
    default = RESULTS / f"{machine_name(machine())}.json"
    options.add_argument("--results", type=Path, default=default)
    given = options.parse_args()
    simgrid = find_simgrid(given.simgrid)
    results = given.results
    found = json.loads(results.read_text())["measured"] if results.exists() else {}
    programs = dict(text.split("=", 1) for text in given.program)
    if programs and given.keep is None:
        options.error("--program needs --keep FOLDER, for its traces.")
    if not given.again:
        problem = network.why_not()
        if problem:
            say(problem)
            return 1
        build()
        for rate in given.rates.split(","):
            say(f"{rate}")
            try:
                if not given.only_programs:
                    earlier = found.get(rate, {}).get("programs", {})
                    found[rate] = measure(rate, given.limit) | {"programs": earlier}
                    store(results, found)
                if programs:
                    speed = parse_quantity(rate, "B/s", where="--rates")
                    found[rate]["programs"] |= program_times(
                        programs, HOSTS, speed, given.keep, given.limit
                    )
                    store(results, found)
            except (PeerError, KeyError) as error:
                say(f"{rate}: {error}")
    rows = compare(found, given.keep, simgrid)
    store(results, found, rows)
    show(rows)
    return 0


def measure(rate: str, limit: float) -> dict[str, object]:
    """Times of the benchmarks on a lab with this rate, measured for up to ``limit`` s. Raises
    PeerError.
    """
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as place:
        folder = Path(place)
        plan = folder / "plan.toml"
        plan.write_text(
            PLAN.format(
                limit=limit,
                kernels=", ".join(f'"npb.{name}"' for name in KERNELS),
                npb_class=CLASS,
                alone=RANKS_ALONE,
                most=max(HOSTS),
                order=ORDER,
                dgemm=DGEMM_ORDER,
                block=BLOCK,
                hosts=", ".join(map(str, HOSTS)),
            )
        )
        with lab(max(HOSTS), folder, rate) as name:
            return numbers(measured(plan, limit, "--lab", name))


def store(
    path: Path, found: Mapping[str, object], rows: list[dict[str, object]] | None = None
) -> None:
    """Write measurements and, if there are some, what was predicted from them."""
    held = {"measured": found} | ({} if rows is None else {"rows": rows})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(held, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
