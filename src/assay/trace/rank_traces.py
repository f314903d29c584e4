"""A rank's file as its part of a trace: times on the common clock, the trace's numbers, calls by
begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.trace.calls import MAKING, chosen, started_form
from assay.trace.clocks import ClockTree
from assay.trace.events import NO_TAG, Events, RankTrace
from assay.trace.polling import joined_polls
from assay.trace.regions import Regions
from assay.trace.trace_files import RankFile

_STARTED, _EPOCHS = "Start_collective", frozenset(("Win_start", "Win_post"))
# Number that the library writes for calls without a communicator.
_NO_COMMUNICATOR = 0xFFFF


@dataclass(frozen=True)
class RecordedTimes:
    """Converts times of all ranks to s since ``origin``, without the times in which no rank
    recorded."""

    clocks: ClockTree
    origin: int
    regions: Regions | None

    def seconds(self, rank: int, local: Ints) -> Floats:
        """Times of a rank's clock, ns."""
        found = 1e-9 * (self.clocks.to_reference(rank, local) - self.origin).astype(np.float64)
        return found if self.regions is None else self.regions.without_gaps(found)

    @property
    def cut(self) -> float:
        """Time in which no rank recorded, s."""
        return 0.0 if self.regions is None else self.regions.cut


def last_time(file: RankFile) -> int:
    """When the rank ended, or else the time of its last recorded call, in ns of its clock."""
    first = file.header.begin
    return int(file.end.end if file.end else max([first, *file.columns["end"][-1:] + first]))


def nanoseconds(times: Sequence[int]) -> Ints:
    """These times as an array of whole nanoseconds."""
    return np.array(times, dtype=np.int64)


@dataclass(frozen=True)
class RankNames:
    """The `Trace`'s numbers for the numbers in a rank's file: communicators, the entry for no
    communicator, functions, groups and sites.
    """

    communicators: dict[int, int]
    none: int
    functions: list[str]
    groups: dict[tuple[int, ...], int]
    sites: dict[tuple[str, int], int]


def rank_trace(
    file: RankFile, rank: int, times: RecordedTimes, names: RankNames, cpu_wait: float | None
) -> RankTrace:
    """The trace of a rank. ``cpu_wait``: time without a CPU, s. Empties the columns of the file."""
    # Columns are removed from the file as they are used, so that their memory can be reused.
    columns = file.columns
    first = file.header.begin

    last = last_time(file)
    begin = times.seconds(rank, columns.pop("begin") + first)
    end = times.seconds(rank, columns.pop("end") + first)
    whole = times.seconds(rank, nanoseconds([first, int(last)]))
    place = [0] * (1 + max([0, *(site.number for site in file.sites)]))
    place[0] = names.sites.setdefault(("", 0), len(names.sites))
    for site in file.sites:
        key = (file.images.get(site.image, ""), site.offset)
        place[site.number] = names.sites.setdefault(key, len(names.sites))
    index = {name: number for number, name in enumerate(names.functions)}
    function = _mapped(
        columns.pop("function"), {number: index[name] for number, name in file.functions.items()}
    ).astype(np.uint16)
    communicator = _mapped(
        columns.pop("communicator"),
        {**names.communicators, _NO_COMMUNICATOR: names.none},
        names.none,
    ).astype(np.uint32)
    tag = columns.pop("tag")
    _rename_started(function, tag, communicator, names.functions)
    _renumber(function, tag, file, names)
    events = Events(
        begin=begin,
        end=end,
        function=function,
        site=np.array(place, dtype=np.uint32)[np.minimum(columns.pop("site"), len(place) - 1)],
        communicator=communicator,
        tag=tag,
        **{
            name: columns.pop(name)
            for name in (
                "peer", "source", "source_tag", "sent", "received", "request", "completed_start",
                "completed_request", "count", "thread",
            )
        },
    )  # fmt: skip
    stopped = file.end is None
    return RankTrace(
        rank=rank,
        host=file.header.host,
        begin=float(whole[0]),
        end=float(max(whole[1], end.max(initial=0.0))),
        complete=not stopped,
        events=joined_polls(_sorted(events), tuple(names.functions), cpu_wait or 0.0),
        cpu_wait=cpu_wait,
    )


def _rename_started(
    function: npt.NDArray[np.uint16],
    tag: npt.NDArray[np.int32],
    communicator: npt.NDArray[np.uint32],
    functions: list[str],
) -> None:
    """Replace starts of persistent collectives by their function and their number on the
    communicator.

    The tag of such a start is the number of the call that made the collective, among all such calls
    (-1: it wasn't recorded). Changes the columns in place.
    """
    if _STARTED not in functions:
        return
    index = {name: number for number, name in enumerate(functions)}
    forms = {index[name]: started_form(name) for name in functions}
    of = {number: index[form] for number, form in forms.items() if form is not None}
    starts = np.flatnonzero((function == index[_STARTED]) & (tag >= 0))
    made = np.flatnonzero(np.isin(function, list(of)))
    starts = starts[tag[starts] < len(made)]
    if not len(starts):
        return
    by_making = made[tag[starts]]
    # Number among the calls of the communicator, which is equal on all its ranks.
    order = np.argsort(communicator[made], kind="stable")
    _, lengths = np.unique(communicator[made], return_counts=True)
    ordinal = np.empty(len(made), dtype=np.int64)
    ordinal[order] = np.concatenate([np.arange(length) for length in lengths])
    table = np.zeros(len(functions), dtype=np.uint16)
    table[list(of)] = list(of.values())
    number = ordinal[tag[starts]]
    function[starts] = table[function[by_making]]
    tag[starts] = number


def _renumber(
    function: npt.NDArray[np.uint16],
    tag: npt.NDArray[np.int32],
    file: RankFile,
    names: RankNames,
) -> None:
    """Replace tags that are numbers of communicators and groups by the `Trace`'s numbers, in
    place."""
    groups = {number: names.groups[members] for number, members in file.groups.items()}
    for of, numbers in ((MAKING, names.communicators), (_EPOCHS, groups)):
        rows = np.flatnonzero(chosen(names.functions, of)[function] & (tag >= 0))
        if len(rows):
            tag[rows] = [numbers.get(int(one), NO_TAG) for one in tag[rows]]


def _mapped(
    column: npt.NDArray[np.integer], to: dict[int, int], otherwise: int = 0
) -> npt.NDArray[np.uint32]:
    table = np.full(1 + max([0, int(column.max(initial=0)), *to]), otherwise, dtype=np.uint32)
    for number, index in to.items():
        table[number] = index
    found: npt.NDArray[np.uint32] = table[column]
    return found


def _sorted(events: Events) -> Events:
    """Sort by begin: threads and loops of failed tests are recorded when they end."""
    if bool(np.all(events.begin[1:] >= events.begin[:-1])):
        return events
    order = np.argsort(events.begin, kind="stable")
    lengths = np.diff(events.completed_start)[order]
    start = np.concatenate([[0], np.cumsum(lengths)])
    take = np.repeat(events.completed_start[:-1][order] - start[:-1], lengths)
    columns = {
        name: getattr(events, name)[order]
        for name in Events.__dataclass_fields__
        if not name.startswith("completed")
    }
    return Events(
        **columns,
        completed_start=start,
        completed_request=events.completed_request[take + np.arange(int(start[-1]))],
    )
