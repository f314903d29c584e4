"""Reads the traces in the folder of a profile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.trace.calls import FINALIZE, MAKING, chosen, started_form
from assay.trace.clocks import ROUNDING, ClockTree, in_order, matched_in_order, points_of
from assay.trace.events import NO_PEER, NO_REQUEST, NO_TAG, Communicator, Events, RankTrace, Trace
from assay.trace.matching import MatchedTrace, match
from assay.trace.model import SourcePlace
from assay.trace.polling import joined_polls
from assay.trace.reading import cpu_waits, read_run
from assay.trace.regions import Regions, recorded_regions
from assay.trace.sites.finding import python_place
from assay.trace.trace_files import RankFile, read_rank_file, runs_to_members
from assay.trace.worlds import TRACE_SUFFIX, chosen_world, worlds_in

TRACE_FILES = "rank-*.trace"
# Calls that are read at most, of all ranks.
MOST_CALLS = 20_000_000
# Threads that decode files.
_MOST_THREADS = 8
_STARTED, _EPOCHS = "Start_collective", frozenset(("Win_start", "Win_post"))
# Where MPI_Finalize is called isn't recorded.
_FINALIZE_SITE = ("", -1)
# s that MPI_Finalize takes at least, so that what waits there ends before it.
_SHORTEST = 1e-9
# What the library writes for calls without a communicator.
_NO_COMMUNICATOR = 0xFFFF


def has_trace(folder: Path) -> bool:
    """Whether the folder has the trace of a rank."""
    return any(folder.glob(TRACE_FILES))


def read_matched(folder: Path, most: int = MOST_CALLS, number: int | None = None) -> MatchedTrace:
    """As `read_trace`, with which of its calls belong together."""
    return matched_in_order(match(read_trace(folder, corrected=False, most=most, number=number)))


def read_trace(
    folder: Path, *, corrected: bool = True, most: int = MOST_CALLS, number: int | None = None
) -> Trace:
    """The trace in the folder of a profile, of ranks of the world, with times on rank 0's clock.

    ``number``: of the program, where the command ran several; None: as `read_profile`.

    ``corrected``: also without messages received before they are sent. ``most``: of more calls, the
    same share of each rank's is read, from the begin on, up to where the first of the ranks gets
    with it; memory is bounded by that. Calls without a communicator have one that isn't ``real``.
    Raises AssayError if there is none, and if a file is damaged.
    """
    # The decoder is native code, which several threads run at once.
    worlds = [one for one in worlds_in(folder, traces=True) if one.files(TRACE_SUFFIX)]
    if not worlds:
        raise AssayError(
            "There is no trace in this folder.",
            where=str(folder),
            fix="Trace the program with `assay profile --trace -- COMMAND`.",
        )
    world = chosen_world(worlds, number, folder)
    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as pool:
        paths = world.files(TRACE_SUFFIX)
        files = list(pool.map(lambda path: read_rank_file(path, events=False), paths))
        every = sum(file.count for file in files)
        share = min(most / every, 1.0) if every else 1.0
        files = list(pool.map(lambda path: read_rank_file(path, share=share), paths))
    files = sorted(files, key=lambda one: (one.header.rank < 0, one.header.rank, str(one.path)))
    run = read_run(folder)
    clocks = _clocks(files)
    origin = min(int(clocks.to_reference(_number(f, i), _ns([f.header.begin]))[0])
                 for i, f in enumerate(files))  # fmt: skip
    communicators, numbers = _communicators(files)
    functions = _functions(files)
    groups = _groups(files)
    places = _python_places(files) | {(one.image, one.offset): one for one in run.places}
    places[_FINALIZE_SITE] = SourcePlace(*_FINALIZE_SITE, "MPI_Finalize", "", 0)
    sites: dict[tuple[str, int], int] = {}
    cut = [len(file.columns["begin"]) < file.count for file in files]
    times = RecordedTimes(clocks, origin, _regions(files, clocks, origin))
    waits = cpu_waits(world)
    ranks = tuple(
        _rank(
            file,
            _number(file, place),
            times,
            _Names(numbers[place], len(communicators) - 1, functions, groups, sites),
            waits.get(_number(file, place)),
        )
        for place, file in enumerate(files)
    )
    if any(cut):
        ranks = _to_the_same_end(ranks, cut)
    elif all(_finalised(file, len(files)) for file in files):
        site = sites.setdefault(_FINALIZE_SITE, len(sites))
        ranks = with_finalize(ranks, functions.index(FINALIZE), site)
    trace = Trace(
        run=run,
        ranks=ranks,
        functions=tuple(functions),
        communicators=communicators,
        sites=tuple(places.get(key, SourcePlace(*key, "", "", 0)) for key in sites),
        clock_error=max(clocks.error(_number(f, i)) for i, f in enumerate(files)) + ROUNDING,
        cut=times.cut,
        left_out=every - sum(len(rank.events) for rank in ranks) if any(cut) else 0,
        groups=tuple(groups),
    )
    return in_order(trace) if corrected else trace


def trace_summary(folder: Path) -> str:
    """How much the ranks recorded, and which of them not to the end, in one line."""
    files = [read_rank_file(path, events=False) for path in sorted(folder.glob(TRACE_FILES))]
    if not files:
        return "trace: no process of the program wrote one."
    events = sum(file.count for file in files)
    size = sum(file.size for file in files)
    text = f"trace: {events} events of {len(files)} ranks, {size} B"
    text += f" ({size / events:.2f} B per event)" if events else ""
    cut = [str(file.header.rank) for file in files if file.end is None]
    if cut:
        some = ", ".join(cut[:8]) + (" and others" if len(cut) > 8 else "")
        text += f"; not to the end on ranks {some}: killed, or the trace could not be written on"
    return text + "."


def _to_the_same_end(ranks: Sequence[RankTrace], cut: Sequence[bool]) -> tuple[RankTrace, ...]:
    """The ranks up to the end of the first one of those that are ``cut``."""
    end = min(float(rank.events.end[-1]) for rank, short in zip(ranks, cut, strict=True) if short)
    found = []
    for rank in ranks:
        events = rank.events.first(int(np.searchsorted(rank.events.begin, end)))
        found.append(replace(rank, end=max(end, float(events.end.max(initial=end))), events=events))
    return tuple(found)


@dataclass(frozen=True)
class RecordedTimes:
    """Times of all ranks in s since ``origin``, without those in which no rank recorded."""

    clocks: ClockTree
    origin: int
    regions: Regions | None

    def seconds(self, rank: int, local: Ints) -> Floats:
        """Times of a rank's clock, ns."""
        found = 1e-9 * (self.clocks.to_reference(rank, local) - self.origin).astype(np.float64)
        return found if self.regions is None else self.regions.without_gaps(found)

    @property
    def cut(self) -> float:
        """s in which no rank recorded."""
        return 0.0 if self.regions is None else self.regions.cut


