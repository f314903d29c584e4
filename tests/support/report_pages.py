"""Reports as pages and on terminals, and a cache for the bundle that draws their figures."""

from __future__ import annotations

import io
import os
from html.parser import HTMLParser

import pytest

from assay.report import build_report, print_summary, write_report
from report_builder import make_run


@pytest.fixture(autouse=True, scope="module")
def drawing_cache(tmp_path_factory):
    """A shared cache for the tests of a worker, so that the bundle is created once."""
    folder = tmp_path_factory.getbasetemp() / "drawing-cache"
    folder.mkdir(exist_ok=True)
    os.environ["ASSAY_CACHE"] = str(folder)
    yield
    del os.environ["ASSAY_CACHE"]


class Page(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.styles = ""
        self._silent = 0
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "img", "br", "input"}:
            self.open.append(tag)
        self._silent += tag in {"script", "style"}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self._silent -= tag in {"script", "style"}

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            self.styles += data
        elif not self._silent:
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def rendered(report, width=100, *, verbose=True) -> str:
    from rich.console import Console

    stream = io.StringIO()
    print_summary(report, Console(file=stream, width=width, highlight=False), verbose=verbose)
    return stream.getvalue()


def page_of(cells, folder, run=None):
    """The page of a report on these cells, in the folder."""
    (path,) = write_report(build_report(run or make_run(cells), cells), folder)
    return path
