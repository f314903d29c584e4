"""Steps from a program's output: lines that match a pattern, and the time of each step."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from assay.errors import AssayError
from assay.units import parse_quantity

# Groups of the pattern for a step's time, its number, and the total number of steps.
TIME_GROUPS = ("seconds", "time", "step")
NUMBER_GROUP, COUNT_GROUP = "i", "n"
# Maximum bytes of an incomplete line that are kept until its end arrives.
LONGEST_LINE = 1 << 16
# Minimum number of bursts, of lines per burst, and seconds between bursts, for which the program is
# considered to buffer its lines.
_BURSTS, _BURST_LINES, _BURST_SECONDS = 3, 4, 0.05
_LOOKED_AT = 2000
_NUMBER = re.compile(rb"\d+(\.\d+)?([eEdD][+-]?\d+)?")


@dataclass(frozen=True)
class Step:
    """``count`` steps that took ``seconds`` each and ended at ``time`` (ns of the monotonic
    clock).
    """

    seconds: float
    count: int
    time: int
    #: ``number``, ``of``: the step's number and their total, if the program reports them.
    number: int | None = None
    of: int | None = None


class StepLines:
    """Finds the steps in a program's output, which may come in pieces of any size.

    ``lines``, ``matched``: numbers of lines. ``buffered``: mean lines per burst if the program
    buffers its lines, else 0.
    """

    def __init__(self, pattern: str) -> None:
        """Raises AssayError if the pattern is not a regular expression."""
        try:
            self._search = re.compile(pattern.encode()).search
        except (re.error, OverflowError, RecursionError) as error:
            raise AssayError(
                f"The pattern is not a regular expression: {error}.",
                where=f"--step '{pattern}'",
                fix=r"Write one of Python's, such as --step 'step (?P<i>\d+) of (?P<n>\d+)'.",
            ) from None
        groups = re.compile(pattern.encode()).groupindex
        self._time_group = next((name for name in TIME_GROUPS if name in groups), None)
        self._number = NUMBER_GROUP in groups
        self._count = COUNT_GROUP in groups
        self.lines = 0
        self.matched = 0
        self.unreadable = 0
        self.buffered = 0
        self._rest: dict[int, bytes] = {}
        self._last: int | None = None
        self._last_number: int | None = None
        self._of: int | None = None
        self._bursts = 0
        self._burst_lines = 0
        self._usual: Counter[bytes] = Counter()
        self._example: dict[bytes, bytes] = {}

    def feed(self, stream: int, time: int, data: bytes) -> list[Step]:
        """Add output read from a stream at ``time``; returns the steps that ended with it."""
        if b"\r" in data:
            data = data.replace(b"\r", b"\n")
        *lines, rest = (self._rest.get(stream, b"") + data).split(b"\n")
        self._rest[stream] = rest[:LONGEST_LINE]
        if not lines:
            return []
        self.lines += len(lines)
        found = [match for line in lines if (match := self._search(line))]
        if not found:
            if not self.matched and self.lines <= _LOOKED_AT:
                self._remember(lines)
            return []
        self.matched += len(found)
        if self._time_group:
            return [step for match in found if (step := self._reported_step(match, time))]
        return self._timed(found, time)

    def finish(self, time: int) -> list[Step]:
        """The steps of last lines without a newline."""
        streams = [stream for stream, rest in self._rest.items() if rest]
        return [step for stream in streams for step in self.feed(stream, time, b"\n")]

    def pause(self) -> None:
        """Note that lines may be missing: the time since the last line isn't the time of a step."""
        self._last = None

    def suggestion(self) -> str | None:
        """A pattern for the most frequent line (regardless of its numbers), if it occurred
        repeatedly.
        """
        common = self._usual.most_common(1)
        if not common or common[0][1] < 3:
            return None
        line = self._example[common[0][0]].decode("utf-8", "replace").strip()
        first = re.search(r"[A-Za-z][\w ]*?[ =:#]*(?=\d)", line)
        if first is None:
            return None
        # A single blank is kept; several blanks may be fewer if numbers are longer.
        words = re.sub(r"(\\ ){2,}", " *", re.escape(first[0])).replace("\\ ", " ")
        return words + r"(?P<i>\d+)"

    def _remember(self, lines: list[bytes]) -> None:
        for line in lines:
            if b"\0" in line or len(line) > 200:
                continue
            shape, numbers = _NUMBER.subn(b"#", b" ".join(line.split()))
            if numbers and (shape in self._usual or len(self._usual) < 500):
                self._usual[shape] += 1
                self._example.setdefault(shape, line)

    def _reported_step(self, match: re.Match[bytes], time: int) -> Step | None:
        """The step with the time that the line reports."""
        assert self._time_group is not None
        seconds = _seconds(match[self._time_group])
        number, of = self._numbers(match)
        if seconds is None:
            self.unreadable += 1
            return None
        count = self._advance(number)
        return None if count is None else Step(seconds, count, time, number, of)

    def _timed(self, found: list[re.Match[bytes]], time: int) -> list[Step]:
        """The step by the time between lines; the mean for lines that came together."""
        count = 0
        number = of = None
        again = False
        for match in found:
            number, of = self._numbers(match)
            advance = self._advance(number)
            if advance is None:
                again = True
            else:
                count += advance
        if count == 0 and again and self._last is not None:
            return []  # the same step, reported by another rank or in another line
        last, self._last = self._last, time
        if last is None or count == 0:
            return []
        self._note_burst(count, (time - last) * 1e-9)
        return [Step((time - last) * 1e-9 / count, count, time, number, of)]

    def _note_burst(self, count: int, seconds: float) -> None:
        if count >= _BURST_LINES and seconds >= _BURST_SECONDS:
            self._bursts += 1
            self._burst_lines += count
            if self._bursts >= _BURSTS:
                self.buffered = round(self._burst_lines / self._bursts)

    def _numbers(self, match: re.Match[bytes]) -> tuple[int | None, int | None]:
        number = _whole(match[NUMBER_GROUP]) if self._number else None
        of = _whole(match[COUNT_GROUP]) if self._count else None
        return number, of

    def _advance(self, number: int | None) -> int | None:
        """Number of steps since the last line; None if it reports the same step again."""
        if number is None:
            return 1
        last, self._last_number = self._last_number, number
        if last is None or number < last:
            return 1
        return number - last or None


def _whole(text: bytes | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and len(text) < 16 else None


def _seconds(text: bytes | None) -> float | None:
    """A time as programs print it: ``0.125``, ``1.5e-3``, Fortran's ``0.15D-02``, ``12.5 ms``."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        written = text.decode("utf-8", "replace").strip()
        written = re.sub(r"(?<=[\d.])[dD](?=[+-]?\d)", "e", written)
        try:
            value = float(parse_quantity(written, "s"))
        except AssayError:
            return None
    return value if 0.0 <= value < 1e12 else None
