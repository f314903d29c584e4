"""Reading a kernel's stream: all of it afterwards, or as it grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assay.errors import AssayError
from assay.records.schema import (
    STREAM_SCHEMA,
    Begin,
    MeasurementRecord,
    RankRecord,
    StreamEnd,
    StreamRecord,
    StreamStart,
)

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
        elif isinstance(record, Begin):
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
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if isinstance(record, StreamStart) and record.schema != STREAM_SCHEMA:
        raise AssayError(
            f"The stream has schema version {record.schema}; this assay reads {STREAM_SCHEMA}.",
            where=where,
            mend="Use the assay that wrote it, or a newer one.",
        )
    return record


def read_stream(path: Path) -> Stream:
    """Read what is there, whole lines only. A missing file is an empty stream."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Stream()
    except OSError as error:
        raise AssayError(f"Can't read: {error.strerror}.", where=str(path)) from None
    lines = content.split(b"\n")
    stream = Stream(torn=lines[-1] != b"")
    for number, line in enumerate(lines[:-1], 1):
        if not line:
            continue
        record = decode_line(line, where=f"{path}:{number}")
        if record is None:
            stream.damaged.append(number)
        else:
            stream.add(record)
    return stream


class StreamTail:
    """Follows a stream as it is written: ``new()`` gives the whole records since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def new(self) -> list[StreamRecord]:
        """The records that were completed since the last call; none while the file isn't there."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                content = stream.read()
        except OSError:
            return []
        self._offset += len(content)
        *lines, self._rest = (self._rest + content).split(b"\n")
        records = (decode_line(line, where=str(self._path)) for line in lines if line)
        return [record for record in records if record is not None]
