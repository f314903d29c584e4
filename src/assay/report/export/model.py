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
    """One metric of one cell of one run, in SI base units; unknown values are None.

    ``group``: the group that the run is a member of. ``utc``, ``date``: the start of the run, Unix
    time in s and ISO 8601; of an imported run the time of the import. ``complete``: whether the run
    is sealed. ``imported``: whether another tool printed the numbers; ``code`` is then the program
    that it timed, and the placement is unknown. ``cell``: the cell's id. ``parameters``: as
    resolved on the machine. ``compiler``, ``mpi``, ``blas``: of the toolchain, with versions.
    ``hosts``: sets of hosts that the launches ran on, in bracket notation. ``headline``: whether
    the metric is the kernel's main one. ``median``, ``low``, ``high``: the median of the launches'
    medians and its 95% interval; no interval exists under six launches. ``min``, ``max``, ``p05``,
    ``p95``: over all samples after warm-up. ``cov``: coefficient of variation between launches,
    ``cov_samples`` within them. ``n``: launches; of an imported run results. ``samples``: after
    warm-up. ``stop``: why sampling ended. ``lost_launches``: launches without a result. A cell
    without results has one row, whose metric is None; ``status`` and ``error`` say why.
    """

    run: str
    group: str | None
    suite: str
    system: str
    utc: float
    date: str
    assay: str
    complete: bool
    imported: bool
    code: str | None
    kernel: str
    cell: str
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
    toolchain: str
    compiler: str | None
    mpi: str | None
    blas: str | None
    hosts: list[str]
    status: Literal["ok", "failed", "interrupted"]
    verified: bool | None
    error: str | None
    metric: str | None
    headline: bool
    unit: str | None
    better: Literal["more", "less"] | None
    median: float | None
    low: float | None
    high: float | None
    min: float | None
    max: float | None
    p05: float | None
    p95: float | None
    cov: float | None
    cov_samples: float | None
    n: int
    samples: int
    stop: str | None
    lost_launches: int
    caveats: list[str]


class ResultDocument(msgspec.Struct, frozen=True):
    """The JSON export of results. ``schema``: the version of this layout."""

    schema: int
    kind: Literal["results"]
    assay: str
    results: list[ResultRow]


@dataclass(frozen=True)
class ExportedRun:
    """A run with the summaries of its cells; ``group``: the name of its group, if any."""

    data: RunData
    cells: Sequence[CellSummary]
    group: str | None = None
