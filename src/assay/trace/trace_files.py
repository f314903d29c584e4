"""The file of one rank's trace: its blocks, metadata and events (docs/formats/trace.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

import msgspec
import numpy as np

from assay.errors import AssayError
from assay.plain_files import read_plain
from assay.trace.native import COLUMNS, Columns, checksum, decode
from assay.units import listed

# The beginnings of the versions, all of the same length.
MAGICS = {number: b"assay-trace %d\n" % number for number in (1, 2)}
_MAGIC_LENGTH = len(MAGICS[1])
_FIX = "Trace the program again with `assay profile --trace -- COMMAND`."
# Formats of the numbers before a block's payload, by the block's type.
_NUMBERS = {ord("M"): 1, ord("E"): 4}
_CHECKSUM = 4


class TraceHeader(msgspec.Struct, frozen=True, tag="trace"):
    """The first record of a trace."""

    version: int
    rank: int
    ranks: int
    process: int
    host: str
    #: Id of the clock; ranks with equal ids share a clock.
    clock: str
    #: ``begin``, ``begin_wall``: times in ns.
    begin: int
    begin_wall: int
    #: ``world``, ``spawned``, ``command``: as in a profile.
    world: str = ""
    spawned: bool = False
    command: str = ""


class ImageRecord(msgspec.Struct, frozen=True, tag="image"):
    """A file that contains call sites."""

    number: int
    path: str


class SiteRecord(msgspec.Struct, frozen=True, tag="site"):
    """A call site: the number of the file that contains it, and the return address in that file.
    For the function ``python`` of a Python program, the address is the line.
    """

    number: int
    image: int
    offset: int
    python: str = ""


class FunctionRecord(msgspec.Struct, frozen=True, tag="function"):
    """The name of a function."""

    number: int
    name: str


class CommunicatorMade(msgspec.Struct, frozen=True, tag="communicator"):
    """A communicator."""

    number: int
    made_by: str
    parent: int | None
    #: Runs of world ranks (first, step, count); None: unknown.
    members: list[tuple[int, int, int]] | None
    #: For an intercommunicator: members of the rank's own group and of the other group.
    groups: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] | None = None


class GroupRecord(msgspec.Struct, frozen=True, tag="group"):
    """The group of an epoch of a window. ``members`` as in a communicator."""

    number: int
    members: list[tuple[int, int, int]]


class ClockLeader(msgspec.Struct, frozen=True, tag="clock"):
    """The rank that compares a rank's clock with other clocks."""

    #: The rank that compares this rank's clock.
    leader: int


class OffsetRecord(msgspec.Struct, frozen=True, tag="offset"):
    """When this rank's clock read ``at``, the clock of rank ``to`` was ahead by ``ahead`` (ns)."""

    to: int
    at: int
    ahead: int
    round_trip: int


class SwitchRecord(msgspec.Struct, frozen=True, tag="switch"):
    """When this rank's clock read ``at`` (ns), MPI_Pcontrol switched recording ``on`` or off."""

    at: int
    on: bool


class TraceEnd(msgspec.Struct, frozen=True, tag="end"):
    """The last record of a complete trace."""

    ended: str
    #: End of the trace, ns.
    end: int
    lost_requests: int
    lost_events: int


TraceRecord = (
    TraceHeader | ImageRecord | SiteRecord | FunctionRecord | CommunicatorMade | ClockLeader
    | OffsetRecord | SwitchRecord | TraceEnd | GroupRecord
)  # fmt: skip


@dataclass(frozen=True)
class RankFile:
    """The contents of one rank's file. Times in ``columns`` are ns since the header's ``begin``."""

    path: Path
    header: TraceHeader
    columns: Columns
    sites: list[SiteRecord] = field(default_factory=list)
    images: dict[int, str] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    communicators: list[CommunicatorMade] = field(default_factory=list)
    groups: dict[int, tuple[int, ...]] = field(default_factory=dict)
    leader: int | None = None
    offsets: list[OffsetRecord] = field(default_factory=list)
    switches: list[SwitchRecord] = field(default_factory=list)
    end: TraceEnd | None = None
    #: Number of events.
    count: int = 0
    #: Bytes up to the end of the last whole block.
    size: int = 0
    #: Bytes after it.
    torn: int = 0


