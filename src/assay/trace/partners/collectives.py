"""Collective calls of a trace that belong together.

Collectives of MPI's data match by their number on the communicator. Other collective calls (of
neighbours, communicators, windows, files, and MPI_Finalize) match by their number among the calls
of their function on the communicator, because MPI doesn't order calls for different windows and
files.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from assay.arrays import Ints
from assay.trace.calls import COLLECTIVES, MAKERS, MEETINGS, SPLIT, blocking_form, chosen
from assay.trace.events import NO_TAG
from assay.trace.partners.model import NONE, FlatTrace, MatchedCollectives, Meetings, UnmatchedCalls

# The calls of each rank, in order, by the rank's position.
_Calls = dict[int, Ints]


def match_collectives(
    flat: FlatTrace,
) -> tuple[list[MatchedCollectives], list[UnmatchedCalls]]:
    """The collectives of MPI's data."""
    trace = flat.trace
    found: dict[tuple[int, tuple[int, ...]], list[Ints]] = {}
    problems = []
    for number, calls in _by_communicator(flat, COLLECTIVES):
        order = _order(flat, number, calls)
        lengths = [len(calls.get(place, ())) for place in order]
        common = min(lengths)
        over = sum(lengths) - common * len(lengths)
        name = f"communicator {trace.communicators[number].number}"
        if over:
            problems.append(UnmatchedCalls(f"collectives on {name}", over))
        if common == 0:
            continue
        events = np.stack([calls[place][:common] for place in order], axis=1)
        same = _same_function(flat, events)
        if not same.all():
            problems.append(
                UnmatchedCalls(f"collectives on {name}, of different functions", int((~same).sum()))
            )
        found.setdefault((number, tuple(order)), []).append(events[same])
    return [
        MatchedCollectives(number, np.array(members, dtype=np.int64), _in_order(rows))
        for (number, members), rows in sorted(found.items())
    ], problems


def match_meetings(flat: FlatTrace) -> list[Meetings]:
    """The other collective calls. Calls without a counterpart on every member are left out."""
    found: list[Meetings] = []
    names = [blocking_form(name) for name in flat.trace.functions]
    for function in sorted(set(names) & {blocking_form(name) for name in MEETINGS}):
        of = frozenset(name for name in flat.trace.functions if blocking_form(name) == function)
        for number, calls in _by_communicator(flat, of):
            order = _order(flat, number, calls)
            common = min(len(calls.get(place, ())) for place in order)
            if common and len(order) > 1:
                events = np.stack([calls[place][:common] for place in order], axis=1)
                found += _meetings(flat, function, events)
    for maker in sorted(MAKERS & set(flat.trace.functions)):
        found += _by_made(flat, maker)
    found += _two_sides(flat)
    return found


def _meetings(flat: FlatTrace, function: str, events: Ints) -> Iterator[Meetings]:
    yield Meetings(
        events, np.where(flat.completed_in[events] >= 0, flat.completed_in[events], NONE)
    )
    if function in SPLIT:
        # The end of a split collective may also wait for the begin of the others.
        ends = _ends_of(flat, events, SPLIT[function])
        if (ends >= 0).any():
            yield Meetings(events, ends)


def _ends_of(flat: FlatTrace, events: Ints, function: str) -> Ints:
    """The next call of a function after each event, on the same rank; -1 if there is none."""
    ends = np.flatnonzero(flat.is_one_of(frozenset((function,))))
    if not len(ends):
        return np.full(events.shape, NONE, dtype=np.int64)
    after = np.searchsorted(ends, events.ravel(), side="right")
    found = ends[np.minimum(after, len(ends) - 1)]
    real = (after < len(ends)) & (flat.rank[found] == flat.rank[events.ravel()])
    return np.where(real, found, NONE).reshape(events.shape)


def _by_made(flat: FlatTrace, maker: str) -> Iterator[Meetings]:
    """Calls that made the same communicator, on all its members or in both groups."""
    index = np.flatnonzero(flat.is_one_of(frozenset((maker,))))
    yield from _same_tag(flat, index)


def _two_sides(flat: FlatTrace) -> Iterator[Meetings]:
    """MPI_Comm_accept and MPI_Comm_connect that made the same intercommunicator."""
    yield from _same_tag(
        flat, np.flatnonzero(flat.is_one_of(frozenset(("Comm_accept", "Comm_connect"))))
    )


def _same_tag(flat: FlatTrace, index: Ints) -> Iterator[Meetings]:
    made = flat.column("tag")[index]
    index, made = index[made != NO_TAG], made[made != NO_TAG]
    for number in np.unique(made):
        row = index[made == number]
        if len(row) > 1 and len(np.unique(flat.rank[row])) == len(row):
            yield Meetings(row[None, :], row[None, :])


def _by_communicator(flat: FlatTrace, functions: frozenset[str]) -> Iterator[tuple[int, _Calls]]:
    """The calls of some functions by communicator. Started persistent collectives, which may start
    in any order, are also grouped by their number on the communicator.
    """
    trace = flat.trace
    wanted = chosen(trace.functions, functions)
    started = np.array([name.startswith("Start_") for name in trace.functions])
    found: dict[tuple[int, int], _Calls] = {}
    for place, rank in enumerate(trace.ranks):
        events = rank.events
        index = np.flatnonzero(wanted[events.function])
        communicators = events.communicator[index].astype(np.int64)
        number = np.where(started[events.function[index]], events.tag[index], NO_TAG)
        keys = np.stack([communicators, number])
        for key in np.unique(keys, axis=1).T:
            mine = index[(keys == key[:, None]).all(axis=0)] + flat.first[place]
            found.setdefault((int(key[0]), int(key[1])), {})[place] = mine
    for (communicator, _number), calls in sorted(found.items()):
        if trace.communicators[communicator].real:
            yield communicator, calls


def _order(flat: FlatTrace, communicator: int, calls: _Calls) -> list[int]:
    """The positions of the members that have a trace. For an unknown communicator, the members are
    the ranks that call."""
    members = flat.trace.communicators[communicator].members
    if members is None:
        return sorted(calls)
    places = {rank.rank: place for place, rank in enumerate(flat.trace.ranks)}
    return [places[member] for member in members if member in places] or sorted(calls)


def _in_order(parts: list[Ints]) -> Ints:
    """Rows of events in the order of the first member's calls."""
    rows = np.concatenate(parts)
    return rows if len(parts) == 1 else rows[np.argsort(rows[:, 0], kind="stable")]


def _same_function(flat: FlatTrace, events: Ints) -> npt.NDArray[np.bool_]:
    """Whether the ranks of each row call the same function (blocking or not)."""
    names = [blocking_form(name) for name in flat.trace.functions]
    codes = {name: code for code, name in enumerate(sorted(set(names)))}
    code = np.array([codes[name] for name in names])[flat.function[events]]
    return np.asarray((code == code[:, :1]).all(axis=1))
