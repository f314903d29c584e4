"""The rows of an export. ``docs/export.md`` documents every field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from assay.model.placement import Value
from assay.records.model import RunData
from assay.stats.core.model import CellSummary

EXPORT_SCHEMA = 1


class ResultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one cell of one run, in SI base units. Unknown values are None."""

    run: str
    #: Group that the run belongs to.
    group: str | None
    suite: str
    system: str
    #: ``utc``, ``date``: start of the run, Unix time in s and ISO 8601; for an imported run, the
    #: time of the import.
    utc: float
    date: str
    assay: str
    #: Whether the run is sealed.
    complete: bool
    #: Whether another tool printed the numbers. If so, ``code`` is the program that the tool timed,
    #: and the placement is unknown.
    imported: bool
    code: str | None
    kernel: str
    #: Id of the cell.
    cell: str
    #: Parameters as resolved on the machine.
    parameters: dict[str, Value]
    nodes: int | None
    ppn: int | None
    threads: int | None
    ranks: int | None
    order: str | None
    binding: str | None
    adapter: str | None
    node_set: int | None
    smt: str | None
    #: Devices per node that ranks use; 0 if each uses its own.
    devices: int | None
    toolchain: str
    #: ``compiler``, ``mpi``, ``blas``: components of the toolchain, with versions.
    compiler: str | None
    mpi: str | None
    blas: str | None
    #: Sets of hosts that the launches ran on, in bracket notation.
    hosts: list[str]
    status: Literal["ok", "failed", "interrupted"]
    verified: bool | None
    error: str | None
    metric: str | None
    #: Whether the metric is the kernel's headline metric.
    headline: bool
    unit: str | None
    better: Literal["more", "less"] | None
    #: ``median``, ``low``, ``high``: median of the launches' medians and its 95% interval. Fewer
    #: than six launches have no interval.
    median: float | None
    low: float | None
    high: float | None
    #: ``min``, ``max``, ``p05``, ``p95``: minimum, maximum and percentiles of all samples after
    #: warm-up.
    min: float | None
    max: float | None
    p05: float | None
    p95: float | None
    #: Coefficient of variation between launches; ``cov_samples`` is the variation within launches.
    cov: float | None
    cov_samples: float | None
    #: Number of launches; for an imported run, number of results.
    n: int
    #: Number of samples after warm-up.
    samples: int
    #: Reason why sampling ended.
    stop: str | None
    #: Number of launches without a result. A cell without results has one row, whose metric is
    #: None; ``status`` and ``error`` say why.
    lost_launches: int
    caveats: list[str]


class ResultDocument(msgspec.Struct, frozen=True):
    """The JSON export of results."""

    #: Version of this layout.
    schema: int
    kind: Literal["results"]
    assay: str
    results: list[ResultRow]


@dataclass(frozen=True)
class ExportedRun:
    """A run with the summaries of its cells."""

    data: RunData
    cells: Sequence[CellSummary]
    #: Name of the run's group, if any.
    group: str | None = None
