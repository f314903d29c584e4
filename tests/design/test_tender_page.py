"""docs/tender.md has what the designs of its examples answer now.

To change it on purpose, run ``python tests/design/test_tender_page.py``: it writes the answers
again, for review in the diff.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from assay.design.spec.reading import read_spec
from assay.questions.common.tables import Table
from assay.subjects.design.answer import answer
from assay.subjects.design.findings import find
from assay.subjects.design.model import ClusterDesign
from assay.subjects.design.tables import tables

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "tender.md"
TABLES = {
    "tender-processors": ("design-shortlist", "design-costs", "design-storage", "design-lots"),
    "tender-accelerators": ("design-shortlist", "design-costs"),
    "tender-or-cloud": ("design-costs", "design-rented"),
}


@functools.cache
def designed(name: str) -> ClusterDesign:
    return find(read_spec(DOCS / "design" / f"{name}.toml"))


def text_of(found: ClusterDesign, shown: tuple[str, ...]) -> str:
    said = answer(found)
    parts = [said.verdict, f"Confidence is {said.confidence}: {said.confidence_why}.", *said.advice]
    text = "\n".join(f"- *{sentence}*" for sentence in parts)
    known = {table.id: table for table in tables(found)}
    return "\n\n".join([text, *(markdown(known[name]) for name in shown)])


def markdown(table: Table) -> str:
    rows = [[entry.text for entry in row] for row in table.rows]
    rule = ["---:" if column.numeric else "---" for column in table.columns]
    lines = [[column.label for column in table.columns], rule, *rows]
    return f"{table.title}:\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def blocks(page: str) -> dict[str, str]:
    found = re.findall(r"<!-- (tender-[a-z-]+) -->\n(.*?)\n?<!-- end -->", page, re.DOTALL)
    return {name: text.strip() for name, text in found}


@pytest.mark.parametrize("name", TABLES)
def test_the_page_has_the_present_answer(name: str) -> None:
    assert blocks(PAGE.read_text("utf-8"))[name] == text_of(designed(name), TABLES[name])


def test_the_catalogue_of_the_examples_has_assumptions_only() -> None:
    for name in TABLES:
        found = designed(name)
        assert found.assumed == found.figures
        assert all(line.kind == "assumed" for line in found.best[0].bill)
        assert answer(found).confidence == "low"


def main() -> None:
    page = PAGE.read_text("utf-8")
    for name, shown in TABLES.items():
        text = f"<!-- {name} -->\n{text_of(designed(name), shown)}\n<!-- end -->"
        page = re.sub(rf"<!-- {name} -->.*?<!-- end -->", lambda _, text=text: text, page,
                      flags=re.DOTALL)  # fmt: skip
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
