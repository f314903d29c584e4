"""Reading a kernel's stream: all of it afterwards, or as it grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.records.lazy_samples import StoredSeries
from assay.records.schema import (
    STREAM_SCHEMA,
    ImportedRecord,
    MeasurementBegin,
    MeasurementRecord,
    RankRecord,
    StreamEnd,
    StreamRecord,
    StreamStart,
)

# Bytes that are read of a growing stream at a time.
_PIECE = 1 << 20

_decoder: msgspec.json.Decoder[StreamRecord] = msgspec.json.Decoder(StreamRecord)


@dataclass
class Stream:
    """What a stream held. ``begun``: the measurement that began and has no record, if any.

    ``damaged``: numbers (from 1) of lines that are no record; the last line of a killed writer is
    not damage but ``torn``. ``finished``: the end record is there and its count is right.
    """

    start: StreamStart | None = None
    ranks: list[RankRecord] = field(default_factory=list)
    measurements: list[MeasurementRecord] = field(default_factory=list)
    begun: str | None = None
    end: StreamEnd | None = None
    damaged: list[int] = field(default_factory=list)
    torn: bool = False

    @property
    def finished(self) -> bool:
        """Whether the stream proves that the launch finished."""
        return self.end is not None and self.end.measurements == len(self.measurements)

    def add(self, record: StreamRecord) -> None:
        """Take in one record."""
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
    """One record; None for what is no record. Raises AssayError for another schema version."""
    try:
        record = _decoder.decode(line)
    except UNREADABLE:
        return None
    if isinstance(record, MeasurementRecord) and not _sound(record):
        return None
    if isinstance(record, StreamStart) and record.schema != STREAM_SCHEMA:
        raise AssayError(
            f"The stream has schema version {record.schema}; this assay reads {STREAM_SCHEMA}.",
            where=where,
            fix="Use the assay that wrote it, or a newer one.",
        )
    return record


def _sound(record: MeasurementRecord) -> bool:
    """Whether a record holds together as documented (docs/formats/stream.md)."""
    return (
        record.wall >= 0.0
        and (record.batch is None or record.batch >= 1)
        and (record.warmup is None or record.warmup >= 0)
        and all(len(series.starts) <= len(series.values) for series in record.series)
    )


def read_stream(path: Path, *, samples: bool = True) -> Stream:
    """Read what is there, whole lines only. A missing file is an empty stream.

    Without ``samples`` those of measurements stay in the file, and are read when they are used.
    """
    stream = Stream()
    try:
        with path.open("rb") as file:
            _read_lines(file, path, stream, samples)
    except FileNotFoundError:
        return Stream()
    except OSError as error:
        raise AssayError(f"Can't read: {error.strerror}.", where=str(path)) from None
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
    """Follows a stream as it is written: ``new()`` gives the whole records since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def new(self) -> list[StreamRecord]:
        """The records that were completed since the last call; none while the file isn't there."""
        return list(self.records())

    def records(self) -> Iterator[StreamRecord]:
        """As ``new``, one by one: what piled up is never in memory together."""
        try:
            with self._path.open("rb") as stream:
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
