"""All NAS Parallel Benchmarks compared with NASA's MPI programs.

    .venv/bin/python benchmarks/npb.py --npb-bin DIR --npb-mpirun PATH

DIR holds the reference's executables by their usual names (``ep.A.x``, ``cg.A.x``); a missing one
is reported and left out. A second folder (``--npb-vec-bin``) may hold those built with VERSION=VEC,
which have the same names. Each executable runs as it is and with huge pages, and the fastest of
these variants is the one compared; the rates of all are kept. The official Mop/s of the timed part
are compared, which both sides count by the same formulas (the reference prints more digits of them
than of its seconds), and the peak memory of the largest rank. A run that does not verify is
refused, and so is an executable that holds checkpointing code or writes files (``peers.py``).
"""

from __future__ import annotations

import re
import statistics
import time
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
from peers import HUGE_PAGES, nothing_written, peer_of

from assay.kernels import known_kernel
from assay.processes import POLITE_WAITING

# Ratios to reach beside the reference's best variant: EP's mathematics leaves room for vector code,
# the others must not be slower.
GOALS = {"ep": 3.0, "cg": 1.0, "mg": 1.0, "ft": 1.0, "is": 1.0, "lu": 1.0, "bt": 1.0, "sp": 1.0}
GOAL_OF_ALL = 3.0
# The reference's BT and SP take square numbers of ranks only.
SQUARES = ("bt", "sp")
# For peaks of memory closer than this, this many launches are made.
NEAR, MORE_LAUNCHES = 0.03, 8
# Seconds for all rounds of a line, within the minimum and maximum number of rounds.
LINE_TIME, MIN_ROUNDS, MAX_ROUNDS = 240.0, 3, 7


def verified(text: str, executable: Path, ranks: int) -> str:
    """The reference's output. Raises PeerError unless it verified."""
    if not re.search(r"Verification\s*=\s*SUCCESSFUL", text):
        raise PeerError(f"{executable.name} on {ranks} rank(s) did not verify.")
    return text


@dataclass(frozen=True)
class Variant:
    """An executable of the reference, and its environment."""

    name: str
    program: Path
    settings: Mapping[str, str]


def variants_of(name: str, size: str, folders: Mapping[str, Path]) -> list[Variant]:
    """The executables of a benchmark in these folders, by how they were built, each as it is and
    with huge pages.
    """
    found = []
    for built, folder in folders.items():
        program = folder / f"{name}.{size}.x"
        if program.exists():
            found.append(Variant(built, program, {}))
            found.append(Variant(f"{built}, huge pages", program, HUGE_PAGES))
    return found


def best_variant(rates: Mapping[str, float], variants: Sequence[Variant]) -> Variant:
    """The variant with the highest rate."""
    return max(variants, key=lambda variant: rates[variant.name])


def reference(
    mpirun: str, executable: Path, ranks: int, settings: Mapping[str, str] | None = None
) -> float:
    """Operations per second as the reference prints them.

    Raises PeerError if it does not verify or writes files.
    """
    with nothing_written(executable) as folder:
        command = [mpirun, "-n", str(ranks), executable.resolve()]
        text, _ = run(command, settings, cwd=folder)
    verified(text, executable, ranks)
    rate = re.search(r"Mop/s total\s*=\s*([\d.]+)", text)
    if not rate:
        raise PeerError(f"{executable.name} printed no Mop/s.")
    return float(rate[1]) * 1e6


def assay_rate(name: str, size: str, ranks: int, *factors: str) -> float:
    """Operations per second of one launch of assay, which must verify.

    ``factors``: further factors, such as ``code=plain``.
    """
    words = ("--ppn", str(ranks), "--launches", "1", "--budget", "3 s", "--oversubscribe")
    cell = measure(f"npb.{name}", f"class={size}", *factors, *words).cells[0]
    if not cell["verified"]:
        raise PeerError(f"assay's npb.{name} did not verify.")
    return float(cell["metrics"]["rate"]["median"])


def has(name: str, size: str) -> bool:
    """Whether assay has that benchmark in that class."""
    kernel = known_kernel(f"npb.{name}")
    sizes = kernel.parameter("class") if kernel else None
    return sizes is not None and size in sizes.choices


def ranks_of(name: str) -> tuple[int, ...]:
    """The compared numbers of ranks on which both sides can run."""
    return (1, 4) if name in SQUARES else (1, 2)


def label(name: str, size: str, ranks: int) -> str:
    """``CG class A, 2 ranks``."""
    return f"{name.upper()} class {size}, {ranks} rank{'s' if ranks > 1 else ''}"


