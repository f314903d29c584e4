"""Jobs from JSON: documents with a list of jobs, or one object per job, one after the other.

A text may hold several documents, each indented or not, and other text between them, for example if
the output of several calls was appended to a file. A document is read job by job. What can't be
read is a problem with its line, and reading goes on where the next document begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Protocol

from assay.usage.collector import JobCollector

_CHUNK = 1 << 18
# Characters of the longest value (a job), and of the longest key.
_LONGEST, _LONGEST_KEY = 1 << 24, 1 << 12
_SPACE = re.compile(r"[\s,\0\ufeff]*")
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*')
# The beginning of a document with a list of jobs. Other objects are jobs.
_DOCUMENT = re.compile(r'\{\s*(?:\}|"(?:jobs|meta|errors|warnings)"\s*:)')
# Where reading continues after damage: at an object or a list at the beginning of a line, or at a
# document.
_NEXT = re.compile(r'^[\[{]|^[ \t]*\{\s*"(?:jobs|meta|id|job_id|account)"\s*:', re.MULTILINE)
# Errors within this many characters of the end of the text read so far may be due to that end.
_AT_END = 16

_Jobs = Iterator[tuple[int, dict[str, Any]]]


class LogText(Protocol):
    """The text of a log, as ``model.Log`` provides it."""

    line: int

    def read(self, size: int) -> str:
        """Up to ``size`` characters."""

    def hands_over(self, line: int, text: str, rest: str = "") -> bool:
        """Whether another format begins at this line."""


class _Damaged(Exception):
    """The text that follows can't be read. ``at``: the place of the damage in the scanner's
    text."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class _Scanner:
    """Reads values from a text that comes in pieces. ``line``: the line of ``at``."""

    def __init__(self, log: LogText) -> None:
        self._log = log
        self._decoder = json.JSONDecoder()
        self._more = True
        self.text, self.at, self.line = "", 0, 1 + log.line

    def read(self) -> bool:
        """Read more text, and drop the text before ``at``. False at the end of the text."""
        left = self.text[self.at :]
        chunk = self._log.read(max(_CHUNK, len(left))) if self._more else ""
        self._more = bool(chunk)
        self.text, self.at = left + chunk, 0
        return self._more

    def go(self, place: int) -> None:
        """Go on to a place."""
        self.line += self.text.count("\n", self.at, place)
        self.at = place

    def space(self) -> str:
        """Skip blanks, commas and zeros. Returns the next character, "" at the end."""
        while True:
            found = _SPACE.match(self.text, self.at)
            assert found is not None  # the pattern also matches the empty text
            self.go(found.end())
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.read():
                return ""

    def matches(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """A match of a pattern here, of at most ``_LONGEST_KEY`` characters."""
        if len(self.text) - self.at < _LONGEST_KEY:
            self.read()
        return pattern.match(self.text, self.at)

    def value(self) -> object:
        """Read the value here. Raises _Damaged."""
        while True:
            by_end = False
            try:
                found, end = self._decoder.raw_decode(self.text, self.at)
                # A bare number may continue after the text read so far.
                if end < len(self.text) or not self.read():
                    self.go(end if end < len(self.text) else len(self.text))
                    return found
                continue
            except json.JSONDecodeError as error:
                wrong = error.pos - self.at
                by_end = error.pos >= len(self.text) - _AT_END or "Unterminated" in error.msg
            except (ValueError, RecursionError):  # a number with too many digits, too deep
                wrong = 0
            if not by_end or len(self.text) - self.at > _LONGEST or not self.read():
                raise _Damaged(self.at + wrong)


def objects_of(log: LogText, out: JobCollector) -> _Jobs:
    """Each job with the number of its first line."""
    scan = _Scanner(log)
    while first := scan.space():
        try:
            if first == "[":
                scan.go(scan.at + 1)
                yield from _listed(scan, log, out)
            elif first == "{":
                yield from _object(scan, log, out)
            elif _other_text(scan, log, out):
                return
        except _Damaged as damage:
            out.problem("truncated", scan.line)
            if not _goes_on(scan, damage.at):
                break
    log.line = scan.line


def _object(scan: _Scanner, log: LogText, out: JobCollector) -> _Jobs:
    """A job, or the jobs of a document."""
    if scan.matches(_DOCUMENT):
        yield from _document(scan, log, out)
        return
    log.line = line = scan.line
    found = scan.value()
    listed = found.get("jobs") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        yield from _checked(found, line, out)
        return
    for each in listed:  # a document that begins with something else
        yield from _checked(each, line, out)


def _document(scan: _Scanner, log: LogText, out: JobCollector) -> _Jobs:
    """The jobs in the list ``jobs`` of an object; its other members are skipped."""
    scan.go(scan.at + 1)
    while (first := scan.space()) != "}":
        key = scan.matches(_KEY) if first else None
        if key is None:
            raise _Damaged(scan.at)
        scan.go(key.end())
        if scan.space() == "[" and key[1] == "jobs":
            scan.go(scan.at + 1)
            yield from _listed(scan, log, out)
        else:
            scan.value()
    scan.go(scan.at + 1)


def _listed(scan: _Scanner, log: LogText, out: JobCollector) -> _Jobs:
    """The objects of a list whose opening bracket was read."""
    while (first := scan.space()) != "]":
        if not first:
            raise _Damaged(scan.at)
        log.line = line = scan.line
        yield from _checked(scan.value(), line, out)
    scan.go(scan.at + 1)


def _checked(found: object, line: int, out: JobCollector) -> _Jobs:
    if isinstance(found, dict):
        yield line, found
    else:
        out.problem("malformed", line)


def _other_text(scan: _Scanner, log: LogText, out: JobCollector) -> bool:
    """Skip a line outside of documents. Returns True if another format begins there instead."""
    while (end := scan.text.find("\n", scan.at)) < 0 and len(scan.text) - scan.at < _CHUNK:
        if not scan.read():
            break
    end = len(scan.text) if end < 0 else end
    if log.hands_over(scan.line, scan.text[scan.at : end], scan.text[end + 1 :]):
        return True
    out.problem("other text", scan.line)
    scan.go(end)
    return False


def _goes_on(scan: _Scanner, damage: int) -> bool:
    """Go to the next document after damage. Returns False if there is none."""
    # Start after the damaged value, which would otherwise be read forever.
    place = max(scan.text.rfind("\n", 0, damage) + 1, scan.at + 1)
    while (found := _NEXT.search(scan.text, place)) is None:
        # The last line may continue in the text that follows.
        scan.go(max(scan.text.rfind("\n") + 1, min(place, len(scan.text))))
        before = scan.at == 0
        if not scan.read():
            return False
        place = 1 if before and scan.text[:1] in ("{", "[") else 0
    scan.go(found.start())
    return True
