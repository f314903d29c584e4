"""All NAS Parallel Benchmarks beside NASA's MPI programs.

    .venv/bin/python benchmarks/npb.py --npb-bin DIR --npb-mpirun PATH

DIR holds the reference's executables by their usual names (``ep.A.x``, ``cg.A.x``); one that is not
there is left out with a sentence. Compared are the official Mop/s of the timed part, which both
count by the same formulas (the reference prints more digits of them than of its seconds), and the
memory that the largest rank had at most. A run that does not verify is refused.
"""

from __future__ import annotations

import re
import statistics
import time
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
    cores,
    embedded_mpirun,
    environment,
    finish,
    interval,
    load,
    measure,
    parser,
    run,
    say,
)
from direct import direct, executable, peak_memory

from assay.kernels import known_kernel
from assay.waiting import POLITE_WAITING

# Ratios to reach: EP's mathematics leaves room for vector code, the others must not be slower.
GOALS = {"ep": 3.0, "cg": 1.0, "mg": 1.0, "ft": 1.0, "is": 1.0, "lu": 1.0, "bt": 1.0, "sp": 1.0}
GOAL_OF_ALL = 1.5
# The reference's BT and SP take square numbers of ranks only.
SQUARES = ("bt", "sp")
# Peaks of memory nearer to each other than that take so many launches.
NEAR, MORE_LAUNCHES = 0.03, 8
# Seconds for all rounds of a line, within the fewest and most rounds.
LINE_TIME, MIN_ROUNDS, MAX_ROUNDS = 240.0, 3, 7


def verified(text: str, executable: Path, ranks: int) -> str:
    """What the reference printed. Raises PeerError unless it verified."""
    if not re.search(r"Verification\s*=\s*SUCCESSFUL", text):
        raise PeerError(f"{executable.name} on {ranks} rank(s) did not verify.")
    return text


def reference(mpirun: str, executable: Path, ranks: int) -> float:
    """Operations per second as the reference prints them."""
    text = verified(run([mpirun, "-n", str(ranks), executable])[0], executable, ranks)
    rate = re.search(r"Mop/s total\s*=\s*([\d.]+)", text)
    if not rate:
        raise PeerError(f"{executable.name} printed no Mop/s.")
    return float(rate[1]) * 1e6


def assay_rate(name: str, size: str, ranks: int) -> float:
    """Operations per second by one launch of assay; it must verify."""
    words = ("--ppn", str(ranks), "--launches", "1", "--budget", "3 s", "--oversubscribe")
    cell = measure(f"npb.{name}", f"class={size}", *words).cells[0]
    if not cell["verified"]:
        raise PeerError(f"assay's npb.{name} did not verify.")
    return float(cell["metrics"]["rate"]["median"])


def has(name: str, size: str) -> bool:
    """Whether assay has that benchmark in that class."""
    kernel = known_kernel(f"npb.{name}")
    sizes = kernel.parameter("class") if kernel else None
    return sizes is not None and size in sizes.choices


def ranks_of(name: str) -> tuple[int, ...]:
    """On how many ranks both sides can run, of those that are compared."""
    return (1, 4) if name in SQUARES else (1, 2)


def label(name: str, size: str, ranks: int) -> str:
    """``CG class A, 2 ranks``."""
    return f"{name.upper()} class {size}, {ranks} rank{'s' if ranks > 1 else ''}"


def compare_npb(
    folder: Path | None, mpirun: str, sizes: Sequence[str], *, quick: bool
) -> Comparison:
    """Rates, their geometric means and memory, class by class."""
    comparison = Comparison()
    kernels = executable()
    for size in sizes:
        rates: dict[str, list[Row]] = {}
        for name in GOALS:
            if not has(name, size):
                comparison.skipped.append(f"npb.{name} class {size}: assay has none.")
                continue
            program = (folder or Path("missing")) / f"{name}.{size}.x"
            if not program.exists():
                comparison.skipped.append(
                    f"npb.{name} class {size}: there is no reference executable {program.name}; "
                    "name its folder with --npb-bin."
                )
            else:
                for ranks in ranks_of(name):
                    say(label(name, size, ranks))
                    # Both sides' ranks sleep while they wait where they outnumber the cores.
                    with environment(POLITE_WAITING if ranks > cores() else {}):
                        once = Once.of(mpirun, ranks, program)
                        row = rate_row(name, size, ranks, mpirun, program, once, quick=quick)
                        memory = memory_row(kernels, name, size, ranks, mpirun, program, once.peak)
                    comparison.versions["NPB"] = once.version
                    rates.setdefault(name, []).append(row)
                    comparison.rows += [row, memory]
                    say(f"  {row.paired:.3f} times the reference's rate")
        if rates:
            comparison.rows.append(mean_row(size, rates))
    return comparison


