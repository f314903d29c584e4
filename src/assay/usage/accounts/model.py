"""Input and output of a reader of accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from assay.usage.accounts.documents import objects_of
from assay.usage.collector import JobCollector

# Characters of the longest line that is read.
LONGEST = 1 << 20
_BLOCK = 1 << 20
# Number of characters by which a format is recognised, and how often recognition is tried in the
# middle of a file.
AHEAD, _MOST_LOOKS = 1 << 16, 10_000
# The beginning of a line that may be the first one of a format, and text that such a line contains.
_FIRST = ("{", "[", ";", '"', "JobId=")
_WITHIN = ("JobID", "jobid", "NodeName")


@dataclass(frozen=True)
class OtherOutput:
    """Output without accounts: a pattern for one of its lines, its name, and advice."""

    pattern: str
    what: str
    fix: str


@dataclass(frozen=True)
class AccountFormat:
    """A format of accounts."""

    title: str
    #: Whether a text that begins with these characters has this format.
    takes: Callable[[str], bool]
    #: Puts all records of a log into the collector. A record that can't be read becomes a problem
    #: with its line.
    read: Callable[[Log, JobCollector], None]
    #: False for a format without jobs.
    jobs: bool = True
    #: Advice on how to print times that can be read.
    dates: str = "Times are Unix times, or dates such as 2026-03-01T08:00:00."
    #: The unit that amounts of memory are in, and who says so.
    memory: str = "bytes, except for numbers with a unit"
    #: Output of the same scheduler that contains no accounts.
    others: tuple[OtherOutput, ...] = ()


class _Again:
    """A text that was already read, followed by the rest of its stream. ``done`` is called at the
    end."""

    def __init__(self, text: str, rest: TextIO | _Again, done: Callable[[], None]) -> None:
        self._text, self._at, self._rest, self._done = text, 0, rest, done

    def read(self, size: int) -> str:
        """Up to ``size`` characters."""
        part = self._text[self._at : self._at + size]
        self._at += len(part)
        if self._at == len(self._text):
            self._done()
        return part if len(part) == size else part + self._rest.read(size - len(part))

    def readline(self, size: int) -> str:
        """A line, or the first ``size`` characters of it."""
        end = self._text.find("\n", self._at) + 1 or len(self._text)
        part = self._text[self._at : min(end, self._at + size)]
        self._at += len(part)
        if self._at == len(self._text):
            self._done()
        if part.endswith("\n") or len(part) == size:
            return part
        return part + self._rest.readline(size - len(part))


class Log:
    """The text of one file, read as a stream. ``line``: number of the last line that was read.

    ``another``: whether a text begins in a different format than the present one; the reader of the
    file sets it. ``ended``: False if a reader stopped at another format before the end.
    """

    def __init__(self, stream: TextIO, out: JobCollector) -> None:
        self._stream: TextIO | _Again = stream
        self._out = out
        self._looks = 0
        self.another: Callable[[str], bool] = lambda text: False
        self.line = 0
        self.ended = True

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each line with its number, without its end; lines over ``LONGEST`` become problems."""
        while True:
            line = self._stream.readline(LONGEST)
            if not line:
                return
            self.line += 1
            if len(line) == LONGEST and not line.endswith("\n"):
                while line and not line.endswith("\n"):
                    line = self._stream.readline(LONGEST)
                self._out.problem("long", self.line)
                continue
            if "\0" in line or line[0] == "\ufeff":
                line = self._cleaned(line, self.line)
            yield self.line, line.rstrip("\r\n")

    def _cleaned(self, text: str, line: int) -> str:
        """The text without zero bytes, which are a problem, and without a byte order mark at its
        beginning, which an appended file may have.
        """
        if "\0" in text:
            self._out.problem("zeros", line)
        return text.replace("\0", "").removeprefix("\ufeff")

    def blocks(self) -> Iterator[tuple[int, str]]:
        """Consecutive lines of about ``_BLOCK`` characters, with the number of the first one.

        A line over ``LONGEST`` is truncated to that length, so that ``lines_of`` makes it a
        problem.
        """
        while True:
            lines: list[str] = []
            size = 0
            while size < _BLOCK and (line := self._stream.readline(LONGEST)):
                size += len(line)
                if len(line) == LONGEST and not line.endswith("\n"):
                    while (rest := self._stream.readline(LONGEST)) and not rest.endswith("\n"):
                        pass
                    line += "\n" if rest else ""
                lines.append(line)
            if not lines:
                return
            first = self.line + 1
            yield first, "".join(lines)
            self.line = first + len(lines) - 1

    def lines_of(self, first: int, text: str) -> Iterator[tuple[int, str]]:
        """The lines of a block as ``lines`` gives them."""
        lines = text.split("\n")
        for line, each in enumerate(lines[:-1] if text.endswith("\n") else lines, first):
            self.line = line
            if len(each) >= LONGEST:
                self._out.problem("long", line)
                continue
            if "\0" in each or each[:1] == "\ufeff":
                each = self._cleaned(each, line)
            yield line, each.rstrip("\r\n")
        self.line = first - 1

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each job of JSON documents, with the number of its first line (``documents``)."""
        yield from objects_of(self, self._out)

    def read(self, size: int) -> str:
        """Up to ``size`` characters of the text."""
        return self._stream.read(size)

    def again(self, text: str) -> None:
        """Give back text that was read last."""
        before = self._stream

        def done() -> None:
            # Lines are read directly again, because most of a log doesn't need text to be given
            # back.
            self._stream = before

        if text:
            self._stream = _Again(text, before, done)

    def may_begin(self, text: str) -> bool:
        """Whether a line may be the first line of a format. ``hands_over`` then examines it."""
        begin = text.lstrip()
        likely = begin.startswith(_FIRST) or begin[:1].isdigit()
        return self._looks < _MOST_LOOKS and (likely or any(word in text for word in _WITHIN))

    def hands_over(self, line: int, text: str, rest: str = "") -> bool:
        """Whether another format begins at a line that is not a record of the present format.

        If so, the present reader must return, and the next reader reads the line and ``rest`` (the
        text read after it) again. Only a line that ``may_begin`` a format is examined.
        """
        if not self.may_begin(text):
            return False
        self._looks += 1
        ahead = self._stream.read(AHEAD - min(len(rest), AHEAD - 1))
        self.again(ahead)
        if not self.another(f"{text}\n{rest}{ahead}"[:AHEAD]):
            return False
        self.again(f"{text}\n{rest}")
        self.line, self.ended = line - 1, False
        return True
