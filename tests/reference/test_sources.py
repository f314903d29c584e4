"""docs/methods/sources.md: every source is cited, every work cited in docs/methods is listed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "docs" / "methods" / "sources.md"
YEAR = r"(?:1[89]\d\d|20[0-2]\d)"
NAME = r"(?:(?:van der |[Dd]e |Du )?[A-ZÀ-Ž][\w’\-]*[a-zà-ž])"
CITATION = re.compile(
    rf"({NAME}(?:(?:, | & | and |'s and |–){NAME})*(?: et al\.)?(?:['’]s)?),? \(?({YEAR})\b"
)
# Words before a year that are no author.
NO_AUTHORS = {"June", "November"}
# Cited by these names.
WITHOUT_YEAR = {"POP Centre of Excellence": "POP metrics"}


class Source(NamedTuple):
    """An entry: the surnames of its authors, the years of its works, and its text."""

    names: tuple[str, ...]
    years: tuple[str, ...]
    text: str


def sources(text: str) -> list[Source]:
    found = []
    for entry in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
        authors, _, rest = " ".join(entry.split()).partition(":")
        names = tuple(
            " ".join(
                word
                for word in name.replace(" et al.", "").split()
                if not re.fullmatch(r"([A-ZÀ-Ž]\.-?)+", word)
            )
            for name in authors.split(",")
        )
        found.append(Source(names, tuple(re.findall(rf"\b{YEAR}\b", rest)), entry))
    return found


def plain(path: Path) -> str:
    """The text of a file in one line, without the signs of comments."""
    return " ".join(re.sub(r"\n\s*(#|//)?\s*", " ", path.read_text()).split())


def methods() -> list[Path]:
    return [path for path in sorted(SOURCES.parent.glob("*.md")) if path != SOURCES]


def is_cited(source: Source, texts: list[str]) -> bool:
    """Whether some text has its authors, or the first one et al., in this order before its year."""
    first = source.names[0]
    if first in WITHOUT_YEAR:
        return any(WITHOUT_YEAR[first] in text for text in texts)
    authors = r"\b.{1,8}?\b".join(map(re.escape, source.names[:3]))
    both = rf"\b(?:{authors}|{re.escape(first)} et al\.).{{0,60}}?\b(?:{'|'.join(source.years)})\b"
    return any(re.search(both, text) for text in texts)


def unlisted(text: str, listed: list[Source]) -> list[str]:
    """The citations of a text, as written, whose work isn't among the sources."""
    found = []
    for match in CITATION.finditer(text):
        names = re.split(r", | & | and |'s and |–", re.sub(r" et al\.|['’]s$", "", match[1]))
        known = any(match[2] in one.years and names[-1] in one.names for one in listed)
        if not known and names[0] not in NO_AUTHORS:
            found.append(match[0])
    return found


def test_every_source_is_cited() -> None:
    paths = [
        *methods(),
        *(ROOT / "src").rglob("*.py"),
        *(path for kind in ("*.hpp", "*.cpp") for path in (ROOT / "native").rglob(kind)),
    ]
    texts = [plain(path) for path in paths]
    listed = sources(SOURCES.read_text())
    assert len(listed) > 100
    assert [source.text for source in listed if not is_cited(source, texts)] == []


def test_every_work_cited_in_the_methods_is_listed_once() -> None:
    listed = sources(SOURCES.read_text())
    missing = {path.name: unlisted(plain(path), listed) for path in methods()}
    assert {name: found for name, found in missing.items() if found} == {}
    keys = [(source.names, source.years[:1]) for source in listed]
    assert [key for key in keys if keys.count(key) > 1] == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("as Page (1954) does", []),
        ("(Welch 1951), Welch's analysis (1951)", []),
        ("Nobody & Welch (1951), and (Nobody 1951)", ["Nobody 1951"]),
        ("Page (1955)", ["Page (1955"]),
        ("the list of June 1993", []),
        ("Welch (1951); De Page et al. (1954)", ["De Page et al. (1954"]),
    ],
)
def test_citations_are_found(text: str, missing: list[str]) -> None:
    listed = sources("- E. Page: Inspection. Biometrika 41 (1954).\n- B. Welch: Means. 1951.\n")
    assert unlisted(text, listed) == missing
    cited = [is_cited(source, [text]) for source in listed]
    assert cited[0] is ("1954" in text)
