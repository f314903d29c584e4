"""Import of files into a run: the results that importers find are stored as an imported run.

Numbers are written as they are found, so memory grows only with the number of results, not with the
size of the files. A run may have ``MOST_RESULTS`` results. At most ``MOST_SKIPPED`` skipped parts
per file are listed.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from assay.errors import AssayError
from assay.importers import NAMES
from assay.importers.channels import FileReader
from assay.importers.lines import STDIN, SourceFile
from assay.importers.model import Result
from assay.model.cell import IMPORTED_TOOLCHAIN, Cell
from assay.model.placement import Placement, Value
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.records.creation import create_imported, run_stem, write_manifest
from assay.records.directory import RAW, RunDirectory
from assay.records.files import cannot_write
from assay.records.model import (
    MANIFEST_SCHEMA,
    ImportedSource,
    ImportedTool,
    Manifest,
    SkippedPart,
)
from assay.records.reading import measurement_id, read_run
from assay.records.schema import ImportedRecord, SampleSeries, Verification
from assay.records.summary import summarise_run
from assay.records.tables import TABLES_SCHEMA, write_tables
from assay.version import VERSION

MOST_SKIPPED = 1000
# The tables of a run are made in memory: about 4 KiB per result.
MOST_RESULTS = 200_000
SUITE = "imported"
_NO_SYSTEM = "unknown"


@dataclass
class _Tool:
    """The counts of one tool's results in one file."""

    codes: dict[str, None] = field(default_factory=dict)
    results: int = 0
    failed: int = 0
    numbers: int = 0
    first: int = 0
    last: int = 0


class Cells:
    """The cells of an import, and the number of results of each."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}
        self.results = 0  # of all cells
        self._results: Counter[str] = Counter()

    def next_of(self, cell: Cell) -> int:
        """The number of a new result among the results of its cell, from 0."""
        self.cells.setdefault(cell.id, cell)
        self._results[cell.id] += 1
        self.results += 1
        return self._results[cell.id] - 1


class Collector:
    """Receives the results that importers find in one file, and writes them as records."""

    def __init__(self, cells: Cells, stream: BinaryIO) -> None:
        self._cells = cells
        self._stream = stream
        self._tools: dict[tuple[str, str | None], _Tool] = {}
        self._skipped: list[SkippedPart] = []
        self._unlisted = 0

    def result(self, result: Result) -> None:
        """Write the numbers of one cell."""
        self._count(result)
        cell = cell_of(result)
        record = ImportedRecord(
            measurement=measurement_id(cell, self._cells.next_of(cell)),
            kernel=cell.kernel,
            tool=result.tool,
            version=None if result.version is None else str(result.version),
            parameters=cell.parameters,
            series=[
                SampleSeries(
                    metric=str(series.metric),
                    unit=str(series.unit),
                    rank=None,
                    peer=None,
                    starts=[],
                    values=[float(found.value) for found in series.found],
                    lines=[found.line for found in series.found],
                    printed=[found.printed for found in series.found],
                )
                for series in result.series
            ],
            verified=result.verified,
            verification=_verification(result),
            error=result.error,
        )
        self._stream.write(msgspec.json.encode(record) + b"\n")

    def skip(self, line: int, what: str) -> None:
        """Record a part that was not imported."""
        if len(self._skipped) < MOST_SKIPPED:
            self._skipped.append(SkippedPart(line, what))
        else:
            self._unlisted += 1

    def source(self, source: SourceFile) -> ImportedSource:
        """The description of the file and of the results in it."""
        if source.problem:
            self.skip(source.lines, source.problem)
        return ImportedSource(
            file=source.name if source.name == STDIN else str(Path(source.name).resolve()),
            digest=source.digest,
            bytes=source.size,
            lines=source.lines,
            tools=[
                ImportedTool(
                    tool=name,
                    version=version,
                    codes=list(tool.codes),
                    results=tool.results,
                    failed=tool.failed,
                    numbers=tool.numbers,
                    first=tool.first,
                    last=tool.last,
                )
                for (name, version), tool in self._tools.items()
            ],
            skipped=sorted(self._skipped, key=lambda part: part.line),
            unlisted=self._unlisted,
        )

    def _count(self, result: Result) -> None:
        tool = self._tools.setdefault((result.tool, result.version), _Tool())
        tool.codes[result.code] = None
        tool.results += 1
        tool.failed += result.verified is False or result.error is not None
        lines = [found.line for series in result.series for found in series.found]
        tool.numbers += len(lines)
        tool.first = min(lines + [tool.first] * (tool.first > 0))
        tool.last = max([*lines, tool.last])


def cell_of(result: Result) -> Cell:
    """The cell of a result: its code and its parameters, including the code's version."""
    parameters: dict[str, Value] = {}
    if result.version is not None:
        parameters["version"] = str(result.version)
    for name, found in result.parameters.items():
        # ``Text`` carries its line, which does not belong to the cell.
        parameters[name] = str(found.value) if isinstance(found.value, str) else found.value
    return Cell(result.code, parameters, Placement(), IMPORTED_TOOLCHAIN)


