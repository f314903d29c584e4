"""hpcg compared with the reference, HPCG 3.1, and with the rate that STREAM's bandwidth allows.

    .venv/bin/python benchmarks/hpcg.py --hpcg PATH

PATH is the reference's executable ``xhpcg``, built from the tag ``HPCG-release-3-1-0`` with assay's
own MPI and ``-O3 -march=native`` (``setup/Make.Linux_MPI`` with these flags). Both solve the same
problem, with the same grid per rank on the same ranks, alternately. The ratings are compared: both
count 50 iterations and charge a tenth of the preparation to each set. Before that the scaled
residuals after 50 iterations are compared: sweeps by dependency levels yield the natural order's
numbers. The rows beside STREAM compare the rate of all iterations with the flops per byte that an
iteration must move times the bandwidth of triad.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import asdict, dataclass
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
    parser,
    run,
    say,
)
from peers import peer_of

from assay.kernels import find_kernel

EDGE, QUICK_EDGE = 104, 32
ROUNDS, QUICK_ROUNDS = 7, 1
RANKS = (1, 2)
AT_LEAST, SHARE_OF_STREAM = 2.5, 0.8
# Relative difference between residuals: rounding errors of 50 iterations in another order of sums.
RESIDUALS_AGREE = 1e-4
_INPUT = "HPCG benchmark input file\nbeside assay\n{edge} {edge} {edge}\n1\n"


@dataclass(frozen=True)
class Reference:
    """What a run of the reference printed: flop/s as rated, and the scaled residual."""

    rate: float
    residual: float


def run_reference(program: Path, mpirun: str, ranks: int, edge: int) -> Reference:
    """One run of the reference. Raises PeerError unless its result is valid."""
    with tempfile.TemporaryDirectory(prefix="assay-hpcg-") as folder:
        Path(folder, "hpcg.dat").write_text(_INPUT.format(edge=edge))
        run([mpirun, "-n", str(ranks), program.resolve()], cwd=Path(folder))
        text = "".join(path.read_text() for path in sorted(Path(folder).glob("*.txt")))
    return parsed(text)


def parsed(text: str) -> Reference:
    """The numbers of the reference's two files. Raises PeerError if one is missing."""
    rate = re.search(r"HPCG result is VALID with a GFLOP/s rating of=([\d.eE+-]+)", text)
    residual = re.search(r"Scaled residual mean=([\d.eE+-]+)", text)
    if rate is None or residual is None:
        raise PeerError("HPCG printed no valid result.")
    return Reference(float(rate[1]) * 1e9, float(residual[1]))


def assay_result(edge: int, ranks: int, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The cell and the measurement's record of one launch of hpcg. Raises PeerError."""
    found = measure(
        "hpcg", f"nx={edge}", "--ppn", str(ranks), "--launches", "1", "--samples", "5", *words
    )
    cell = found.cells[0]
    if not cell["verified"]:
        raise PeerError("assay's hpcg did not verify.")
    return cell, found.records("measurement")[0]


def rate_of(edge: int, ranks: int, metric: str) -> float:
    """Flop/s of one launch."""
    cell, _ = assay_result(edge, ranks)
    return float(cell["metrics"][metric]["median"])


def beside_reference(program: Path, mpirun: str, ranks: int, edge: int, rounds: int) -> Row:
    """Residuals first, then ratings, alternately."""
    say(f"hpcg, {edge}³ per rank, {ranks} rank(s), beside HPCG 3.1")
    theirs = run_reference(program, mpirun, ranks, edge).residual
    _, record = assay_result(edge, ranks, "sweep=levels")
    ours = float(record["facts"]["scaled_residual"])
    iterations = int(record["facts"]["iterations"])
    difference = abs(ours / theirs - 1.0)
    if iterations == 50 and difference > RESIDUALS_AGREE:
        raise PeerError(f"The residuals differ: {ours:g} beside {theirs:g}.")
    now = load()
    mine, peer = alternate(
        rounds,
        partial(rate_of, edge, ranks, "rate"),
        lambda: run_reference(program, mpirun, ranks, edge).rate,
    )
    return compare(
        "hpcg",
        f"hpcg, {edge}³ per rank, {ranks} rank(s)",
        "flop/s",
        "more",
        mine,
        peer,
        "HPCG 3.1",
        at_least=AT_LEAST,
        goal=f"≥ {AT_LEAST:g}",
        load=now,
        note=f"Scaled residual {ours:.6g} after {iterations} iterations; HPCG 3.1: {theirs:.6g} "
        "after 50.",
        details={"residual": ours, "peer_residual": theirs, "iterations": iterations},
    )


def beside_stream(ranks: int, edge: int, rounds: int) -> Row:
    """The rate of all iterations as a share of the limit, alternately with triad."""
    say(f"hpcg, {edge}³ per rank, {ranks} rank(s), beside STREAM")
    _, record = assay_result(edge, ranks)
    work = find_kernel("hpcg").work(record["parameters"], ranks, 1)
    per_byte = work["done"] / work["bytes"]

    def limit() -> float:
        words = ("op=triad", "--ppn", str(ranks), "--launches", "1", "--budget", "10 s")
        cell = measure("memory.stream", *words).cells[0]
        return per_byte * float(cell["metrics"]["bandwidth"]["median"])

    now = load()
    mine, most = alternate(rounds, partial(rate_of, edge, ranks, "rate.raw"), limit)
    return compare(
        "hpcg",
        f"hpcg, {edge}³ per rank, {ranks} rank(s), beside its limit",
        "flop/s",
        "more",
        mine,
        most,
        f"{per_byte:.3f} flop/B × STREAM triad",
        at_least=SHARE_OF_STREAM,
        goal=f"≥ {SHARE_OF_STREAM:g}",
        load=now,
    )


def compare_hpcg(
    program: Path | None,
    mpirun: str,
    *,
    edge: int,
    rounds: int,
    source: str = "not given",
) -> Comparison:
    """Rows on one and two ranks, beside the reference and beside the limit."""
    comparison = Comparison()
    try:
        if program is None:
            comparison.skipped.append("hpcg beside HPCG: name its executable with --hpcg.")
        else:
            comparison.peers.append(asdict(peer_of(program, source, {})))
            for ranks in RANKS:
                comparison.rows.append(beside_reference(program, mpirun, ranks, edge, rounds))
        for ranks in RANKS:
            comparison.rows.append(beside_stream(ranks, edge, rounds))
    except PeerError as error:
        comparison.skipped.append(f"hpcg: {error}")
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--hpcg", type=Path, help="the reference's executable (the same MPI)")
    options.add_argument("--hpcg-source", default="not given", help="where its source is from")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    options.add_argument("--edge", type=int, help=f"points per edge and rank ({EDGE})")
    options.add_argument("--rounds", type=int, help=f"rounds of each row ({ROUNDS})")
    given = options.parse_args()
    build()
    finish(
        compare_hpcg(
            given.hpcg,
            given.mpirun,
            edge=given.edge or (QUICK_EDGE if given.quick else EDGE),
            rounds=given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS),
            source=given.hpcg_source,
        )
    )


if __name__ == "__main__":
    main()
