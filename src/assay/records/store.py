"""Queries over many runs: listed from their seals, with their tables scanned as one.

There is no index that could become outdated: queries read the runs themselves, which don't change
once they are sealed. The summary in the seal decides whether a query needs a run; tables are
scanned lazily, so that a query reads only the columns and rows that it needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.errors import AssayError
from assay.plain_files import is_plain, read_plain
from assay.records.directory import RunDirectory, list_runs
from assay.records.listing import RunListing, describe_run
from assay.records.summary import Identity, RunSummary, machine_identity

if TYPE_CHECKING:
    import polars as pl
    from polars._typing import SchemaDict

# Columns that a scan adds to the columns of a table.
_OF_RUN = ("run", "suite", "system")
_PATH = "path of the table"


@dataclass(frozen=True)
class RunFilter:
    """The runs, or their rows, that a query selects; None selects all."""

    kernel: str | None = None
    suite: str | None = None
    system: str | None = None
    #: ``since``, ``until``: range of the run's start, Unix times; ``until`` is excluded.
    since: float | None = None
    until: float | None = None
    #: Whether imported runs are selected; they are never read together with measured ones.
    imported: bool = False

    def takes(self, run: RunSummary) -> bool:
        """Whether the run is selected."""
        return (
            self.imported == run.imported
            and (self.kernel is None or self.kernel in run.kernels)
            and (self.suite is None or self.suite == run.suite)
            and (self.system is None or self.system == run.system)
            and (self.since is None or run.utc >= self.since)
            and (self.until is None or run.utc < self.until)
        )


ALL = RunFilter()


class SkippedRuns(msgspec.Struct, frozen=True):
    """Numbers of runs that a query leaves out, by reason."""

    #: Number of runs that are not sealed.
    unfinished: int = 0
    #: Number of groups of runs, which have their own reports.
    groups: int = 0
    #: Number of runs with tables of another version.
    older: int = 0
    #: Number of runs that can't be read.
    damaged: int = 0
    #: Number of imported runs, whose numbers come from other tools.
    imported: int = 0


class Store:
    """The runs in one folder; ``without``: names of runs to leave out; ``only``: names of runs to
    read, in this order, without a list of the folder.

    The folder and its seals are read once, when they are first needed.
    """

    def __init__(
        self, root: Path, without: Collection[str] = (), *, only: Sequence[str] | None = None
    ) -> None:
        self.root = root
        self.without = frozenset(without)
        self._only = only

    @cached_property
    def _runs(self) -> list[RunDirectory]:
        if self._only is None:
            found = list_runs(self.root)
        else:
            found = [RunDirectory(self.root / name) for name in self._only]
        return [run for run in found if run.name not in self.without]

    @cached_property
    def _summaries(self) -> list[tuple[RunDirectory, RunSummary | AssayError | None]]:
        """Each run with its seal's summary, or with the error of reading it."""
        found: list[tuple[RunDirectory, RunSummary | AssayError | None]] = []
        for run in self._runs:
            try:
                found.append((run, run.summary()))
            except AssayError as error:
                found.append((run, error))
        return found

    def directories(self) -> list[RunDirectory]:
        """The runs, oldest first."""
        return list(self._runs)

    def passed_over(self) -> SkippedRuns:
        """Numbers of runs that ``measurements`` and ``samples`` leave out with any filter."""
        from assay.records.tables import TABLES_SCHEMA

        counts = dict.fromkeys(SkippedRuns.__struct_fields__, 0)
        counts["damaged"] = len(self.without)
        for run, summary in self._summaries:
            if isinstance(summary, AssayError):
                counts["damaged"] += 1
                continue
            try:
                request = run.request() if summary is None else None
            except (AssayError, OSError):
                counts["damaged"] += 1
                continue
            if summary is None:
                group = request is not None and request.members is not None
                sealed = not group and run.complete
                counts["groups" if group else "older" if sealed else "unfinished"] += 1
            elif summary.imported:
                counts["imported"] += 1
            elif summary.tables != TABLES_SCHEMA:
                counts["older"] += 1
        return SkippedRuns(**counts)

    def unreadable(self) -> list[str]:
        """The names of sealed runs whose tables of measurements can't be read; reads them all."""
        import polars as pl

        from assay.records.tables import MEASUREMENTS, measurement_columns

        bad = []
        for run, _ in self._with_tables(ALL):
            try:
                table = pl.read_parquet(read_plain(run.path / MEASUREMENTS))
            except (OSError, pl.exceptions.PolarsError):
                bad.append(run.name)
                continue
            if any(table.schema.get(n, t) != t for n, t in measurement_columns().items()):
                bad.append(run.name)
        return bad

    def listing(self, *, check: bool = False) -> list[RunListing]:
        """A line for each run, oldest first, unfinished and damaged ones too."""
        return [describe_run(run, check=check) for run in self.directories()]

    def complete(self, choice: RunFilter = ALL) -> Iterator[tuple[RunDirectory, RunSummary]]:
        """The selected sealed runs with their summaries, oldest first.

        Runs whose seal has no summary, or can't be read, are skipped.
        """
        for run, summary in self._summaries:
            if isinstance(summary, RunSummary) and choice.takes(summary):
                yield run, summary

    def measurements(self, choice: RunFilter = ALL) -> pl.LazyFrame:
        """The rows of ``measurements.parquet`` of the selected runs, with ``suite`` and ``system``.

        Columns as in docs/formats/runs.md. Each covariate of any of the runs has a column, the
        newest run's first; it is null for runs without that covariate.
        """
        import polars as pl

        from assay.records.tables import COVARIATE, MEASUREMENTS, measurement_columns

        runs = self._with_tables(choice)
        names: dict[str, None] = {}
        for run, summary in reversed(runs):
            found = summary.covariates
            if found is None:  # an older seal doesn't have the names: read the table's schema
                if not is_plain(run.path / MEASUREMENTS):
                    continue
                columns = pl.read_parquet_schema(run.path / MEASUREMENTS)
                found = tuple(n.removeprefix(COVARIATE) for n in columns if n.startswith(COVARIATE))
            names |= dict.fromkeys(found)
        covariates = [f"{COVARIATE}{name}" for name in names]
        schema = measurement_columns() | dict.fromkeys(covariates, pl.Float64)
        return _scan(runs, MEASUREMENTS, schema, choice)

    def samples(
        self, choice: RunFilter = ALL, *, cells: Collection[str] = (), metric: str | None = None
    ) -> pl.LazyFrame:
        """The rows of ``samples.parquet`` of the selected runs, with ``run``, ``suite`` and
        ``system``; ``cells``: only of these, by id.
        """
        import polars as pl

        from assay.records.tables import SAMPLES, sample_columns

        table = _scan(self._with_tables(choice), SAMPLES, sample_columns(), choice)
        if cells:
            table = table.filter(pl.col("cell").is_in(list(cells)))
        return table if metric is None else table.filter(pl.col("metric") == metric)

    def of_machine(self, machine: Identity) -> Iterator[tuple[RunDirectory, RunSummary | None]]:
        """The runs of a machine, newest first, with unfinished ones, which have no summary.

        Runs that can't be read or have another version are skipped, and so are imported ones, whose
        machine is unknown.
        """
        for run in reversed(self.directories()):
            try:
                summary = run.summary()
                if summary is not None:
                    found, imported = summary.machine, summary.imported
                else:
                    manifest = run.manifest()
                    found = machine_identity(manifest.system)
                    imported = bool(manifest.imported)
            except AssayError:
                continue
            if found == machine and not imported:
                yield run, summary

    def _with_tables(self, choice: RunFilter) -> list[tuple[RunDirectory, RunSummary]]:
        from assay.records.tables import TABLES_SCHEMA

        return [found for found in self.complete(choice) if found[1].tables == TABLES_SCHEMA]


