"""Finds terms of reports that are not explained where they first occur, or twice.

The occurrences are found by one expression for each form, over the texts of a page one by one.
"""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

from rich.console import Console

from assay.report import print_summary
from assay.report.model import ReportModel
from assay.report.terms.terms import ReportTerm, terms

# Where no link can be: other links, headings, code, and what is not shown.
_SILENT = {
    "head", "script", "style", "svg", "a", "button", "summary", "code", "h1", "h2", "h3", "h4",
    "option", "label", "footer",
}  # fmt: skip
_EMPTY = {"meta", "link", "img", "br", "input", "path", "rect"}


def occurrences(text: str, term: ReportTerm) -> list[int]:
    """The places at which a text has the term."""
    forms = "|".join(re.escape(form) for form in sorted(term.forms, key=len, reverse=True))
    pattern = rf"(?<![\w½./-])(?:{forms})(?![\w½-])"
    return [m.start() for m in re.finditer(pattern, text, 0 if term.exact else re.IGNORECASE)]


class _Texts(HTMLParser):
    """The texts of a page in order, outside of silent elements, and its marked terms."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[tuple[str, str]] = []  # a text, and the anchor if it is a marked term
        self.listed: list[str] = []
        self.explanations: list[str] = []
        self._open: list[str] = []
        self._marked = ""
        self._in_list = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        about = dict(attrs)
        if tag == "section" and about.get("id") == "terms":
            self._in_list = len(self._open) + 1
        if self._in_list and about.get("id", "").startswith("term-"):
            self.listed.append(about["id"][5:])
        if tag == "a" and about.get("class") == "term":
            self._marked = about["href"][6:]
            self.explanations.append(about["title"])
        if tag not in _EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in _EMPTY:
            return
        assert self._open.pop() == tag
        if tag == "a":
            self._marked = ""
        if len(self._open) < self._in_list:
            self._in_list = 0

    def handle_data(self, data):
        if self._marked:
            self.texts.append((data, self._marked))
        elif not self._in_list and not _SILENT & set(self._open):
            self.texts.append((data, ""))


def page_faults(page: str) -> list[str]:
    """What is wrong with the terms of a page."""
    found = _Texts(page)
    faults = []
    marks = [anchor for _, anchor in found.texts if anchor]
    by_anchor = {term.anchor: term for term in terms()}
    faults += [f"{each} is marked twice" for each in set(marks) if marks.count(each) > 1]
    if sorted(found.listed) != sorted(set(marks)):
        faults.append(f"marked {sorted(marks)}, listed {sorted(found.listed)}")
    for anchor, said in zip(marks, found.explanations, strict=True):
        if anchor not in by_anchor or by_anchor[anchor].text != said:
            faults.append(f"{anchor} has another explanation")
    return faults + _unmarked(found.texts, by_anchor)


def _unmarked(texts: list[tuple[str, str]], by_anchor: dict[str, ReportTerm]) -> list[str]:
    """Terms that a text has before their mark."""
    faults, seen = [], set()
    for text, anchor in texts:
        if anchor:
            seen.add(anchor)
            continue
        for each, term in by_anchor.items():
            if each not in seen and occurrences(text, term) and not _longer(text, term):
                faults.append(f"{each} is not explained in: {text.strip()[:120]}")
                seen.add(each)
    return faults


def _longer(text: str, term: ReportTerm) -> bool:
    """Whether the term occurs only within another one, such as bandwidth of a bisection."""
    return all(
        any(
            other is not term
            and any(p <= place < p + max(map(len, other.forms)) for p in occurrences(text, other))
            for other in terms()
        )
        for place in occurrences(text, term)
    )


def printed_faults(model: ReportModel, width: int, *, verbose: bool) -> list[str]:
    """What is wrong with the terms of a report on a terminal of this width."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=True, color_system=None, highlight=False
    )
    print_summary(model, console, verbose=verbose)
    text, _, block = stream.getvalue().rpartition("\nTerms\n")
    faults = [f"too wide: {line}" for line in block.splitlines() if len(line) > width]
    said = " ".join(block.split())
    plain = re.sub(r"`[^`]*`|\bassay [a-z]+(?: [a-z-]+)?", " ", " ".join(text.split()))
    for term in terms():
        times = said.count(" ".join(term.text.split()))
        wanted = bool(occurrences(plain, term)) and not _longer(plain, term)
        if times != wanted:
            faults.append(f"{term.name} is explained {times} times, wanted {wanted}")
    return faults


def without_marks(page: str) -> str:
    """The page without the marks of its terms, so that sentences can be searched."""
    return re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", page)
