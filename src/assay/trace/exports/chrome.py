"""Chrome's trace events as JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing read.

After the Trace Event Format (Google, 2016): complete events ("X") of the calls, metadata ("M") with
names and order of processes, flow events ("s", "f") from send to receive. Times are in µs. Each
rank is a process. A file with a name that ends in .gz is compressed; Perfetto also reads compressed
files.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import numpy as np

from assay.trace.events import NO_PEER, NO_TAG, PROC_NULL, RankTrace, Trace
from assay.trace.exports.model import TraceExport, nanoseconds, place_text
from assay.trace.matching import match

_LINES = 20_000  # number of events that are joined per write


def _write(trace: Trace, path: Path) -> list[str]:
    with _opened(path) as out:
        out.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        lines: list[str] = []
        separator = ""
        for line in _lines(trace):
            lines.append(line)
            if len(lines) == _LINES:
                out.write(separator + ",\n".join(lines))
                separator = ",\n"
                lines.clear()
        out.write((separator if lines else "") + ",\n".join(lines) + "\n]}\n")
    return []


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return cast("IO[str]", gzip.open(path, "wt", compresslevel=4))
    return path.open("w", encoding="ascii")


def _lines(trace: Trace) -> Iterator[str]:
    places = [json.dumps(place_text(site)) for site in trace.sites]
    for rank in trace:
        yield from _names(rank)
        yield from _calls(trace, rank, places)
    yield from _flows(trace)


def _names(rank: RankTrace) -> Iterator[str]:
    name = json.dumps(f"rank {rank.rank} ({rank.host})")
    for what, value in (
        ("process_name", f'"name":{name}'),
        ("process_sort_index", f'"sort_index":{rank.rank}'),
    ):
        yield f'{{"ph":"M","pid":{rank.rank},"tid":0,"name":"{what}","args":{{{value}}}}}'


def _calls(trace: Trace, rank: RankTrace, places: list[str]) -> Iterator[str]:
    events = rank.events
    begins, ends = nanoseconds(events.begin, trace.begin), nanoseconds(events.end, trace.begin)
    columns = (
        events.thread, begins, ends - begins, events.function, events.site, events.communicator,
        events.peer, events.tag, events.source, events.sent, events.received, events.count,
    )  # fmt: skip
    for row in zip(*(column.tolist() for column in columns), strict=True):
        thread, begin, length, function, site, communicator, peer, tag, source = row[:9]
        sent, received, count = row[9:]
        more = f'"place":{places[site]},"communicator":{communicator}'
        if peer != NO_PEER:
            named = "PROC_NULL" if peer == PROC_NULL else "unknown"
            more += f',"peer":{peer}' if peer >= 0 else f',"peer":"{named}"'
        if source != NO_PEER:
            more += f',"source":{source}'
        if tag != NO_TAG:
            more += f',"tag":{tag}'
        if sent:
            more += f',"sent":{sent}'
        if received:
            more += f',"received":{received}'
        if count != 1:
            more += f',"count":{count}'
        yield (
            f'{{"ph":"X","pid":{rank.rank},"tid":{thread},"ts":{_micro(begin)},'
            f'"dur":{_micro(length)},"cat":"mpi","name":"MPI_{trace.functions[function]}",'
            f'"args":{{{more}}}}}'
        )


def _flows(trace: Trace) -> Iterator[str]:
    """A message begins with its send and ends 1 ns before the end of the receiving call, so that it
    is bound to that call (``bp`` e).
    """
    matched = match(trace)
    flat, of = matched.flat, matched.messages
    done = np.flatnonzero(of.received_in >= 0)
    send, receive = of.send[done], of.received_in[done]
    begins = nanoseconds(flat.begin[send], trace.begin)
    ends = nanoseconds(flat.end[receive], trace.begin) - 1
    ends = np.maximum(ends, nanoseconds(flat.begin[receive], trace.begin))
    threads = np.concatenate([rank.events.thread for rank in trace])
    ranks = [rank.rank for rank in trace]
    columns = (flat.rank[send], threads[send], begins, flat.rank[receive], threads[receive], ends)
    for number, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        common = f'"cat":"message","name":"message","id":{number}'
        yield f'{{"ph":"s","pid":{ranks[row[0]]},"tid":{row[1]},"ts":{_micro(row[2])},{common}}}'
        yield (
            f'{{"ph":"f","bp":"e","pid":{ranks[row[3]]},"tid":{row[4]},"ts":{_micro(row[5])},'
            f"{common}}}"
        )


def _micro(ns: int) -> str:
    """Exact µs: times of the format may have fractions."""
    return f"{ns // 1000}.{ns % 1000:03d}"


EXPORT = TraceExport("Chrome trace JSON (Perfetto)", "app.json.gz", False, _write)
