"""The run's Parquet tables, made from its streams: a row a measurement, a row a sample."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.records.files import write_atomically
from assay.records.model import Measurement, RunData
from assay.records.reading import measurement_id

if TYPE_CHECKING:
    import polars as pl

MEASUREMENTS = "measurements.parquet"
SAMPLES = "samples.parquet"


def _measurement_row(run: RunData, measurement: Measurement) -> dict[str, object]:
    record, cell = measurement.record, measurement.cell
    placement = cell.placement
    row: dict[str, object] = {
        "run": run.manifest.run,
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
        "hosts": ",".join(dict.fromkeys(rank.host for rank in measurement.ranks)),
    }
    row |= {f"covariate.{name}": value for name, value in record.covariates.items()}
    return row


def measurement_table(run: RunData) -> pl.DataFrame:
    """One row a measurement; columns are documented in docs/formats.md."""
    import polars as pl

    rows = [_measurement_row(run, measurement) for measurement in run.measurements]
    table = pl.DataFrame(rows, infer_schema_length=None)
    covariates = [name for name in table.columns if name.startswith("covariate.")]
    return table.with_columns(pl.col(covariates).cast(pl.Float64)) if covariates else table


def sample_table(run: RunData) -> pl.DataFrame:
    """One row a sample: measurement, metric, unit, rank, peer, index, time, value, warmup."""
    import polars as pl

    schema = {
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
    parts = []
    for measurement in run.measurements:
        record = measurement.record
        name = measurement_id(measurement.cell, measurement.replicate)
        for series in record.series:
            length = len(series.values)
            by_sample = length == len(record.series[0].values)
            starts: list[float | None] = [*series.starts]
            if not starts:
                starts = [*record.series[0].starts] if by_sample else [None] * length
            parts.append(
                pl.DataFrame(
                    {
                        "index": range(length),
                        "time": starts,
                        "value": series.values,
                    },
                    schema={"index": pl.UInt32, "time": pl.Float64, "value": pl.Float64},
                ).select(
                    pl.lit(name).alias("measurement"),
                    pl.lit(series.metric).alias("metric"),
                    pl.lit(series.unit).alias("unit"),
                    pl.lit(series.rank, dtype=pl.Int32).alias("rank"),
                    pl.lit(series.peer, dtype=pl.Int32).alias("peer"),
                    "index",
                    "time",
                    "value",
                    (pl.col("index") < (record.warmup or 0) * by_sample).alias("warmup"),
                )
            )
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def write_tables(run: RunData) -> None:
    """Write both tables into the run, each by an atomic rename. Raises AssayError if it can't."""
    assert run.path is not None
    _write(run.path / MEASUREMENTS, measurement_table(run))
    _write(run.path / SAMPLES, sample_table(run))


def _write(path: Path, table: pl.DataFrame) -> None:
    # Through memory: Polars itself hides why a file could not be written.
    content = io.BytesIO()
    table.write_parquet(content, compression="zstd", statistics=True)
    write_atomically(path, content.getvalue())
