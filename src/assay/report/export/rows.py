"""Converts runs to the rows of an export, one per cell and metric."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from assay.records.model import system_name
from assay.report.cell_table import headline
from assay.report.export.model import ExportedRun, ResultRow
from assay.stats.core.model import CellSummary


def result_rows(runs: Iterable[ExportedRun]) -> Iterator[ResultRow]:
    """The rows of all runs, in the order of the runs, of their plans and of the metrics."""
    for run in runs:
        for cell in run.cells:
            yield from _rows(run, cell)


def _rows(run: ExportedRun, summary: CellSummary) -> Iterator[ResultRow]:
    manifest, cell = run.data.manifest, summary.cell
    place = None if manifest.imported else cell.placement
    facts = manifest.toolchains.get(cell.toolchain, {})
    blas = facts.get("blas")
    whole = ResultRow(
        run=manifest.run,
        group=run.group,
        suite=manifest.plan.name,
        system=system_name(manifest, run.group or ""),
        utc=manifest.utc,
        date=iso_date(manifest.utc),
        assay=manifest.assay,
        complete=run.data.complete,
        imported=bool(manifest.imported),
        code=summary.kernel if manifest.imported else None,
        kernel=summary.kernel,
        cell=summary.id,
        parameters=dict(summary.parameters),
        nodes=place.nodes if place else None,
        ppn=place.ppn if place else None,
        threads=place.threads if place else None,
        ranks=place.ranks if place else None,
        order=place.order if place else None,
        binding=place.binding if place else None,
        adapter=place.adapter if place else None,
        node_set=place.node_set if place else None,
        smt=place.smt if place else None,
        devices=place.devices if place else None,
        toolchain=cell.toolchain,
        compiler=_named(facts, "cxx"),
        mpi=_named(facts, "mpi_flavour", "mpi_version"),
        blas=_named(blas, "name", "version") if isinstance(blas, Mapping) else None,
        hosts=list(summary.hosts),
        status=summary.status,
        verified=summary.verified,
        error=summary.error,
        metric=None,
        headline=False,
        unit=None,
        better=None,
        median=None,
        low=None,
        high=None,
        min=None,
        max=None,
        p05=None,
        p95=None,
        cov=None,
        cov_samples=None,
        n=0,
        samples=0,
        stop=None,
        lost_launches=summary.lost_launches,
        caveats=list(summary.caveats),
    )
    if not summary.metrics:
        yield whole
    main = headline(summary)
    for name, metric in summary.metrics.items():
        low, high = metric.ci95 or (None, None)
        yield _with(
            whole,
            metric=name,
            headline=main is not None and name == main[0],
            unit=metric.unit,
            better=metric.better,
            median=metric.median,
            low=low,
            high=high,
            min=metric.min,
            max=metric.max,
            p05=metric.p05,
            p95=metric.p95,
            cov=metric.cov,
            cov_samples=metric.cov_samples,
            n=metric.n,
            samples=metric.samples,
            stop=metric.stop,
        )


def _with(row: ResultRow, **changes: object) -> ResultRow:
    changed: ResultRow = msgspec.structs.replace(row, **changes)
    return changed


def iso_date(utc: float) -> str:
    """ISO 8601 in UTC with whole seconds: ``2026-03-15T08:30:12Z``."""
    moment = datetime.datetime.fromtimestamp(utc, datetime.UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _named(facts: Mapping[str, object], name: str, version: str = "") -> str | None:
    """A component with its version: ``g++ 12.2.0``."""
    words = [facts.get(name), facts.get(version or f"{name}_version")]
    return " ".join(str(word) for word in words if word) or None
