"""Packs the calls and messages of chosen time spans for the page.

A call is a gap since the end of the previous call, a length, and a kind: function, call site,
communicator, peer relative to the rank, tag, bytes, count and thread. Regular programs have few
kinds. A message refers to its receiving call. It refers to its sending call by the difference of
their indices in the ranks' lists, which is constant where ranks do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from assay.arrays import Ints
from assay.report.timeline.model import Arrows
from assay.report.timeline.packing import Packed
from assay.report.timeline.windows import Span
from assay.trace.events import Events, Trace

_KIND = (
    *("function", "site", "communicator", "peer", "tag", "source", "source_tag"),
    *("sent", "received", "count", "thread"),
)
_SIGNED = ("tag", "source_tag", "sent", "received")


def nanoseconds(times: npt.ArrayLike, origin: float) -> Ints:
    """Convert times (s) to whole nanoseconds since the origin."""
    return np.rint((np.asarray(times, np.float64) - origin) * 1e9).astype(np.int64)


@dataclass(frozen=True)
class Kept:
    """The calls within the spans."""

    spans: Sequence[Span]
    #: ``first``, ``last``: range of the rank's calls, for each span and rank.
    first: Ints
    last: Ints
    #: Index in the page's list at which the range begins.
    offset: Ints

    @property
    def calls(self) -> int:
        """Number of calls in all spans. A call over several spans counts in each."""
        return int((self.last - self.first).sum())


def keep(trace: Trace, spans: Sequence[Span]) -> Kept:
    """The calls that overlap each span."""
    first = np.zeros((len(spans), len(trace.ranks)), np.int64)
    last = np.zeros_like(first)
    starts, ends = [span[0] for span in spans], [span[1] for span in spans]
    for row, rank in enumerate(trace):
        latest = np.maximum.accumulate(rank.events.end)
        first[:, row] = np.searchsorted(latest, starts)
        last[:, row] = np.searchsorted(rank.events.begin, ends, side="right")
    last = np.maximum(first, last)
    lengths = (last - first).ravel()
    offset = (np.cumsum(lengths) - lengths).reshape(first.shape)
    return Kept(spans, first, last, offset)


def pack_calls(packed: Packed, trace: Trace, kept: Kept) -> None:
    """Adds the calls of the spans."""
    gaps, lengths, kinds = [], [], []
    for place, span in enumerate(kept.spans):
        from_ns = int(nanoseconds(span[0], trace.begin))
        for row, rank in enumerate(trace):
            part = slice(int(kept.first[place, row]), int(kept.last[place, row]))
            begin = nanoseconds(rank.events.begin[part], trace.begin)
            end = np.maximum(nanoseconds(rank.events.end[part], trace.begin), begin)
            gaps.append(begin - np.concatenate(([from_ns], end))[: len(begin)])
            lengths.append(end - begin)
            kinds.append(_kinds(rank.events, part, rank.rank))
    packed.unsigned("calls", (kept.last - kept.first).ravel())
    packed.signed("gap", np.concatenate([*gaps, []]).astype(np.int64))
    packed.unsigned("length", np.concatenate([*lengths, []]).astype(np.int64))
    _pack_kinds(packed, pl.concat(kinds) if kinds else _kinds_frame())


def _kinds_frame() -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(_KIND, pl.Int64))


def _kinds(events: Events, part: slice, rank: int) -> pl.DataFrame:
    columns = {name: getattr(events, name)[part].astype(np.int64) for name in _KIND}
    for name in ("peer", "source"):
        columns[name] = _relative(columns[name], rank)
    return pl.DataFrame(columns)


def _relative(peer: Ints, rank: int) -> Ints:
    """Codes of peers: 0 none, 1 MPI_PROC_NULL, 2 unknown; from 3, the zigzag-coded difference of
    ranks.
    """
    shift = peer - rank
    return np.asarray(np.where(peer < 0, -1 - peer, 3 + ((shift << 1) ^ (shift >> 63))))


def _pack_kinds(packed: Packed, calls: pl.DataFrame) -> None:
    table = calls.group_by(_KIND).len("uses").sort("uses", *_KIND, descending=True)
    numbered = table.select(*_KIND).with_row_index("kind")
    kinds = calls.join(numbered, on=list(_KIND), how="left", maintain_order="left")["kind"]
    packed.unsigned("kind", kinds.to_numpy())
    for name in _KIND:
        values = table[name].to_numpy()
        if name in _SIGNED:
            packed.signed(f"kind.{name}", values)
        else:
            packed.unsigned(f"kind.{name}", values)


def pack_arrows(packed: Packed, trace: Trace, kept: Kept, arrows: Arrows | None) -> int:
    """Adds the messages with both calls in the same span; returns their number."""
    receives, senders, shifts = [], [], []
    if arrows is not None and len(arrows):
        for place in range(len(kept.spans)):
            found = _arrows_of(kept, place, arrows)
            receives.append(found[0])
            senders.append(found[1])
            shifts.append(found[2])
    receive = np.concatenate([*receives, []]).astype(np.int64)
    packed.unsigned("arrow.receive", np.diff(receive, prepend=0))
    packed.signed("arrow.sender", np.concatenate([*senders, []]).astype(np.int64))
    packed.signed("arrow.send", np.concatenate([*shifts, []]).astype(np.int64))
    return len(receive)


def _arrows_of(kept: Kept, place: int, arrows: Arrows) -> tuple[Ints, Ints, Ints]:
    """Sorted by receiving call: its index in the page's list, the sender relative to the receiver,
    and the sending call's index relative to the receiving call's index.
    """
    first, last, offset = kept.first[place], kept.last[place], kept.offset[place]
    sender, receiver = arrows.sender, arrows.receiver
    inside = (arrows.send >= first[sender]) & (arrows.send < last[sender])
    inside &= (arrows.receive >= first[receiver]) & (arrows.receive < last[receiver])
    chosen = np.flatnonzero(inside)
    sender, receiver = sender[chosen], receiver[chosen]
    send = arrows.send[chosen] - first[sender]
    receive = arrows.receive[chosen] - first[receiver]
    at = receive + offset[receiver]
    order = np.lexsort((send, sender, at))
    return at[order], (sender - receiver)[order], (send - receive)[order]