def compare_npb(
    folder: Path | None,
    mpirun: str,
    sizes: Sequence[str],
    *,
    quick: bool,
    vec: Path | None = None,
    source: str = "not given",
    names: Sequence[str] = tuple(GOALS),
    only_ranks: int | None = None,
    line_time: float = LINE_TIME,
) -> Comparison:
    """Rates, their geometric means and memory, class by class.

    ``folder``: the reference's executables; ``vec``: those built with VERSION=VEC; ``source``: of
    both, for the record. ``only_ranks``: leave out other numbers of ranks. ``line_time``: seconds
    for all rounds of a line.
    """
    comparison = Comparison()
    folders = {"standard": folder or Path("missing")} | ({"VERSION=VEC": vec} if vec else {})
    kernels = executable()
    for size in sizes:
        rates: dict[str, list[Row]] = {}
        for name in names:
            if not has(name, size):
                comparison.skipped.append(f"npb.{name} class {size}: assay has none.")
                continue
            variants = variants_of(name, size, folders)
            if not variants:
                comparison.skipped.append(
                    f"npb.{name} class {size}: there is no reference executable {name}.{size}.x; "
                    "name its folder with --npb-bin."
                )
                continue
            try:
                peers = [peer_of(each.program, source, each.settings) for each in variants]
                for ranks in ranks_of(name):
                    if only_ranks not in (None, ranks):
                        continue
                    say(label(name, size, ranks))
                    # Waiting ranks of both sides sleep if there are more ranks than cores.
                    with environment(POLITE_WAITING if ranks > cores() else {}):
                        tried = {
                            each.name: reference(mpirun, each.program, ranks, each.settings)
                            for each in variants
                        }
                        best = best_variant(tried, variants)
                        once = Once.of(mpirun, ranks, best)
                        rounds = 2 if quick else rounds_of(once.seconds, line_time)
                        row = rate_row(name, size, ranks, mpirun, best, rounds)
                        memory = memory_row(kernels, name, size, ranks, mpirun, best, once.peak)
                    row.details.update(variant=best.name, variants=tried)
                    comparison.versions["NPB"] = once.version
                    rates.setdefault(name, []).append(row)
                    comparison.rows += [row, memory]
                    say(f"  {row.paired:.3f} times the reference's rate ({best.name})")
                comparison.peers += [asdict(peer) for peer in peers]
            except PeerError as error:
                comparison.skipped.append(f"npb.{name} class {size}: {error}")
        if rates:
            comparison.rows.append(mean_row(size, rates))
    return comparison


def joined(earlier: Mapping[str, Any], new: Comparison, size: str) -> Comparison:
    """The rows of some lines, and those of the others from an earlier part of the results.

    The mean is over both; ``earlier`` is a part as ``common.part`` makes it.
    """
    mine = {_line(row.what) for row in new.rows if row.peer_name == "NPB" and row.unit != "×"}
    kept = [
        Row(**{**row, "paired_interval": row["paired_interval"] and tuple(row["paired_interval"])})
        for row in earlier["rows"]
        if row["unit"] != "×" and _line(row["what"]) not in mine
    ]
    rows = [*kept, *(row for row in new.rows if row.unit != "×")]
    order = [name.upper() for name in GOALS]
    rows.sort(key=lambda row: order.index(row.what.split()[0]))
    rates: dict[str, list[Row]] = {}
    for row in rows:
        if row.unit == "op/s":
            rates.setdefault(row.what.split()[0].lower(), []).append(row)
    files = {peer["name"] for peer in new.peers}
    peers = [peer for peer in earlier.get("peers", []) if peer["name"] not in files]
    mean = mean_row(size, rates)
    old = dict.fromkeys(row.what.split()[0] for row in kept)
    if old:
        mean = replace(
            mean, note=" ".join(filter(None, (mean.note, f"{', '.join(old)}: earlier.")))
        )
    return Comparison(
        rows=[*rows, mean],
        peers=[*peers, *new.peers],
        skipped=new.skipped,
        versions=new.versions,
    )


def _line(what: str) -> str:
    """The label that a row's begins with."""
    return ", ".join(what.split(", ")[:2])


@dataclass(frozen=True)
class Once:
    """A run of the reference: seconds, version, bytes of its largest rank."""

    seconds: float
    version: str
    peak: float

    @classmethod
    def of(cls, mpirun: str, ranks: int, variant: Variant) -> Once:
        """Raises PeerError unless it verified."""
        began = time.monotonic()
        with environment(variant.settings):
            peak, text = peak_memory(mpirun, ranks, [variant.program])
        took = time.monotonic() - began
        version = re.search(r"Version\s*=\s*(\S+)", verified(text, variant.program, ranks))
        return cls(took, version[1] if version else "unknown", peak)


def rounds_of(seconds: float, line_time: float) -> int:
    """The number of rounds for which there is time, if the reference takes ``seconds``."""
    return max(MIN_ROUNDS, min(MAX_ROUNDS, int(line_time / (2 * seconds))))


def rate_row(name: str, size: str, ranks: int, mpirun: str, variant: Variant, rounds: int) -> Row:
    """Mop/s of both sides, alternately."""
    now = load()
    ours, theirs = alternate(
        rounds,
        partial(assay_rate, name, size, ranks),
        partial(reference, mpirun, variant.program, ranks, variant.settings),
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
        note=" ".join(filter(None, (f"NPB: {variant.name}.", crowded))),
    )


def memory_row(
    kernels: Path, name: str, size: str, ranks: int, mpirun: str, variant: Variant, first: float
) -> Row:
    """Peak memory of the largest rank, including MPI; the reference's ``first`` is known.

    Resident pages of files count, which vary by some hundred KiB: if both sides are close, more
    launches of both, alternately.
    """
    ours = [direct(kernels, f"npb.{name}", size, ranks, 1)[1]]
    theirs = [first]
    if abs(ours[0] / first - 1) < NEAR:
        ours, theirs = alternate(
            MORE_LAUNCHES,
            lambda: direct(kernels, f"npb.{name}", size, ranks, 1)[1],
            lambda: Once.of(mpirun, ranks, variant).peak,
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
    options.add_argument("--npb-vec-bin", type=Path, help="the same, built with VERSION=VEC")
    options.add_argument("--npb-source", default="not given", help="where their source is from")
    options.add_argument("--npb-mpirun", default=embedded_mpirun(), help="their launcher")
    options.add_argument(
        "--class", dest="sizes", nargs="+", choices=("S", "W", "A", "B", "C"), help="default: A B"
    )
    given = options.parse_args()
    build()
    sizes = given.sizes or (("A",) if given.quick else ("A", "B"))
    finish(
        compare_npb(
            given.npb_bin,
            given.npb_mpirun,
            sizes,
            quick=given.quick,
            vec=given.npb_vec_bin,
            source=given.npb_source,
        )
    )


if __name__ == "__main__":
    main()
