"""linpack beside HPL: the same order, block, grid and BLAS.

    .venv/bin/python benchmarks/linpack.py --hpl PATH [--virtual-cluster]

PATH is HPL's executable, built with assay's own MPI and BLAS; it reads its input from the folder
where it starts, as ``HPL.dat`` (HPL) or ``hpccinf.txt`` (HPC Challenge, whose executable runs all
its other tests too), which this script writes. HPL runs with look-ahead and without, its modified
ring and its mixed swaps; the better of both stands in the table. Beside that: assay's rate as a
share of DGEMM's on all ranks; four hosts of assay's virtual cluster (needs root); and what assay
chooses by itself beside the best of all blocks and grids.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from common import (
    Comparison,
    PeerError,
    Row,
    alternate,
    build,
    compare,
    embedded_mpirun,
    finish,
    load,
    measure,
    measure_quickly,
    parser,
    run,
    say,
)
from places import NODE, Place, gigabit

from assay.lab import network

# What HPL is often run with, and what the search chooses here.
BLOCK, CHOSEN_BLOCK = 192, 224
ORDERS = (10_000, 20_000)
SHARE_OF_DGEMM = 0.92
# Between hosts: an order of some ten seconds.
FAR_ORDER = 6_000
# The search beside all blocks and grids.
TRIAL_ORDER = 8_000
TRIAL_BLOCKS = (64, 96, 128, 160, 192, 224, 256, 320, 384)
NEAR_THE_BEST = 0.97
# HPL's numbers for its schemes: modified ring, mixed swaps up to so many columns.
_RESULT = re.compile(r"^W[RC]\w+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+[\d.]+\s+(\S+)\s*$", re.M)


@dataclass(frozen=True)
class Problem:
    """One order on one grid."""

    n: int
    block: int
    rows: int
    columns: int

    @property
    def grid(self) -> str:
        """``1 × 2``."""
        return f"{self.rows} × {self.columns}"

    def words(self) -> tuple[str, ...]:
        """As ``assay measure linpack`` takes it."""
        return (f"n={self.n}", f"nb={self.block}", f"p={self.rows}")

    def hpl_input(self) -> str:
        """The 31 lines that HPL reads."""
        return f"""HPLinpack benchmark input file
