"""Displays a run that another process executes, from the files in its directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from assay.campaign.cells.launch_times import launch_cost
from assay.campaign.engine.display import Display
from assay.campaign.engine.execute import state_of
from assay.campaign.engine.state import CampaignState
from assay.campaign.jobs.group_ends import GroupEnds
from assay.errors import AssayError
from assay.model.sessions import session_of
from assay.records.directory import LAUNCHES, RunDirectory
from assay.records.jobs import JobBook
from assay.records.model import Measurement
from assay.records.reading import measurements_of
from assay.records.request import RunRequest
from assay.records.schema import MeasurementRecord, StreamStart
from assay.records.stream import Stream, StreamTail, read_stream

if TYPE_CHECKING:
    from rich.console import Console


class Watch(Protocol):
    """A follower's view of a run or a group on disk."""

    @property
    def measured(self) -> int:
        """The number of finished measurements or members."""
        ...

    def look(self, status: str) -> None:
        """Read new records, and show the progress and the state of the job."""
        ...

    def settled(self) -> bool:
        """Whether all files of the run seem to be completely visible here."""
        ...

    def over(self, number: int) -> bool:
        """Whether a job has recorded its end."""
        ...


class RunWatch:
    """The view of a run.

    Each record of its streams is read once. With ``display`` None, nothing is shown.
    """

    def __init__(self, run: RunDirectory, display: Display | None) -> None:
        self._run = run
        self._display = display
        self._state: CampaignState | None = None
        self._tails: dict[Path, StreamTail] = {}
        self._starts: dict[Path, StreamStart] = {}
        self._last: dict[str, MeasurementRecord] = {}  # of each launch, without samples
        self._seen: set[str] = set()
        self._launches = 0

    @property
    def measured(self) -> int:
        """The number of measurements read."""
        return len(self._seen)

    def look(self, status: str) -> None:
        """Read new records, and show the progress and the state of the job."""
        if self._state is None and self._run.begun:
            with suppress(AssayError):  # only a part of the file is visible yet
                manifest = self._run.manifest()
                self._state = state_of(manifest)
                if self._display is not None:
                    self._display.expect(manifest.plan.cells)
        if self._state is not None:
            for path in self._run.streams():
                self._read(path)
            self._spend()
        if self._display is not None:
            self._display.status = status
            self._display.tick(self._state)

    def settled(self) -> bool:
        """Whether a sealed run matches its seal, or no stream of an unsealed run ends within a
        line.
        """
        if self._run.complete:
            with suppress(AssayError):
                return not self._run.broken_seal()
            return False
        return all(not read_stream(path).torn for path in self._run.streams())

    def over(self, number: int) -> bool:
        """Whether the job has recorded its end."""
        return JobBook(self._run.path).end(number) is not None

    def _read(self, path: Path) -> None:
        assert self._state is not None
        tail = self._tails.setdefault(path, StreamTail(path))
        for record in tail.new():
            if isinstance(record, StreamStart):
                self._starts[path] = record
            elif isinstance(record, MeasurementRecord):
                self._last[path.stem] = msgspec.structs.replace(record, series=[])
                if record.measurement not in self._seen:
                    self._add(path, record)
            if self._display is not None:
                self._display.record(record)

    def _add(self, path: Path, record: MeasurementRecord) -> None:
        assert self._state is not None
        stream = Stream(start=self._starts.get(path), measurements=[record])
        for measurement in measurements_of([(path.stem, stream)], self._state.plan.cells):
            self._take(measurement)
            self._seen.add(record.measurement)

    def _take(self, measurement: Measurement) -> None:
        """Add a measurement; the first one of a later session starts a new state."""
        assert self._state is not None
        session = session_of(measurement.replicate, self._state.plan.replication)
        if session > self._state.session:
            self._state = state_of(self._run.manifest(), session)
            self._launches = 0
        self._state.add(measurement)

    def _spend(self) -> None:
        """Update the budget time that launches have used, for the estimate of the time left."""
        assert self._state is not None
        with suppress(OSError):
            size = (self._run.path / LAUNCHES).stat().st_size
            if size != self._launches:
                self._launches = size
                self._state.spent = sum(
                    launch_cost(record, self._outline(record.launch))
                    for record in self._run.launches()
                    if record.session == self._state.session
                )

    def _outline(self, launch: str) -> Stream:
        """The stream of a launch with only its last measurement, as far as it has been read."""
        last = self._last.get(launch)
        start = self._starts.get(self._run.raw / f"{launch}.jsonl")
        return Stream(start=start, measurements=[last] if last else [])


class GroupWatch:
    """The view of a group: the number of finished members."""

    def __init__(self, group: Path, expected: int, console: Console) -> None:
        from rich.live import Live

        self._group = group
        self._expected = expected
        self._console = console
        self._live: Live | None = None
        self._ends = GroupEnds(group, expected)
        if console.is_terminal:
            self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> GroupWatch:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    @property
    def measured(self) -> int:
        """The number of complete members."""
        return self._ends.counts["complete"]

    def look(self, status: str) -> None:
        """Count the members by state, and show the counts and the state of the jobs."""
        self._ends.look()
        if self._live is not None:
            from rich.console import Group
            from rich.progress_bar import ProgressBar
            from rich.table import Table
            from rich.text import Text

            head = Table.grid(padding=(0, 1))
            words = ", ".join(
                f"{count} {name}" for name, count in sorted(self._ends.counts.items())
            )
            head.add_row(
                ProgressBar(total=self._expected, completed=self.measured, width=30),
                Text(f"{self.measured}/{self._expected} nodes"),
                Text(words, style="dim"),
            )
            self._live.update(Group(head, Text(status, style="yellow")), refresh=True)

    def settled(self) -> bool:
        """Always true: members are counted by their own state."""
        return True

    def over(self, number: int) -> bool:
        """Whether each task of the job has recorded its end."""
        return self._ends.over(number)


@contextmanager
def watching(run: RunDirectory, request: RunRequest, console: Console) -> Iterator[Watch]:
    """The view of a run or a group, with its display on a terminal."""
    if request.members is not None:
        with GroupWatch(run.path, request.members, console) as group:
            yield group
        return
    display = Display(console, request.suite) if console.is_terminal else None
    with display or nullcontext():
        yield RunWatch(run, display)
