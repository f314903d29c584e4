"""Counts the finished members of a group with few system calls, for any number of members.

Followers look every second, at a file system that thousands of tasks and all users of the site may
share. Members' own folders are therefore read only once, at the beginning. Afterwards only new
lines in the jobs' files of ends are read, and the folder of members is listed when it has changed.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from assay.plain_files import reading
from assay.records.group import describe_each
from assay.records.jobs import JOBS, JobBook, JobEnd, read_task_ends

_MEMBERS = "members"


class GroupEnds:
    """The states of a group's members. ``counts``: the number of members in each state."""

    def __init__(self, group: Path, expected: int) -> None:
        self._group = group
        self._book = JobBook(group)
        self._expected = expected
        self._states: dict[int, str] = {}
        self._jobs: dict[int, list[int]] = {}
        self._ends: dict[int, dict[int, JobEnd]] = {}
        self._read: dict[int, int] = {}
        self._seen: dict[Path, tuple[int, int]] = {}
        self.counts: Counter[str] = Counter()

    def look(self) -> None:
        """Read new lines and states."""
        if not self._states:
            self._states = dict(enumerate(describe_each(self._group, self._expected)))
        if self._changed(self._group / JOBS):
            self._jobs = {job.number: job.members for job in self._book.jobs()}
        for number, members in self._jobs.items():
            if len(self._ends.get(number, ())) < len(members):
                self._read_ends(number, members)
        if self._changed(self._group / _MEMBERS):
            self._list_begun()
        self.counts = Counter(self._states.values())

    def over(self, number: int) -> bool:
        """Whether each task of a job has recorded its end, according to the lines read so far."""
        members = self._jobs.get(number, [])
        return bool(members) and len(self._ends.get(number, ())) >= len(members)

    def _changed(self, path: Path) -> bool:
        """Whether a file or folder has changed since the last call for this path."""
        try:
            found = path.stat()
        except OSError:
            return False
        state = (found.st_mtime_ns, found.st_size)
        changed = self._seen.get(path) != state
        self._seen[path] = state
        return changed

    def _read_ends(self, number: int, members: list[int]) -> None:
        """Read the complete lines that were appended to a job's file of ends."""
        path, begin = self._book.ends_path(number), self._read.get(number, 0)
        if not self._changed(path):
            return
        try:
            with reading(path) as file:
                file.seek(begin)
                new = file.read(self._seen[path][1] - begin) or b""
        except OSError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._read[number] = begin + len(whole)
        ends = self._ends.setdefault(number, {})
        for task, end in read_task_ends(whole).items():
            if task < len(members):
                ends[task] = end
                self._states[members[task]] = "complete" if end.how == "complete" else "ended"

    def _list_begun(self) -> None:
        try:
            names = os.listdir(self._group / _MEMBERS)  # noqa: PTH208
        except OSError:
            return
        for name in names:
            if name.isdecimal() and self._states.get(int(name)) == "missing":
                self._states[int(name)] = "begun"
