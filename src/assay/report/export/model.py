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
    """One metric of one cell of one run, in SI base units; unknown values are None."""

    run: str
    #: The group that the run is a member of.
    group: str | None
    suite: str
    system: str
    #: ``utc``, ``date``: the start of the run, Unix time in s and ISO 8601; of an imported run the
    #: time of the import.
    utc: float
    date: str
    assay: str
    #: Whether the run is sealed.
    complete: bool
    #: Whether another tool printed the numbers; ``code`` is then the program that it timed, and the
    #: placement is unknown.
    imported: bool
    code: str | None
    kernel: str
    #: The cell's id.
    cell: str
    #: As resolved on the machine.
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
    #: ``compiler``, ``mpi``, ``blas``: of the toolchain, with versions.
    compiler: str | None
    mpi: str | None
    blas: str | None
    #: Sets of hosts that the launches ran on, in bracket notation.
    hosts: list[str]
    status: Literal["ok", "failed", "interrupted"]
    verified: bool | None
    error: str | None
    metric: str | None
    #: Whether the metric is the kernel's main one.
    headline: bool
    unit: str | None
    better: Literal["more", "less"] | None
    #: ``median``, ``low``, ``high``: the median of the launches' medians and its 95% interval; no
    #: interval exists under six launches.
    median: float | None
    low: float | None
    high: float | None
    #: ``min``, ``max``, ``p05``, ``p95``: over all samples after warm-up.
    min: float | None
    max: float | None
    p05: float | None
    p95: float | None
    #: Coefficient of variation between launches, ``cov_samples`` within them.
    cov: float | None
    cov_samples: float | None
    #: Launches; of an imported run results.
    n: int
    #: After warm-up.
    samples: int
    #: Why sampling ended.
    stop: str | None
    #: Launches without a result. A cell without results has one row, whose metric is None;
    #: ``status`` and ``error`` say why.
    lost_launches: int
    caveats: list[str]


class ResultDocument(msgspec.Struct, frozen=True):
    """The JSON export of results."""

    #: The version of this layout.
    schema: int
    kind: Literal["results"]
    assay: str
    results: list[ResultRow]


@dataclass(frozen=True)
class ExportedRun:
    """A run with the summaries of its cells;"""

    data: RunData
    cells: Sequence[CellSummary]
    #: The name of its group, if any.
    group: str | None = None
