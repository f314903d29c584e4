"""Run times on other networks, predicted from one trace, beside real ones on the lab's links.

    python benchmarks/prediction.py --keep FOLDER "LU=…/lu.W.x" "CG=…/cg.W.x"
    python benchmarks/prediction.py --keep FOLDER --read

Each program is traced ``--rounds`` times on labs of 2 and 4 hosts, one rank per host, with links of
100 Mbit/s, 1 and 10 Gbit/s (hosts are network namespaces of this machine; needs root). Each link's
latency and burst are from a ping-pong on it, of 8 B and 16 KiB, its bandwidth from an exchange of
4 MiB, both ways at once: a link's directions are independent in the model, and share CPUs in a lab.
From every trace the run time on the two other links is predicted, as of a single run, and from the
median run of each network, as with ``assay profile --launches``. The real time is the median of the
traced runs there, from the end of MPI_Init to MPI_Finalize. Traces are kept in FOLDER, so that
``--read`` repeats the comparison, and a later call with more ``--rounds``, or other ``--rates``,
adds to them. For comparison, the difference of one run from the mean of the others on the same
links is printed: no prediction can have a smaller median error.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
from lab_programs import lab_of, traced

from assay.errors import AssayError
from assay.kernels.toolchains import select_toolchain
from assay.model.placement import Placement
from assay.models.program.prediction import ModelledRun, between_launches, model_run, predict
from assay.models.program.waits import wait_states
from assay.reference.interconnects import InterconnectClass
from assay.subjects.profile.traced.phases import phases_of
from assay.trace.matching import match
from assay.trace.model import LaunchTime, middle_launch
from assay.trace.reading_trace import read_trace

RATES = {"100 Mbit/s": 12.5e6, "1 Gbit/s": 125e6, "10 Gbit/s": 1.25e9}
_SHORT, _MIDDLE, _LONG = 8, 16 << 10, 4 << 20
_GOAL, _LARGEST = 0.05, 0.15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="NAME=COMMAND")
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--read", action="store_true")
    parser.add_argument("--hosts", default="2,4")
    parser.add_argument("--rates", default=",".join(RATES), help="of the links to measure")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--longest", type=float, default=60.0, help="s that a run may take")
    chosen = parser.parse_args()
    if not chosen.read:
        end = time.monotonic() + chosen.limit
        programs = dict(text.split("=", 1) for text in chosen.programs)
        for hosts in map(int, chosen.hosts.split(",")):
            for name in chosen.rates.split(","):
                folder = chosen.keep / f"{hosts}-{name.replace('/', '')}"
                _measure(folder, hosts, RATES[name], programs, chosen.rounds, end, chosen.longest)
    _compare(chosen.keep)


def _measure(
    folder: Path,
    hosts: int,
    rate: float,
    programs: dict[str, str],
    rounds: int,
    end: float,
    longest: float,
) -> None:
    """Trace what isn't there yet, on a lab of its own."""
    missing = [
        (name, number)
        for number in range(rounds)
        for name in programs
        if not (folder / f"{name}-{number}" / "run.json").exists()
    ]
    if not missing or time.monotonic() > end:
        return
    folder.mkdir(parents=True, exist_ok=True)
    place = Placement(nodes=hosts, ppn=1)
    with lab_of(hosts, rate, folder) as lab:
        if not (folder / "link.json").exists():
            compiler = select_toolchain(None, lab.config).mpicxx
            link = _link(lab.launcher(place), compiler, folder)
            (folder / "link.json").write_text(json.dumps(link), encoding="utf-8")
        for name, number in missing:
            if time.monotonic() > end:
                return
            try:
                traced(programs[name], place, folder / f"{name}-{number}", lab, longest)
            except AssayError as error:
                print(f"{hosts} hosts {name}: {error}", flush=True)
                shutil.rmtree(folder / f"{name}-{number}", ignore_errors=True)


_PING_PONG = """
#include <mpi.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int k = 1; k < argc; ++k) {
    const int size = std::atoi(argv[k]);
    const bool both = size > 1000000;
    const int times = both ? 5 : 200;
    std::vector<char> data(size), received(size);
    std::vector<double> seconds;
    for (int i = 0; i < times && rank < 2; ++i) {
      const double begin = MPI_Wtime();
      if (both) {
        MPI_Sendrecv(data.data(), size, MPI_BYTE, 1 - rank, 0, received.data(), size, MPI_BYTE,
                     1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        seconds.push_back(MPI_Wtime() - begin);
        continue;
      }
      if (rank == 0) MPI_Send(data.data(), size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(data.data(), size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(data.data(), size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      seconds.push_back((MPI_Wtime() - begin) / 2);
    }
    if (rank == 0) {
      std::sort(seconds.begin(), seconds.end());
      std::printf("%.9f\\n", seconds[seconds.size() / 2]);
    }
  }
  MPI_Finalize();
}
"""


