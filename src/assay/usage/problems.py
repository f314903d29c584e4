"""Problems of a log's records: counted by kind, with the first places of each kind."""

from __future__ import annotations

from dataclasses import dataclass, field

# The kinds of problems, with the treatment of such a record.
KINDS = {
    "empty": "the file is empty",
    "no jobs": "a valid file without jobs: no job ran in its time",
    "other text": "text that isn't a record, such as a prompt, a command or a warning: skipped",
    "zeros": "zero bytes within the text, for example after a crash of the host that wrote it: "
    "skipped",
    "columns": "a row of a table without the columns that jobs need: left out",
    "malformed": "not a record of the format: left out",
    "long": "line of more than 1 MiB: left out",
    "truncated": "the file ends early or is damaged: the rest was not read, up to the next "
    "document if there is one",
    "range": "a number or time out of range: left out",
    "negative": "a negative time or size: left out",
    "unreadable time": "a time that can't be read: taken as unknown (sacct prints dates with their "
    "year after `unset SLURM_TIME_FORMAT`)",
    "unreadable value": "a value that can't be read: taken as unknown",
    "state": "its state contradicts its times: the state is used",
    "exit status": "completed, but with an exit status other than 0: the state is used",
    "derived": "its start or end is unknown: derived from its run time",
    "clock": "its run time and its end - start differ by an hour or two, as when clocks change: "
    "the run time is used",
    "run time": "its run time contradicts its end - start: start and end are used",
    "suspended": "suspended for longer than from its start to its end: taken as never suspended",
    "processor time": "its processor time contradicts processors × run time, which are used",
    "planned": "its planned time contradicts start - eligible: submission and start are used",
    "backwards": "ends before it starts: left out",
    "early": "starts before it was submitted: its wait is not counted",
    "partial": "a part of a checkpointed job, which has its own record: left out",
    "array": "a job array as a whole, whose jobs have their own records: left out",
    "no size": "ran on an unknown number of processors: not counted as use",
    "no start": "ran or may have run, but its start is unknown: not counted as use",
    "no end": "started, but its end is unknown: not counted as use",
    "too large": "larger than the machine: not counted as use",
    "stray": "more than a year away from nearly all other records: left out",
    "duplicate": "repeats another record: left out",
    "superseded": "an earlier state of a job that has a later record: left out",
    "reused": "its job id also occurs with other times (requeued): counted",
}
# Number of places that are named for each kind.
NAMED = 5


@dataclass
class Problem:
    """A kind of problem: its number of records, the first places (index of file, line), and the
    wrong value at each place ("" if the kind says it all).
    """

    kind: str
    count: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


class Problems:
    """The problems of a log. Memory: one count and a few places per kind."""

    def __init__(self) -> None:
        self._found: dict[str, Problem] = {}

    def add(self, kind: str, place: tuple[int, int], value: str = "") -> None:
        """Count a problem of a kind in ``KINDS``; ``place``: index of the file, and line from 1;
        ``value``: the wrong value.
        """
        problem = self._found.setdefault(kind, Problem(kind))
        problem.count += 1
        if len(problem.places) < NAMED:
            problem.places.append(place)
            problem.values.append(value)

    def add_many(self, kind: str, count: int, places: list[tuple[int, int]]) -> None:
        """Count ``count`` problems of a kind. ``places``: the first ones, at least ``NAMED`` if
        there are that many.
        """
        if not count:
            return
        problem = self._found.setdefault(kind, Problem(kind))
        problem.count += count
        first = places[: max(NAMED - len(problem.places), 0)]
        problem.places += first
        problem.values += [""] * len(first)

    def copy(self) -> Problems:
        """A copy of the problems, to which others can be added."""
        twin = Problems()
        for kind, each in self._found.items():
            twin._found[kind] = Problem(kind, each.count, list(each.places), list(each.values))
        return twin

    def found(self) -> list[Problem]:
        """All kinds that occurred, in the order of ``KINDS``."""
        return [self._found[kind] for kind in KINDS if kind in self._found]
