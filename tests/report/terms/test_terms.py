"""Terms are explained where they first occur, once, on pages, terminals and in the documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.report import build_report
from assay.report import html as html_report
from assay.report.documented.terms_page import terms_page
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from assay.report.terms.marking import explained
from assay.report.terms.terms import ReportTerm, terms, terms_in
from report_builder import make_run, quick_cells
from report_gallery import OTHERS
from report_pages import Page, drawing_cache
from terms_check import occurrences, page_faults, printed_faults

__all__ = ["drawing_cache"]  # a fixture

ROOT = Path(__file__).parents[3]
PICTURE = "<svg xmlns='http://www.w3.org/2000/svg'/>"


def page(content: str) -> str:
    return f"<html><head><title>cells</title></head><body><main>{content}</main></body></html>"


def test_the_list_is_short_and_unambiguous():
    forms = [form.lower() for term in terms() for form in term.forms]
    assert len(set(forms)) == len(forms)
    assert len({term.anchor for term in terms()}) == len(terms()) > 40
    for term in terms():
        assert term.text.endswith(".") and 20 < len(term.text) <= 105, term.name
        assert term.text[0].isupper() or term.text[0].isdigit(), term.name


def test_the_document_has_the_list():
    assert (ROOT / "docs/terms.md").read_text(encoding="utf-8") == terms_page()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Cells of 3 launches", ["cell", "launch"]),
        ("memory.cell, cell-like, a_cell, cells2, excellent", []),
        ("STREAM triad, triad", ["triad"]),
        ("n½ is 3 kB; npb, NPB", ["n½", "NPB"]),
        ("a stand-out; it stands out", ["stands out"]),
        ("How steady is it? 3 cells are steady.", ["cell", "steady"]),
        ("", []),
    ],
)
def test_terms_are_found(text, names):
    assert [term.name for term in terms_in(text)] == names
    once = [term for term in terms() if occurrences(text, term)]
    assert sorted(names) == sorted(term.name for term in once)


def test_the_first_occurrence_outside_of_links_and_code_is_marked():
    text = explained(
        page("<h2>Cells</h2><p><a href='#x'>cells</a> <code>cell</code> A&amp;B: cells &lt; 3</p>")
    )
    assert "A&amp;B: <a class" in text and ">cells</a> &lt; 3</p>" in text
    assert text.count('class="term"') == 1 and text.count('id="term-cell"') == 1
    assert page_faults(text) == []
    assert explained(page("<p>Nothing.</p>")) == page("<p>Nothing.</p>")


def test_planted_faults_are_found():
    whole = explained(page("<p>A cell.</p><p>Cells and launches.</p>"))
    assert page_faults(whole) == []
    first = re.search(r'<a class="term" href="#term-cell"[^>]*>cell</a>', whole)
    assert first
    assert page_faults(whole.replace(first[0], "cell"))
    assert page_faults(whole.replace("<p>Cells", f"<p>{first[0]}s", 1))
    assert page_faults(whole.replace('id="term-launch"', 'id="term-other"'))


def test_every_mark_can_be_reached_by_keyboard_and_leads_to_its_explanation(drawing_cache):
    cells = quick_cells()
    text = to_html(build_report(make_run(cells), cells))
    found = Page(text)
    marks = [each for each in found.all("a") if each.get("class") == "term"]
    places = {each.get("id") for _, each in found.tags}
    assert len(marks) > 5
    for mark in marks:
        assert (mark["href"] or "")[1:] in places and mark["title"]
        assert "tabindex" not in mark
    assert page_faults(text) == []


@pytest.mark.parametrize("name", ["unsteady", "simulate", "history", "nodes"])
def test_reports_explain_their_terms(tmp_path, monkeypatch, name):
    """Some kinds of report; ``tests/report/pages/test_all_pages.py`` has all."""
    monkeypatch.setattr(html_report, "drawn", lambda figures: [PICTURE for _ in figures])
    model = OTHERS[name](tmp_path)
    assert page_faults(to_html(model)) == []
    for width in (80, 120):
        for verbose in (False, True):
            assert printed_faults(model, width, verbose=verbose) == []
    *_, block = to_markdown(model, "figures").partition("\n## Terms\n")
    assert re.findall(r"^- \*\*", block, re.MULTILINE)


@pytest.mark.parametrize("path", ["README.md", "docs/guide.md"])
def test_documents_link_their_terms(path):
    """The first occurrence in a document, outside of code and headings, leads to docs/terms.md."""
    text = (ROOT / path).read_text(encoding="utf-8")
    assert document_faults(text) == []
    changed = text.replace("terms.md#cell", "terms.md#other", 1)
    assert changed == text or document_faults(changed) != []


def document_faults(text: str) -> list[str]:
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`|^#.*$|^\[.*?\]:.*$", "", text, flags=re.MULTILINE)
    links = re.findall(r"\[([^\]]*)\]\((?:docs/)?terms\.md#([a-z0-9-]+)\)", text)
    by_anchor = {term.anchor: term for term in terms()}
    faults = [f"no term {anchor}" for _, anchor in links if anchor not in by_anchor]
    faults += [f"{a} twice" for a in by_anchor if sum(a == each for _, each in links) > 1]
    for anchor, term in by_anchor.items():
        faults += _not_linked(text, anchor, term)
    return faults


def _not_linked(text: str, anchor: str, term: ReportTerm) -> list[str]:
    mark = re.search(rf"\[[^\]]*\]\((?:docs/)?terms\.md#{anchor}\)", text)
    # Other links can't contain a link.
    before = re.sub(r"\[[^\]]*\]\([^)]*\)", "", text[: mark.start()] if mark else text)
    return [f"{term.name} is not linked at first"] if occurrences(before, term) else []
