"""storage.io500 compared with ior and mdtest on the same patterns, and with the time it was given.

    .venv/bin/python benchmarks/io500.py --ior PATH --mdtest PATH [--directory /dev/shm]

Both programs are built with assay's own MPI. They write and read the same numbers of records and
files as assay, with the options of IO500: barriers between the steps, a flush in the timed part,
data of the next rank, comparison of what is read. Rounds alternate. On a file system with a page
cache only assay drops it before reading, so that reads are compared in memory (/dev/shm). Further
rows compare the time of each phase that writes with the requested one, which no amount limits.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
    measure,
    parser,
    run,
    say,
)
from peers import peer_of

from assay.kernels.storage.io500 import HARD_FILE, HARD_RECORD, TIMED_PHASES

WITHIN, IN_TIME = 0.05, 0.10
RANKS = 2
TRANSFER = 2 << 20
# Transfers of a rank's file, and files of a rank.
TRANSFERS, QUICK_TRANSFERS = 128, 8
FILES, QUICK_FILES = 10_000, 300
ROUNDS, QUICK_ROUNDS = 9, 1
SECONDS = 2.0
# The share of the space that each kind of data takes (native/storage/io500.cpp).
_PART = 0.4
_NEVER = 3600.0
# The row of an iteration: the first number is MiB/s.
_IOR = re.compile(r"^(write|read)\s+([\d.]+)\s", re.M)
# Rates come before times, which have equal rows.
_MDTEST = re.compile(r"^\s*File (creation|stat|read|removal)\s+([\d.]+)\s", re.M)
_MDTEST_PHASES = {"creation": "write", "stat": "stat", "read": "read", "removal": "delete"}


@dataclass(frozen=True)
class Work:
    """What every rank does: transfers of its file, records of the shared one, files."""

    transfers: int
    records: int
    files: int

    @property
    def space(self) -> int:
        """Bytes of all files, of which assay gives a part to each kind of data."""
        return int((self.transfers + 0.5) * TRANSFER / _PART) * RANKS


def work_of(transfers: int, files: int) -> Work:
    """The records of the shared file have as many bytes as the transfers."""
    return Work(transfers, int((transfers + 0.5) * TRANSFER / HARD_RECORD), files)


def assay_costs(work: Work, directory: Path) -> dict[str, float]:
    """Rates of the phases of one launch: B/s, files/s. Raises PeerError if the work differs."""
    words = [f"seconds={_NEVER:g}", f"space={work.space}", f"files={work.files}"]
    found = measure(
        "storage.io500",
        *(*words, f"directory={directory}", "--ppn", str(RANKS)),
        *("--launches", "1", "--samples", "1", "--budget", "10 h"),
    )
    facts = found.records("measurement")[0]["facts"]
    done = (facts["easy_bytes"], facts["hard_bytes"], facts["hard_files"])
    wanted = (work.transfers * TRANSFER, work.records * HARD_RECORD, work.files)
    if done != tuple(RANKS * each for each in wanted):
        raise PeerError(f"assay did {done} instead of {RANKS} × {wanted}.")
    metrics = found.cells[0]["metrics"]
    return {name: float(metric["median"]) for name, metric in metrics.items()}


def peer_rates(
    ior: Path, mdtest: Path, mpirun: str, work: Work, directory: Path
) -> dict[str, float]:
    """The same rates of ior and mdtest."""
    found: dict[str, float] = {}
    start = [mpirun, "-n", str(RANKS)]
    with tempfile.TemporaryDirectory(prefix="peer-", dir=directory) as folder:
        easy = ["-F", "-t", TRANSFER, "-b", work.transfers * TRANSFER, "-o", f"{folder}/easy"]
        hard = ["-t", HARD_RECORD, "-b", HARD_RECORD, "-s", work.records, "-o", f"{folder}/hard"]
        for name, pattern in (("easy", easy), ("hard", hard)):
            for op in (["-w"], ["-r", "-R"]):
                words = ["-C", "-Q", "1", "-g", "-G", "27", "-k", "-e", *op, *pattern]
                text, _ = run([*start, ior, *map(str, words)])
                kind, rate = next(iter(_IOR.findall(text)), ("", "0"))
                if not float(rate):
                    raise PeerError("ior printed no rate.")
                found[f"ior_{name}_{kind}"] = float(rate) * 2**20
        own = ["-u", "-L", "-d", f"{folder}/own"]
        one = ["-t", "-w", HARD_FILE, "-e", HARD_FILE, "-d", f"{folder}/one"]
        for name, pattern, ops in (
            ("easy", own, (["-C", "-Y"], ["-T"], ["-r"])),
            ("hard", one, (["-C", "-Y"], ["-T"], ["-E", "-X"], ["-r"])),
        ):
            for op in ops:
                words = ["-n", work.files, "-F", "-P", "-G", "27", "-N", "1", *op, *pattern]
                text, _ = run([*start, mdtest, *map(str, words)])
                rates = _MDTEST.findall(text.partition("SUMMARY time")[0])
                for kind, rate in rates:
                    if float(rate) > 0:
                        found[f"mdtest_{name}_{_MDTEST_PHASES[kind]}"] = float(rate)
    return found


def beside_peers(
    ior: Path, mdtest: Path, mpirun: str, directory: Path, work: Work, rounds: int
) -> Comparison:
    """A row for each phase that both have."""
    comparison = Comparison()
    for program in (ior, mdtest):
        comparison.peers.append(asdict(peer_of(program, "https://github.com/hpc/ior", {})))
    ours: list[Mapping[str, float]] = []
    theirs: list[Mapping[str, float]] = []

    def one() -> float:
        say(f"io500, round {len(ours) + 1}")
        ours.append(assay_costs(work, directory))
        return 0.0

    def other() -> float:
        theirs.append(peer_rates(ior, mdtest, mpirun, work, directory))
        return 0.0

    now = load()
    alternate(rounds, one, other)
    for phase in theirs[0]:
        unit = "B/s" if phase.startswith("ior") else "op/s"
        comparison.rows.append(
            compare(
                "storage.io500",
                phase.replace("_", "-"),
                unit,
                "more",
                [each[phase] for each in ours],
                [each[phase] for each in theirs],
                phase.partition("_")[0],
                at_least=1.0 - WITHIN,
                goal="≥ 0.95",
                load=now,
            )
        )
    return comparison


def in_time(directory: Path, seconds: float, rounds: int) -> Comparison:
    """A row for each phase that writes: its time beside the requested one."""
    comparison = Comparison()
    times: dict[str, list[float]] = {phase: [] for phase in TIMED_PHASES}
    now = load()
    for _ in range(rounds):
        say(f"io500 for {seconds:g} s")
        found = measure(
            "storage.io500",
            *(f"seconds={seconds:g}", f"directory={directory}", "--ppn", str(RANKS)),
            *("--launches", "1", "--samples", "1", "--budget", "10 h"),
        )
        facts = found.records("measurement")[0]["facts"]
        for phase in set(TIMED_PHASES) - set(facts.get("limited", "").split(", ")):
            times[phase].append(float(facts[f"time.{phase}"]))
    for phase, took in times.items():
        if not took:
            comparison.skipped.append(f"{phase}: the free space ended it before its time.")
            continue
        comparison.rows.append(
            compare(
                "storage.io500",
                f"time of {phase.replace('_', '-')}",
                "s",
                "less",
                took,
                [seconds] * len(took),
                "requested",
                at_least=1.0 / (1.0 + IN_TIME),
                goal="within 10%",
                load=now,
            )
        )
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--ior", type=Path, default=shutil.which("ior"))
    options.add_argument("--mdtest", type=Path, default=shutil.which("mdtest"))
    options.add_argument("--mpirun", default=embedded_mpirun(), help="their launcher")
    options.add_argument("--directory", metavar="DIR", type=Path, default=Path("/dev/shm"))
    options.add_argument("--rounds", type=int, help=f"rounds of each row ({ROUNDS})")
    given = options.parse_args()
    build()
    work = work_of(
        QUICK_TRANSFERS if given.quick else TRANSFERS, QUICK_FILES if given.quick else FILES
    )
    rounds = given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS)
    directory = given.directory.resolve()
    if given.ior is None or given.mdtest is None:
        print("skipped: name ior and mdtest with --ior and --mdtest.")
    else:
        try:
            finish(
                beside_peers(
                    given.ior.resolve(),
                    given.mdtest.resolve(),
                    given.mpirun,
                    directory,
                    work,
                    rounds,
                )
            )
        except PeerError as error:
            print(f"skipped: {error}")
    finish(in_time(directory, 0.2 if given.quick else SECONDS, 1 if given.quick else 5))


if __name__ == "__main__":
    main()