def _regions(files: Sequence[RankFile], clocks: ClockTree, origin: int) -> Regions | None:
    """The times in which ranks recorded; None: all did always."""
    if not any(file.switches for file in files):
        return None
    plain = RecordedTimes(clocks, origin, None)
    ranks = []
    for place, file in enumerate(files):
        rank = _number(file, place)
        at = _ns([file.header.begin, *(one.at for one in file.switches), _last(file)])
        on = [True, *(one.on for one in file.switches), False]
        ranks.append((plain.seconds(rank, at), np.array(on)))
    return recorded_regions(ranks)


def _last(file: RankFile) -> int:
    first = file.header.begin
    return int(file.end.end if file.end else max([first, *file.columns["end"][-1:] + first]))


def _python_places(files: Sequence[RankFile]) -> dict[tuple[str, int], SourcePlace]:
    """Lines of Python, which the trace itself names."""
    return {
        (image, site.offset): python_place(image, site.offset, site.python)
        for file in files
        for site in file.sites
        if site.python and (image := file.images.get(site.image, ""))
    }


def _number(file: RankFile, place: int) -> int:
    """The rank in the world, or the place among the files in a program without a world."""
    return file.header.rank if file.header.rank >= 0 else place


def _ns(times: Sequence[int]) -> Ints:
    return np.array(times, dtype=np.int64)


def _clocks(files: Sequence[RankFile]) -> ClockTree:
    leaders, points = {}, {}
    for place, file in enumerate(files):
        rank = _number(file, place)
        if file.leader is not None:
            leaders[rank] = file.leader
        found = points_of([(o.to, o.at, o.ahead, o.round_trip) for o in file.offsets])
        if found is not None:
            points[rank] = found
    return ClockTree(leaders, points)


