"""linpack compared with HPL: the same order, grid and BLAS.

    .venv/bin/python benchmarks/linpack.py --hpl PATH [--virtual-cluster]

PATH is HPL's executable, built with assay's own MPI and BLAS; it reads its input from the folder
where it starts, as ``HPL.dat`` (HPL) or ``hpccinf.txt`` (HPC Challenge, whose executable runs all
its other tests too), which this script writes. HPL's block size, panel factorisation and broadcast
are tuned first, over all combinations at a smaller order; with the best of them it runs with
look-ahead and without, and the table has the better of both. assay has its own block. In addition:
assay's rate as a share of DGEMM's on all ranks; four hosts of assay's virtual cluster (needs root);
and assay's own choice compared with the best of all blocks and grids.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

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
from peers import nothing_written, peer_of
from places import NODE, Place, gigabit

from assay.lab import network

# assay's block beside HPL, and its own choice here.
BLOCK, CHOSEN_BLOCK = 192, 224
ORDERS = (10_000, 20_000)
SHARE_OF_DGEMM = 0.92
# Between hosts: an order of some ten seconds.
FAR_ORDER = 6_000
# The search compared with all blocks and grids.
TRIAL_ORDER = 8_000
TRIAL_BLOCKS = (64, 96, 128, 160, 192, 224, 256, 320, 384)
NEAR_THE_BEST = 0.97
# What HPL is tuned over: block sizes, and by HPL's numbers panel factorisations (left, Crout,
# right) and broadcasts (ring, modified ring, modified double ring).
TUNED_BLOCKS, TUNED_FACTORISATIONS, TUNED_BROADCASTS = (96, 128, 192, 256), (0, 1, 2), (0, 1, 3)
QUICK_ORDER = 1_000
# A line of results: depth, broadcast, the letter of the panel factorisation; N, NB, P, Q, the rate.
_RESULT = re.compile(
    r"^W[RC](\d)(\d)[LCR]\d([LCR])\d+\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s+[\d.]+\s+(\S+)\s*$", re.M
)
_FACTORISATIONS = "LCR"


@dataclass(frozen=True)
class HplSettings:
    """HPL's settings, by HPL's numbers; several of each are all combinations in one run."""

    blocks: tuple[int, ...] = TUNED_BLOCKS
    factorisations: tuple[int, ...] = TUNED_FACTORISATIONS
    broadcasts: tuple[int, ...] = TUNED_BROADCASTS
    depths: tuple[int, ...] = (0, 1)

    @property
    def named(self) -> str:
        """``NB = 192, PFACT = 2, BCAST = 1``."""
        words = (("NB", self.blocks), ("PFACT", self.factorisations), ("BCAST", self.broadcasts))
        return ", ".join(f"{name} = {' '.join(map(str, values))}" for name, values in words)


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
        """As arguments of ``assay measure linpack``."""
        return (f"n={self.n}", f"nb={self.block}", f"p={self.rows}")

    def hpl_input(self, settings: HplSettings) -> str:
        """The 31 lines that HPL reads."""

        def several(values: Sequence[int], name: str) -> str:
            return f"{len(values)} # of {name}\n{' '.join(map(str, values))} {name}"

        return f"""HPLinpack benchmark input file
beside assay
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{self.n}     Ns
{several(settings.blocks, "NBs")}
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{self.rows}  Ps
{self.columns} Qs
16.0         threshold
{several(settings.factorisations, "PFACTs (0=left, 1=Crout, 2=Right)")}
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
{several(settings.broadcasts, "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)")}
{several(settings.depths, "DEPTHs (>=0)")}
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def hpl_rates(text: str, n: int) -> dict[HplSettings, float]:
    """Flop/s by settings, of the lines of results at order ``n``.

    Raises PeerError unless there are any and all passed.
    """
    found = {
        HplSettings(
            (int(block),),
            (_FACTORISATIONS.index(letter),),
            (int(broadcast),),
            (int(depth),),
        ): float(rate) * 1e9
        for depth, broadcast, letter, order, block, rate in _RESULT.findall(text)
        if int(order) == n
    }
    if not found or len(re.findall("PASSED", text)) < len(found) or "FAILED" in text:
        raise PeerError(f"HPL did not pass at N = {n}.")
    return found


def run_hpl(
    problem: Problem, settings: HplSettings, program: Path, mpirun: str, place: Place
) -> dict[HplSettings, float]:
    """Flop/s of HPL with each combination of these settings. Raises PeerError as hpl_rates()."""
    with nothing_written(program, may_write=True) as folder:
        for name in ("HPL.dat", "hpccinf.txt"):
            Path(folder, name).write_text(problem.hpl_input(settings))
        text, _ = run(
            [*place.before, mpirun, *place.mpirun, program.resolve()],
            {"OPENBLAS_NUM_THREADS": "1"},
            cwd=folder,
        )
        for path in (Path(folder, "HPL.out"), Path(folder, "hpccoutf.txt")):
            text += path.read_text() if path.exists() else ""
    return hpl_rates(text, problem.n)


