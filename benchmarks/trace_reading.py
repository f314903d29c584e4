"""Time and memory that the report on a trace of 10^7 calls takes.

    python benchmarks/trace_reading.py [--calls 1e7] [--ranks 2] [--folder FOLDER]

A program (neighbours exchange in a ring, every tenth time an allreduce) is traced;
then a process of its own reads, corrects, matches and summarises the trace, as `assay profile
--read` does before it prints. Printed: wall and CPU time of each part, and the process's peak of
resident memory. FOLDER keeps the trace for further runs.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

_PER_ITERATION = 3.1
_PROGRAM = """
#include <mpi.h>
#include <cstdlib>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double from[100], to[100] = {}, sum, mine = rank;
  for (long i = 0, n = std::atol(argv[1]); i < n; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(from, 100, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, requests);
    MPI_Isend(to, 100, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, requests + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (i % 10 == 0) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=float, default=1e7)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--read", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.read:
        _read(chosen.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary) / "trace"
        if not (folder / "run.json").exists():
            iterations = int(chosen.calls / chosen.ranks / _PER_ITERATION)
            _trace(folder, chosen.ranks, iterations, Path(temporary))
        command = [sys.executable, __file__, "--read", "--folder", str(folder)]
        subprocess.run(command, check=True)


def _trace(folder: Path, ranks: int, iterations: int, work: Path) -> None:
    from assay.campaign.commands.profile_program import profile_program
    from assay.config import load_config
    from assay.kernels.toolchains import select_toolchain

    config = load_config(None)
    toolchain = select_toolchain(None, config)
    source, program = work / "ring.cpp", work / "ring"
    source.write_text(_PROGRAM, encoding="utf-8")
    subprocess.run([toolchain.mpicxx, "-O2", str(source), "-o", str(program)], check=True)
    words = [str(toolchain.mpirun), "-n", str(ranks), str(program), str(iterations)]
    profile_program(words, folder, config, Console(), trace=True)


def _read(folder: Path) -> None:
    from assay.subjects.profile.findings import find
    from assay.subjects.profile.traced.findings import find_trace
    from assay.trace.reading import read_profile
    from assay.trace.reading_trace import read_matched

    clocks = [(time.perf_counter(), time.process_time())]

    def lap(name: str) -> None:
        clocks.append((time.perf_counter(), time.process_time()))
        wall, cpu = (after - before for before, after in zip(*clocks[-2:], strict=True))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{name:40} {wall:6.2f} s, CPU {cpu:6.2f} s, peak {peak:.2f} GiB", flush=True)

    matched = read_matched(folder)
    lap(f"{len(matched.trace):,} calls read and corrected")
    find(read_profile(folder))
    find_trace(matched)
    lap("summarised")


if __name__ == "__main__":
    main()
