"""The format of pprof: a protocol buffer, compressed with gzip.

After profile.proto of github.com/google/pprof (2016) and the encoding of protocol buffers (version
3): a message is a sequence of fields, each a tag (number × 8 + wire type) and a varint, or a length
and bytes. Each sample has two values, its number and its CPU time in ns, and the labels rank,
thread and activity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from assay.trace.samples.exports.model import SampleExport, place_label, write_bytes
from assay.trace.samples.model import Activity, Place, ProgramSamples
from assay.trace.samples.names import printable_name

_ACTIVITIES = {Activity.COMPUTING: "computing", Activity.MPI: "MPI", Activity.WAITING: "waiting"}
# Numbers of the fields of Profile.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRINGS = 1, 2, 4, 5, 6
_PERIOD_TYPE, _PERIOD = 11, 12


def _varint(value: int) -> bytes:
    """Base 128, the lowest 7 bits first; a negative number as its 64-bit two's complement."""
    rest = value & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    """A number; 0 is the default and isn't written."""
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


class _Strings:
    """The table of strings, whose first entry is empty."""

    def __init__(self) -> None:
        self.index = {"": 0}

    def of(self, text: str) -> int:
        return self.index.setdefault(text, len(self.index))


def _write(samples: ProgramSamples, path: Path) -> None:
    strings = _Strings()
    period = round(samples.period * 1e9)
    cpu = _number(1, strings.of("cpu")) + _number(2, strings.of("nanoseconds"))
    count = _number(1, strings.of("samples")) + _number(2, strings.of("count"))
    parts = [_bytes(_SAMPLE_TYPE, count), _bytes(_SAMPLE_TYPE, cpu)]
    parts += _samples(samples, strings, period)
    functions: dict[tuple[str, str], int] = {}
    for number, place in enumerate(samples.places, 1):
        key = (place_label(place), printable_name(place.file))
        function = functions.setdefault(key, len(functions) + 1)
        parts.append(_bytes(_LOCATION, _location(number, place, function)))
    for (name, file), number in functions.items():
        named = strings.of(name)
        content = _number(1, number) + _number(2, named) + _number(3, named)
        parts.append(_bytes(_FUNCTION, content + _number(4, strings.of(file))))
    parts += [_bytes(_PERIOD_TYPE, cpu), _number(_PERIOD, period)]
    table = [_bytes(_STRINGS, text.encode()) for text in strings.index]
    write_bytes(path, b"".join([*parts, *table]), compressed=True)


def _samples(samples: ProgramSamples, strings: _Strings, period: int) -> list[bytes]:
    parts = []
    for thread in samples.threads:
        numbers = Counter(zip(thread.stacks.tolist(), thread.activities.tolist(), strict=True))
        for (stack, kind), number in numbers.items():
            labels = [
                _number(1, strings.of(key)) + _number(2, strings.of(value))
                for key, value in (
                    # As texts: readers leave out labels with the number 0.
                    ("rank", str(thread.rank)),
                    ("thread", str(thread.thread)),
                    ("activity", _ACTIVITIES[Activity(kind)]),
                )
            ]
            # The innermost place is the first one.
            content = _packed(1, [place + 1 for place in reversed(samples.stacks[stack])])
            content += _packed(2, (number, number * period))
            parts.append(_bytes(_SAMPLE, content + b"".join(_bytes(3, one) for one in labels)))
    return parts


def _location(number: int, place: Place, function: int) -> bytes:
    line = _number(1, function) + _number(2, place.line)
    return _number(1, number) + _number(3, place.address) + _bytes(4, line)


EXPORT = SampleExport("pprof", "app.pb.gz", _write)
