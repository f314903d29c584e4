"""The contents of a timeline's file: a head in JSON, and packed arrays of limited size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.report.timeline.detail import Kept, keep, nanoseconds, pack_arrows, pack_calls
from assay.report.timeline.functions import pack_samples, samples_head
from assay.report.timeline.model import Annotations
from assay.report.timeline.packing import Packed
from assay.report.timeline.previews import bins_for, state_shares, used_states
from assay.report.timeline.states import STATES, states_of
from assay.report.timeline.totals import place_name, place_totals, state_times
from assay.report.timeline.windows import (
    calls_per_window,
    fitting,
    order_of_windows,
    spans_of,
    window_edges,
)
from assay.trace.events import Trace

TIMELINE_SCHEMA = 1
# Maximum calls in full detail that a page decodes and draws without delay.
_MOST_CALLS = 1_200_000
# Estimated bytes of a call with its message. The second try uses the bytes per call of the first.
_CALL_BYTES = 6.0
_CELLS = 1_000_000  # maximum shares of states in the previews
_LEAST_CELLS = 30_000
_TRIES = 5
_MOST_PATH = 60_000  # maximum pieces of the critical path
_MOST_WAITS = 50


@dataclass(frozen=True)
class Contents:
    """The contents of a timeline to write."""

    head: dict[str, Any]
    #: Packed arrays, as a zlib stream.
    payload: bytes
    #: ``calls``, ``kept``: number of calls in the trace, and of calls kept in full detail.
    calls: int
    kept: int
    #: ``spans``, ``share``: number of time spans in full detail, and their share of the time.
    spans: int
    share: float


def contents_of(trace: Trace, notes: Annotations, room: int) -> Contents:
    """The contents with the most detail that fits into ``room`` bytes of payload.

    Previews take at most 40% of the room; the rest is for calls with their messages.
    """
    of_function = states_of(trace.functions)
    states = used_states(trace, of_function)
    base = _previews(trace, of_function, states, notes, room * 2 // 5)
    base_bytes = len(base.compressed())
    times = [(wait.begin + wait.end) / 2 for wait in notes.waits[:_MOST_WAITS]]
    each, total = _CALL_BYTES, len(trace)
    best: tuple[Packed, Kept, int] | None = None
    calls = total if total <= _MOST_CALLS else 0
    for attempt in range(_TRIES):
        free = max(room - base_bytes, 0)
        if attempt or not calls:
            calls = min(int(free / each), _MOST_CALLS)
        edges = window_edges(trace, calls)
        counts = calls_per_window(trace, edges)
        order = order_of_windows(edges, times)
        kept = keep(trace, spans_of(edges, fitting(order, counts, calls)))
        packed = Packed(list(base.sections), list(base.parts))
        pack_calls(packed, trace, kept)
        arrows = pack_arrows(packed, trace, kept, notes.arrows)
        size = len(packed.compressed())
        if size <= room and (best is None or kept.calls >= best[1].calls):
            best = packed, kept, arrows
        if size <= room and (kept.calls >= total or calls >= _MOST_CALLS or size > 0.93 * room):
            break
        # Aim for 97% of the room.
        each = max((size - base_bytes) / max(kept.calls, 1) / 0.97, 0.1)
    if best is None:
        kept = keep(trace, [])
        packed = base
        pack_calls(packed, trace, kept)
        best = packed, kept, pack_arrows(packed, trace, kept, None)
    packed, kept, arrows = best
    head = _head(trace, notes, states, of_function, kept)
    head |= {"sections": packed.sections, "arrows": arrows}
    length = max(trace.end - trace.begin, 1e-300)
    return Contents(
        head=head,
        payload=packed.compressed(),
        calls=total,
        kept=min(kept.calls, total),
        spans=len(kept.spans),
        share=sum(end - begin for begin, end in kept.spans) / length,
    )


def _previews(
    trace: Trace,
    of_function: npt.NDArray[np.uint8],
    states: list[int],
    notes: Annotations,
    room: int,
) -> Packed:
    cells = _CELLS
    while True:
        packed = Packed()
        bins = bins_for(len(trace.ranks), len(states), cells)
        packed.octets("shares", state_shares(trace, of_function, states, bins))
        _pack_path(packed, trace, notes)
        pack_samples(packed, trace, notes.samples)
        if len(packed.compressed()) <= room or cells <= _LEAST_CELLS:
            return packed
        cells //= 2


def _pack_path(packed: Packed, trace: Trace, notes: Annotations) -> None:
    """The critical path: its longest pieces, in order of time."""
    pieces = sorted(notes.path, key=lambda piece: piece.begin - piece.end)[:_MOST_PATH]
    pieces.sort(key=lambda piece: piece.begin)
    begins = nanoseconds([piece.begin for piece in pieces], trace.begin)
    ends = nanoseconds([piece.end for piece in pieces], trace.begin)
    rows = {rank.rank: row for row, rank in enumerate(trace)}
    packed.unsigned("path.row", [rows[piece.rank] for piece in pieces])
    packed.signed("path.begin", np.diff(begins, prepend=0))
    packed.unsigned("path.length", ends - begins)


def _head(
    trace: Trace,
    notes: Annotations,
    states: list[int],
    of_function: npt.NDArray[np.uint8],
    kept: Kept,
) -> dict[str, Any]:
    times = state_times(trace, of_function)
    origin = trace.begin
    return {
        "schema": TIMELINE_SCHEMA,
        "command": " ".join(trace.run.command),
        "end": int(nanoseconds(trace.end, origin)),
        "clockError": trace.clock_error,
        "calls": len(trace),
        "states": [{"name": STATES[state], "colour": state} for state in states],
        "functions": [
            {"name": name, "state": states.index(int(state)) if int(state) in states else -1}
            for name, state in zip(trace.functions, of_function, strict=True)
        ],
        "sites": [place_name(site) for site in trace.sites],
        "communicators": [
            {"number": one.number, "size": len(one.members) if one.members else 0}
            for one in trace.communicators
        ],
        "ranks": [
            {
                "rank": rank.rank,
                "host": rank.host,
                "begin": int(nanoseconds(rank.begin, origin)),
                "end": int(nanoseconds(rank.end, origin)),
                "complete": rank.complete,
                "calls": len(rank.events),
                "times": [float(times[row, state]) for state in states],
            }
            for row, rank in enumerate(trace)
        ],
        "spans": [[int(nanoseconds(time, origin)) for time in span] for span in kept.spans],
        "kept": min(kept.calls, len(trace)),
        "places": place_totals(trace),
        "waits": [
            {
                "rank": wait.rank,
                "begin": int(nanoseconds(wait.begin, origin)),
                "end": int(nanoseconds(wait.end, origin)),
                "waited": wait.waited,
                "function": wait.function,
                "place": wait.place,
                "cause": wait.cause,
                "origin": wait.origin,
                "others": wait.others,
            }
            for wait in notes.waits[:_MOST_WAITS]
        ],
        "pathPieces": len(notes.path),
        "sampled": samples_head(notes.samples),
    }
