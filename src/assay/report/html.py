"""The report as one self-contained HTML file, with styles, scripts, data and figures."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.charts.drawing import csv_text, drawn
from assay.charts.figure import Figure, groups
from assay.charts.finish import finished, legends
from assay.charts.theme import vega_config
from assay.charts.vega_bundle import javascript_bundle
from assay.report.model import ReportModel
from assay.report.overview.confidences import confidence_lines
from assay.report.overview.impossible import impossible_sentences
from assay.report.overview.order import open_questions, shown_sections
from assay.report.overview.presented import presented
from assay.report.shorten import beginning
from assay.report.terms.marking import explained

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Maximum characters of the report in JSON that is embedded for download.
_EMBEDDED = 4 << 20
# Maximum rows of an open table of all cells: a longer table would fill most of the page.
_MOST_OPEN = 100
# Maximum recommendations and caveats above the figures: more would hide the figures.
_MOST_SENTENCES = 4
# Maximum characters of a verdict on the first screen, about five lines; its section has the whole.
_FIRST_CHARACTERS = 340
# Maximum characters of code that is never broken; such code fits on the narrowest page.
_WHOLE_CODE = 24
TEMPLATES = Path(__file__).parent / "templates"


def template_environment() -> Environment:
    """The environment of all templates, which escapes texts."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["code"] = code
    environment.filters["csp_hash"] = content_hash
    return environment


def stylesheet(*names: str, paper: str = "") -> str:
    """The styles of these files; ``paper``: the size of sheets, such as A4, or empty."""
    texts = [(TEMPLATES / name).read_text(encoding="utf-8") for name in names]
    return "".join([*texts, f"@page {{ size: {paper} portrait; }}\n" if paper else ""])


def to_html(report: ReportModel, paper: str = "") -> str:
    """The HTML file as text. It refers to no external resource.

    ``paper``: as for ``stylesheet``.
    """
    environment = template_environment()
    environment.filters["first_words"] = lambda section: beginning(
        section.verdict, _FIRST_CHARACTERS, section.asked
    )
    environment.filters["confidence_lines"] = confidence_lines
    environment.filters["groups"] = groups
    environment.filters["impossible"] = lambda section: impossible_sentences(
        section, [report.foremost]
    )
    environment.filters["data_uri"] = _data_uri
    whole = msgspec.json.format(msgspec.json.encode(report), indent=1).decode()
    data = {f.id: csv_text(f) for section in report.sections for f in section.figures}
    report = presented(report)
    figures = [figure for section in report.sections for figure in section.figures]
    page = environment.get_template("report.html.j2").render(
        report=report,
        sections=shown_sections(report),
        open_questions=open_questions(report),
        most_open=_MOST_OPEN,
        most_sentences=_MOST_SENTENCES,
        css=unescaped(stylesheet("report.css", paper=paper)),
        script=unescaped((TEMPLATES / "report.js").read_text(encoding="utf-8")),
        bundle=unescaped(javascript_bundle() if figures else ""),
        drawn=dict(zip((figure.id for figure in figures), drawn(figures), strict=True)),
        data=data,
        figures_json=_json(_for_browser(figures)),
        report_json=whole if len(whole) <= _EMBEDDED else "",
    )
    return explained(page)


def _for_browser(figures: list[Figure]) -> dict[str, Any]:
    """Specifications and data. ``legendless``: panels that use the legend of the first panel."""
    return {
        "legendless": [
            figure.id
            for first, *others in groups(figures)
            for figure in others
            if legends(figure) == legends(first)
        ],
        "configs": {"light": vega_config("light"), "dark": vega_config("dark")},
        "specs": {
            figure.id: {**finished(figure), "data": {"values": figure.rows}} for figure in figures
        },
    }


def _json(value: object) -> Markup:
    """JSON for a script element, with ``<`` escaped so that no text ends the element."""
    text = msgspec.json.encode(value).decode()
    return unescaped(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _data_uri(text: str, kind: str) -> str:
    """Content as a data URI, so that links work offline and without scripts."""
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"


def content_hash(text: str) -> Markup:
    """The source expression for this style or script in a Content Security Policy.

    CSP Level 3, section 2.3.1. Browsers hash the parsed text, where line ends are line feeds (HTML,
    13.2.3.5).
    """
    content = text.replace("\r\n", "\n").replace("\r", "\n").encode()
    return unescaped(f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'")


def code(text: str) -> Markup:
    """Escaped text; text in `backticks` is code, and short code stays on one line."""
    from markupsafe import Markup, escape

    def written(match: re.Match[str]) -> str:
        kind = ' class="whole"' if len(match[1]) <= _WHOLE_CODE else ""
        return f"<code{kind}>{match[1]}</code>"

    return Markup(re.sub(r"`([^`]+)`", written, str(escape(text))))


def unescaped(text: str) -> Markup:
    """Mark text as HTML that needs no escaping: templates and escaped JSON."""
    from markupsafe import Markup

    return Markup(text)
