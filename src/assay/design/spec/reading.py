"""Reading a specification: catalogues, limits, choices, workload (docs/formats/design.md)."""

from __future__ import annotations

import datetime
import math
import typing
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.design.costs.ownership import read_costs
from assay.design.figures import UNCERTAINTY, Kind, read_share
from assay.design.parts.classes import with_borrowed_rates
from assay.design.parts.joining import join
from assay.design.parts.model import Catalogue
from assay.design.parts.reading import find_catalogue, read_day, read_parts
from assay.design.program import DesignProgram, read_programs
from assay.design.spec.limits import MOST_NODES, read_later, read_limits, read_requirements
from assay.design.spec.model import DesignLimits, DesignSpec, Objective, Requirements
from assay.design.spec.written import WrittenChoice, WrittenSearch
from assay.errors import AssayError, nearest
from assay.toml import TomlDocument, load_toml

if TYPE_CHECKING:
    from assay.design.jobs import DesignJobs

_HEAD = ("title", "currency", "catalogues", "date", "objective")
_TABLES = (
    "limits",
    "require",
    "costs",
    "later",
    "choose",
    "workload",
    "program",
    "jobs",
    "exchange",
    "uncertainty",
    "search",
)
# For msgspec; a type of literals is not a class.
_OBJECTIVE: Any = Objective


def read_spec(path: Path) -> DesignSpec:
    """A specification and its catalogues. Raises AssayError, with file, line and fix."""
    return spec_of(load_toml(path))


def spec_of(document: TomlDocument) -> DesignSpec:
    """As ``read_spec``, from a document."""
    data = document.data
    document.check_keys([], data, {*_HEAD, *_TABLES})
    currency = document.read(["currency"], data.get("currency", "USD"), str)
    uncertainty = _uncertainty(document, data.get("uncertainty", {}))
    names = document.read(["catalogues"], data.get("catalogues", []), list[str])
    if not names:
        raise document.error(
            [],
            "The specification names no catalogue of parts.",
            'Add catalogues = ["example-2026"].',
        )
    day = read_day(document, "date") or datetime.datetime.now(datetime.UTC).date()
    files = []
    for index, name in enumerate(names):
        try:
            file = find_catalogue(name, document.path.parent)
        except AssayError as error:
            raise document.error(["catalogues", index], error.what, error.fix) from None
        files.append(read_parts(file, uncertainty))
    exchange = document.read(["exchange"], data.get("exchange", {}), dict[str, float])
    for key, rate in exchange.items():
        if not 0.0 < rate < math.inf:
            raise document.error(
                ["exchange", key], f"'{key}' can't be {rate}.", "Write a rate > 0."
            )
    catalogue = join(files, exchange, currency, day)
    chosen = document.read(["choose"], data.get("choose", {}), WrittenChoice)
    search = document.read(["search"], data.get("search", {}), WrittenSearch)
    _check_search(document, search)
    spares = read_share(document, ["choose", "spares"], chosen.spares)
    spare_accelerators = read_share(
        document, ["choose", "spare_accelerators"], chosen.spare_accelerators
    )
    programs = read_programs(document, data.get("program", []), catalogue.nodes)
    limits = read_limits(document, data.get("limits", {}))
    require = read_requirements(document, data.get("require", {}))
    costs = read_costs(document, data.get("costs"))
    if costs is None and math.isfinite(limits.total_cost):
        raise document.error(
            ["limits", "total_cost"],
            "There are no costs of years to limit.",
            "Add [costs], or limit the purchase with budget.",
        )
    workload = _workload(document, data.get("workload", {}), programs, data.get("jobs", []))
    catalogue = replace(catalogue, nodes=with_borrowed_rates(catalogue.nodes, workload))
    return DesignSpec(
        document=document,
        title=document.read(["title"], data.get("title", document.path.stem), str),
        catalogue=catalogue,
        limits=limits,
        nodes=_chosen(document, "nodes", chosen.nodes, catalogue.nodes),
        memory=_chosen(document, "memory", chosen.memory, catalogue.memory, optional=True),
        disks=_chosen(document, "disks", chosen.disks, catalogue.disks, optional=True),
        interconnects=_chosen(
            document, "interconnects", chosen.interconnects, catalogue.interconnects
        ),
        accelerators=_chosen(
            document, "accelerators", chosen.accelerators, catalogue.accelerators, optional=True
        ),
        storage=_storage(document, chosen, require, catalogue),
        cloud=_chosen(document, "cloud", chosen.cloud, catalogue.cloud, optional=True),
        spares=spares,
        spare_accelerators=spare_accelerators,
        unbalanced=chosen.unbalanced,
        require=require,
        costs=costs,
        later=read_later(document, data.get("later"), limits, costs),
        objective=document.read(["objective"], data.get("objective", "rate"), _OBJECTIVE),
        day=day,
        workload=workload,
        programs=programs,
        jobs=_jobs(document, data.get("jobs"), catalogue, limits),
        draws=search.draws,
        seed=search.seed,
        step=search.step,
        best=search.best,
    )


