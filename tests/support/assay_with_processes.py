"""``assay`` with the process scheduler of the tests and with short polling intervals."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

import slow_kernels
from assay.campaign.commands import per_node as members
from assay.campaign.jobs import batch, follow, job, node, polling
from assay.cli.app import main
from assay.errors import AssayError
from assay.records import jobs
from assay.records.files import append_line, cannot_write, write_atomically
from assay.schedulers import find
from process_scheduler import ProcessScheduler

FOLDER = "ASSAY_TEST_SCHEDULER"


def hurry() -> None:
    """Shorten the waits of the program, and set the scheduler that the environment names."""
    words = (sys.executable, __file__)
    find.scheduler_for = lambda config: ProcessScheduler(Path(os.environ[FOLDER]))  # type: ignore[assignment]
    batch.assay_words = members.assay_words = lambda: words
    own = [name for name in os.environ if name.startswith("ASSAY_TEST_")]
    batch.HANDED_ON = (*batch.HANDED_ON, *dict.fromkeys((FOLDER, *own)))
    polling.LOOK, polling.FIRST_POLL, polling.SLOWEST_POLL = 0.05, 0.1, 0.3
    polling.UNREADABLE = 1.0
    polling.LATE = node.LATE = float(os.environ.get("ASSAY_TEST_LATE", "3"))
    follow.ACCOUNTS, job.HANDOVER = 10, 10.0
    members.LOOK = 0.05
    if os.environ.get("ASSAY_TEST_NO_SUBMISSION_FROM_JOBS"):
        job.submit = _refused
    if os.environ.get("ASSAY_TEST_TOOLS"):
        slow_kernels.stand_in()
    if os.environ.get("ASSAY_TEST_LAG"):
        jobs.JobBook.write_end = _ahead_of_the_rest  # type: ignore[method-assign]
    if os.environ.get("ASSAY_TEST_NO_SPACE_FOR"):
        jobs.write_atomically, jobs.append_line = _full, _full_line


def _refused(*_: object, **__: object) -> NoReturn:
    raise AssayError("Access/permission denied.")


_write_end = jobs.JobBook.write_end


def _ahead_of_the_rest(book: jobs.JobBook, end: jobs.JobEnd, task: int | None = None) -> None:
    """Simulate a slow file system: a job's end is visible before earlier output of the job."""
    late = [*book.run.glob("seal.json"), *book.run.glob("*.parquet")]
    streams = sorted(book.run.glob("raw/*.jsonl"))[-2:]
    kept = {path: path.read_bytes() for path in (*streams, *late)}
    for path in late:
        path.unlink()
    for path in streams:
        path.write_bytes(kept[path][: len(kept[path]) // 2])
    _write_end(book, end, task)
    if os.fork() == 0:
        time.sleep(float(os.environ["ASSAY_TEST_LAG"]))
        for path, content in kept.items():
            write_atomically(path, content)
        os._exit(0)


def _full_line(path: Path, line: bytes) -> None:
    _full_for(path)
    append_line(path, line)


def _full(path: Path, content: bytes) -> None:
    _full_for(path)
    write_atomically(path, content)


def _full_for(path: Path) -> None:
    if path.name.endswith(os.environ["ASSAY_TEST_NO_SPACE_FOR"]):
        raise cannot_write(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))


if __name__ == "__main__":
    hurry()
    main()
