"""The summary of an import, for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.records.directory import RunDirectory
from assay.records.model import ImportedSource, ImportedTool
from assay.units import counted, listed

if TYPE_CHECKING:
    from rich.console import Console

# Maximum reasons for skipped parts listed per file.
_MOST_NAMED = 20


class ImportSummary(msgspec.Struct, frozen=True):
    """What ``assay import`` found, skipped and stored."""

    #: ``run``, ``path``: the run's name and folder.
    run: str
    path: str
    #: ``cells``, ``numbers``: number of cells and of numbers stored.
    cells: int
    numbers: int
    #: Number of results that the tool reports as failed.
    failed: int
    #: Sources of the numbers, one per file.
    sources: list[ImportedSource]


def import_summary(run: RunDirectory) -> ImportSummary:
    """The summary of an imported run, from its manifest."""
    manifest = run.manifest()
    tools = [tool for source in manifest.imported for tool in source.tools]
    return ImportSummary(
        run=run.name,
        path=str(run.path),
        cells=len(manifest.plan.cells),
        numbers=sum(tool.numbers for tool in tools),
        failed=sum(tool.failed for tool in tools),
        sources=manifest.imported,
    )


def print_import(summary: ImportSummary, console: Console) -> None:
    """Print what was found and skipped in each file, and where the numbers are stored."""
    from rich.text import Text

    for source in summary.sources:
        console.print(Text(f"{file_name(source)}: {counted(source.lines, 'line')}", style="bold"))
        for tool in source.tools:
            console.print(Text(f"  {_tool_text(tool)}"), soft_wrap=True)
        if not source.tools:
            console.print(Text("  contains no output of a known tool", style="yellow"))
        for sentence in skipped_sentences(source):
            console.print(Text(f"  skipped: {sentence}", style="yellow"), soft_wrap=True)
    cells, numbers = counted(summary.cells, "cell"), counted(summary.numbers, "number")
    console.print(Text(f"stored: {numbers} of {cells} in {summary.path}"), soft_wrap=True)
    console.print(Text(f"`assay report {summary.run}` shows them.", style="dim"), soft_wrap=True)


def _tool_text(tool: ImportedTool) -> str:
    version = f" {tool.version}" if tool.version else " (version unknown)"
    failed = f", {counted(tool.failed, 'failed result')}" if tool.failed else ""
    return (
        f"{tool.tool}{version}, lines {tool.first} to {tool.last}: "
        f"{counted(tool.numbers, 'number')} in {counted(tool.results, 'result')}{failed}"
    )


def skipped_sentences(source: ImportedSource) -> list[str]:
    """``line 12: why``; lines with the same reason are combined."""
    lines: dict[str, list[int]] = {}
    for part in source.skipped:
        lines.setdefault(part.what, []).append(part.line)
    sentences = [f"{_lines_text(numbers)}: {what}" for what, numbers in lines.items()]
    more = len(sentences) - _MOST_NAMED
    if more > 0:
        sentences = [*sentences[:_MOST_NAMED], f"and {more} more"]
    if source.unlisted:
        sentences.append(f"{counted(source.unlisted, 'further part')} not listed")
    return sentences


def _lines_text(lines: Sequence[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    shown = [str(line) for line in lines[:5]]
    return f"lines {listed(shown)}" if len(lines) <= 5 else f"lines {', '.join(shown)}, …"


def file_name(source: ImportedSource) -> str:
    """The name of a file without its path."""
    return "standard input" if source.file == "-" else Path(source.file).name
