"""Importers of other tools' results: one module per tool, listed in ``NAMES``.

Modules in ``text`` and its folders read output in lines, modules in ``documents`` read JSON or XML.
A module defines ``IMPORTER``: in ``text`` a class (``model.TextImporter``), in ``documents`` an
object (``model.DocumentImporter``).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from assay.importers.model import DocumentImporter, TextImporter

NAMES = (
    "text.hpl",
    "text.npb",
    "text.messages.osu",
    "text.stream",
    "text.babelstream",
    "text.messages.imb",
    "text.messages.gpcnet",
    "text.hpcc",
    "documents.fio",
    "text.ior",
    "text.mdtest",
    "text.io500",
    "text.hpcg",
    "documents.hyperfine",
    "documents.google_benchmark",
    "text.reframe_perflog",
    "documents.reframe_report",
    "text.likwid_bench",
    "text.messages.netpipe",
    "text.iozone",
    "text.messages.mpptest",
    "documents.phoronix",
    "documents.ior_json",
    "text.devices.nccl_tests",
    "documents.devices.nccl_tests_json",
    "text.devices.nvbandwidth",
    "documents.devices.nvbandwidth_json",
    "documents.devices.dcgm",
    "text.devices.gpu_burn",
    "text.devices.mixbench",
    "text.devices.clpeak",
    "documents.devices.clpeak_xml",
    "documents.devices.superbench",
    "text.devices.superbench_summary",
)


@cache
def text_importers() -> dict[str, type[TextImporter]]:
    """The importers of text, by module name."""
    return {
        name.rpartition(".")[2]: import_module(f"assay.importers.{name}").IMPORTER
        for name in NAMES
        if name.startswith("text.")
    }


@cache
def document_importers() -> dict[str, DocumentImporter]:
    """The importers of documents, by module name."""
    return {
        name.rpartition(".")[2]: import_module(f"assay.importers.{name}").IMPORTER
        for name in NAMES
        if name.startswith("documents.")
    }