def _scan(
    runs: Sequence[tuple[RunDirectory, RunSummary]],
    name: str,
    schema: SchemaDict,
    choice: RunFilter,
) -> pl.LazyFrame:
    """One table of all these runs, each row with its run's name, suite and system."""
    import polars as pl

    runs = [found for found in runs if is_plain(found[0].path / name)]
    if not runs:
        return pl.LazyFrame(schema={**schema, **dict.fromkeys(_OF_RUN, pl.String)})
    # Polars takes paths as text: tables in folders with other names are read here.
    files = [run.path / name for run, _ in runs]
    paths = [_as_text(file) for file in files]
    by_path = [path for path, file in zip(paths, files, strict=True) if path == str(file)]
    others = [(path, file) for path, file in zip(paths, files, strict=True) if path != str(file)]
    how: dict[str, Any] = {
        "schema": schema,
        "glob": False,
        "missing_columns": "insert",
        "extra_columns": "ignore",
    }
    tables = [
        pl.scan_parquet(read_plain(file), **how).with_columns(pl.lit(path).alias(_PATH))
        for path, file in others
    ]
    if by_path:
        tables.insert(0, pl.scan_parquet(by_path, **how, include_file_paths=_PATH))
    table = tables[0] if len(tables) == 1 else pl.concat(tables)
    if choice.kernel is not None:
        table = table.filter(pl.col("kernel") == choice.kernel)
    about = pl.LazyFrame(
        {
            _PATH: paths,
            "run": [_as_text(run.name) for run, _ in runs],
            "suite": [summary.suite for _, summary in runs],
            "system": [summary.system for _, summary in runs],
        }
    )
    table = table.drop("run", strict=False)
    return table.join(about, on=_PATH, how="left", maintain_order="left").drop(_PATH)


def _as_text(name: str | Path) -> str:
    """A name as text, in which bytes that are not UTF-8 are written as numbers."""
    text = str(name).encode("utf-8", "surrogateescape")
    return text.decode("utf-8", "backslashreplace")