@dataclass(frozen=True)
class Once:
    """The reference's first run: seconds, version, bytes of its largest rank."""

    seconds: float
    version: str
    peak: float

    @classmethod
    def of(cls, mpirun: str, ranks: int, program: Path) -> Once:
        """Raises PeerError unless it verified."""
        began = time.monotonic()
        peak, text = peak_memory(mpirun, ranks, [program])
        took = time.monotonic() - began
        version = re.search(r"Version\s*=\s*(\S+)", verified(text, program, ranks))
        return cls(took, version[1] if version else "unknown", peak)


def rate_row(
    name: str, size: str, ranks: int, mpirun: str, program: Path, once: Once, *, quick: bool
) -> Row:
    """Mop/s of both sides, in turns: as many rounds as there is time for."""
    now = load()
    rounds = 2 if quick else max(MIN_ROUNDS, min(MAX_ROUNDS, int(LINE_TIME / (2 * once.seconds))))
    ours, theirs = alternate(
        rounds, partial(assay_rate, name, size, ranks), partial(reference, mpirun, program, ranks)
    )
    crowded = f"{ranks} ranks shared {cores()} cores, on both sides." if ranks > cores() else ""
    return compare(
        "npb",
        label(name, size, ranks),
        "op/s",
        "more",
        ours,
        theirs,
        "NPB",
        at_least=GOALS[name],
        goal=f"≥ {GOALS[name]:g}",
        load=now,
        note=crowded,
    )


def memory_row(
    kernels: Path, name: str, size: str, ranks: int, mpirun: str, program: Path, first: float
) -> Row:
    """What the largest rank had at most, MPI and all; the reference's ``first`` is known.

    Pages of files that happen to be in memory count, some hundred KiB more or less: where both
    sides are near each other, more launches of both, in turns.
    """
    ours = [direct(kernels, f"npb.{name}", size, ranks, 1)[1]]
    theirs = [first]
    if abs(ours[0] / first - 1) < NEAR:
        ours, theirs = alternate(
            MORE_LAUNCHES,
            lambda: direct(kernels, f"npb.{name}", size, ranks, 1)[1],
            lambda: peak_memory(mpirun, ranks, [program])[0],
        )
    return compare(
        "npb",
        f"{label(name, size, ranks)}, peak memory of a rank",
        "B",
        "less",
        ours,
        theirs,
        "NPB",
        at_least=1.0,
        goal="≤ NPB's",
    )


def mean_row(size: str, rates: dict[str, list[Row]]) -> Row:
    """The geometric mean over the benchmarks, each by the geometric mean of its rank counts."""
    each = {
        name: statistics.geometric_mean([row.paired or 0.0 for row in rows])
        for name, rows in rates.items()
    }
    mean = statistics.geometric_mean(each.values())
    rounds = min(len(row.assay_values) for rows in rates.values() for row in rows)
    by_round = [
        statistics.geometric_mean(
            statistics.geometric_mean([row.assay_values[i] / row.peer_values[i] for row in rows])
            for rows in rates.values()
        )
        for i in range(rounds)
    ]
    missing = [name.upper() for name in GOALS if name not in rates]
    return Row(
        "npb",
        f"class {size}, geometric mean of {len(rates)} benchmarks",
        "×",
        "more",
        mean,
        1.0,
        "NPB",
        goal=f"≥ {GOAL_OF_ALL:g}",
        met=mean >= GOAL_OF_ALL,
        paired=mean,
        paired_interval=interval(by_round),
        note=f"without {', '.join(missing)}." if missing else "",
        details={"ratios": each},
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--npb-bin", type=Path, help="the folder of ep.A.x, cg.A.x, …")
    options.add_argument("--npb-mpirun", default=embedded_mpirun(), help="their launcher")
    options.add_argument(
        "--class", dest="sizes", nargs="+", choices=("S", "W", "A", "B", "C"), help="default: A B"
    )
    given = options.parse_args()
    build()
    sizes = given.sizes or (("A",) if given.quick else ("A", "B"))
    finish(compare_npb(given.npb_bin, given.npb_mpirun, sizes, quick=given.quick))


if __name__ == "__main__":
    main()
