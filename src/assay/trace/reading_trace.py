"""Reads the traces in the folder of a profile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.errors import AssayError
from assay.trace.calls import FINALIZE, started_form
from assay.trace.clocks import ROUNDING, ClockTree, in_order, matched_in_order, points_of
from assay.trace.events import (
    NO_PEER,
    NO_REQUEST,
    NO_TAG,
    Communicator,
    Events,
    RankTrace,
    Trace,
)
from assay.trace.matching import MatchedTrace, match
from assay.trace.model import SourcePlace
from assay.trace.rank_traces import RankNames, RecordedTimes, last_time, nanoseconds, rank_trace
from assay.trace.reading import cpu_waits, read_run
from assay.trace.regions import Regions, recorded_regions
from assay.trace.sites.finding import python_place
from assay.trace.trace_files import RankFile, read_rank_file, runs_to_members
from assay.trace.worlds import TRACE_SUFFIX, World, chosen_world, worlds_in
from assay.units import counted

TRACE_FILES = "rank-*.trace"
# Maximum number of calls of all ranks that are read.
MOST_CALLS = 20_000_000
# Number of threads that decode files.
_MOST_THREADS = 8
# The place where MPI_Finalize is called isn't recorded.
_FINALIZE_SITE = ("", -1)
# Least time of MPI_Finalize, s, so that waiting in it ends before its end.
_SHORTEST = 1e-9


def has_trace(folder: Path) -> bool:
    """Whether the folder has the trace of a rank."""
    return any(folder.glob(TRACE_FILES))


def read_matched(folder: Path, most: int = MOST_CALLS, number: int | None = None) -> MatchedTrace:
    """The trace as `read_trace` reads it, with the calls that belong together."""
    return matched_in_order(match(read_trace(folder, corrected=False, most=most, number=number)))


def read_trace(
    folder: Path, *, corrected: bool = True, most: int = MOST_CALLS, number: int | None = None
) -> Trace:
    """The trace in the folder of a profile, of ranks of the world, with times on rank 0's clock.

    ``number``: number of the program, if the command ran several; None: as in `read_profile`.

    ``corrected``: whether receives before their send are corrected. ``most``: bound of the number
    of calls, which also bounds memory. If there are more calls, the same share of each rank's calls
    is read, from the begin to the earliest end among the ranks. Calls without a communicator have
    one that isn't ``real``. Raises AssayError if there is no trace, and if a file is damaged.
    """
    # The decoder is native code, which several threads can run at the same time.
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
    times = _times(files)
    clocks = times.clocks
    communicators, numbers = _communicators(files)
    functions = _functions(files)
    groups = _groups(files)
    places = _python_places(files) | {(one.image, one.offset): one for one in run.places}
    places[_FINALIZE_SITE] = SourcePlace(*_FINALIZE_SITE, "MPI_Finalize", "", 0)
    sites: dict[tuple[str, int], int] = {}
    cut = [len(file.columns["begin"]) < file.count for file in files]
    waits = cpu_waits(world)
    ranks = tuple(
        rank_trace(
            file,
            _number(file, place),
            times,
            RankNames(numbers[place], len(communicators) - 1, functions, groups, sites),
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
    """One line on how much the ranks recorded, and which ranks not to the end."""
    files, unread = [], 0
    for path in sorted(folder.glob(TRACE_FILES)):
        try:
            files.append(read_rank_file(path, events=False))
        except AssayError:  # the rank was ended while it wrote the beginning
            unread += 1
    if not files:
        some = "wrote a whole one" if unread else "wrote one"
        return f"trace: no process of the program {some}."
    events = sum(file.count for file in files)
    size = sum(file.size for file in files)
    text = f"trace: {events} events of {len(files)} ranks, {size} B"
    text += f" ({size / events:.2f} B per event)" if events else ""
    if unread:
        text += f"; of {counted(unread, 'rank')} not even the beginning"
    cut = [str(file.header.rank) for file in files if file.end is None]
    if cut:
        some = ", ".join(cut[:8]) + (" and others" if len(cut) > 8 else "")
        text += f"; incomplete on ranks {some}: killed, or the trace could not be written on"
    return text + "."


def _to_the_same_end(ranks: Sequence[RankTrace], cut: Sequence[bool]) -> tuple[RankTrace, ...]:
    """The ranks up to the end of the first rank that is ``cut``."""
    end = min(float(rank.events.end[-1]) for rank, short in zip(ranks, cut, strict=True) if short)
    found = []
    for rank in ranks:
        events = rank.events.first(int(np.searchsorted(rank.events.begin, end)))
        found.append(replace(rank, end=max(end, float(events.end.max(initial=end))), events=events))
    return tuple(found)


def trace_times(world: World) -> RecordedTimes | None:
    """The times of a world's trace, for other records of its ranks; None without a trace.

    Raises AssayError if a file is damaged.
    """
    files = [read_rank_file(path) for path in world.files(TRACE_SUFFIX)]
    return _times(files) if files else None


def _times(files: Sequence[RankFile]) -> RecordedTimes:
    clocks = _clocks(files)
    origin = min(int(clocks.to_reference(_number(f, i), nanoseconds([f.header.begin]))[0])
                 for i, f in enumerate(files))  # fmt: skip
    return RecordedTimes(clocks, origin, _regions(files, clocks, origin))


def _regions(files: Sequence[RankFile], clocks: ClockTree, origin: int) -> Regions | None:
    """The times in which ranks recorded; None if all ranks always did."""
    if not any(file.switches for file in files):
        return None
    plain = RecordedTimes(clocks, origin, None)
    ranks = []
    for place, file in enumerate(files):
        rank = _number(file, place)
        at = nanoseconds([file.header.begin, *(one.at for one in file.switches), last_time(file)])
        on = [True, *(one.on for one in file.switches), False]
        ranks.append((plain.seconds(rank, at), np.array(on)))
    return recorded_regions(ranks)


def _python_places(files: Sequence[RankFile]) -> dict[tuple[str, int], SourcePlace]:
    """Lines of Python, which the trace names itself."""
    return {
        (image, site.offset): python_place(image, site.offset, site.python)
        for file in files
        for site in file.sites
        if site.python and (image := file.images.get(site.image, ""))
    }


def _number(file: RankFile, place: int) -> int:
    """The rank in the world; in a program without a world, the position among the files."""
    return file.header.rank if file.header.rank >= 0 else place


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
    """All communicators, and for each rank the global numbers by the rank's own numbers.

    The members of a communicator make it by a collective call on its parent, and MPI requires all
    of them to make such calls in the same order. Communicators on two ranks are the same if their
    parents, their members and their numbers among such communicators are the same.
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
    """Whether the trace of a rank shows when it reached MPI_Finalize, and the other traces do,
    too."""
    ended = file.end is not None and file.end.ended == "finalize"
    recording = not file.switches or file.switches[-1].on
    return ended and recording and file.header.rank >= 0 and file.header.ranks == files


def with_finalize(ranks: Sequence[RankTrace], function: int, site: int) -> tuple[RankTrace, ...]:
    """The ranks, each with a call of MPI_Finalize that lasts until all ranks have begun it.

    MPI_Finalize is collective, so ranks wait there for later ranks. Its real end and duration are
    not recorded.
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
