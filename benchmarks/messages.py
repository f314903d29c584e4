"""Messages and collectives compared with the OSU micro-benchmarks and IMB over the same MPI.

    .venv/bin/python benchmarks/messages.py --osu DIR --imb PATH

One launch of each in turn, one number per launch: the means of assay, OSU and IMB. Bandwidths are
compared with osu_bw and osu_bibw (windows of 64 messages), message rates with osu_mbw_mr (of one
pair), latencies with IMB's PingPong, collectives with IMB's t_max.

Collectives are called in a loop, with nothing between the calls, by assay (timing=loop) and by IMB
(-sync off), on doubles where there is arithmetic (-red_data_type double). The MPI library allocates
memory for some of them in each call; whether the C library returns it to the system afterwards, so
that the next call faults it in page by page, depends on the history of the process. For equal
conditions on both sides the C library is set to keep it (MALLOC_TRIM_THRESHOLD_ and
MALLOC_MMAP_THRESHOLD_).

IMB takes its buffers from MPI_Alloc_mem, which aligns them to any multiple of 16 B; assay's are
page-aligned. With an unaligned receive buffer, an allreduce of 4 KiB takes 5% longer. For equal
conditions aligned_memory.c replaces MPI_Alloc_mem.

For two reasons IMB's number is not the time of a call, so it has no goal: IMB reads the clock
before and after each call, which is a considerable part of the shortest calls; and in successive
calls with a root, some ranks run ahead of the others.
"""

from __future__ import annotations

import re
import statistics
import tempfile
from collections.abc import Callable
from functools import cache, partial
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
    interval,
    load,
    measure,
    parser,
    run,
    say,
)

KEEP_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": "1000000000",
    "MALLOC_MMAP_THRESHOLD_": "1000000000",
}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SIZES = (8, 1 << 10, 1 << 16, 1 << 20)
COLLECTIVES = {  # IMB's names
    "bcast": "Bcast",
    "reduce": "Reduce",
    "allreduce": "Allreduce",
    "reduce_scatter": "Reduce_scatter",
    "allgather": "Allgather",
    "gather": "Gather",
    "scatter": "Scatter",
    "alltoall": "Alltoall",
    "barrier": "Barrier",
}
COLLECTIVE_SIZES = (8, 1 << 12, 1 << 18)
ROOTED = ("bcast", "reduce", "gather", "scatter")
# Maximum share of a clock reading in IMB's time: half of the requested 5%.
CLOCK_SHARE = 0.025
RANKS = 2
# Tried with a program of a few lines, one process of which alternates between both: 2.44 against
# 2.22 million messages of 8 B per second, 1.78 against 1.67 of 1 KiB, on two cores of an Intel
# Xeon.
BARRIERS = (
    "no goal: osu_mbw_mr puts barriers before each window (seen in 7.0 and 7.4), with which the "
    "same loop comes to 6 to 10% less; assay's windows follow each other."
)
# Checks whether more rounds are needed, at these multiples of the minimum.
MORE_ROUNDS = (1.7, 2.8, 5.0)


def osu(mpirun: str, program: Path, size: int) -> list[float]:
    """The columns that a program of the OSU micro-benchmarks prints for a size."""
    command = [mpirun, "-n", str(RANKS), "--bind-to", "core", program, "-m", f"{size}:{size}"]
    text, _ = run(command, AS_ROOT)
    row = re.search(rf"^{size}((?:\s+[\d.]+)+)\s*$", text, re.M)
    if row is None:
        raise PeerError(f"{program.name} printed no line for {size} B.")
    return [float(word) for word in row[1].split()]


def imb(
    mpirun: str, executable: Path, benchmark: str, size: int, *words: str, keep: bool = False
) -> list[float]:
    """The columns that IMB prints after the size and the number of repetitions, in µs."""
    preload = f"LD_PRELOAD={Path(_aligner(mpirun).name, 'aligned_memory.so')}"
    command: list[str | Path] = [mpirun, "-n", str(RANKS), "--bind-to", "core", "env", preload]
    command += [executable, "-npmin", str(RANKS)]
    with tempfile.TemporaryDirectory() as folder:
        if benchmark != "Barrier":
            lengths = Path(folder, "lengths")
            lengths.write_text(f"{size}\n")
            command += ["-msglen", lengths]
        text, _ = run([*command, *words, benchmark], AS_ROOT | (KEEP_MEMORY if keep else {}))
    lead = r"\d+" if benchmark == "Barrier" else rf"{size}\s+\d+"
    row = re.search(rf"^\s*{lead}((?:\s+[\d.]+)+)\s*$", text, re.M)
    if row is None:
        raise PeerError(f"{benchmark} of {executable.name} printed no line for {size} B.")
    return [float(word) for word in row[1].split()]


