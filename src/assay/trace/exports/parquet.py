"""Parquet: tables of calls, messages and ranks, for Polars, DuckDB, pandas or R."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from assay.trace.events import RankTrace, Trace
from assay.trace.exports.model import TraceExport, place_text
from assay.trace.matching import match


def _write(trace: Trace, path: Path) -> list[str]:
    path.mkdir()
    pl.concat([_calls(trace, rank) for rank in trace]).write_parquet(path / "events.parquet")
    messages, left_out = _messages(trace)
    messages.write_parquet(path / "messages.parquet")
    _ranks(trace).write_parquet(path / "ranks.parquet")
    return left_out


def _calls(trace: Trace, rank: RankTrace) -> pl.DataFrame:
    """One row per call, with times in s since the begin of the trace."""
    events = rank.events
    functions = pl.Enum(trace.functions)
    names = pl.Series(trace.functions, dtype=functions)
    places = pl.Series([place_text(site) for site in trace.sites], dtype=pl.String)
    completed = np.split(events.completed_request, events.completed_start[1:-1])
    if not len(events):
        completed = []
    return pl.DataFrame(
        {
            "rank": np.full(len(events), rank.rank, np.int32),
            "thread": events.thread,
            "begin": events.begin - trace.begin,
            "end": events.end - trace.begin,
            "function": names.gather(events.function.astype(np.int64)),
            "place": places.gather(events.site.astype(np.int64)),
            "communicator": events.communicator,
            "peer": events.peer,
            "tag": events.tag,
            "source": events.source,
            "source_tag": events.source_tag,
            "sent": events.sent,
            "received": events.received,
            "request": events.request,
            "completed": pl.Series([part.tolist() for part in completed], dtype=pl.List(pl.Int64)),
            "count": events.count,
        }
    )


def _messages(trace: Trace) -> tuple[pl.DataFrame, list[str]]:
    """One row per message. ``event`` columns are row numbers of the rank's calls in the table of
    calls."""
    matched = match(trace)
    flat, of = matched.flat, matched.messages
    world = np.array([rank.rank for rank in trace], np.int32)
    arrived = np.where(of.received_in >= 0, flat.end[of.received_in], np.nan)
    frame = pl.DataFrame(
        {
            "sender": world[flat.rank[of.send]],
            "receiver": world[flat.rank[of.receive]],
            "sent": flat.begin[of.send] - trace.begin,
            "received": arrived - trace.begin,
            "bytes": of.size,
            "send_event": of.send - flat.first[flat.rank[of.send]],
            "receive_event": of.receive - flat.first[flat.rank[of.receive]],
        }
    )
    left_out = [f"Without a partner: {one.count} {one.what}." for one in matched.unmatched]
    return frame.sort("sent", "sender", "send_event"), left_out


def _ranks(trace: Trace) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "rank": [rank.rank for rank in trace],
            "host": [rank.host for rank in trace],
            "begin": [rank.begin - trace.begin for rank in trace],
            "end": [rank.end - trace.begin for rank in trace],
            "complete": [rank.complete for rank in trace],
        }
    )


EXPORT = TraceExport("Parquet: events, messages and ranks", "app-tables", True, _write)
