"""The error of simulated run times by kind of program, and Linpack's execution on listed clusters.

    .venv/bin/python benchmarks/simulation_error.py [--write] [--listed TOP500_SYSTEMS.parquet]

Measured runs: the rows of benchmarks/lab_prediction.py whose hosts have a CPU each (NPB, Linpack
with look-ahead, programs from traces). Published runs: Linpack at Nmax and at N½ on clusters of
dual nodes, lists of 2000 to 2005, without Seth, Helix and related systems
(benchmarks/linpack_coefficients.py). ``--listed`` simulates them again and stores the times in
results/simulation/linpack_listed.json. ``--write`` writes src/assay/simulation/calibration.json.

Errors count for groups of runs that were left out: a machine with a network, or a computer. The
90% interval from the other groups is the root mean square of their errors times Student's quantile.
The intervals of measured runs, and those of published runs, are then widened or narrowed by a
factor each, so that they hold for 90% of the runs that were left out.

Linpack on listed clusters: the bytes of its messages take 1 / ``network`` times as long as in a
ping-pong. A simulated time is A + B / network, by simulations with two shares. This share and the
share of DGEMM in the peak by family are fitted for the least absolute error. Athlon's DGEMM is
published.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import stdtrit

from assay.models.calls.linpack import linpack_schedule
from assay.models.calls.linpack_work import DgemmCurve, LinpackExecution, RankWork
from assay.models.linpack.time import grids_of
from assay.simulation.calibration import CALIBRATION
from assay.simulation.cluster import SimulatedCluster, cluster_of
from assay.simulation.simgrid import SimGrid, find_simgrid
from assay.simulation.simulate import SimulatedProgram, simulate
from assay.toml import parse_toml

RESULTS = Path(__file__).with_name("results")
LABS, LISTED = RESULTS / "lab_prediction", RESULTS / "simulation" / "linpack_listed.json"
TRACED = ("CoMD", "HPCCG")
# Order of half of DGEMM's maximum rate: 750 (1 / 0.95 - 1) = 39.5, as Edmundsson et al. (2004), 5.3
# have 95% of the maximum from order 750 on.
HALF = 40.0
# A panel's rate over DGEMM's (models/linpack/coefficients.json).
PANEL = 0.2
EXECUTION = LinpackExecution(
    block=96, panel=PANEL, half=HALF, network=1.0, copies=1.0, look_ahead=False
)
SHARES = (0.2, 0.4)
# Share of the runs for which intervals hold.
HELD = 0.90
# Where the shares of DGEMM begin in the fit.
START = {"xeon": 0.872, "opteron": 0.97}
# Messages within a node: Seth's 600 MB/s (Edmundsson et al. 2004, 5.2).
NODE = """schema = 1
[topology]
kind = "single"
hosts = {nodes}
[network]
latency = "{latency} s"
bandwidth = "{rate} B/s"
[memory]
latency = "1 us"
bandwidth = "600 MB/s"
[node]
cores = 2
"""


@dataclass(frozen=True)
class ComparedRun:
    """A run: predicted over measured time, as a logarithm.

    ``run``: what ran, in words; ``seconds``: its measured time. ``waiting``: share of the predicted
    time that is not computing.
    """

    kind: str
    group: str
    run: str
    ranks: int
    seconds: float
    simulated: float
    closed: float | None
    waiting: float = 0.0


@dataclass(frozen=True)
class ListedPoint:
    """A published run: times (s) simulated with each of ``SHARES``, and of the arithmetic at R."""

    computer: str
    family: str
    ranks: int
    n: int
    published: float
    arithmetic: float
    times: tuple[float, ...]


def lab_runs() -> list[ComparedRun]:
    """The measured runs. Hosts that share CPUs are left out: no cluster is described like that."""
    found = []
    for file in sorted(LABS.glob("*.json")):
        data = json.loads(file.read_text())
        for row in data["rows"]:
            if row["hosts"] > data["measured"][row["rate"]]["cpus"]:
                continue
            name = row["program"]
            kind = "trace" if name in TRACED else f"npb.{name}"
            if name == "linpack":
                kind = "linpack.look-ahead"
            closed = math.log(row["closed"] / row["measured"])
            found.append(
                ComparedRun(
                    kind, f"{file.stem} {row['rate']}", row["rate"], row["hosts"], row["measured"],
                    math.log(row["simulated"] / row["measured"]),
                    None if name == "linpack" else closed,
                )
            )  # fmt: skip
    return found


def listed_cluster(ranks: int, network: str) -> SimulatedCluster:
    """A cluster of dual nodes on one switch."""
    from linpack_coefficients import NETWORKS

    latency, rate = NETWORKS[network]
    text = NODE.format(nodes=ranks // 2, latency=latency, rate=rate)
    return cluster_of(parse_toml(text, Path("listed.toml")))


def solution_time(
    n: int, ranks: int, dgemm: float, where: SimulatedCluster, share: float, simgrid: SimGrid
) -> float:
    """Simulated seconds of a solution; ``dgemm``: maximum rate of a rank, flop/s."""
    p, q = grids_of(ranks)[-1]
    copy = EXECUTION.copies / where.within_bandwidth
    work = RankWork(DgemmCurve(dgemm, EXECUTION.half), EXECUTION.panel * dgemm, copy)
    made = linpack_schedule(n, EXECUTION.block, p, q, work, look_ahead=False)

    def write(folder: Path) -> list[str]:
        made.schedule.write(folder)
        return []

    program = SimulatedProgram("linpack", ranks, made.factor, write, network=share)
    return simulate(where, program, 2, simgrid, draws=0, seed=1, limit=600.0).nominal


def chosen(path: Path) -> list[dict[str, Any]]:
    """Systems of up to 264 processors whose N½ is known: from each family and network some of all
    sizes, each result once.
    """
    from linpack_coefficients import systems

    kinds: dict[tuple[str, str], dict[float, dict[str, Any]]] = defaultdict(dict)
    for row in systems(path):
        if row["nhalf"] and row["nhalf"] > 5_000 and row["cores"] <= 264:
            kinds[row["family"], row["network"]].setdefault(row["rmax_gflops"], row)
    found: list[dict[str, Any]] = []
    for rows in kinds.values():
        ordered = sorted(rows.values(), key=lambda row: row["cores"])
        count = min(4 if len(ordered) > 4 else 2, len(ordered))
        places = np.unique(np.linspace(0, len(ordered) - 1, count).round().astype(int))
        found += [ordered[place] for place in places.tolist()]
    return found


def simulate_listed(path: Path, simgrid: SimGrid) -> list[ListedPoint]:
    """The published runs, simulated with each share of the network."""
    from linpack_coefficients import ATHLON_DGEMM

    points = []
    for row in chosen(path):
        ranks = row["cores"]
        share = START.get(row["family"], ATHLON_DGEMM)
        dgemm = share * row["rpeak_gflops"] * 1e9 / ranks
        where = listed_cluster(ranks, row["network"])
        for n, rate in (
            (int(row["nmax"]), row["rmax_gflops"]), (int(row["nhalf"]), row["rmax_gflops"] / 2),
        ):  # fmt: skip
            flops = 2.0 * n**3 / 3.0 + 1.5 * n**2
            times = tuple(solution_time(n, ranks, dgemm, where, each, simgrid) for each in SHARES)
            point = ListedPoint(
                row["computer"], row["family"], ranks, n, flops / rate / 1e9,
                2.0 * n**3 / 3.0 / ranks / dgemm, times,
            )  # fmt: skip
            print(point, flush=True)
            points.append(point)
    return points


def listed_time(point: ListedPoint, network: float, dgemm: Mapping[str, float]) -> float:
    """Seconds with a share of the network and of DGEMM by family."""
    (first, second), (one, other) = SHARES, point.times
    bytes_ = (one - other) / (1.0 / first - 1.0 / second)
    slower = START.get(point.family, 1.0) / dgemm.get(point.family, 1.0)
    return (one - bytes_ / first) * slower + bytes_ / network


def fitted(points: Sequence[ListedPoint]) -> tuple[float, dict[str, float]]:
    """The share of the network, and of DGEMM by family, with the least absolute error."""
    families = sorted({point.family for point in points} & set(START))

    def values(z: np.ndarray) -> tuple[float, dict[str, float]]:
        network = 0.05 + 0.95 / (1.0 + math.exp(-z[0]))
        at = 0.6 + 0.37 / (1.0 + np.exp(-z[1:]))
        return network, dict(zip(families, at.tolist(), strict=True))

    def objective(z: np.ndarray) -> float:
        network, dgemm = values(z)
        return float(
            np.mean([abs(math.log(listed_time(p, network, dgemm) / p.published)) for p in points])
        )

    start = np.array([-1.5, *([0.5] * len(families))])
    best = minimize(objective, start, method="Nelder-Mead", options={"maxfev": 800})
    return values(best.x)


def listed_runs(points: Sequence[ListedPoint]) -> list[ComparedRun]:
    """The published runs, each with the share that is fitted without its computer."""
    runs = []
    for computer in sorted({point.computer for point in points}):
        network, dgemm = fitted([point for point in points if point.computer != computer])
        for point in points:
            if point.computer == computer:
                # A family with this computer only has no share of DGEMM without it.
                seconds = listed_time(point, network, dgemm)
                slower = START.get(point.family, 1.0) / dgemm.get(point.family, 1.0)
                runs.append(
                    ComparedRun(
                        "linpack", computer, f"{computer}, N = {point.n:,}", point.ranks,
                        point.published, math.log(seconds / point.published), None,
                        1.0 - slower * point.arithmetic / seconds,
                    )
                )  # fmt: skip
    return runs


def shape(runs: Sequence[ComparedRun]) -> tuple[float, float]:
    """Mean absolute error as a + b x, where x is the share that is not computing; a, b >= 0.

    Only Linpack's runs have that share.
    """
    x = np.array([run.waiting for run in runs])
    y = np.array([abs(run.simulated) for run in runs])
    if not x.any():
        return float(y.mean()), 0.0
    (b, a) = np.polyfit(x, y, 1)
    if a < 0.0:
        return 0.0, float((x * y).sum() / (x * x).sum())
    return (float(a), float(b)) if b >= 0.0 else (float(y.mean()), 0.0)


def half_width(errors: Sequence[float], groups: int) -> float:
    """Of a 90% interval about the prediction: root mean square times Student's quantile."""
    return float(stdtrit(groups, 0.95)) * math.sqrt(statistics.fmean(e * e for e in errors))


