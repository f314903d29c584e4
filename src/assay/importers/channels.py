"""Distribution of a file's lines to importers, by signatures and the starts of documents."""

from __future__ import annotations

import re
from functools import cache

from assay.importers import document_importers, text_importers
from assay.importers.decoded import Document
from assay.importers.decoding import DocumentText, starts_document
from assay.importers.lines import Labels, RawLine
from assay.importers.model import Line, Output, Result, TextImporter

_DIGIT = re.compile(r"\d")
_DECIMALS = re.compile(r"[-+]?\d*\.(\d+)")
# Maximum characters of a line of text output; only documents have longer lines. The limit bounds
# the time that patterns take on adversarial lines.
_LONGEST_TEXT = 4096
# Maximum number of rank labels whose lines are kept separate.
_MOST_CHANNELS = 1 << 16


class FileReader:
    """Feeds the lines of a file to importers, separately for each rank label."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._channels: dict[str, _Channel] = {}
        self._labels = Labels([i.UNLABELLED for i in text_importers().values() if i.UNLABELLED])

    def feed(self, raw: RawLine) -> None:
        """Process a line."""
        if raw.text is None:
            self._out.skip(raw.number, "This line is too long.")
            return
        label, text = self._labels.split(raw.text)
        channel = self._channels.get(label)
        if channel is None:
            if not (_signature(text) or starts_document(text)):
                return
            if len(self._channels) == _MOST_CHANNELS:
                self._out.skip(raw.number, "There are too many rank labels.")
                return
            channel = self._channels[label] = _Channel(self._out)
        channel.feed(Line(raw.number, text), raw.whole)

    def finish(self) -> None:
        """Process the end of the file."""
        for channel in self._channels.values():
            channel.finish()
        self._channels.clear()


class _Channel:
    """The lines of one rank label, or those without a label."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._importers: dict[str, TextImporter] = {}
        self._active: TextImporter | None = None
        self._document: DocumentText | None = None
        self._before = ""

    def feed(self, line: Line, whole: bool = True) -> None:
        signature = _signature(line.text)
        if self._document is not None and not signature and not self._cuts(line):
            self._continue(line, whole)
        elif signature is None and starts_document(line.text):
            self._cut()
            self._document = DocumentText()
            self._continue(line, whole)
        else:
            self._cut()
            self._text(line, signature, whole)

    def finish(self) -> None:
        self._cut()
        if self._active is not None:
            self._active.leave()

    def _text(self, line: Line, name: str | None, whole: bool) -> None:
        if name is not None and self._is_weak(line.text, text_importers()[name]):
            name = None
        if name is not None and not (self._active and self._active.holds(name, line.text.strip())):
            importer = self._importers.get(name)
            if importer is None:
                importer = self._importers[name] = text_importers()[name](self._out)
            if importer is not self._active and self._active is not None:
                self._active.leave()
            self._active = importer
        if self._active is None:
            return
        if len(line.text) > _LONGEST_TEXT:
            self._out.skip(line.number, "This line is too long.")
            return
        if not whole and not _as_before(line.text, self._before):
            if _DIGIT.search(line.text):
                self._out.skip(
                    line.number,
                    "The last line has no newline. It may be truncated, so it is left out.",
                )
            return
        self._active.feed(line)
        self._before = line.text

    def _is_weak(self, text: str, importer: type[TextImporter]) -> bool:
        """Whether the line may as well be part of the output of the tool that is being read."""
        if self._active is None or isinstance(self._active, importer) or not importer.WEAK:
            return False
        return re.match(importer.WEAK, text.strip()) is not None

    def _cuts(self, line: Line) -> bool:
        """Whether a document begins here and truncates the current one."""
        assert self._document is not None
        return starts_document(line.text) and self._document.is_cut_by(line.text)

    def _continue(self, line: Line, whole: bool) -> None:
        assert self._document is not None
        problem = self._document.add(line)
        if problem:
            self._out.skip(self._document.first, problem)
            self._document = None
        elif self._document.whole:
            rest = self._document.rest.lstrip(" \t,;")
            document, self._document = self._document.decode(), None
            if isinstance(document, Document):
                self._dispatch(document)
            else:
                self._out.skip(*document)
            if rest:  # further documents on the same line, or text
                self.feed(Line(line.number, rest), whole)

    def _dispatch(self, document: Document) -> None:
        for name, importer in document_importers().items():
            if importer.takes(document.value):
                for problem in document.problems:
                    self._out.skip(*problem)
                counted = _Counted(self._out)
                importer.read(document.value, counted)
                if not counted.reported:
                    what = f"This {document.kind} of {name.replace('_', ' ')} has no result."
                    self._out.skip(document.line, what)
                return
        self._out.skip(document.line, f"This {document.kind} is not the output of a known tool.")

    def _cut(self) -> None:
        if self._document is not None:
            self._out.skip(
                self._document.first, f"The {self._document.kind} that begins here is incomplete."
            )
            self._document = None


class _Counted:
    """Forwards results and skipped parts. ``reported``: their number so far."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self.reported = 0

    def result(self, result: Result) -> None:
        self.reported += 1
        self._out.result(result)

    def skip(self, line: int, what: str) -> None:
        self.reported += 1
        self._out.skip(line, what)


def _as_before(text: str, before: str) -> bool:
    """Whether the last number of a line without a newline is complete, by the previous line.

    Tables have fixed formats: both lines must have the same number of words, and of decimals in the
    last word. A number without decimals may be truncated anywhere.
    """
    words, others = text.split(), before.split()
    if not words or len(words) != len(others):
        return False
    last, other = _DECIMALS.fullmatch(words[-1]), _DECIMALS.fullmatch(others[-1])
    return last is not None and other is not None and len(last[1]) == len(other[1])


def _signature(text: str) -> str | None:
    """The name of the importer whose signature matches the line."""
    match = _signatures().match(text) if len(text) <= _LONGEST_TEXT else None
    return match.lastgroup if match else None


@cache
def _signatures() -> re.Pattern[str]:
    """One pattern of all signatures; the group that matches names the importer."""
    signatures = (f"(?P<{name}>{i.SIGNATURE})" for name, i in text_importers().items())
    return re.compile(rf"\s*(?:{'|'.join(signatures)})")
