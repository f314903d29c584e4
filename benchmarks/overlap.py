"""network.overlap and network.rate compared with OSU's and IMB's programs over the same MPI.

    .venv/bin/python benchmarks/overlap.py --osu DIR --imb PATH

``--osu``: folder with osu_ibarrier, osu_ibcast, osu_iallreduce, osu_ialltoall, osu_mbw_mr, at any
depth. ``--imb``: IMB-NBC. One launch of each in turn, one number per launch. Shares are compared
in percentage points: with IMB-NBC by its definition, with OSU by OSU's, from the same times of
assay. Message rates are compared as ratios.

The computations differ: IMB and OSU calibrate theirs by other means, and the time of the operation
differs between launches. The printed ratio of t_CPU / t_pure shows whether each took as long as the
communication.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from common import (
    PeerError,
    alternate,
    build,
    embedded_mpirun,
    interval,
    load,
    measure,
    parser,
    run,
)
from messages import AS_ROOT, RANKS, assay, imb

from assay.kernels.nonblocking.overlap import hidden_share, hidden_share_osu

OPERATIONS = ("ibarrier", "ibcast", "iallreduce", "ialltoall")
SIZES = (8, 1 << 16, 1 << 20)
RATES = (8, 1 << 10, 1 << 14)


@dataclass(frozen=True)
class Times:
    """Mean times of one launch in s: the operation, the computation, and both together."""

    pure: float
    computation: float
    both: float

    @property
    def imb(self) -> float:
        """The hidden share in percent, by IMB-NBC's definition."""
        return 100 * hidden_share(self.pure, self.computation, self.both)

    @property
    def osu(self) -> float:
        """The hidden share in percent, by OSU's definition."""
        return 100 * hidden_share_osu(self.pure, self.computation, self.both)


def of_assay(op: str, size: int) -> Times:
    """The medians of one launch."""
    sized = (f"bytes={size}",) if size else ()
    words = (f"op={op}", *sized, "--ppn", str(RANKS), "--launches", "1")
    (cell,) = measure("network.overlap", *words).cells
    found = (cell["metrics"][name]["median"] for name in ("communication", "computation"))
    return Times(*found, cell["metrics"]["overlapped"]["median"])


def of_imb(mpirun: str, executable: Path, op: str, size: int) -> Times:
    """IMB-NBC's times: the columns t_ovrl, t_pure and t_CPU."""
    benchmark = op.capitalize()
    if op != "ibarrier":
        both, pure, computation, _ = imb(mpirun, executable, benchmark, size)
    else:
        command = [mpirun, "-n", str(RANKS), "--bind-to", "core", executable, benchmark]
        text, _ = run(command, AS_ROOT)
        row = re.search(r"^\s*\d+\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+[\d.]+\s*$", text, re.M)
        if row is None:
            raise PeerError(f"{benchmark} of {executable.name} printed no line.")
        both, pure, computation = map(float, row.groups())
    return Times(pure * 1e-6, computation * 1e-6, both * 1e-6)


def of_osu(mpirun: str, program: Path, size: int) -> Times:
    """OSU's times: the columns Overall, Compute and Pure Comm."""
    sized = ("-m", f"{size}:{size}") if size else ()
    text, _ = run([mpirun, "-n", str(RANKS), "--bind-to", "core", program, *sized], AS_ROOT)
    row = re.findall(r"^\s*([\d.]+(?:\s+[\d.]+){3,4})\s*$", text, re.M)
    if not row:
        raise PeerError(f"{program.name} printed no line.")
    both, computation, pure, _ = map(float, row[-1].split()[-4:])
    return Times(pure * 1e-6, computation * 1e-6, both * 1e-6)


def rate_of_osu(mpirun: str, program: Path, size: int) -> float:
    """Messages per second of all pairs."""
    command = [mpirun, "-n", str(RANKS), "--bind-to", "core", program, "-m", f"{size}:{size}"]
    text, _ = run(command, AS_ROOT)
    row = re.search(rf"^{size}\s+[\d.]+\s+([\d.]+)\s*$", text, re.M)
    if row is None:
        raise PeerError(f"{program.name} printed no line for {size} B.")
    return float(row[1])


