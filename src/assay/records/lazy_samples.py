"""Lazy samples: the samples of large runs stay in their streams until they are used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import msgspec

from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.plain_files import reading
from assay.records.files import cannot_read
from assay.records.schema import SampleSeries

# Bytes of records whose samples are cached, because the samples of a cell's launches are used
# together.
KEPT = 8 << 20


class _Samples(msgspec.Struct):
    """Only the samples of a measurement record."""

    series: list[SampleSeries]


_decoder = msgspec.json.Decoder(_Samples)
_Key = tuple[Path, int, int]


class _Recent:
    """A cache of the most recently read records, by path, offset and length."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Key, list[SampleSeries]] = OrderedDict()
        self._bytes = 0

    def get(self, key: _Key) -> list[SampleSeries] | None:
        if key in self._found:
            self._found.move_to_end(key)
        return self._found.get(key)

    def put(self, key: _Key, series: list[SampleSeries]) -> None:
        self._found[key] = series
        self._bytes += key[2]
        while self._bytes > KEPT:
            (_, _, length), _ = self._found.popitem(last=False)
            self._bytes -= length


_recent = _Recent()


class StoredSeries(Sequence[SampleSeries]):
    """The series of one measurement record, read from its stream when they are used.

    ``offset`` and ``length``: bytes, of the record's line. ``count``: the number of series. Streams
    are never changed in place, so later reads return the same.
    """

    __slots__ = ("_count", "_length", "_offset", "_path")

    def __init__(self, path: Path, offset: int, length: int, count: int) -> None:
        self._path = path
        self._offset = offset
        self._length = length
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> SampleSeries: ...
    @overload
    def __getitem__(self, index: slice) -> list[SampleSeries]: ...
    def __getitem__(self, index: int | slice) -> SampleSeries | list[SampleSeries]:
        return self._load()[index]

    def __iter__(self) -> Iterator[SampleSeries]:
        return iter(self._load())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def _load(self) -> list[SampleSeries]:
        key = (self._path, self._offset, self._length)
        found = _recent.get(key)
        if found is None:
            found = self._read()
            _recent.put(key, found)
        return found

    def _read(self) -> list[SampleSeries]:
        try:
            with reading(self._path) as stream:
                stream.seek(self._offset)
                return _decoder.decode(stream.read(self._length)).series
        except OSError as error:
            raise cannot_read(self._path, error) from None
        except UNREADABLE:
            raise AssayError(
                "The stream changed while it was being read.",
                where=str(self._path),
                fix="Read the run again when no program is writing to it.",
            ) from None