@cache
def _aligner(mpirun: str) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder, with a library that aligns MPI's memory to pages."""
    folder = tempfile.TemporaryDirectory(prefix="assay-bench-")
    library = Path(folder.name, "aligned_memory.so")
    source = Path(__file__).with_name("aligned_memory.c")
    run([Path(mpirun).with_name("mpicc"), "-shared", "-fPIC", "-O2", source, "-o", library])
    return folder


def assay(
    kernel: str,
    *words: str,
    of: Callable[[float], float] = lambda seconds: seconds,
    keep: bool = False,
) -> float:
    """The mean of one launch, in seconds, like the peers' means, or the result of ``of``."""
    more = KEEP_MEMORY if keep else {}
    words = (*words, "--ppn", str(RANKS), "--launches", "1")
    return of(measure(kernel, *words, environment=more).means()[0])


def compare_messages(
    folder: Path | None, executable: Path | None, mpirun: str, *, quick: bool
) -> Comparison:
    """Rows for messages and collectives, as far as peers are available."""
    comparison = Comparison()
    rounds = 3 if quick else 9
    if folder is None:
        comparison.skipped.append("network.stream: name OSU's programs with --osu.")
    else:
        comparison.versions["osu"] = _osu_version(mpirun, folder)
        comparison.rows += streams(mpirun, folder, rounds)
    if executable is None:
        comparison.skipped.append("network.collective: name IMB-MPI1 with --imb.")
    else:
        comparison.versions["IMB"] = _imb_version(mpirun, executable)
        comparison.rows += latencies(mpirun, executable, rounds)
        sizes = COLLECTIVE_SIZES[:1] if quick else COLLECTIVE_SIZES
        comparison.rows += collectives(mpirun, executable, rounds, sizes)
    return comparison


def _osu_version(mpirun: str, folder: Path) -> str:
    text, _ = run([mpirun, "-n", str(RANKS), folder / "osu_latency", "-m", "8:8"], AS_ROOT)
    found = re.search(r"v(\d[\d.]*)", text)
    return found[1] if found else "unknown"


def _imb_version(mpirun: str, executable: Path) -> str:
    command = [mpirun, "-n", str(RANKS), executable, "-iter", "1", "-msglog", "0:0", "PingPong"]
    found = re.search(r"Benchmarks (\S+ ?\S*),", run(command, AS_ROOT)[0])
    return found[1] if found else "unknown"