def _communicators(
    files: Sequence[RankFile],
) -> tuple[tuple[Communicator, ...], list[dict[int, int]]]:
    """All communicators, and for each rank the global numbers by its own.

    The members of a communicator make it by a collective call on its parent, and MPI requires all
    of them to make such calls in the same order: it is the same on two ranks if its parent, its
    members and its number among such communicators are.
    """
    identities: dict[object, int] = {}
    found: list[Communicator] = []
    numbers: list[dict[int, int]] = []
    for file in files:
        mine: dict[int, int] = {}
        earlier: dict[object, int] = {}
        for one in file.communicators:
            parent = mine.get(one.parent) if one.parent is not None else None
            members = runs_to_members(one.members)
            groups = None if one.groups is None else frozenset(map(runs_to_members, one.groups))
            alike: tuple[object, ...] = (parent, members, one.made_by if members is None else "")
            if groups is not None:  # its two groups make it from different communicators
                alike = (None, groups, "")
            ordinal = earlier[alike] = earlier.get(alike, -1) + 1
            number = identities.setdefault((alike, ordinal), len(found))
            if number == len(found):
                found.append(Communicator(number, members, parent))
            mine[one.number] = number
        numbers.append(mine)
    if not found:
        found.append(Communicator(0, None, None))
    found.append(Communicator(len(found), None, None, real=False))
    return tuple(found), numbers


def _functions(files: Sequence[RankFile]) -> list[str]:
    names = {name for file in files for name in file.functions.values()}
    started = {started_form(name) for name in names} - {None}
    return sorted({*names, FINALIZE, *(name for name in started if name is not None)})


def _groups(files: Sequence[RankFile]) -> dict[tuple[int, ...], int]:
    """The groups of windows' epochs, with their numbers."""
    found: dict[tuple[int, ...], int] = {}
    for file in files:
        for members in file.groups.values():
            found.setdefault(members, len(found))
    return found


def _finalised(file: RankFile, files: int) -> bool:
    """Whether the trace of a rank shows when it reached MPI_Finalize, as those of all others do."""
    ended = file.end is not None and file.end.ended == "finalize"
    recording = not file.switches or file.switches[-1].on
    return ended and recording and file.header.rank >= 0 and file.header.ranks == files


def with_finalize(ranks: Sequence[RankTrace], function: int, site: int) -> tuple[RankTrace, ...]:
    """The ranks with a call of MPI_Finalize each, from its begin until all ranks have begun it.

    Ranks wait there for those that come later, since it is collective; when it really ends, and
    how long it takes, isn't recorded.
    """
    end = max(rank.end for rank in ranks) + _SHORTEST
    found = []
    for rank in ranks:
        events = rank.events
        row = {
            "begin": rank.end, "end": end, "function": function, "site": site, "communicator": 0,
            "peer": NO_PEER, "tag": NO_TAG, "source": NO_PEER, "source_tag": NO_TAG, "sent": 0,
            "received": 0, "request": NO_REQUEST, "count": 1, "thread": 0,
        }  # fmt: skip
        columns = {
            name: np.append(getattr(events, name), np.array(value, getattr(events, name).dtype))
            for name, value in row.items()
        }
        start = np.append(events.completed_start, events.completed_start[-1])
        events = Events(
            **columns, completed_start=start, completed_request=events.completed_request
        )
        found.append(replace(rank, end=end, events=events))
    return tuple(found)


@dataclass(frozen=True)
class _Names:
    """What the numbers in a rank's file mean: communicators, the one that stands for none,
    functions, groups and sites of the `Trace`.
    """

    communicators: dict[int, int]
    none: int
    functions: list[str]
    groups: dict[tuple[int, ...], int]
    sites: dict[tuple[str, int], int]


def _rank(
    file: RankFile, rank: int, times: RecordedTimes, names: _Names, cpu_wait: float | None
) -> RankTrace:
    # Columns are taken out of the file as they are used, so that their memory can be used again.
    columns = file.columns
    first = file.header.begin

    last = _last(file)
    begin = times.seconds(rank, columns.pop("begin") + first)
    end = times.seconds(rank, columns.pop("end") + first)
    whole = times.seconds(rank, _ns([first, int(last)]))
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
    """Starts of persistent collectives by their function, with their number on the communicator.

    The tag of such a start is the number of the call that made it among all of these (-1: it wasn't
    recorded). Changes the columns in place.
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
    # The number among those of its communicator, which is the same on all of its ranks.
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
    names: _Names,
) -> None:
    """Tags that are numbers of communicators and groups, in place: those of the `Trace`."""
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
    """By begin: threads and loops of failed tests are recorded when they end."""
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
