"""Links in the documents lead to existing files and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
)


def lines_of(page: Path) -> Iterator[str]:
    """The lines of a page outside of its fenced blocks."""
    fenced = False
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield line


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """The anchors of a page's headings: small letters, digits and hyphens for blanks."""
    titles = [line.lstrip("#").strip() for line in lines_of(page) if re.match(r"#+ ", line)]
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


def broken_links(page: Path) -> list[str]:
    """The links of a page to files or headings that do not exist."""
    found = []
    for line in lines_of(page):
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            file, _, anchor = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            if re.match(r"[a-z]+:", link):
                continue
            if not target.exists() or (anchor and anchor not in anchors_of(target)):
                found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](page.md#one-two) [b](page.md#three) [c](gone.md) `[d](e.md)`\n")
    assert broken_links(page) == ["page.md#three", "gone.md"]