def _uncertainty(document: TomlDocument, table: object) -> Mapping[Kind, float]:
    given = document.read(["uncertainty"], table, dict[str, Any])
    document.check_keys(["uncertainty"], given, typing.get_args(Kind))
    read = {
        kind: read_share(document, ["uncertainty", kind], share) for kind, share in given.items()
    }
    return {**UNCERTAINTY, **read}  # type: ignore[dict-item]


def _chosen(
    document: TomlDocument,
    table: str,
    names: list[str] | None,
    known: Mapping[str, object],
    *,
    optional: bool = False,
) -> tuple[str, ...]:
    """The names to choose from, in order; all names if none are given."""
    if names is None:
        names = list(known)
    for index, name in enumerate(names):
        if name not in known:
            raise document.error(
                ["choose", table, index], f"No catalogue has '{name}'.", nearest(name, known)
            )
    if not names and not optional:
        raise document.error(
            ["choose", table], f"There are no {table} to choose from.", "Name at least one."
        )
    return tuple(dict.fromkeys(names))


def _storage(
    document: TomlDocument, chosen: WrittenChoice, require: Requirements, catalogue: Catalogue
) -> tuple[str, ...]:
    """The storage systems to choose from; none if nothing is required of them."""
    if not require.shared:
        return ()
    names = _chosen(document, "storage", chosen.storage, catalogue.storage, optional=True)
    if not names:
        raise document.error(
            ["require"],
            "The cluster needs storage, but there is none to choose from.",
            "Add a [[storage]] to a catalogue, or leave out capacity, bandwidth and inodes.",
        )
    return names


def _jobs(
    document: TomlDocument, table: object, catalogue: Catalogue, limits: DesignLimits
) -> Mapping[str, DesignJobs]:
    """The mixes of jobs. Computing their shares takes seconds, so everything else is read first."""
    if table is None:
        return {}
    from assay.design.jobs import read_jobs

    return read_jobs(document, table, catalogue.nodes, limits.least, limits.most)


def _workload(
    document: TomlDocument,
    table: object,
    programs: Mapping[str, DesignProgram],
    jobs: object,
) -> Mapping[str, float]:
    from assay.design.jobs import JOBS
    from assay.design.workload import check_workload

    weights = document.read(["workload"], table, dict[str, float])
    if not weights:
        raise document.error(
            [],
            "There is no workload to judge clusters by.",
            "Add [workload] with linpack = 1, for example.",
        )
    mixes = [
        JOBS + str(one.get("name"))
        for one in (jobs if isinstance(jobs, list) else [])
        if isinstance(one, dict)
    ]
    for name, weight in weights.items():
        if not 0.0 < weight < math.inf:
            raise document.error(
                ["workload", name],
                f"The weight of '{name}' can't be {weight}.",
                "Write a weight > 0.",
            )
        try:
            check_workload(name, [*programs, *mixes])
        except AssayError as error:
            raise document.error(["workload", name], error.what, error.fix) from None
    return weights


def _check_search(document: TomlDocument, search: WrittenSearch) -> None:
    bounds = {
        "draws": (search.draws, 100, 100_000),
        "seed": (search.seed, 0, 2**63 - 1),
        "step": (search.step, 1, MOST_NODES),
        "best": (search.best, 1, 50),
    }
    for name, (value, least, most) in bounds.items():
        if not least <= value <= most:
            raise document.error(
                ["search", name], f"'{name}' can't be {value}.", f"Write {least} to {most}."
            )
