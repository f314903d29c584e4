"""Collectives with a common start: compared with ReproMPI's clock and windows, and with barriers.

    .venv/bin/python benchmarks/clock.py --reprompi PATH --imb PATH

assay starts the ranks of each call at one time of a global clock (timing=appointed); so does
ReproMPI with --clock-sync=HCA3 --proc-sync=window; its median over the valid calls of a launch is
compared with assay's of a launch. IMB by default puts a barrier before each call and measures from
each rank's exit: its t_max is compared with the same statistic of assay, to show the effect of the
barrier. No goals: different methods give different numbers.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from common import (
    Comparison,
    PeerError,
    alternate,
    build,
    compare,
    embedded_mpirun,
    finish,
    load,
    parser,
    run,
    say,
)
from messages import AS_ROOT, COLLECTIVE_SIZES, COLLECTIVES, KEEP_MEMORY, RANKS, assay, slowest

# Microseconds from one start to the next; the longest of these calls takes a hundred.
WINDOW = "400"
# ReproMPI's reduce_scatter takes a block per rank, assay's a vector for all.
LEFT_OUT = ("reduce_scatter", "barrier")


def reprompi(mpirun: str, executable: Path, benchmark: str, size: int) -> float:
    """The median in seconds of the valid calls of one launch. Raises PeerError if it has none."""
    command = [
        *(mpirun, "-n", str(RANKS), "--bind-to", "core", executable),
        *(f"--calls-list=MPI_{benchmark}", f"--msizes-list={size}", "--nrep=2000"),
        *("--datatype=MPI_DOUBLE", "--operation=MPI_SUM", "--summary=median"),
        *("--clock-sync=HCA3", "--proc-sync=window", f"--window-size={WINDOW}"),
        "--runtime-type=global",
    ]
    text, _ = run(command, AS_ROOT | KEEP_MEMORY)
    row = re.search(rf"^\s*MPI_{benchmark}\s+\d+\s+\d+\s+(\d+)\s+([\d.]+)\s*$", text, re.M)
    if row is None or int(row[1]) == 0:
        raise PeerError(f"mpibenchmark printed no valid MPI_{benchmark} of {size} B.")
    return float(row[2])


def compare_clock(
    executable: Path | None, imb: Path | None, mpirun: str, *, quick: bool
) -> Comparison:
    """Rows for each collective and size, as far as peers are available."""
    comparison = Comparison()
    if executable is None:
        comparison.skipped.append("clock: name ReproMPI's mpibenchmark with --reprompi.")
    if imb is None:
        comparison.skipped.append("clock: name IMB-MPI1 with --imb.")
    for op, benchmark in COLLECTIVES.items():
        for size in COLLECTIVE_SIZES[:1] if quick else COLLECTIVE_SIZES:
            if op in LEFT_OUT:
                continue
            say(f"{op}, {size} B, by a common clock")
            words = (f"op={op}", f"bytes={size}", "timing=appointed")
            turns = [partial(assay, "network.collective", *words, keep=True)]
            peers = []
            if executable is not None:
                turns.append(partial(reprompi, mpirun, executable, benchmark, size))
                peers.append("ReproMPI, HCA3, windows")
            if imb is not None:
                turns.append(partial(slowest, mpirun, imb, benchmark, size, "on"))
                peers.append("IMB as it comes, barriers")
            if not peers:
                return comparison
            now = load()
            try:
                ours, *others = alternate(3 if quick else 9, *turns)
            except PeerError as error:
                comparison.skipped.append(f"clock, {op}, {size} B: {error}")
                continue
            what = f"{op}, {size} B, {RANKS} ranks, common start"
            comparison.rows += [
                compare("clock", what, "s", "less", ours, theirs, peer, load=now)
                for peer, theirs in zip(peers, others, strict=True)
            ]
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--reprompi", type=Path, help="mpibenchmark of ReproMPI (the same MPI)")
    options.add_argument("--imb", type=Path, help="IMB-MPI1, built with the same MPI")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    given = options.parse_args()
    build()
    finish(compare_clock(given.reprompi, given.imb, given.mpirun, quick=given.quick))


if __name__ == "__main__":
    main()