def _median(values: Sequence[float]) -> str:
    """``12.3 [11.0, 13.1]``."""
    found = interval(values)
    ends = f" [{found[0]:.1f}, {found[1]:.1f}]" if found else ""
    return f"{statistics.median(values):.1f}{ends}"


def _alternate(rounds: int, *both: Callable[[], Times]) -> tuple[list[Times], list[Times]]:
    """Both measured alternately."""
    kept: tuple[list[Times], list[Times]] = ([], [])

    def keep(side: int) -> float:
        kept[side].append(both[side]())
        return 0.0

    alternate(rounds, partial(keep, 0), partial(keep, 1))
    return kept


def print_shares(
    what: str, peer: str, rounds: int, share: Callable[[Times], float], *both: Callable[[], Times]
) -> None:
    """One line: both shares in percent, and their difference in percentage points."""
    now = load()
    ours, theirs = _alternate(rounds, *both)
    differences = [share(a) - share(b) for a, b in zip(ours, theirs, strict=True)]
    lengths = [
        f"{statistics.median(each.computation / each.pure for each in side):.2f}"
        for side in (ours, theirs)
    ]
    pure = statistics.median(b.pure / a.pure for a, b in zip(ours, theirs, strict=True))
    print(
        f"| {what} | {peer} | {_median([share(each) for each in ours])} | "
        f"{_median([share(each) for each in theirs])} | {_median(differences)} | "
        f"{' / '.join(lengths)} | {pure:.2f} | {now:.1f} |",
        flush=True,
    )


def print_rates(mpirun: str, program: Path, rounds: int) -> None:
    """A line for each size: assay's rate over OSU's."""
    for size in RATES:
        now = load()
        ours, theirs = alternate(
            rounds,
            partial(assay, "network.rate", f"bytes={size}", of=lambda seconds: 1.0 / seconds),
            partial(rate_of_osu, mpirun, program, size),
        )
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        found = interval(ratios)
        ends = f" [{found[0]:.3f}, {found[1]:.3f}]" if found else ""
        print(
            f"| message rate, {size} B | osu_mbw_mr | {statistics.median(ours):.3g} /s | "
            f"{statistics.median(theirs):.3g} /s | {statistics.median(ratios):.3f}{ends} | "
            f"load {now:.1f} |",
            flush=True,
        )


def _program(folder: Path, name: str) -> Path:
    found = next((p for p in sorted(folder.rglob(name)) if p.is_file()), None)
    if found is None:
        raise PeerError(f"There is no {name} in {folder}.")
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--osu", type=Path, help="folder of OSU's programs (the same MPI)")
    options.add_argument("--imb", type=Path, help="IMB-NBC, built with the same MPI")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    options.add_argument("--rounds", type=int, default=15, help="launches of each")
    given = options.parse_args()
    build()
    rounds = 3 if given.quick else given.rounds
    print("| operation | beside | assay, % | peer, % | difference, points | t_CPU / t_pure | "
          "t_pure, peer / assay | load |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for op in OPERATIONS:
        for size in SIZES if op != "ibarrier" else (0,):
            what = f"{op}, {size} B" if size else op
            ours = partial(of_assay, op, size)
            if given.imb:
                peer = partial(of_imb, given.mpirun, given.imb, op, size)
                print_shares(what, "IMB-NBC", rounds, lambda each: each.imb, ours, peer)
            if given.osu:
                peer = partial(of_osu, given.mpirun, _program(given.osu, f"osu_{op}"), size)
                print_shares(what, f"osu_{op}", rounds, lambda each: each.osu, ours, peer)
    if given.osu:
        print_rates(given.mpirun, _program(given.osu, "osu_mbw_mr"), rounds)


if __name__ == "__main__":
    main()
