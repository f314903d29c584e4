"""The run's Parquet tables, computed from its streams: a row per measurement, a row per sample.

Both are written in parts of bounded size. Every column has a fixed type, so that the tables of many
runs can be read as one (``records.store``).
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.errors import AssayError
from assay.model.sessions import session_of
from assay.records.files import RUNS, cannot_write, write_atomically
from assay.records.model import Manifest, Measurement, RunData
from assay.records.reading import measurement_id
from assay.records.schema import MeasurementRecord
from assay.records.stream import sent_by_adapter
from assay.records.summary import covariates_of

if TYPE_CHECKING:
    import polars as pl

MEASUREMENTS = "measurements.parquet"
SAMPLES = "samples.parquet"
# Version of columns and types; a run's seal contains it, so that older tables are recognised.
TABLES_SCHEMA = 2

# The prefix of a covariate's column.
COVARIATE = "covariate."

# Columns that are null for imported numbers.
_UNKNOWN_OF_IMPORTS = (
    "nodes",
    "ppn",
    "threads",
    "order",
    "binding",
    "session",
    "utc",
    "wall",
    "hosts",
)

# Number of samples in memory at a time, and rows of a row group, the unit that a query on one cell
# reads.
_CHUNK = 1 << 18
_GROUP = 1 << 16
# Number of measurements in a part of their table.
_ROWS = 4096
# Options of Polars for writing Parquet.
_FORM: dict[str, Any] = {"compression": "zstd", "statistics": True, "row_group_size": _GROUP}


def measurement_columns() -> dict[str, pl.DataType | type[pl.DataType]]:
    """The columns of every table of measurements, except covariates."""
    import polars as pl

    return {
        "run": pl.String,
        "measurement": pl.String,
        "cell": pl.String,
        "kernel": pl.String,
        "toolchain": pl.String,
        "nodes": pl.Int64,
        "ppn": pl.Int64,
        "threads": pl.Int64,
        "order": pl.String,
        "binding": pl.String,
        "adapter": pl.String,
        "parameters": pl.String,
        "replicate": pl.Int64,
        "session": pl.Int64,
        "launch": pl.String,
        "utc": pl.Float64,
        "status": pl.String,
        "error": pl.String,
        "verified": pl.Boolean,
        "wall": pl.Float64,
        "stop": pl.String,
        "batch": pl.Int64,
        "warmup": pl.Int64,
        "half_width": pl.Float64,
        "median": pl.Float64,
        "hosts": pl.String,
        "traffic": pl.String,
    }


def sample_columns() -> dict[str, pl.DataType | type[pl.DataType]]:
    """The columns of every table of samples."""
    import polars as pl

    return {
        "kernel": pl.String,
        "cell": pl.String,
        "measurement": pl.String,
        "metric": pl.String,
        "unit": pl.String,
        "rank": pl.Int32,
        "peer": pl.Int32,
        "index": pl.UInt32,
        "time": pl.Float64,
        "value": pl.Float64,
        "warmup": pl.Boolean,
    }


def _measurement_row(manifest: Manifest, measurement: Measurement) -> dict[str, object]:
    record, cell = measurement.record, measurement.cell
    placement = cell.placement
    sent = sent_by_adapter([record])
    row: dict[str, object] = {
        "run": manifest.run,
        "measurement": measurement_id(cell, measurement.replicate),
        "cell": cell.id,
        "kernel": cell.kernel,
        "toolchain": cell.toolchain,
        "nodes": placement.nodes,
        "ppn": placement.ppn,
        "threads": placement.threads,
        "order": placement.order,
        "binding": placement.binding,
        "adapter": placement.adapter,
        "parameters": msgspec.json.encode(record.parameters, order="deterministic").decode(),
        "replicate": measurement.replicate,
        "session": session_of(measurement.replicate, manifest.plan.replication),
        "launch": measurement.launch,
        "utc": measurement.utc,
        "status": record.status,
        "error": record.error,
        "verified": record.verified,
        "wall": record.wall,
        "stop": record.stop,
        "batch": record.batch,
        "warmup": record.warmup,
        "half_width": record.half_width,
        "median": _median(record),
        "hosts": ",".join(dict.fromkeys(rank.host for rank in measurement.ranks)),
        "traffic": ",".join(f"{name}={most:.0f}" for name, most in sent.items()) or None,
    }
    if manifest.imported:
        row |= dict.fromkeys(_UNKNOWN_OF_IMPORTS)
    return row | {f"{COVARIATE}{name}": value for name, value in record.covariates.items()}


def _median(record: MeasurementRecord) -> float | None:
    """The median of the first series without its warm-up, which is at most half of it."""
    import numpy as np

    if record.status != "ok" or not record.series:
        return None
    values = record.series[0].values
    steady = values[min(record.warmup or 0, len(values) // 2) :]
    return float(np.median(steady)) if steady else None


def _in_plan_order(run: RunData) -> list[Measurement]:
    """The measurements sorted by cell, in the plan's order, and replicate."""
    places = {cell.id: place for place, cell in enumerate(run.manifest.plan.cells)}
    return sorted(run.measurements, key=lambda m: (places[m.cell.id], m.replicate))


