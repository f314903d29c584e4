"""storage.file compared with fio: the same pattern, size, record and method.

    .venv/bin/python benchmarks/storage.py --fio /usr/bin/fio [--directory DIR]

Both write and read a file of their own in the same directory, alternately, with pread and pwrite
(fio's psync) on the same core; fio's preallocation is switched off. fio counts whole milliseconds,
so that a pass has to last a considerable part of a second.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    Comparison,
    Measured,
    PeerError,
    alternate,
    build,
    compare,
    finish,
    load,
    measure,
    parser,
    run,
    say,
)

WITHIN = 0.05
MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """One pattern in both programs' options; ``records``: of a random pass, else the whole file."""

    what: str
    op: str
    method: str
    record: int
    rw: str
    words: tuple[str, ...]
    records: int = 0


CASES = (
    Case("write, flushed, 1 MiB", "write", "fsync", MIB, "write", ("--end_fsync=1",)),
    # fio's new file has its length before it is written, IOzone's and assay's grow; hence rewrite.
    Case("rewrite, direct, 1 MiB", "rewrite", "direct", MIB, "write",
         ("--direct=1", "--overwrite=1")),
    Case("read, buffered, 1 MiB", "read", "buffered", MIB, "read", ()),
    Case("read, direct, 1 MiB", "read", "direct", MIB, "read", ("--direct=1",)),
    Case("random read, direct, 4 KiB", "random_read", "direct", 4096, "randread",
         ("--direct=1",), 8192),
    Case("random write, direct, 4 KiB", "random_write", "direct", 4096, "randwrite",
         ("--direct=1", "--overwrite=1"), 8192),
)  # fmt: skip


def fio_bandwidth(fio: str, case: Case, size: int, directory: Path, cpu: int) -> float:
    """B/s of one pass of fio on that CPU over a temporary file."""
    with tempfile.TemporaryDirectory(prefix="fio-", dir=directory) as folder:
        job = [
            *(fio, "--name=peer", f"--directory={folder}", "--ioengine=psync", "--numjobs=1"),
            *(f"--rw={case.rw}", f"--bs={case.record}", f"--size={size}", "--fallocate=none"),
            *(f"--io_size={case.records * case.record}",) * bool(case.records),
            *("--invalidate=1", f"--cpus_allowed={cpu}", "--output-format=json", *case.words),
        ]
        text, _ = run(job)
    return bandwidth_of(text, "read" if "read" in case.rw else "write")


def bandwidth_of(text: str, direction: str) -> float:
    """B/s in fio's JSON (``bw_bytes``). Raises PeerError if it is missing."""
    try:
        # Warnings may precede it.
        (job,) = json.loads(text[text.index("{") :])["jobs"]
        found: dict[str, Any] = job[direction]
        if job["error"] or not found["bw_bytes"]:
            raise PeerError(f"fio reports error {job['error']} and {found['bw_bytes']} B/s.")
        return float(found["bw_bytes"])
    except (ValueError, KeyError) as error:
        raise PeerError(f"fio printed something unexpected: {error}.") from None


def assay_launch(case: Case, size: int, directory: Path) -> Measured:
    """One launch of storage.file."""
    words = [f"op={case.op}", f"method={case.method}", f"record={case.record}"]
    words += [f"file_size={size}", f"records={case.records}", f"directory={directory}"]
    return measure("storage.file", *words, "--launches", "1", "--samples", "5", "--budget", "8 s")


def assay_bandwidth(case: Case, size: int, directory: Path) -> float:
    """B/s of the median pass of one launch of storage.file."""
    moved = case.records * case.record if case.records else size
    return moved / assay_launch(case, size, directory).medians()[0]


def compare_storage(fio: str | None, directory: Path, *, quick: bool) -> Comparison:
    """A row for each pattern."""
    comparison = Comparison()
    if fio is None or shutil.which(fio) is None:
        comparison.skipped.append("storage beside fio: there is no fio; name it with --fio.")
        return comparison
    comparison.versions["fio"] = run([fio, "--version"])[0].strip().removeprefix("fio-")
    size = (64 if quick else 512) * MIB
    for case in CASES:
        say(f"storage {case.what}")
        now = load()
        try:
            (cpu,) = assay_launch(case, size, directory).cpus()[0]  # where assay pins its rank
            ours, theirs = alternate(
                2 if quick else 9,
                partial(assay_bandwidth, case, size, directory),
                partial(fio_bandwidth, fio, case, size, directory, cpu),
            )
        except PeerError as error:
            comparison.skipped.append(f"storage {case.what}: {error}")
            continue
        comparison.rows.append(
            compare(
                "storage.file",
                f"Storage: {case.what}, file of {size // MIB} MiB",
                "B/s",
                "more",
                ours,
                theirs,
                "fio",
                at_least=1.0 - WITHIN,
                goal="≥ 0.95",
                load=now,
            )
        )
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--fio", metavar="PATH", default=shutil.which("fio"))
    options.add_argument("--directory", metavar="DIR", type=Path, default=Path())
    given = options.parse_args()
    build()
    finish(compare_storage(given.fio, given.directory.resolve(), quick=given.quick))


if __name__ == "__main__":
    main()
