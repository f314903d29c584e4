"""docs/terms.md: the terms of reports, as ``make docs`` writes them."""

from __future__ import annotations

import sys

from assay.report.terms.terms import terms

_HEAD = """# Terms

Reports explain these terms where they first occur. The
[glossary](architecture.md#glossary) has the terms of the code. This page is
generated from `src/assay/report/terms/terms.toml` by `make docs`.
"""


def terms_page() -> str:
    """The page as Markdown."""
    parts = [
        f"## {term.name}\n\n{term.text}\n"
        for term in sorted(terms(), key=lambda term: term.name.lower())
    ]
    return "\n".join([_HEAD, *parts])


if __name__ == "__main__":
    sys.stdout.write(terms_page())
