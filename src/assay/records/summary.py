"""The summary of a run in its seal, so that a list of thousands of runs reads no manifests."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.records.model import MANIFEST_SCHEMA, RunData, system_name

# Facts that identify a machine across runs.
_IDENTITY = (("os", "hostname"), ("processor", "name"), ("processor", "cores"))

Identity = tuple[str | int | float | None, ...]


class RunSummary(msgspec.Struct, frozen=True):
    """The summary of a complete run."""

    #: Schema version of its manifest.
    manifest: int
    #: Schema version of its tables; 0 without tables.
    tables: int
    utc: float
    suite: str
    system: str
    #: The facts that identify the machine, null if missing.
    machine: Identity
    kernels: tuple[str, ...]
    toolchains: tuple[str, ...]
    cells: int
    launches: int
    measurements: int
    #: Unix time at which its last measurement ended, s.
    until: float | None = None
    #: Names of the covariates in its tables. This field and the previous one are null in seals of
    #: older versions.
    covariates: tuple[str, ...] | None = None
    #: Whether it is an imported run.
    imported: bool = False


def machine_identity(system: Mapping[str, object]) -> Identity:
    """The facts that identify a machine; None for a missing fact."""
    facts: list[str | int | float | None] = []
    for section, fact in _IDENTITY:
        part = system.get(section)
        found = part.get(fact) if isinstance(part, Mapping) else None
        facts.append(found if isinstance(found, str | int | float) else None)
    return tuple(facts)


def summarise_run(run: RunData, *, launches: int, tables: int) -> RunSummary:
    """The summary of a run; ``launches``: its number of streams; ``tables``: their version."""
    manifest = run.manifest
    return RunSummary(
        manifest=MANIFEST_SCHEMA,
        tables=tables,
        utc=manifest.utc,
        suite=manifest.plan.name,
        system=system_name(manifest),
        machine=machine_identity(manifest.system),
        kernels=tuple(dict.fromkeys(cell.kernel for cell in manifest.plan.cells)),
        toolchains=tuple(dict.fromkeys(cell.toolchain for cell in manifest.plan.cells)),
        cells=len(manifest.plan.cells),
        launches=launches,
        measurements=len(run.measurements),
        until=None if manifest.imported else last_moment(run),
        covariates=covariates_of(run),
        imported=bool(manifest.imported),
    )


def last_moment(run: RunData) -> float | None:
    """Unix time at which the last measurement of a run ended, s; None without measurements."""
    return max((m.utc + m.record.wall for m in run.measurements), default=None)


def covariates_of(run: RunData) -> tuple[str, ...]:
    """The names of the covariates that any measurement has, in the order of their first one."""
    return tuple(dict.fromkeys(name for m in run.measurements for name in m.record.covariates))