def _verification(result: Result) -> Verification | None:
    if not result.check:
        return None
    value = result.checked.value if result.checked else None
    return Verification(result.check, None if isinstance(value, str) else value, None)


def read_source(name: str, cells: Cells, stream: BinaryIO) -> ImportedSource:
    """Read one file, "-" for standard input; its records go to ``stream``.

    Raises AssayError for a file that can't be read, and for more than ``MOST_RESULTS``.
    """
    collector, source = Collector(cells, stream), SourceFile(name)
    reader = FileReader(collector)
    for line in source.read():
        reader.feed(line)
        if cells.results > MOST_RESULTS:
            raise _too_many(f"{name}:{line.number}")
    reader.finish()
    if cells.results > MOST_RESULTS:
        raise _too_many(name)
    return collector.source(source)


def _too_many(where: str) -> AssayError:
    return AssayError(
        f"The files up to this point have more than {MOST_RESULTS:,} results, the "
        "maximum of a run.",
        where=where,
        fix="Import the file in parts, each as a separate run; `split -l 1000000 FILE` makes such "
        "parts.",
    )


def import_files(
    files: Sequence[str], root: Path, *, system: str | None, command: list[str]
) -> RunDirectory:
    """Read files and store their results as one run under ``root``.

    ``system``: the name of the machine on which the numbers were measured. Raises AssayError if a
    file can't be read or written, or if no number was found.
    """
    twice = [name for name, count in Counter(files).items() if count > 1]
    if twice:
        raise AssayError("The file is named twice.", where=twice[0], fix="Name each file once.")
    utc = time.time()
    cells = Cells()
    sources: list[ImportedSource] = []

    def fill(folder: Path, run: str) -> None:
        if not sources:
            sources.extend(_read_all(files, cells, folder / RAW))
        plan = Plan(
            name=SUITE,
            title=f"imported from {tools_text(sources)}",
            cells=tuple(cells.cells.values()),
            replication=Replication(min_launches=1, max_launches=1, budget=0.0),
            seed=0,
        )
        manifest = Manifest(
            schema=MANIFEST_SCHEMA,
            run=run,
            utc=utc,
            assay=VERSION,
            command=command,
            plan=plan,
            system={"name": system or _NO_SYSTEM},
            toolchains={},
            imported=sources,
        )
        write_manifest(folder, manifest)
        data = read_run(folder)
        write_tables(data)
        summary = summarise_run(data, launches=len(sources), tables=TABLES_SCHEMA)
        RunDirectory(folder).seal(summary)

    return create_imported(root, run_stem(utc, system or _NO_SYSTEM, SUITE), fill)


def _read_all(files: Sequence[str], cells: Cells, folder: Path) -> list[ImportedSource]:
    sources = []
    for number, name in enumerate(files):
        path = folder / f"{number:04d}-imported.jsonl"
        try:
            stream = path.open("wb")
        except OSError as error:
            raise cannot_write(path, error) from None
        with stream:
            sources.append(read_source(name, cells, _Guarded(stream, path)))  # type: ignore[arg-type]
            stream.flush()
            os.fsync(stream.fileno())
    if not cells.cells:
        raise _nothing(sources)
    return sources


class _Guarded:
    """A stream whose write errors name the file."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        self._path = path

    def write(self, content: bytes) -> int:
        try:
            return self._stream.write(content)
        except OSError as error:
            raise cannot_write(self._path, error) from None


def _nothing(sources: Sequence[ImportedSource]) -> AssayError:
    """The error if no number was found; it names the first skipped part, if there is one."""
    known = ", ".join(name.rpartition(".")[2] for name in NAMES)
    for source in sources:
        if source.skipped:
            part = source.skipped[0]
            return AssayError(
                f"Nothing could be imported. {part.what}",
                where=f"{source.file}:{part.line}",
                fix="Import the tool's complete output.",
            )
    return AssayError(
        "No output of a known tool was found.",
        where=", ".join(source.file for source in sources),
        fix=f"Known tools: {known}.",
    )


def tools_text(sources: Sequence[ImportedSource]) -> str:
    """The tools of these files with their versions: ``"HPL 2.3, STREAM 5.10"``."""
    names = (
        f"{tool.tool} {tool.version}" if tool.version else tool.tool
        for source in sources
        for tool in source.tools
    )
    return ", ".join(dict.fromkeys(names))
