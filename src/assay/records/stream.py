"""Reading a kernel's stream: the complete file, or new records as it grows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.plain_files import reading
from assay.records.files import cannot_read
from assay.records.lazy_samples import StoredSeries
from assay.records.schema import (
    STREAM_SCHEMA,
    TIMED,
    ImportedRecord,
    MeasurementBegin,
    MeasurementRecord,
    RankRecord,
    StreamEnd,
    StreamRecord,
    StreamStart,
)

# Number of bytes of a growing stream that are read at a time.
_PIECE = 1 << 20

_decoder: msgspec.json.Decoder[StreamRecord] = msgspec.json.Decoder(StreamRecord)


@dataclass
class Stream:
    """The records of a stream."""

    start: StreamStart | None = None
    ranks: list[RankRecord] = field(default_factory=list)
    measurements: list[MeasurementRecord] = field(default_factory=list)
    #: The measurement that began and has no record, if any.
    begun: str | None = None
    end: StreamEnd | None = None
    #: Numbers (from 1) of lines that can't be decoded.
    damaged: list[int] = field(default_factory=list)
    #: Whether the last line is incomplete, as after a killed writer.
    torn: bool = False

    @property
    def finished(self) -> bool:
        """Whether the end record is present and its count is right."""
        return self.end is not None and self.end.measurements == len(self.measurements)

    def add(self, record: StreamRecord) -> None:
        """Add one record."""
        if isinstance(record, StreamStart):
            self.start = record
        elif isinstance(record, RankRecord):
            self.ranks.append(record)
        elif isinstance(record, MeasurementBegin):
            self.begun = record.measurement
        elif isinstance(record, MeasurementRecord):
            self.measurements.append(record)
            if self.begun == record.measurement:
                self.begun = None
        elif isinstance(record, StreamEnd):
            self.end = record


def decode_line(line: bytes, *, where: str) -> StreamRecord | None:
    """One record; None if it can't be decoded. Raises AssayError for another schema version.

    A measurement with an impossible time is returned as a failed one (``checked_times``).
    """
    try:
        record = _decoder.decode(line)
    except UNREADABLE:
        return None
    if isinstance(record, MeasurementRecord):
        return checked_times(record) if _sound(record) else None
    if isinstance(record, StreamStart) and record.schema != STREAM_SCHEMA:
        raise AssayError(
            f"The stream has schema version {record.schema}; this assay reads {STREAM_SCHEMA}.",
            where=where,
            fix="Use the version of assay that wrote it, or a newer one.",
        )
    return record


def _sound(record: MeasurementRecord) -> bool:
    """Whether a record is consistent with docs/formats/stream.md."""
    return (
        record.wall >= 0.0
        and (record.batch is None or record.batch >= 1)
        and (record.warmup is None or record.warmup >= 0)
        and all(len(series.starts) <= len(series.values) for series in record.series)
    )


def checked_times(record: MeasurementRecord) -> MeasurementRecord:
    """The record; as a failed one without samples if it has an impossible time.

    The times of operations (``TIMED``) must be finite and above 0. Other series in seconds may be
    0: the longest interruption, a phase of a benchmark, the CPU time of a command.
    """
    if record.status != "ok":
        return record
    for series in record.series:
        if series.metric not in TIMED or series.unit != "s":
            continue
        for place, value in enumerate(series.values, 1):
            if not (math.isfinite(value) and value > 0.0):
                why = (
                    f"sample {place} of {len(series.values)} of '{series.metric}' is {value:g} s, "
                    "which can't be the time of an operation: the clock is too coarse for it, or "
                    "the kernel is wrong"
                )
                return msgspec.structs.replace(
                    record, status="failed", error=why, series=[], rank_medians=[]
                )
    return record


def read_stream(path: Path, *, samples: bool = True) -> Stream:
    """Read the complete lines of a stream. A missing file is an empty stream.

    Without ``samples`` these stay in the file and are read when they are used.
    """
    stream = Stream()
    try:
        with reading(path) as file:
            _read_lines(file, path, stream, samples)
    except FileNotFoundError:
        return Stream()
    except OSError as error:
        raise cannot_read(path, error) from None
    return stream


def _read_lines(file: BinaryIO, path: Path, stream: Stream, samples: bool) -> None:
    offset = 0
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            stream.torn = True
            return
        if len(line) > 1:
            record = decode_line(line[:-1], where=f"{path}:{number}")
            if record is None:
                stream.damaged.append(number)
            else:
                if isinstance(record, ImportedRecord):
                    record = record.as_measurement()
                if isinstance(record, MeasurementRecord) and not samples:
                    stored = StoredSeries(path, offset, len(line), len(record.series))
                    record = msgspec.structs.replace(record, series=stored)
                stream.add(record)
        offset += len(line)


class StreamTail:
    """Follows a stream as it is written: ``new()`` returns complete records since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def new(self) -> list[StreamRecord]:
        """The records completed since the last call; none while the file doesn't exist."""
        return list(self.records())

    def records(self) -> Iterator[StreamRecord]:
        """Like ``new``, but one by one, so that a backlog is never completely in memory."""
        try:
            with reading(self._path) as stream:
                stream.seek(self._offset)
                while content := stream.read(_PIECE):
                    self._offset += len(content)
                    *lines, self._rest = (self._rest + content).split(b"\n")
                    for line in lines:
                        record = decode_line(line, where=str(self._path)) if line else None
                        if record is not None:
                            yield record
        except OSError:
            return


def sent_by_adapter(records: Iterable[MeasurementRecord]) -> dict[str, float]:
    """Bytes that all hosts sent, by the adapter's name, the busiest first.

    A virtual adapter (a bond, a VLAN) and the adapters below it count the same bytes.
    """
    sums: dict[str, float] = {}
    for record in records:
        for each in record.traffic:
            sums[each.adapter] = sums.get(each.adapter, 0.0) + each.sent
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