def held_out(runs: Sequence[ComparedRun], closed: bool) -> list[tuple[ComparedRun, float]]:
    """Each run and its error over the half-width that follows from the other groups of its kind."""
    ratios: list[tuple[ComparedRun, float]] = []
    for kind in sorted({run.kind for run in runs}):
        own = [run for run in runs if run.kind == kind]
        groups = sorted({run.group for run in own})
        for group in groups:
            others = [run for run in own if run.group != group]
            a, b = (1.0, 0.0) if closed else shape(others)

            def scaled(run: ComparedRun, a: float = a, b: float = b) -> float:
                error = run.closed if closed else run.simulated
                assert error is not None
                return error / (a + b * run.waiting)

            width = half_width([scaled(run) for run in others], len(groups) - 1)
            ratios += [(run, abs(scaled(run)) / width) for run in own if run.group == group]
    return ratios


def described(kind: str) -> str:
    """The runs of a kind, in words."""
    if kind == "linpack":
        return "HPL at Nmax and N½ on clusters of 2000 to 2005, as published"
    what = {
        "trace": "CoMD and HPCCG, from traces",
        "linpack.look-ahead": "assay's Linpack, N = 1,500",
    }.get(kind, f"{kind.removeprefix('npb.').upper()}, class W")
    return f"{what}, on labs with two or four hosts"