def best_settings(rates: Mapping[HplSettings, float]) -> HplSettings:
    """The settings with the highest rate, with look-ahead and without."""
    return replace(max(rates, key=lambda each: rates[each]), depths=(0, 1))


def hpl_rate(
    problem: Problem, settings: HplSettings, program: Path, mpirun: str, place: Place
) -> float:
    """Flop/s of the best of these settings. Raises PeerError unless all passed."""
    return max(run_hpl(problem, settings, program, mpirun, place).values())


def assay_rate(words: Sequence[str], place: Place, budget: str = "900 s") -> float:
    """Flop/s of one launch with one solution."""
    how = ("--launches", "1", "--samples", "1", "--budget", budget)
    cell = measure_quickly(
        "linpack", *words, *place.measure, *how, before=place.before, cwd=place.cwd
    ).cells[0]
    if not cell["verified"]:
        raise PeerError("assay's linpack did not verify.")
    return float(cell["metrics"]["rate"]["median"])


def beside_hpl(
    problem: Problem, tuned_at: int, program: Path, mpirun: str, place: Place, rounds: int
) -> Row:
    """Measure both alternately; HPL with its best settings at the order ``tuned_at``."""
    say(f"linpack, tuning HPL at N = {tuned_at}, {place.name}")
    small = replace(problem, n=tuned_at)
    tried = run_hpl(small, HplSettings(depths=(1,)), program, mpirun, place)
    settings = best_settings(tried)
    say(f"linpack, N = {problem.n}, {place.name}; HPL: {settings.named}")
    now = load()
    ours, theirs = alternate(
        rounds,
        partial(assay_rate, problem.words(), place),
        partial(hpl_rate, problem, settings, program, mpirun, place),
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
        note=f"HPL: {settings.named}, the best of {len(tried)} settings at N = {tuned_at}.",
        details={"tried": {each.named: rate for each, rate in tried.items()}},
    )


def beside_dgemm(problem: Problem, rounds: int) -> Row:
    """The share of DGEMM's rate on all ranks."""
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
    """The search's choice compared with the best of all blocks and grids, tried alternately."""
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
    program: Path | None,
    mpirun: str,
    *,
    quick: bool,
    virtual_cluster: bool,
    source: str = "not given",
    orders: Sequence[int] = (),
) -> Comparison:
    """Rows within the node, between hosts on request, and of the search.

    ``source``: where HPL's source is from, for the record. ``orders``: only the rows beside HPL of
    these, within the node, with three rounds.
    """
    comparison = Comparison()
    try:
        if program is None:
            comparison.skipped.append("linpack beside HPL: name its executable with --hpl.")
        else:
            settings = {"OPENBLAS_NUM_THREADS": "1"}
            comparison.peers.append(asdict(peer_of(program, source, settings)))
            tuned_at = QUICK_ORDER if quick else TRIAL_ORDER
            usual = dict(zip((2_000,) if quick else ORDERS, (7, 3), strict=False))
            for n, rounds in (dict.fromkeys(orders, 3) or usual).items():
                problem = Problem(n, BLOCK, 1, 2)
                comparison.rows.append(beside_hpl(problem, tuned_at, program, mpirun, NODE, rounds))
            if orders:
                return comparison
            problem_far = network.why_not() if virtual_cluster else "not asked for."
            if problem_far:
                comparison.skipped.append(f"linpack between hosts: {problem_far}")
            else:
                with gigabit(4) as place:
                    far = Problem(1_000 if quick else FAR_ORDER, 128, 2, 2)
                    rounds = 1 if quick else 5
                    row = beside_hpl(far, far.n // 2, program, mpirun, place, rounds)
                    comparison.rows.append(row)
        problem = Problem(2_000 if quick else ORDERS[-1], CHOSEN_BLOCK, 1, 2)
        comparison.rows.append(beside_dgemm(problem, 1 if quick else 3))
        comparison.rows.append(
            beside_all(1 if quick else 3, TRIAL_BLOCKS[::4] if quick else TRIAL_BLOCKS)
        )
    except PeerError as error:
        comparison.skipped.append(f"linpack: {error}")
    return comparison


def joined(earlier: Mapping[str, Any], new: Comparison) -> Comparison:
    """The new rows and the others of an earlier part of the results (``common.part``)."""
    rows = {row["what"]: Row(**row) for row in earlier["rows"]}
    rows |= {row.what: row for row in new.rows}
    return replace(new, rows=list(rows.values()), skipped=new.skipped or earlier["skipped"])


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--hpl", type=Path, help="HPL's executable (the same MPI and BLAS)")
    options.add_argument("--hpl-source", default="not given", help="where its source is from")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    options.add_argument(
        "--virtual-cluster", action="store_true", help="four hosts too; needs root"
    )
    given = options.parse_args()
    os.environ.pop("OPENBLAS_NUM_THREADS", None)
    build()
    finish(
        compare_linpack(
            given.hpl,
            given.mpirun,
            quick=given.quick,
            virtual_cluster=given.virtual_cluster,
            source=given.hpl_source,
        )
    )


if __name__ == "__main__":
    main()
