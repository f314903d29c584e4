"""OTF2, the Open Trace Format 2, which Vampir, Scalasca and Cube tools read.

The Python package ``otf2`` (assay's extra ``otf2``), which contains the library, writes them. Each
thread of each rank is a location in a system tree of hosts. Each MPI function has an enter event,
with the call site as an attribute, and a leave event. Messages, requests and collectives have
events as in Score-P's traces. Timestamps are ns since the begin of the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import AssayError
from assay.trace.calls import BOTH_WAYS, COLLECTIVES, RECEIVES, SENDS, blocking_form
from assay.trace.events import NO_REQUEST, RankTrace, Trace
from assay.trace.exports.model import TraceExport, nanoseconds, place_text

_NS = 1_000_000_000
# Objects of the package otf2, which has no types.
_Foreign = Any


def _write(trace: Trace, path: Path) -> list[str]:
    try:
        import otf2
    except ImportError as error:
        raise AssayError(
            f"The Python package otf2 can't be imported: {error}.",
            where="--export otf2",
            fix="Install it: pip install 'assay[otf2]'.",
        ) from None
    with otf2.writer.open(str(path), timer_resolution=_NS) as archive:
        writer = _Writer(otf2, archive, trace)
        for rank in trace:
            writer.write_rank(rank)
    return writer.left_out


class _Writer:
    """Writes the definitions of a trace, and the events that use them."""

    def __init__(self, otf2: _Foreign, archive: _Foreign, trace: Trace) -> None:
        self.otf2, self.trace = otf2, trace
        self.archive = archive
        self.left_out: list[str] = []
        definitions = archive.definitions
        machine = definitions.system_tree_node("machine", class_name="machine")
        hosts = {
            host: definitions.system_tree_node(host, class_name="node", parent=machine)
            for host in dict.fromkeys(trace.hosts)
        }
        self.locations: dict[int, dict[int, Any]] = {}
        for rank in trace:
            process = definitions.location_group(
                f"MPI Rank {rank.rank}", system_tree_parent=hosts[rank.host]
            )
            threads = sorted({0, *np.unique(rank.events.thread).tolist()})
            self.locations[rank.rank] = {
                thread: definitions.location(
                    f"MPI Rank {rank.rank}" if thread == 0 else f"thread {thread}", group=process
                )
                for thread in threads
            }
        self.place = definitions.attribute("call site", "where the program calls", otf2.Type.STRING)
        self.count = definitions.attribute("calls", "failed tests and the last", otf2.Type.UINT64)
        self.regions = [self._region(name) for name in trace.functions]
        self.program = definitions.region("program", region_role=otf2.RegionRole.ARTIFICIAL)
        self.places = [place_text(site) for site in trace.sites]
        self.communicators, self.rank_in = self._communicators()

    def _region(self, name: str) -> _Foreign:
        roles = self.otf2.RegionRole
        role = roles.POINT2POINT if name in SENDS | RECEIVES else roles.FUNCTION
        if name in COLLECTIVES:
            role = roles.BARRIER if blocking_form(name) == "Barrier" else roles.COLL_OTHER
        return self.archive.definitions.region(
            f"MPI_{name}", region_role=role, paradigm=self.otf2.Paradigm.MPI
        )

    def _communicators(self) -> tuple[list[_Foreign], list[dict[int, int]]]:
        """The definitions, and the rank in each communicator of each world rank."""
        types, mpi = self.otf2.GroupType, self.otf2.Paradigm.MPI
        groups = self.archive.definitions
        everyone = tuple(rank.rank for rank in self.trace)
        first = {rank: threads[0] for rank, threads in self.locations.items()}
        groups.group("", types.COMM_LOCATIONS, mpi, members=tuple(first[r] for r in everyone))
        made, ranks = [], []
        for one in self.trace.communicators:
            members = everyone if one.members is None else one.members
            known = tuple(member for member in members if member in first)
            if one.members is None:
                self.left_out.append(
                    f"Communicator {one.number} is written with all ranks, because its own ranks "
                    "are unknown."
                )
            elif len(known) < len(members):
                self.left_out.append(
                    f"Communicator {one.number} is written without ranks that have no trace."
                )
            name = "MPI_COMM_WORLD" if one.number == 0 else f"communicator {one.number}"
            group = groups.group(
                name, types.COMM_GROUP, mpi, members=tuple(first[member] for member in known)
            )
            made.append(groups.comm(name, group))
            ranks.append({member: place for place, member in enumerate(known)})
        return made, ranks

    def write_rank(self, rank: RankTrace) -> None:
        """Write all events of a rank. The region "program" covers the whole rank."""
        origin = self.trace.begin
        writers = {
            thread: self.archive.event_writer_from_location(location)
            for thread, location in self.locations[rank.rank].items()
        }
        begin, end = (int(nanoseconds(time, origin)) for time in (rank.begin, rank.end))
        writers[0].enter(begin, self.program)
        for row in _rows(rank, origin):
            writer = writers[row["thread"]]
            region = self.regions[row["function"]]
            attributes = {self.place: self.places[row["site"]]} if self.places else {}
            if row["count"] != 1:
                attributes[self.count] = row["count"]
            writer.enter(row["begin"], region, attributes)
            self._before(writer, row)
            self._after(writer, row)
            writer.leave(row["end"], region)
            end = max(end, row["end"])
        writers[0].leave(end, self.program)

    def _before(self, writer: _Foreign, row: dict[str, Any]) -> None:
        name, time = self.trace.functions[row["function"]], row["begin"]
        asked = row["request"] != NO_REQUEST
        if name in SENDS and row["peer"] >= 0:
            receiver = self._rank(row, row["peer"])
            more = (receiver, self.communicators[row["communicator"]], row["tag"], row["sent"])
            if asked:
                writer.mpi_isend(time, *more, row["request"])
            else:
                writer.mpi_send(time, *more)
        if asked and name in RECEIVES:
            writer.mpi_irecv_request(time, row["request"])
        if name in COLLECTIVES:
            if asked:
                writer.non_blocking_collective_request(time, row["request"])
            else:
                writer.mpi_collective_begin(time)

    def _after(self, writer: _Foreign, row: dict[str, Any]) -> None:
        name, time = self.trace.functions[row["function"]], row["end"]
        if row["request"] == NO_REQUEST:
            both = name in BOTH_WAYS
            source = row["source"] if both else row["peer"]
            if (both or name in RECEIVES) and source >= 0:
                writer.mpi_recv(
                    time, self._rank(row, source), self.communicators[row["communicator"]],
                    row["source_tag"] if both else row["tag"], max(row["received"], 0),
                )  # fmt: skip
            if name in COLLECTIVES:
                writer.mpi_collective_end(time, *self._collective(row, name))
        for began in row["completed"]:
            self._completed(writer, time, began)

    def _completed(self, writer: _Foreign, time: int, began: dict[str, Any]) -> None:
        name, request = self.trace.functions[began["function"]], began["request"]
        if name in COLLECTIVES:
            writer.non_blocking_collective_complete(time, *self._collective(began, name), request)
            return
        if name in SENDS and began["peer"] >= 0:
            writer.mpi_isend_complete(time, request)
        both = name in BOTH_WAYS
        source = began["source"] if both else began["peer"]
        if (both or name in RECEIVES) and source >= 0:
            writer.mpi_irecv(
                time, self._rank(began, source), self.communicators[began["communicator"]],
                began["source_tag"] if both else began["tag"], max(began["received"], 0), request,
            )  # fmt: skip

    def _rank(self, row: dict[str, Any], world: int) -> int:
        communicator: int = row["communicator"]
        return self.rank_in[communicator].get(world, world)

    def _collective(self, row: dict[str, Any], name: str) -> tuple[Any, ...]:
        operation = getattr(self.otf2.CollectiveOp, blocking_form(name).upper())
        root = self.otf2.CollectiveRoot.NONE
        if row["peer"] >= 0:
            root = self._rank(row, row["peer"])
        sizes = (max(row["sent"], 0), max(row["received"], 0))
        return (operation, self.communicators[row["communicator"]], root, *sizes)


def _rows(rank: RankTrace, origin: float) -> Iterator[dict[str, Any]]:
    """The calls as dictionaries. ``completed``: the calls that began the completed requests."""
    events = rank.events
    names = (
        "thread", "function", "site", "communicator", "peer", "tag", "source", "source_tag", "sent",
        "received", "request", "count",
    )  # fmt: skip
    columns = [getattr(events, name).tolist() for name in names]
    begins = nanoseconds(events.begin, origin).tolist()
    ends = nanoseconds(events.end, origin).tolist()
    open_requests: dict[int, dict[str, Any]] = {}
    for at, values in enumerate(zip(*columns, strict=True)):
        row = dict(zip(names, values, strict=True), begin=begins[at], end=ends[at])
        if row["request"] != NO_REQUEST:
            open_requests[row["request"]] = row
        done = events.completed_request[
            events.completed_start[at] : events.completed_start[at + 1]
        ].tolist()
        row["completed"] = [open_requests.pop(one) for one in done if one in open_requests]
        yield row


EXPORT = TraceExport("OTF2 (Vampir, Scalasca)", "app-otf2", True, _write)
