"""Importers of other tools' results: a module each and its line here.

``text`` has those of tools that print lines, ``documents`` those of tools that write JSON or XML.
A module holds ``IMPORTER``: of the first a class (``model.TextImporter``), of the others an object
(``model.DocumentImporter``).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from assay.importers.model import DocumentImporter, TextImporter

NAMES = (
    "text.hpl",
    "text.npb",
    "text.osu",
    "text.stream",
    "text.babelstream",
    "text.imb",
    "text.hpcc",
    "documents.fio",
    "text.ior",
    "text.mdtest",
    "text.hpcg",
    "documents.hyperfine",
    "documents.google_benchmark",
    "text.reframe_perflog",
    "documents.reframe_report",
    "text.likwid_bench",
    "text.netpipe",
    "text.iozone",
    "text.mpptest",
    "documents.phoronix",
)


@cache
def text_importers() -> dict[str, type[TextImporter]]:
    """Those that read lines, by the names of their modules."""
    return {
        name.partition(".")[2]: import_module(f"assay.importers.{name}").IMPORTER
        for name in NAMES
        if name.startswith("text.")
    }


@cache
def document_importers() -> dict[str, DocumentImporter]:
    """Those that read whole documents, by the names of their modules."""
    return {
        name.partition(".")[2]: import_module(f"assay.importers.{name}").IMPORTER
        for name in NAMES
        if name.startswith("documents.")
    }