def measurement_table(run: RunData) -> pl.DataFrame:
    """One row per measurement; columns are documented in docs/formats/runs.md."""
    import polars as pl

    measurements = _in_plan_order(run)
    covariates = [f"{COVARIATE}{name}" for name in covariates_of(run)]
    schema = measurement_columns() | dict.fromkeys(covariates, pl.Float64)
    parts = [
        pl.DataFrame(
            [_measurement_row(run.manifest, m) for m in measurements[first : first + _ROWS]],
            schema=schema,
        )
        for first in range(0, len(measurements), _ROWS)
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def sample_parts(run: RunData) -> Iterator[pl.DataFrame]:
    """The table of samples in parts of about ``_CHUNK`` rows."""
    waiting: list[dict[str, object]] = []
    rows = 0
    # Sorted by the cell's id, so that a query on one cell reads few row groups.
    for measurement in sorted(run.measurements, key=lambda m: (m.cell.id, m.replicate)):
        for row in _series_of(measurement):
            waiting.append(row)
            rows += len(row["value"])  # type: ignore[arg-type]
        if rows >= _CHUNK:
            yield _exploded(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _exploded(waiting)


def _series_of(measurement: Measurement) -> Iterator[dict[str, object]]:
    """A row for each series of a measurement, its samples in lists."""
    record = measurement.record
    all_series = record.series[:]
    for series in all_series:
        length = len(series.values)
        by_sample = length == len(all_series[0].values)
        starts: Sequence[float | None] = series.starts
        if not starts:
            starts = (all_series[0].starts if by_sample else []) or [None] * length
        if length == 0:
            continue
        yield {
            "kernel": measurement.cell.kernel,
            "cell": measurement.cell.id,
            "measurement": measurement_id(measurement.cell, measurement.replicate),
            "metric": series.metric,
            "unit": series.unit,
            "rank": series.rank,
            "peer": series.peer,
            "index": range(length),
            "time": starts,
            "value": series.values,
            "warmup": (record.warmup or 0) * by_sample,
        }


def _exploded(rows: Sequence[dict[str, object]]) -> pl.DataFrame:
    """A row per sample, from rows per series."""
    import polars as pl

    schema = sample_columns()
    lists = {name: pl.List(schema[name]) for name in ("index", "time", "value")}
    return (
        pl.DataFrame(rows, schema={**schema, **lists, "warmup": pl.UInt32})
        .explode(*lists)
        .with_columns((pl.col("index") < pl.col("warmup")).alias("warmup"))
    )


def write_tables(run: RunData) -> None:
    """Write both tables into the run, each by an atomic rename. Raises AssayError if it can't."""
    assert run.path is not None
    write_table(run.path / MEASUREMENTS, [measurement_table(run)])
    write_table(run.path / SAMPLES, sample_parts(run), sample_columns())


def write_table(
    path: Path,
    parts: Iterable[pl.DataFrame],
    schema: dict[str, pl.DataType | type[pl.DataType]] | None = None,
    *,
    option: str = RUNS,
) -> None:
    """Write a table: a single part from memory, several through temporary files.

    ``option``: as for ``cannot_write``.

    Python writes the parts, since Polars doesn't report why a file can't be written.
    """
    import polars as pl

    frames = iter(parts)
    first = next(frames, None)
    second = next(frames, None)
    if second is None:
        whole_table = pl.DataFrame(schema=schema) if first is None else first
        write_atomically(path, _encoded(whole_table), option=option)
        return
    assert first is not None
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            files = []
            for number, frame in enumerate(chain([first, second], frames)):
                files.append(Path(folder) / f"{number:06d}.parquet")
                files[-1].write_bytes(_encoded(frame))
                del frame
            whole = Path(folder) / path.name
            pl.scan_parquet(files).sink_parquet(whole, **_FORM)
            with whole.open("rb") as written:
                os.fsync(written.fileno())
            whole.replace(path)
    except OSError as error:
        raise cannot_write(path, error, option) from None
    except pl.exceptions.PolarsError as error:
        raise AssayError(f"The table can't be written: {error}.", where=str(path)) from None


def _encoded(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content, **_FORM)
    return content.getvalue()
