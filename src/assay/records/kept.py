"""The samples of a run that is too large for memory: they stay in their streams until used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import msgspec

from assay.errors import AssayError
from assay.records.schema import Series

# Records whose samples are kept at a time: those of the launches of a cell are used together.
_KEPT = 64


class _Samples(msgspec.Struct):
    """Of a measurement record its samples alone."""

    series: list[Series]


_decoder = msgspec.json.Decoder(_Samples)
_recent: OrderedDict[tuple[Path, int], list[Series]] = OrderedDict()


class StoredSeries(Sequence[Series]):
    """The series of one measurement record, read from its stream each time they are looked at.

    ``offset`` and ``length``: bytes, of the record's line. ``count``: of the series. A stream is
    never changed in place, so that what is read is what was there.
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
    def __getitem__(self, index: int) -> Series: ...
    @overload
    def __getitem__(self, index: slice) -> list[Series]: ...
    def __getitem__(self, index: int | slice) -> Series | list[Series]:
        return self._load()[index]

    def __iter__(self) -> Iterator[Series]:
        return iter(self._load())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def _load(self) -> list[Series]:
        key = (self._path, self._offset)
        found = _recent.pop(key, None)
        if found is None:
            found = self._read()
        _recent[key] = found
        if len(_recent) > _KEPT:
            _recent.popitem(last=False)
        return found

    def _read(self) -> list[Series]:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                return _decoder.decode(stream.read(self._length)).series
        except OSError as error:
            raise AssayError(f"Can't read: {error.strerror}.", where=str(self._path)) from None
        except msgspec.DecodeError:
            raise AssayError(
                "The stream was changed while it was being read.",
                where=str(self._path),
                mend="Read the run again when nobody writes to it.",
            ) from None
