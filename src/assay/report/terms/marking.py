"""Explains terms in a page: the first occurrence of each leads to a list at the end of the page."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from assay.report.terms.terms import ReportTerm, TermFinder, TermOccurrence

# Tags, and elements whose content is not text.
_TAGS = re.compile(
    r"(<!--.*?-->|<(?:script|style|svg)\b.*?</(?:script|style|svg)>|<[^>]*>)", re.DOTALL
)
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)")
# Elements in which a link is impossible or would disturb.
_UNMARKED = frozenset(
    ("head", "label", "a", "button", "summary", "code", "h1", "h2", "h3", "h4", "option", "footer")
)
_END = "</main>"


def explained(page: str) -> str:
    """The page with its terms explained."""
    finder = TermFinder()
    parts = _TAGS.split(page)
    inside = 0  # elements that are not marked
    for place, part in enumerate(parts):
        if place % 2:
            tag = _TAG.match(part)
            if tag is not None and tag[2] in _UNMARKED:
                inside += -1 if tag[1] else 1
        elif not inside and not part.isspace():
            text = html.unescape(part)
            found = finder.first(text)
            if found:
                parts[place] = _marked(text, found)
    if not finder.found:
        return page
    whole = "".join(parts)
    end = whole.rindex(_END)
    return whole[:end] + _list(finder.found) + whole[end:]


def _marked(text: str, found: Sequence[TermOccurrence]) -> str:
    parts, at = [], 0
    for term, start, stop in found:
        parts.append(html.escape(text[at:start]))
        parts.append(
            f'<a class="term" href="#term-{term.anchor}" title="{html.escape(term.text)}">'
            f"{html.escape(text[start:stop])}</a>"
        )
        at = stop
    return "".join([*parts, html.escape(text[at:])])


def _list(terms: Sequence[ReportTerm]) -> str:
    rows = "".join(
        f'<div id="term-{term.anchor}"><dt><dfn>{html.escape(term.name)}</dfn></dt>'
        f"<dd>{html.escape(term.text)}</dd></div>\n"
        for term in sorted(terms, key=lambda term: term.name.lower())
    )
    return f'<section id="terms">\n<h2>Terms</h2>\n<dl class="terms">\n{rows}</dl>\n</section>\n'