def _link(launcher: list[str], compiler: str, folder: Path) -> dict[str, float]:
    """Latency (s), bandwidth (B/s) and burst (B) of the lab's link, from medians."""
    source, program = folder / "ping_pong.cpp", folder / "ping_pong"
    source.write_text(_PING_PONG, encoding="utf-8")
    subprocess.run([compiler, "-O2", str(source), "-o", str(program)], check=True)
    command = [*launcher, str(program), *map(str, (_SHORT, _MIDDLE, _LONG))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    short, middle, long = map(float, done.stdout.split())
    rate = _LONG / (long - short)
    # Without a burst, 16 KiB take that many bytes at the link's rate longer than 8 B.
    burst = max(_MIDDLE - (middle - short) * rate, 0.0)
    return {"latency": short, "bandwidth": rate, "burst": burst}


@dataclass(frozen=True)
class _Prediction:
    hosts: int
    program: str
    source: str
    target: str
    real: float
    seconds: float
    low: float
    high: float
    doubt: str

    @property
    def error(self) -> float:
        return self.seconds / self.real - 1.0


def _compare(keep: Path) -> None:
    found: list[_Prediction] = []
    of_several: list[_Prediction] = []
    between: list[float] = []
    for hosts in (2, 4):
        labs = {name: keep / f"{hosts}-{name.replace('/', '')}" for name in RATES}
        labs = {name: path for name, path in labs.items() if (path / "link.json").exists()}
        links = {
            name: json.loads((path / "link.json").read_text(encoding="utf-8"))
            for name, path in labs.items()
        }
        for name, link in links.items():
            print(f"{hosts} hosts, {name}: {1e6 * link['latency']:.1f} µs, "
                  f"{link['bandwidth'] / 1e6:.4g} MB/s, burst {link['burst']:.0f} B")  # fmt: skip
        programs = sorted({p.parent.name.rpartition("-")[0] for path in labs.values()
                           for p in path.glob("*/run.json")})  # fmt: skip
        for program in programs:
            models = {
                name: [_modelled(one.parent) for one in sorted(path.glob(f"{program}-*/run.json"))]
                for name, path in labs.items()
            }
            models = {name: every for name, every in models.items() if every}
            times = {name: np.array([one.whole for one in every]) for name, every in models.items()}
            between += [one for runs in times.values() for one in _against_the_others(runs)]
            for source, every in models.items():
                for model in every:
                    found += _predictions(hosts, program, source, model, times, links)
                launches = [LaunchTime(one.whole, one.computing) for one in every]
                middle = replace(every[middle_launch(launches)], between=between_launches(launches))
                of_several += _predictions(hosts, program, source, middle, times, links)
    if not found:
        sys.exit("Nothing is measured on two links.")
    print("From each run:")
    _summary(found)
    print("From the middle one of several runs:")
    _summary(of_several)
    print("A run differs from the mean of the others on the same links by "
          f"{100 * np.median(between) if between else float('nan'):.1f}%")  # fmt: skip


def _modelled(folder: Path) -> ModelledRun:
    matched = match(read_trace(folder))
    waits = wait_states(matched)
    return model_run(matched, waits, phases_of(matched, waits).by_rank)


def _against_the_others(runs: np.ndarray) -> list[float]:
    """Difference of each run from the mean of the others, relative to this mean."""
    if len(runs) < 2:
        return []
    others = (runs.sum() - runs) / (len(runs) - 1)
    return list(np.abs(runs / others - 1.0))


def _predictions(
    hosts: int,
    program: str,
    source: str,
    run: ModelledRun,
    times: dict[str, np.ndarray],
    links: dict[str, dict[str, float]],
) -> list[_Prediction]:
    """Predicted times of a program on the other networks, from a run on one network, ``source``."""
    found = []
    for target, real in times.items():
        if target == source:
            continue
        link = links[target]
        latency = link["latency"]
        kind = InterconnectClass(
            target, latency, (latency, latency), link["bandwidth"], "", link["burst"]
        )
        made = predict(run, kind)
        one = _Prediction(
            hosts, program, source, target, float(np.median(real)), made.seconds, made.low,
            made.high, made.doubtful,
        )  # fmt: skip
        found.append(one)
        print(
            f"{hosts} hosts {program:6} {source:>10} → {target:10} "
            f"real {one.real:.3g} s ({len(real)}, spread {100 * np.ptp(real) / one.real:.0f}%)  "
            f"predicted {one.seconds:.3g} s [{one.low:.3g}, {one.high:.3g}]  "
            f"{100 * one.error:+.1f}%  {one.doubt}",
            flush=True,
        )
    return found


def _summary(found: list[_Prediction]) -> None:
    for hosts, program in dict.fromkeys((one.hosts, one.program) for one in found):
        print(f"{hosts} hosts {program:6}", end="")
        for source, target in permutations(RATES, 2):
            errors = [one.error for one in found
                      if (one.hosts, one.program, one.source, one.target)
                      == (hosts, program, source, target)]  # fmt: skip
            print(f" {100 * np.median(errors):+5.1f}%" if errors else "      –", end="")
        print()
    sizes = np.abs([one.error for one in found])
    sure = np.array([not one.doubt for one in found])
    inside = np.array([one.low <= one.real <= one.high for one in found])
    print(f"{len(found)} predictions, median error {100 * np.median(sizes):.1f}% "
          f"(goal {100 * _GOAL:.0f}%), {100 * inside.mean():.0f}% within the range")  # fmt: skip
    if sure.any():
        print(f"{sure.sum()} without doubt, median error {100 * np.median(sizes[sure]):.1f}%; "
              f"above {100 * _LARGEST:.0f}%: {(sizes[sure] > _LARGEST).sum()}; "
              f"{100 * inside[sure].mean():.0f}% within the range")  # fmt: skip


if __name__ == "__main__":
    main()
