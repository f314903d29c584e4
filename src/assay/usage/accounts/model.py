"""What a reader of accounts gets and provides."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from assay.usage.jobs import JobCollector

# Characters of the longest line, and of the longest JSON object, that are read.
LONGEST = 1 << 20
_LONGEST_OBJECT = 1 << 24
_CHUNK = 1 << 18
_BLOCK = 1 << 20
_SPACE = re.compile(r"[\s,]*")
_JOBS = re.compile(r'"jobs"\s*:\s*\[')


@dataclass(frozen=True)
class AccountFormat:
    """A format. ``takes``: whether the first characters of a file are of it. ``read``: all records
    of a log into the collector; a record it can't read becomes a problem with its line.
    """

    title: str
    takes: Callable[[str], bool]
    read: Callable[[Log, JobCollector], None]


class Log:
    """The text of one file, read as a stream. ``line``: the last one that was read."""

    def __init__(self, stream: TextIO, out: JobCollector) -> None:
        self._stream = stream
        self._out = out
        self.line = 0

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
            yield self.line, line.rstrip("\r\n")

    def blocks(self) -> Iterator[tuple[int, str]]:
        """Consecutive lines of about ``_BLOCK`` characters, with the number of the first one.

        A line over ``LONGEST`` is shortened to that, so that ``lines_of`` makes it a problem.
        """
        while True:
            lines: list[str] = []
            failure = None
            size = 0
            try:
                while size < _BLOCK and (line := self._stream.readline(LONGEST)):
                    size += len(line)
                    if len(line) == LONGEST and not line.endswith("\n"):
                        while (rest := self._stream.readline(LONGEST)) and not rest.endswith("\n"):
                            pass
                        line += "\n" if rest else ""
                    lines.append(line)
            except (EOFError, OSError, zlib.error) as error:
                failure = error
            if lines:
                first = self.line + 1
                yield first, "".join(lines)
                self.line = first + len(lines) - 1
            if failure is not None:
                raise failure
            if not lines:
                return

    def lines_of(self, first: int, text: str) -> Iterator[tuple[int, str]]:
        """The lines of a block as ``lines`` gives them."""
        lines = text.split("\n")
        for line, each in enumerate(lines[:-1] if text.endswith("\n") else lines, first):
            self.line = line
            if len(each) >= LONGEST:
                self._out.problem("long", line)
            else:
                yield line, each.rstrip("\r\n")
        self.line = first - 1

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each job of a JSON document, ``{"jobs": [...]}`` or one object after the other.

        With the number of its first line. The rest of a damaged document is a problem.
        """
        decoder = json.JSONDecoder()
        text, line = self._stream.read(_CHUNK), 1
        listed = _JOBS.search(text)
        if listed:
            line += text.count("\n", 0, listed.end())
            text = text[listed.end() :]
        more = True
        while True:
            space = _SPACE.match(text)
            assert space is not None  # it matches the empty text
            line += text.count("\n", 0, space.end())
            text = text[space.end() :]
            if text.startswith("]"):
                return
            try:
                if not text:
                    raise ValueError
                found, end = decoder.raw_decode(text)
            except (ValueError, RecursionError):
                chunk = self._stream.read(max(_CHUNK, len(text))) if more else ""
                more = bool(chunk)
                if not more or len(text) > _LONGEST_OBJECT:
                    if text or listed:
                        self._out.problem("truncated", line)
                    return
                text += chunk
                continue
            self.line = line
            if isinstance(found, dict):
                yield line, found
            else:
                self._out.problem("malformed", line)
            line += text.count("\n", 0, end)
            text = text[end:]
