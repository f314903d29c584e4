"""How assay's plain code scales, compared with NASA's MPI programs.

    .venv/bin/python benchmarks/npb_scaling.py --npb-bin DIR --npb-mpirun PATH [--keep FILE]

``code=plain`` of IS, FT, BT and SP should scale as users' codes do: its speedup from one rank to
more should be within 15% of the speedup of NASA's programs. A round measures the plain code, the
tuned code and NASA's program, each on one rank and on more, in an order that reverses every round;
the speedups of a round are compared. NASA's programs run as they are, built without VERSION=VEC. BT
and SP take square numbers of ranks; on fewer than four cores these share cores, on both sides, and
waiting ranks sleep. With ``--keep`` the rates of each round are kept in a file as it ends, and
later calls add theirs: a benchmark whose rounds take minutes can be measured whenever the machine
is quiet.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from common import (
    Comparison,
    PeerError,
    Row,
    build,
    compare,
    cores,
    embedded_mpirun,
    environment,
    finish,
    load,
    parser,
    say,
)
from npb import Once, Variant, assay_rate, reference
from peers import peer_of

from assay.processes import POLITE_WAITING

# The benchmarks that have plain code, and the ranks up to which they are measured.
RANKS = {"is": 2, "ft": 2, "bt": 4, "sp": 4}
# Largest relative difference of the speedups.
WITHIN = 0.15
ROUNDS = {"is": 6, "ft": 3, "bt": 3, "sp": 3}
QUICK_ROUNDS = 2


def alike(ratio: float) -> bool:
    """Whether two speedups with this ratio differ by no more than ``WITHIN``, either way."""
    return 1 / (1 + WITHIN) <= ratio <= 1 + WITHIN


def speedups(one: Sequence[float], many: Sequence[float]) -> list[float]:
    """Speedup of each round, from the rates on one rank and on many."""
    return [b / a for a, b in zip(one, many, strict=True)]


class KeptRates:
    """Rates of rounds, by row and series; with ``path`` also in a JSON file, with earlier ones."""

    def __init__(self, path: Path | None) -> None:
        """The file need not exist yet."""
        self._path = path
        self._kept: dict[str, dict[str, list[float]]] = {}
        if path is not None and path.exists():
            self._kept = json.loads(path.read_text())

    def join(self, what: str, new: dict[str, float]) -> dict[str, list[float]]:
        """All rates of a row; ``new``: of one more round, which are kept."""
        rates = self._kept.setdefault(what, {})
        for series, rate in new.items():
            rates.setdefault(series, []).append(rate)
        if self._path is not None:
            self._path.write_text(json.dumps(self._kept, indent=1) + "\n")
        return rates


def scaling_row(
    name: str, size: str, program: Path, mpirun: str, rounds: int, kept: KeptRates
) -> Row:
    """Speedups of assay's plain code and of NASA's program, round by round."""
    ranks = RANKS[name]
    crowded = ranks > cores()
    what = f"{name.upper()} class {size}, plain code, speedup on {ranks} ranks"
    say(what)
    now = load()
    sides: dict[str, Callable[[int], float]] = {
        "plain": lambda count: assay_rate(name, size, count, "code=plain"),
        "tuned": lambda count: assay_rate(name, size, count),
        "NASA": lambda count: reference(mpirun, program, count),
    }
    series = [(side, count) for side in sides for count in (1, ranks)]
    rates: dict[str, list[float]] = {}
    with environment(POLITE_WAITING if crowded else {}):
        for turn in range(rounds):
            order = series if turn % 2 == 0 else series[::-1]
            round_ = {f"{side}, {count}": sides[side](count) for side, count in order}
            rates = kept.join(what, round_)
    found = {side: speedups(rates[f"{side}, 1"], rates[f"{side}, {ranks}"]) for side in sides}
    tuned = f"The speedup of assay's tuned code: {statistics.median(found['tuned']):.2f}."
    shared = f"{ranks} ranks shared {cores()} cores, on both sides." if crowded else ""
    row = compare(
        "npb-scaling",
        what,
        "",
        "more",
        found["plain"],
        found["NASA"],
        "NPB",
        at_least=0.0,
        goal=f"within {WITHIN:.0%}",
        load=now,
        note=" ".join(filter(None, (tuned, shared))),
        details={"rates": rates},
    )
    row.met = row.paired is not None and alike(row.paired)
    return row


def compare_scaling(
    folder: Path | None,
    mpirun: str,
    *,
    quick: bool,
    size: str = "A",
    names: Sequence[str] = tuple(RANKS),
    source: str = "not given",
    rounds: int | None = None,
    kept: KeptRates | None = None,
) -> Comparison:
    """A row per benchmark. ``folder``: NASA's executables; ``source``: theirs, for the record.

    ``rounds``: of each benchmark, otherwise ``ROUNDS``; ``kept``: rounds of earlier calls.
    """
    comparison = Comparison()
    for name in names:
        program = (folder or Path("missing")) / f"{name}.{size}.x"
        if not program.exists():
            comparison.skipped.append(
                f"npb.{name} class {size}, scaling: there is no reference executable "
                f"{program.name}; name its folder with --npb-bin."
            )
            continue
        try:
            comparison.peers.append(asdict(peer_of(program, source)))
            comparison.versions["NPB"] = Once.of(
                mpirun, 1, Variant("standard", program, {})
            ).version
            count = rounds or (QUICK_ROUNDS if quick else ROUNDS[name])
            comparison.rows.append(
                scaling_row(name, size, program, mpirun, count, kept or KeptRates(None))
            )
        except PeerError as error:
            comparison.skipped.append(f"npb.{name} class {size}, scaling: {error}")
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--npb-bin", metavar="DIR", type=Path, help="NASA's executables")
    options.add_argument("--npb-mpirun", metavar="PATH", default=embedded_mpirun())
    options.add_argument("--npb-source", default="not given", help="where their source is from")
    options.add_argument("--class", dest="size", default="A")
    options.add_argument("--only", nargs="+", default=list(RANKS), choices=list(RANKS))
    options.add_argument("--rounds", type=int, help="of each benchmark; default: 3, of IS 6")
    options.add_argument("--keep", metavar="FILE", type=Path, help="add the rounds to this file")
    given = options.parse_args()
    build()
    finish(
        compare_scaling(
            given.npb_bin,
            given.npb_mpirun,
            quick=given.quick,
            size=given.size,
            names=given.only,
            source=given.npb_source,
            rounds=given.rounds,
            kept=KeptRates(given.keep),
        )
    )


if __name__ == "__main__":
    main()
