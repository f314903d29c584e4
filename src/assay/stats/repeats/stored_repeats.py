"""Repeated measurements from the tables of a store: many runs, without reading their records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.kernels import known_kernel
from assay.kernels.catalogue import Kernel, Metric
from assay.model.cell import Cell
from assay.records.tables import COVARIATE
from assay.stats.cells.summarise import LeftOut, work_of
from assay.stats.repeats.repeats import Repeats, headline, host_set, number

if TYPE_CHECKING:
    import polars as pl

    from assay.records.store import RunFilter, Store


def repeats_in(store: Store, choice: RunFilter | None = None) -> list[Repeats]:
    """One ``Repeats`` for each cell in the sealed runs of a store, from their tables; no samples.

    In the order in which the cells were first measured. The values are the tables' ``median``,
    converted to a rate where the headline metric is one; where that metric is of another series
    than ``time``, they come from the tables of samples.
    """
    from assay.records.store import ALL

    chosen = ALL if choice is None else choice
    table = _rows(store.measurements(chosen))
    if table.height == 0:
        return []
    cells = _cells(store, chosen, table)
    elsewhere = _other_series(store, chosen, cells)
    others = []
    for (name,), rows in table.group_by("cell", maintain_order=True):
        cell = cells.get(str(name))
        repeats = _of_rows(cell, rows, elsewhere.get(str(name))) if cell is not None else None
        if repeats is not None:
            others.append(repeats)
    return others


def _rows(table: pl.LazyFrame) -> pl.DataFrame:
    """The rows of successful measurements, in order of time, with the required columns."""
    import polars as pl

    names = table.collect_schema().names()
    wanted = ["cell", "kernel", "run", "launch", "measurement", "session", "utc", "median"]
    wanted += ["hosts", "parameters", *(n for n in names if n.startswith(COVARIATE))]
    return (
        table.filter(
            (pl.col("status") == "ok")
            & pl.col("median").is_finite()
            & pl.col("verified").fill_null(True)
        )
        .select(wanted)
        .sort("utc", maintain_order=True)
        .collect()
        # A run with a single session is separated from others by pauses, like runs without
        # sessions.
        .with_columns(
            pl.when(pl.col("session").max().over("run") > 0).then("session").otherwise(-1)
        )
    )


def _cells(store: Store, choice: RunFilter, table: pl.DataFrame) -> dict[str, Cell]:
    """The cells by id, from manifests, newest run first, until all are found.

    The tables' columns don't hold all properties of a cell.
    """
    import polars as pl

    missing = set(table["cell"].unique())
    held: dict[str, set[str]] = {
        str(run): set(names)
        for run, names in table.group_by("run").agg(pl.col("cell").unique()).iter_rows()
    }
    found: dict[str, Cell] = {}
    for run, _ in reversed(list(store.complete(choice))):
        if not missing:
            break
        if missing.isdisjoint(held.get(run.name, ())):
            continue
        try:
            plan = run.manifest().plan
        except AssayError:
            continue
        found |= {cell.id: cell for cell in plan.cells if cell.id in missing}
        missing -= found.keys()
    return found


@dataclass(frozen=True)
class _Other:
    """A series missing from the tables: name, unit, medians by (run, measurement)."""

    metric: str
    unit: str
    medians: Mapping[tuple[str, str], float]


def _other_series(store: Store, choice: RunFilter, cells: Mapping[str, Cell]) -> dict[str, _Other]:
    """The series of cells whose headline is not ``time``, and of outside programs."""
    import polars as pl

    wanted: dict[str, str | None] = {}
    for name, cell in cells.items():
        kernel = known_kernel(cell.kernel)
        if kernel is None:
            wanted[name] = None
        elif (series := headline(kernel, kernel.metrics).series) != "time":
            wanted[name] = series
    if not wanted:
        return {}
    rows = store.samples(choice, cells=list(wanted)).filter(pl.col("rank").is_null())
    medians = (
        rows.filter(~pl.col("warmup"))
        .group_by("cell", "metric", "unit", "run", "measurement", maintain_order=True)
        .agg(pl.col("value").median())
        .collect()
    )
    others: dict[str, _Other] = {}
    for (name, metric, unit), part in medians.group_by(
        "cell", "metric", "unit", maintain_order=True
    ):
        expected = wanted[str(name)]
        if str(name) in others or expected not in (None, metric):
            continue
        keys = zip(part["run"], part["measurement"], strict=True)
        others[str(name)] = _Other(
            str(metric), str(unit), dict(zip(keys, part["value"], strict=True))
        )
    return others


def _of_rows(cell: Cell, rows: pl.DataFrame, other: _Other | None) -> Repeats | None:
    """One cell's rows of the tables; None where none has a usable result."""
    import polars as pl

    kernel = known_kernel(cell.kernel)
    values = rows["median"].to_numpy().astype(np.float64)
    if kernel is None:
        if other is None:
            return None
        better: Literal["more", "less"] = "less" if other.unit == "s" else "more"
        metric = Metric(other.metric, other.unit, better, "", series=other.metric)
    else:
        metric = headline(kernel, kernel.metrics)
        if metric.series != "time":
            if other is None:
                return None
            keys = zip(rows["run"], rows["measurement"], strict=True)
            values = np.array([number(other.medians.get(key)) for key in keys])
        if metric.quantity is not None:
            work = _work_of_rows(kernel, metric.quantity, cell, rows["parameters"])
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.where(values > 0.0, work / values, np.nan)
    usable = np.isfinite(values)
    if not usable.any():
        return None
    if not usable.all():
        rows, values = rows.filter(pl.Series(usable)), values[usable]
    written = {text: host_set(text.split(",")) if text else "" for text in rows["hosts"].unique()}
    names = [name for name in rows.columns if name.startswith(COVARIATE)]
    columns = {name: rows[name].fill_null(float("nan")).to_numpy() for name in names}
    return Repeats(
        cell=cell,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        values=values,
        utc=rows["utc"].to_numpy(),
        run=tuple(rows["run"].to_list()),
        launch=tuple(rows["launch"].to_list()),
        hosts=tuple(written[text] for text in rows["hosts"].to_list()),
        covariates={
            name.removeprefix(COVARIATE): each
            for name, each in columns.items()
            if not np.isnan(each).all()
        },
        session=rows["session"].to_numpy().astype(np.int64),
    )


def _work_of_rows(kernel: Kernel, quantity: str, cell: Cell, parameters: pl.Series) -> Floats:
    """The work of each row, computed once for each set of parameters; nan where unknown."""
    known: dict[str, float] = {}
    for text in parameters.unique():
        resolved: dict[str, Any] = json.loads(text) if text else {}
        try:
            known[text] = work_of(kernel, quantity, cell, resolved)
        except LeftOut:
            known[text] = float("nan")
    if len(known) == 1:
        return np.full(len(parameters), next(iter(known.values())))
    return np.array([known[text] for text in parameters.to_list()])
