"""Pages and files of a site as text, from templates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes

import msgspec

from assay.report.terms.marking import explained
from assay.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
# Templates of pages whose terms are explained; pages of runs are only lists.
_EXPLAINED = ("index", "machine")
# Runs in a file of the search.
_AT_ONCE = 4000


class Renderer:
    """Renders pages; the templates are read once."""

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        from assay.report.html import TEMPLATES, code

        environment = Environment(
            loader=FileSystemLoader([_TEMPLATES, TEMPLATES]),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        environment.filters["code"] = code
        return environment

    def page(self, template: str, root: str, **context: object) -> str:
        """A page; ``root``: the relative path to the site's first page, "" or "../../"."""
        found = self._environment.get_template(f"{template}.html.j2")
        page = found.render(root=root, assay=VERSION, **context)
        return explained(page) if template in _EXPLAINED else page


def assets() -> dict[str, str]:
    """Style sheet and script of all pages."""
    from assay.report.html import TEMPLATES

    styles = [TEMPLATES / "report.css", _TEMPLATES / "site.css"]
    return {
        "assets/site.css": "".join(path.read_text("utf-8") for path in styles),
        "assets/site.js": (_TEMPLATES / "site.js").read_text("utf-8"),
    }


def address(path: bytes) -> str:
    """A relative path as an address; also for names that are not UTF-8."""
    text = quote_from_bytes(path, safe="/~")
    # A first part with a colon would be taken for a scheme, but quoting has replaced colons.
    return text or "./"


def search_index(files: Sequence[str]) -> str:
    """The script that names the files of the search."""
    return f"window.assaySearchFiles = {msgspec.json.encode(list(files)).decode()};\n"


def search_files(
    folder: str,
    name: str,
    cells: Sequence[str],
    pages: Sequence[tuple[str, Sequence[tuple[str, str, str]]]],
) -> dict[str, str]:
    """The files of the search about a machine, by their names.

    ``pages``: for each page of runs, the runs' names, suites and states.
    """
    parts: list[list[tuple[str, Sequence[tuple[str, str, str]]]]] = [[]]
    held = 0
    for page in pages:
        if held and held + len(page[1]) > _AT_ONCE:
            parts.append([])
            held = 0
        parts[-1].append(page)
        held += len(page[1])
    found = {}
    for number, part in enumerate(parts):
        content = {
            "folder": folder,
            "name": name,
            "first": number == 0,
            "cells": list(cells) if number == 0 else [],
            "pages": part,
        }
        text = msgspec.json.encode(content).decode()
        found[f"{folder}.{number}.js"] = f"assaySearch({text});\n"
    return found