def read_rank_file(path: Path, *, events: bool = True, share: float = 1.0) -> RankFile:
    """The trace of one rank, up to its last whole block. ``events``: whether it has columns.

    ``share``: share of its events that the columns hold: the first ones, up to the end of a block.

    Raises AssayError if it can't be read, isn't a trace, or a block before the last is damaged.
    """
    try:
        data = read_plain(path)
    except OSError as error:
        raise AssayError(f"It can't be read: {error.strerror}.", where=str(path)) from None
    if len(data) < _MAGIC_LENGTH:
        raise AssayError(
            "The trace is empty: its rank ended before it wrote a call.", where=str(path), fix=_FIX
        )
    if data[:_MAGIC_LENGTH] not in MAGICS.values():
        raise AssayError("This is not a trace of this version of assay.", where=str(path), fix=_FIX)
    records: list[TraceRecord] = []
    blocks: list[tuple[int, ...]] = []
    end = _MAGIC_LENGTH
    for kind, numbers, begin in blocks_of(data, _MAGIC_LENGTH, _NUMBERS):
        end = begin + numbers[0]
        if kind == ord("M"):
            records += _records(data[begin:end], path)
        else:
            blocks.append((begin, *numbers))
    if not records or not isinstance(records[0], TraceHeader):
        raise AssayError("The trace has no header: nothing was flushed.", where=str(path), fix=_FIX)
    if records[0].version not in MAGICS:
        raise AssayError(
            f"The trace has version {records[0].version}; this assay reads "
            f"{listed([str(number) for number in MAGICS])}.",
            where=str(path),
            fix="Use the assay that wrote it, or trace the program again.",
        )
    clocks = [one.leader for one in records if isinstance(one, ClockLeader)]
    ends = [one for one in records if isinstance(one, TraceEnd)]
    return RankFile(
        path=path,
        header=records[0],
        columns=_decoded(data, _first(blocks, share), path) if events else {},
        sites=[one for one in records if isinstance(one, SiteRecord)],
        images={one.number: one.path for one in records if isinstance(one, ImageRecord)},
        functions={one.number: one.name for one in records if isinstance(one, FunctionRecord)},
        communicators=[one for one in records if isinstance(one, CommunicatorMade)],
        groups={
            one.number: runs_to_members(one.members)
            for one in records
            if isinstance(one, GroupRecord)
        },
        leader=clocks[0] if clocks else None,
        offsets=[one for one in records if isinstance(one, OffsetRecord)],
        switches=[one for one in records if isinstance(one, SwitchRecord)],
        end=ends[0] if ends else None,
        count=sum(block[2] for block in blocks),
        size=end,
        torn=len(data) - end,
    )


def _first(blocks: list[tuple[int, ...]], share: float) -> list[tuple[int, ...]]:
    """The first blocks that contain at least a share of the events."""
    wanted = share * sum(block[2] for block in blocks)
    reached, kept = 0, []
    for block in blocks:
        if reached >= wanted:
            break
        kept.append(block)
        reached += block[2]
    return kept


def blocks_of(
    data: bytes, at: int, counts: Mapping[int, int]
) -> Iterator[tuple[int, list[int], int]]:
    """Type, numbers and begin of the payload of each whole block from ``at`` on; the first number
    is its length. ``counts``: how many numbers the blocks of each type have.

    Stops at the first truncated or damaged block: the program was killed while writing it.
    """
    while at < len(data):
        kind = data[at]
        numbers: list[int] = []
        at += 1
        for _ in range(counts.get(kind, 0)):
            value = shift = 0
            while at < len(data) and shift < 63:
                byte = data[at]
                at += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            numbers.append(value)
        begin = at + _CHECKSUM
        if not numbers or begin + numbers[0] > len(data):
            return
        if int.from_bytes(data[at:begin], "little") != checksum(data, begin, numbers[0]):
            return
        # An event takes at least one bit, so damaged numbers can't request much memory.
        if kind == ord("E") and max(numbers[1:3]) > 8 * numbers[0]:
            return
        yield kind, numbers, begin
        at = begin + numbers[0]


def _records(payload: bytes, path: Path) -> list[TraceRecord]:
    decoder = msgspec.json.Decoder(TraceRecord)
    try:
        return [decoder.decode(line) for line in payload.splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AssayError(f"A record is damaged: {error}.", where=str(path), fix=_FIX) from None


def _decoded(data: bytes, blocks: list[tuple[int, ...]], path: Path) -> Columns:
    table = np.array(blocks, dtype=np.uint64).reshape(-1, 5)
    events, requests, completions = (int(table[:, i].sum()) for i in (2, 3, 4))
    lengths = {
        "completed_start": events + 1, "completed_request": completions,
        "row": requests, "room": requests,
    }  # fmt: skip
    columns: Columns = {name: np.empty(lengths.get(name, events), kind) for name, kind in COLUMNS}
    done = decode(data, table, columns)
    if done != len(table):
        raise AssayError(
            f"Block {done} of {len(table)} of the events is damaged.", where=str(path), fix=_FIX
        )
    del columns["row"], columns["room"]
    return columns


@overload
def runs_to_members(runs: list[tuple[int, int, int]]) -> tuple[int, ...]: ...
@overload
def runs_to_members(runs: None) -> None: ...
@overload
def runs_to_members(runs: list[tuple[int, int, int]] | None) -> tuple[int, ...] | None: ...
def runs_to_members(runs: list[tuple[int, int, int]] | None) -> tuple[int, ...] | None:
    """World ranks in order, from runs (first, step, count)."""
    if runs is None:
        return None
    return tuple(first + step * i for first, step, count in runs for i in range(count))
