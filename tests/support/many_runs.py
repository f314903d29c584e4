"""Thousands of sealed runs with planted histories, written in milliseconds each.

A run has manifest, seal with summary, and table of measurements, as a campaign writes them; it has
no streams and no samples. ``history_builder`` writes whole runs, more slowly.
"""

from __future__ import annotations

import dataclasses
import io
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.records.directory import Seal
from assay.records.model import MANIFEST_SCHEMA, Manifest
from assay.records.summary import RunSummary
from assay.records.tables import TABLES_SCHEMA, measurement_columns
from history_builder import TOOLCHAIN
from report_builder import SYSTEM

BEGIN = 1.7e9
LAUNCHES = 3


@dataclasses.dataclass
class ManyRuns:
    """The runs of one machine; ``run`` writes the next one."""

    root: Path
    system: str
    cells: int = 100
    #: Time between runs (s), and relative standard deviation between runs.
    spacing: float = 6 * 3600.0
    scatter: float = 0.01
    seed: int = 1
    #: Factor of a cell's times, by the numbers of the cell and of the run.
    factor: Callable[[int, int], float] = lambda cell, run: 1.0

    def __post_init__(self) -> None:
        self._draw = np.random.default_rng(self.seed)
        self._cells = [
            Cell("network.barrier", {}, Placement(ppn=2 + number), "fake")
            for number in range(self.cells)
        ]
        about = SYSTEM.to_dict()
        about["name"] = self.system
        plan = Plan("nightly", "Nightly", tuple(self._cells), Replication(), 1)
        self._manifest = Manifest(
            schema=MANIFEST_SCHEMA, run="", utc=0.0, assay="0.9", command=["assay", "run"],
            plan=plan, system=about, toolchains={"fake": TOOLCHAIN},
        )  # fmt: skip
        self._template = msgspec.json.encode(self._manifest)
        self._ids = [cell.id for cell in self._cells for _ in range(LAUNCHES)]
        self._written = 0

    def write(self, count: int) -> list[Path]:
        """The next runs."""
        return [self._run() for _ in range(count)]

    def skip(self, count: int) -> None:
        """Count runs as written, as an earlier process wrote them."""
        self._written = max(self._written, count)

    def _run(self) -> Path:
        number, self._written = self._written, self._written + 1
        utc = BEGIN + self.spacing * number
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(utc))
        path = self.root / f"{stamp}-{self.system}-nightly"
        path.mkdir(parents=True)
        head = f'"run":"{path.name}","utc":{utc!r}'.encode()
        (path / "manifest.json").write_bytes(self._template.replace(b'"run":"","utc":0.0', head, 1))
        self._table(path.name, utc, number).write_parquet(table := io.BytesIO())
        (path / "measurements.parquet").write_bytes(table.getvalue())
        summary = RunSummary(
            manifest=MANIFEST_SCHEMA, tables=TABLES_SCHEMA, utc=utc, suite="nightly",
            system=self.system, machine=("n1", "Planted Xeon", 2), kernels=("network.barrier",),
            toolchains=("fake",), cells=self.cells, launches=LAUNCHES,
            measurements=self.cells * LAUNCHES, until=utc + 600.0, covariates=(),
        )  # fmt: skip
        seal = Seal(1, utc, {"manifest.json": "0" * 64}, summary)
        (path / "seal.json").write_bytes(msgspec.json.encode(seal))
        return path

    def _table(self, run: str, utc: float, number: int) -> pl.DataFrame:
        rows = self.cells * LAUNCHES
        levels = [1e-5 * (1 + cell) * self.factor(cell, number) for cell in range(self.cells)]
        of_run = np.exp(self.scatter * self._draw.standard_normal(self.cells))
        within = np.exp(0.2 * self.scatter * self._draw.standard_normal(rows))
        values = np.repeat(np.array(levels) * of_run, LAUNCHES) * within
        replicates = list(range(LAUNCHES)) * self.cells
        columns = {
            "cell": self._ids,
            "measurement": [f"{c}-{r}" for c, r in zip(self._ids, replicates, strict=True)],
            "replicate": replicates,
            "launch": [f"{r:04d}-a" for r in replicates],
            "utc": utc + 60.0 * np.array(replicates) + np.repeat(np.arange(self.cells), LAUNCHES),
            "median": values,
        }
        same = {
            "run": run, "kernel": "network.barrier", "toolchain": "fake", "nodes": 1, "threads": 1,
            "order": "block", "binding": "core", "parameters": "{}", "session": 0, "status": "ok",
            "verified": True, "wall": 1.0, "stop": "precision", "batch": 1, "warmup": 0,
            "hosts": "n1",
        }  # fmt: skip
        schema = measurement_columns()
        return (
            pl.DataFrame(columns)
            .with_columns(
                pl.lit(same.get(name)).alias(name) for name in schema if name not in columns
            )
            .select(pl.col(name).cast(kind) for name, kind in schema.items())
        )