def alternate_until_known(
    rounds: int, share: float, *both: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Measure both alternately, for ``rounds`` rounds, or up to five times as many while the
    interval of the ratio leaves open whether it is within ``share`` of 1: where launches differ by
    30%, nine rounds can't resolve 3%.
    """
    ours, theirs = alternate(rounds, *both)
    for times in MORE_ROUNDS:
        known = interval([b / a for a, b in zip(ours, theirs, strict=True)])
        if known is None:  # a quick check
            break
        low, high = (end - 1.0 for end in known)
        if (-share <= low and high <= share) or low > share or high < -share:
            break
        more = alternate(round(times * rounds) - len(ours), *both)
        ours, theirs = ours + more[0], theirs + more[1]
    return ours, theirs


def _within(row: Row, share: float) -> Row:
    assert row.paired
    row.met = abs(row.paired - 1.0) <= share
    return row


def latencies(mpirun: str, executable: Path, rounds: int) -> list[Row]:
    """Ping-pong compared with IMB's, which also prints half a round trip."""
    rows = []
    for size in SIZES:
        say(f"ping-pong, {size} B")
        now = load()
        ours, theirs = alternate_until_known(
            rounds,
            0.03,
            partial(assay, "network.pingpong", f"bytes={size}"),
            partial(half_a_round_trip, mpirun, executable, size),
        )
        what = f"ping-pong, {size} B"
        row = compare(
            *("network.pingpong", what, "s", "less", ours, theirs, "IMB PingPong"),
            goal="within 3%",
            load=now,
        )
        rows.append(_within(row, 0.03))
    return rows


def streams(mpirun: str, folder: Path, rounds: int) -> list[Row]:
    """Bandwidth both ways and one way, and the message rate, compared with OSU's programs."""
    cases = [
        ("osu_bw", "unidirectional", 1 << 16, "B/s"),
        ("osu_bw", "unidirectional", 1 << 20, "B/s"),
        ("osu_bibw", "bidirectional", 1 << 16, "B/s"),
        ("osu_bibw", "bidirectional", 1 << 20, "B/s"),
        ("osu_mbw_mr", "unidirectional", 8, "op/s"),
        ("osu_mbw_mr", "unidirectional", 1 << 10, "op/s"),
    ]
    rows = []
    for program, direction, size, unit in cases:
        what = f"{'message rate' if unit == 'op/s' else 'bandwidth'}, {direction}, {size} B"
        say(f"{what} beside {program}")
        ways = 2 if direction == "bidirectional" else 1
        amount = float(ways if unit == "op/s" else ways * size)

        def theirs(program: str = program, size: int = size, unit: str = unit) -> float:
            columns = osu(mpirun, folder / program, size)
            return columns[1] if unit == "op/s" else columns[0] * 1e6

        now = load()
        ours, other = alternate_until_known(
            rounds,
            0.03,
            partial(
                assay,
                *("network.stream", f"bytes={size}", f"direction={direction}", "window=64"),
                of=amount.__truediv__,
            ),
            theirs,
        )
        row = compare(*("network.stream", what, unit, "more", ours, other, program), load=now)
        if program == "osu_mbw_mr":
            row.note = BARRIERS
        else:
            row.goal = "within 3%"
            _within(row, 0.03)
        rows.append(row)
    return rows


def collectives(mpirun: str, executable: Path, rounds: int, sizes: tuple[int, ...]) -> list[Row]:
    """Each collective in successive calls, compared with IMB's slowest rank."""
    rows = []
    clock = clock_reading()
    for op, benchmark in COLLECTIVES.items():
        for size in sizes if op != "barrier" else (0,):
            what = f"{op}, {size} B, {RANKS} ranks"
            say(what)
            # IMB's size of a reduce_scatter is the result per rank, assay's the input per rank.
            given = size * RANKS if op == "reduce_scatter" else size
            words = (f"op={op}", f"bytes={given}") if size else (f"op={op}",)
            now = load()
            both = (
                partial(assay, "network.collective", *words, "timing=loop", keep=True),
                partial(slowest, mpirun, executable, benchmark, size, "off"),
            )
            if op in ROOTED:
                ours, theirs = alternate(rounds, *both)
            else:
                ours, theirs = alternate_until_known(rounds, 0.05, *both)
            peer = f"IMB {benchmark}, -sync off"
            row = compare(*("network.collective", what, "s", "less", ours, theirs, peer), load=now)
            row.note = unsound(op, statistics.median(theirs), clock)
            if not row.note:
                row.goal = "within 5%"
                _within(row, 0.05)
            rows.append(row)
    return rows


def clock_reading() -> float:
    """Seconds of a clock reading in a kernel here."""
    words = ("op=barrier", "--ppn", str(RANKS), "--launches", "1")
    (start,) = measure("network.collective", *words).records("start")
    return float(start["clock"]["overhead"])


def unsound(op: str, seconds: float, clock: float) -> str:
    """Why IMB's number is not the time of a call; empty if it is."""
    if op in ROOTED:
        return "no goal: in a row of calls with a root, ranks run ahead of each other."
    if clock > CLOCK_SHARE * seconds:
        return (
            f"no goal: IMB reads the clock before and after each call, and one reading takes "
            f"{clock * 1e9:.0f} ns, {clock / seconds:.0%} of its number."
        )
    return ""


def half_a_round_trip(mpirun: str, executable: Path, size: int) -> float:
    """IMB's PingPong, in seconds."""
    return imb(mpirun, executable, "PingPong", size)[0] * 1e-6


def slowest(mpirun: str, executable: Path, benchmark: str, size: int, sync: str) -> float:
    """IMB's t_max, in seconds; its columns: t_min, t_max and t_avg."""
    words = ("-sync", sync, "-red_data_type", "double")
    return imb(mpirun, executable, benchmark, size, *words, keep=True)[1] * 1e-6


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--osu", type=Path, help="folder of osu_bw, osu_bcast, … (the same MPI)")
    options.add_argument("--imb", type=Path, help="IMB-MPI1, built with the same MPI")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    given = options.parse_args()
    build()
    finish(compare_messages(given.osu, given.imb, given.mpirun, quick=given.quick))


if __name__ == "__main__":
    main()
