"""Writes the timeline of a trace as one HTML file that opens without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.charts.theme import timeline_colours
from assay.records.files import OUTPUT, write_atomically
from assay.report.html import content_hash, unescaped
from assay.report.timeline.contents import Contents, contents_of
from assay.report.timeline.model import Annotations
from assay.report.timeline.packing import base64_text
from assay.trace.events import Trace
from assay.version import VERSION

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_BYTES = 5_000_000  # maximum bytes of the file
_PAGE = Path(__file__).parent / "page"
# Bytes reserved for styles, scripts and table.
_FRAME = 120_000
_SCRIPTS = (
    *(
        "numbers",
        "samples",
        "data",
        "view",
        "colours",
        "raster",
        "overlay",
        "find",
        "panel",
        "controls",
    ),
    "main",
)


def write_timeline(
    trace: Trace,
    path: Path,
    annotations: Annotations | None = None,
    *,
    most_bytes: int = MOST_BYTES,
    option: str = OUTPUT,
) -> Contents:
    """Write the timeline with at most ``most_bytes``; return its contents.

    Raises AssayError if the file can't be written.
    """
    notes = annotations or Annotations()
    contents = contents_of(trace, notes, (most_bytes - _FRAME) * 3 // 4)
    write_atomically(path, timeline_html(contents).encode(), option=option)
    return contents


def timeline_html(contents: Contents) -> str:
    """The page. It refers to no external resource."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_PAGE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["csp_hash"] = content_hash
    head = {**contents.head, "colours": timeline_colours()}
    return environment.get_template("timeline.html.j2").render(
        assay=VERSION,
        head=contents.head,
        css=unescaped(_read("timeline.css")),
        script=unescaped(_script()),
        head_json=_json(head),
        payload=unescaped(base64_text(contents.payload)),
    )


def _script() -> str:
    parts = [_read(f"js/{name}.js") for name in _SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _json(value: dict[str, Any]) -> Markup:
    """JSON for a script element, escaped so that no text ends the element."""
    text = msgspec.json.encode(value).decode()
    return unescaped(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
