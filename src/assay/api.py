"""The public interface in Python: stored runs, their cells, answers, findings and figures.

Names that this module exports keep their meaning within a major version. All values are in SI base
units. Nothing is measured, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from assay.charts.figure import Figure
    from assay.records.model import RunData
    from assay.report.model import ReportModel, Section
    from assay.stats.core.model import CellSummary


def open_run(name: str | Path = "", runs: str | Path | None = None) -> StoredRun:
    """A stored run, selected by its directory or by a unique part of its name; by default the
    newest.

    ``runs``: the folder of the runs, by default the folder in ``assay.toml``, or otherwise
    ``runs``. Raises AssayError if there is no such run, if there are several, or if the run can't
    be read.
    """
    from assay.config import load_config
    from assay.records.directory import find_run

    root = Path(runs) if runs is not None else load_config(None).runs
    return StoredRun(find_run(root, str(name)).path)


def open_runs(runs: str | Path | None = None) -> list[StoredRun]:
    """All stored runs of a folder, the oldest first. Each run is read on first use."""
    from assay.config import load_config
    from assay.records.directory import list_runs

    root = Path(runs) if runs is not None else load_config(None).runs
    return [StoredRun(found.path) for found in list_runs(root)]


class StoredRun:
    """A run stored in a directory. It is read and analysed when a property needs its data."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"StoredRun({str(self.path)!r})"

    @property
    def name(self) -> str:
        """The run's name: start time, system and suite."""
        return self.path.name

    @property
    def complete(self) -> bool:
        """Whether the run was finished and sealed."""
        return self._data.complete

    @property
    def system(self) -> Mapping[str, Any]:
        """Facts about the machine, as recorded at the start (``docs/formats/runs.md``)."""
        return self._data.manifest.system

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row per metric of each cell, with the columns of ``assay export`` (``docs/export.md``).

        Parameters of kernels are additional columns, which are null for kernels without the
        parameter.
        """
        import polars as pl

        from assay.report.export.model import ExportedRun
        from assay.report.export.rows import result_rows
        from assay.report.export.tabular import results_frame

        rows = list(result_rows([ExportedRun(self._data, self._summaries)]))
        frame = results_frame(rows)
        names = dict.fromkeys(name for row in rows for name in row.parameters)
        columns = []
        for name in names:
            values = [row.parameters.get(name) for row in rows]
            kinds = {type(value) for value in values if value is not None}
            if kinds == {int, float}:
                values = [None if value is None else float(value) for value in values]
            elif len(kinds) > 1:
                values = [None if value is None else str(value) for value in values]
            columns.append(pl.Series(f"{name}_" if name in frame.columns else name, values))
        return frame.with_columns(columns)

    @cached_property
    def samples(self) -> pl.DataFrame:
        """A row per sample, with ``measurement``, ``metric``, ``unit``, ``rank``, ``time`` (s) and
        ``value``.

        ``measurement`` consists of the cell's id and the number of the replicate.
        """
        import polars as pl

        from assay.records.tables import sample_columns, sample_parts

        parts = list(sample_parts(self._data))
        return pl.concat(parts) if parts else pl.DataFrame(schema=sample_columns())

    @property
    def answers(self) -> Mapping[str, Section]:
        """The sections of the report by question: verdict, confidence, caveats, recommendations."""
        return {section.id: section for section in self.report.sections}

    @property
    def findings(self) -> Mapping[str, Any]:
        """The numbers behind each question's answer, by question (``docs/findings.md``)."""
        return {section.id: section.findings for section in self.report.sections}

    @cached_property
    def figures(self) -> Mapping[str, RunFigure]:
        """The figures of the report, by id."""
        return {
            figure.id: RunFigure(figure)
            for section in self.report.sections
            for figure in section.figures
        }

    @cached_property
    def report(self) -> ReportModel:
        """The whole report (``docs/report-format.md``), compared with stored runs of the same
        machine.
        """
        from assay.report import build_report
        from assay.report.earlier_runs import read_history

        return build_report(self._data, self._summaries, read_history(self._data))

    @cached_property
    def _data(self) -> RunData:
        from assay.records.reading import read_run

        return read_run(self.path)

    @cached_property
    def _summaries(self) -> list[CellSummary]:
        from assay.stats.cells.summarise import summarise_cells

        return summarise_cells(self._data)


class RunFigure:
    """A figure of a report: its data, and its drawing as SVG. Notebooks show the drawing."""

    def __init__(self, figure: Figure) -> None:
        self.id = figure.id
        self.title = figure.title
        self.caption = figure.caption
        self._figure = figure

    def __repr__(self) -> str:
        return f"RunFigure({self.id!r})"

    @property
    def data(self) -> pl.DataFrame:
        """The drawn data in SI base units."""
        import polars as pl

        return pl.DataFrame(self._figure.rows, infer_schema_length=None)

    @property
    def units(self) -> Mapping[str, str]:
        """The unit of each column of the data; empty for numbers without a unit."""
        return {field.name: field.unit for field in self._figure.fields}

    @property
    def vega_lite(self) -> dict[str, Any]:
        """The complete specification, for other programs that draw Vega-Lite."""
        from assay.charts.drawing import drawable

        return drawable(self._figure)

    def svg(self) -> str:
        """The drawing as an SVG document."""
        from assay.charts.drawing import svg

        return svg(self._figure)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows of the data."""
        return iter(self._figure.rows)