def factor_of(ratios: Sequence[tuple[ComparedRun, float]]) -> float:
    """The factor on half-widths with which at least ``HELD`` of the intervals hold."""
    return float(np.quantile([ratio for _, ratio in ratios], HELD, method="higher"))


def errors_of(runs: Sequence[ComparedRun]) -> dict[str, dict[str, Any]]:
    """The entry of each kind in ``calibration.json``, printed with every run.

    Kinds have few runs each. The factor and the share of intervals that hold are therefore
    calculated from all ``runs`` together.
    """
    ratios = held_out(runs, closed=False)
    factor = factor_of(ratios)
    held = sum(ratio <= factor for _, ratio in ratios) / len(ratios)
    closed_runs = [run for run in runs if run.closed is not None]
    closed_factor = factor_of(held_out(closed_runs, closed=True)) if closed_runs else 0.0
    print(f"\n{len(runs)} runs; half-widths times {factor:.3f} hold in {held:.1%}\n")
    print("| kind | runs | median error | 90% interval | runs that it contains |")
    print("| --- | ---: | ---: | --- | ---: |")
    found: dict[str, dict[str, Any]] = {}
    for kind in sorted({run.kind for run in runs}):
        own = [run for run in runs if run.kind == kind]
        groups = len({run.group for run in own})
        a, b = shape(own)
        width = factor * half_width([run.simulated / (a + b * run.waiting) for run in own], groups)
        closed = [run.closed for run in own if run.closed is not None]
        found[kind] = {
            "runs": described(kind),
            "rows": len(own),
            "most_ranks": max(run.ranks for run in own),
            "simulated": round(width * a, 4),
            "waiting": round(width * b, 4),
            "closed": round(closed_factor * half_width(closed, groups), 4) if closed else None,
            "held": round(held, 3),
            "held_of": len(ratios),
        }
        inside = sum(ratio <= factor for run, ratio in ratios if run.kind == kind)
        middle = width * (a + b * statistics.median(run.waiting for run in own))
        error = statistics.median(abs(math.expm1(run.simulated)) for run in own)
        print(
            f"| {kind} | {len(own)} | {error:.1%} | {math.expm1(-middle):.0%} to "
            f"{math.expm1(middle):+.0%} | {inside} |"
        )
    print("\n| kind | run | ranks | measured | predicted | in the interval |")
    print("| --- | --- | ---: | ---: | ---: | --- |")
    for run, ratio in ratios:
        print(
            f"| {run.kind} | {run.run} | {run.ranks} | {run.seconds:.3g} s | "
            f"{math.expm1(run.simulated):+.0%} | {'yes' if ratio <= factor else 'no'} |"
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listed", type=Path, help="simulate the published runs again")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.listed is not None:
        simgrid = find_simgrid(None)
        if simgrid is None:
            print("SimGrid's smpirun isn't on PATH.")
            return 1
        points = simulate_listed(given.listed, simgrid)
        LISTED.parent.mkdir(exist_ok=True)
        LISTED.write_text(json.dumps([asdict(point) for point in points], indent=1) + "\n")
    points = [
        ListedPoint(**{**point, "times": tuple(point["times"])})
        for point in json.loads(LISTED.read_text())
    ]
    network, dgemm = fitted(points)
    print(f"Share of the network {network:.3f}; DGEMM as a share of peak: {dgemm}")
    errors = errors_of(lab_runs()) | errors_of(listed_runs(points))
    if given.write:
        linpack = asdict(replace(EXECUTION, network=round(network, 3)))
        CALIBRATION.write_text(
            json.dumps({"linpack": linpack, "errors": errors}, indent=1, ensure_ascii=False) + "\n",
            encoding="utf-8",
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
