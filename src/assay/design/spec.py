"""The specification of a design: catalogues, limits, choices, workload (docs/formats/design.md)."""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.design.catalogue import find_catalogue, join, read_parts
from assay.design.figures import UNCERTAINTY, Kind, read_share
from assay.design.parts import Catalogue
from assay.design.program import DesignProgram, read_programs
from assay.errors import AssayError, nearest
from assay.toml import TomlDocument, load_toml
from assay.units import parse_quantity

if TYPE_CHECKING:
    from assay.design.jobs import DesignJobs

MOST_NODES = 100_000
_DEFAULT_MOST = 1024


class WrittenLimits(msgspec.Struct, frozen=True):
    """``[limits]`` of a file."""

    budget: float | None = None
    power: str | float | None = None
    floor: float | None = None
    racks: int | None = None
    memory_per_rank: str | float | None = None
    memory: str | float | None = None
    nodes: tuple[int, int] = (1, _DEFAULT_MOST)


class WrittenChoice(msgspec.Struct, frozen=True):
    """``[choose]`` of a file: the parts to choose from, by name; all if missing."""

    nodes: list[str] | None = None
    memory: list[str] | None = None
    disks: list[str] | None = None
    interconnects: list[str] | None = None
    spares: str | float = 0.0


class WrittenSearch(msgspec.Struct, frozen=True):
    """``[search]`` of a file."""

    draws: int = 1000
    seed: int = 1
    step: int = 1
    best: int = 5


@dataclass(frozen=True)
class DesignLimits:
    """Limits of a cluster; infinite if there is no limit."""

    #: Maximum price.
    budget: float
    #: Maximum power (W), including interconnect and spares.
    power: float
    #: Maximum floor space of the racks, m².
    floor: float
    racks: float
    #: Minimum memory per rank (bytes), with one rank per core.
    memory_per_rank: float
    #: Minimum memory of the cluster, bytes.
    memory: float
    #: ``least``, ``most``: minimum and maximum number of nodes.
    least: int
    most: int


@dataclass(frozen=True)
class DesignSpec:
    """A requested design."""

    document: TomlDocument
    title: str
    catalogue: Catalogue
    limits: DesignLimits
    nodes: tuple[str, ...]
    memory: tuple[str, ...]
    disks: tuple[str, ...]
    interconnects: tuple[str, ...]
    #: Spare nodes, as a share of the working nodes.
    spares: float
    #: Weight of each workload.
    workload: Mapping[str, float]
    #: Profiled programs, by workload.
    programs: Mapping[str, DesignProgram]
    #: Mixes of jobs, by workload.
    jobs: Mapping[str, DesignJobs]
    #: Number of random draws of the uncertain figures.
    draws: int
    seed: int
    step: int
    best: int

    def bought(self, nodes: Floats) -> Floats:
        """Number of nodes to buy for this number of working nodes: spares are rounded to whole
        nodes, half a node up.

        2% of two nodes is zero nodes: rounding up would leave a third of such a cluster idle.
        """
        return nodes + np.floor(nodes * self.spares + 0.5 + 1e-9)


_TABLES = ("limits", "choose", "workload", "program", "jobs", "exchange", "uncertainty", "search")


def read_spec(path: Path) -> DesignSpec:
    """A specification and its catalogues. Raises AssayError, with file, line and fix."""
    return spec_of(load_toml(path))


def spec_of(document: TomlDocument) -> DesignSpec:
    """As ``read_spec``, from a document."""
    data = document.data
    document.check_keys([], data, {"title", "currency", "catalogues", *_TABLES})
    currency = document.read(["currency"], data.get("currency", "USD"), str)
    uncertainty = _uncertainty(document, data.get("uncertainty", {}))
    names = document.read(["catalogues"], data.get("catalogues", []), list[str])
    if not names:
        raise document.error(
            [],
            "The specification names no catalogue of parts.",
            'Add catalogues = ["example-2026"].',
        )
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
    catalogue = join(files, exchange, currency)
    chosen = document.read(["choose"], data.get("choose", {}), WrittenChoice)
    search = document.read(["search"], data.get("search", {}), WrittenSearch)
    _check_search(document, search)
    spares = read_share(document, ["choose", "spares"], chosen.spares)
    programs = read_programs(document, data.get("program", []), catalogue.nodes)
    limits = _limits(document, data.get("limits", {}))
    workload = _workload(document, data.get("workload", {}), programs, data.get("jobs", []))
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
        spares=spares,
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


def _limits(document: TomlDocument, table: object) -> DesignLimits:
    written = document.read(["limits"], table, WrittenLimits)
    least, most = written.nodes
    if not 1 <= least <= most <= MOST_NODES:
        raise document.error(
            ["limits", "nodes"],
            f"Nodes can't be from {least} to {most}.",
            "Write the minimum and maximum number of nodes, such as [2, 512], at most "
            f"{MOST_NODES}.",
        )

    def limit(name: str, value: str | float | None, unit: str, missing: float) -> float:
        if value is None:
            return missing
        path = ["limits", name]
        shown = value if isinstance(value, str) else f"{value:g}"
        if unit and not (isinstance(value, str) and value.strip()[-1:].isalpha()):
            raise document.error(
                path, f"'{name}' has no unit: {value}.", f'Write "{shown} {unit}", if that is it.'
            )
        number = float(parse_quantity(value, unit, where=document.where(path)))
        if not 0.0 < number < math.inf:
            raise document.error(path, f"'{name}' can't be {value}.", "Write a number > 0.")
        return number

    return DesignLimits(
        budget=limit("budget", written.budget, "", math.inf),
        power=limit("power", written.power, "W", math.inf),
        floor=limit("floor", written.floor, "", math.inf),
        racks=limit("racks", written.racks, "", math.inf),
        memory_per_rank=limit("memory_per_rank", written.memory_per_rank, "B", 0.0),
        memory=limit("memory", written.memory, "B", 0.0),
        least=least,
        most=most,
    )


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