beside assay
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{self.n}     Ns
1            # of NBs
{self.block} NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{self.rows}  Ps
{self.columns} Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
2            # of lookahead depth
0 1          DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def hpl_rate(problem: Problem, program: Path, mpirun: str, place: Place) -> float:
    """Flop/s of the better of its two runs. Raises PeerError unless all passed."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        for name in ("HPL.dat", "hpccinf.txt"):
            Path(folder, name).write_text(problem.hpl_input())
        text, _ = run(
            [*place.before, mpirun, *place.mpirun, program.resolve()],
            {"OPENBLAS_NUM_THREADS": "1"},
            cwd=Path(folder),
        )
        for path in (Path(folder, "HPL.out"), Path(folder, "hpccoutf.txt")):
            text += path.read_text() if path.exists() else ""
    found = [float(rate) for n, *_, rate in _RESULT.findall(text) if int(n) == problem.n]
    if not found or len(re.findall("PASSED", text)) < len(found) or "FAILED" in text:
        raise PeerError(f"{program.name} did not pass at N = {problem.n}.")
    return max(found) * 1e9


def assay_rate(words: Sequence[str], place: Place, budget: str = "900 s") -> float:
    """Flop/s of one launch with one solution."""
    how = ("--launches", "1", "--samples", "1", "--budget", budget)
    cell = measure_quickly(
        "linpack", *words, *place.measure, *how, before=place.before, cwd=place.cwd
    ).cells[0]
    if not cell["verified"]:
        raise PeerError("assay's linpack did not verify.")
    return float(cell["metrics"]["rate"]["median"])


def beside_hpl(problem: Problem, program: Path, mpirun: str, place: Place, rounds: int) -> Row:
    """Both in their turns."""
    say(f"linpack, N = {problem.n}, {place.name}")
    now = load()
    ours, theirs = alternate(
        rounds,
        partial(assay_rate, problem.words(), place),
        partial(hpl_rate, problem, program, mpirun, place),
    )
    return compare(
        "linpack",
        f"linpack, N = {problem.n}, NB = {problem.block}, {problem.grid}, {place.name}",
        "flop/s",
        "more",
        ours,
        theirs,
        "HPL",
        at_least=1.0,
        goal="≥ 1",
        load=now,
    )


def beside_dgemm(problem: Problem, rounds: int) -> Row:
    """The share of what DGEMM makes of all ranks at once."""
    say(f"linpack, N = {problem.n}, beside DGEMM")
    now = load()

    def dgemm() -> float:
        words = ("n=3000", "--ppn", "2", "--launches", "1", "--budget", "5 s")
        return float(measure("compute.dgemm", *words).cells[0]["metrics"]["rate"]["median"])

    ours, theirs = alternate(rounds, partial(assay_rate, problem.words(), NODE), dgemm)
    return compare(
        "linpack",
        f"linpack, N = {problem.n}, beside DGEMM × ranks",
        "flop/s",
        "more",
        ours,
        theirs,
        "compute.dgemm, N = 3000, all ranks",
        at_least=SHARE_OF_DGEMM,
        goal=f"≥ {SHARE_OF_DGEMM:g}",
        load=now,
    )


def beside_all(rounds: int, blocks: Sequence[int]) -> Row:
    """The search's choice beside the best of all blocks and grids, tried in turns."""
    say("linpack, the search beside all blocks and grids")
    now = load()
    how = ("--ppn", "2", "--launches", "1", "--budget", "60 s")
    facts = measure("linpack.search", *how).records("measurement")[0]["facts"]
    chosen = Problem(TRIAL_ORDER, int(facts["nb"]), int(facts["p"]), 2 // int(facts["p"]))
    schemes = tuple(f"{name}={facts[name]}" for name in ("broadcast", "swap", "depth"))
    others = [Problem(TRIAL_ORDER, block, p, 2 // p) for block in blocks for p in (1, 2)]
    mine, *rest = alternate(
        rounds,
        partial(assay_rate, (*chosen.words(), *schemes), NODE),
        *(partial(assay_rate, problem.words(), NODE) for problem in others),
    )
    medians = [statistics.median(values) for values in rest]
    best = medians.index(max(medians))
    named = f"NB = {others[best].block}, {others[best].grid}"
    return compare(
        "linpack",
        f"linpack, N = {TRIAL_ORDER}, chosen: NB = {chosen.block}, {chosen.grid}",
        "flop/s",
        "more",
        mine,
        rest[best],
        f"best of {len(others)}: {named}",
        at_least=NEAR_THE_BEST,
        goal=f"≥ {NEAR_THE_BEST:g}",
        load=now,
        details={
            "all": {f"{p.block} {p.grid}": values for p, values in zip(others, rest, strict=True)}
        },
    )


def compare_linpack(
    program: Path | None, mpirun: str, *, quick: bool, virtual_cluster: bool
) -> Comparison:
    """Rows within the node, between hosts if asked for, and of the search."""
    comparison = Comparison()
    try:
        if program is None:
            comparison.skipped.append("linpack beside HPL: name its executable with --hpl.")
        else:
            for n, rounds in zip((2_000,) if quick else ORDERS, (7, 3), strict=False):
                problem = Problem(n, BLOCK, 1, 2)
                comparison.rows.append(beside_hpl(problem, program, mpirun, NODE, rounds))
            problem_far = network.why_not() if virtual_cluster else "not asked for."
            if problem_far:
                comparison.skipped.append(f"linpack between hosts: {problem_far}")
            else:
                with gigabit(4) as place:
                    far = Problem(1_000 if quick else FAR_ORDER, 128, 2, 2)
                    rounds = 1 if quick else 5
                    comparison.rows.append(beside_hpl(far, program, mpirun, place, rounds))
        problem = Problem(2_000 if quick else ORDERS[-1], CHOSEN_BLOCK, 1, 2)
        comparison.rows.append(beside_dgemm(problem, 1 if quick else 3))
        comparison.rows.append(
            beside_all(1 if quick else 3, TRIAL_BLOCKS[::4] if quick else TRIAL_BLOCKS)
        )
    except PeerError as error:
        comparison.skipped.append(f"linpack: {error}")
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--hpl", type=Path, help="HPL's executable (the same MPI and BLAS)")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    options.add_argument(
        "--virtual-cluster", action="store_true", help="four hosts too; needs root"
    )
    given = options.parse_args()
    os.environ.pop("OPENBLAS_NUM_THREADS", None)
    build()
    finish(
        compare_linpack(
            given.hpl, given.mpirun, quick=given.quick, virtual_cluster=given.virtual_cluster
        )
    )


if __name__ == "__main__":
    main()
