"""What stored runs measured of a contract's commitments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from assay.acceptance.contract import Commitment, Contract, Per
from assay.acceptance.decision import Dependence, DependenceAt
from assay.acceptance.run_evidence import RunEvidence
from assay.arrays import Floats
from assay.config.expectation import unmatched
from assay.errors import AssayError
from assay.kernels import is_search, known_kernel
from assay.kernels.naming import cell_name
from assay.records.directory import RunDirectory, find_run
from assay.records.group import host_of, read_group
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.stats.cells.pattern import selects
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.model import CellSummary
from assay.stats.repeats.repeats import Repeats, joined, repeats_of
from assay.units import counted


@dataclass(frozen=True)
class ContractRun:
    """A run with the summaries of its cells."""

    run: RunData
    #: Name of the run, or of the group that it belongs to.
    name: str
    #: The node of a member of a group; empty for other runs.
    node: str
    cells: list[CellSummary]
    #: What the launches of its cells show about each other.
    evidence: RunEvidence
    _repeats: dict[str | None, dict[str, Repeats]] = field(default_factory=dict)

    def repeats(self, metric: str | None, cell: str) -> Repeats | None:
        """The launches of a cell, by its id; None without a result. Each metric is read once."""
        if metric not in self._repeats:
            self._repeats[metric] = {each.cell.id: each for each in repeats_of(self.run, metric)}
        return self._repeats[metric].get(cell)


def _unknown(launches: int) -> Dependence:
    return Dependence()


class Selection(Protocol):
    """What a promise is about: a commitment, or a promise of steadiness."""

    @property
    def cells(self) -> str:
        """Pattern of the cells."""

    @property
    def metric(self) -> str | None:
        """Metric; None for the kernel's headline metric."""

    @property
    def per(self) -> Per:
        """Whether the cells are measured on the system or on each node."""

    @property
    def where(self) -> str:
        """File and line."""


@dataclass(frozen=True, kw_only=True)
class CellSeries:
    """What runs measured of a cell."""

    #: Name of the cell; the pattern if no cell was measured.
    cell: str
    metric: str
    unit: str
    better: Literal["more", "less"]
    #: Median of each launch in order of time, in ``unit``; empty if nothing was measured.
    values: Floats
    #: Id of the cell; empty if no cell was measured.
    id: str = ""
    #: Unix time of each launch, s.
    utc: Floats = field(default_factory=lambda: np.empty(0))
    #: The same for each node of a commitment per node.
    nodes: dict[str, Floats] = field(default_factory=dict)
    #: What the other cells show by the time that this cell has a number of launches.
    dependence: DependenceAt = _unknown
    #: Wall time of a launch of the cell, s; None if unknown.
    seconds: float | None = None
    #: Nodes of the cell's placement.
    width: int = 1
    #: Names of the runs or groups of runs, and of the toolchain.
    runs: tuple[str, ...] = ()
    toolchain: str = ""
    #: Why there is no result; empty if there is one.
    missing: str = ""


@dataclass(frozen=True, kw_only=True)
class Item(CellSeries):
    """A commitment about one cell."""

    commitment: Commitment


def read_measured(root: Path, names: Sequence[str]) -> list[ContractRun]:
    """Read runs and groups of runs. Raises AssayError for one that is named twice or can't be
    read."""
    return [each for found in named_runs(root, names) for each in measured_in(found)]


def named_runs(root: Path, names: Sequence[str]) -> list[RunDirectory]:
    """The folders of runs and groups. Raises AssayError for one that is named twice or unknown."""
    found: list[RunDirectory] = []
    seen: set[Path] = set()
    for name in names:
        directory = find_run(root, name)
        if directory.path.resolve() in seen:
            raise AssayError(
                "The run is named twice.", where=f"--run {name}", fix="Name each run once."
            )
        seen.add(directory.path.resolve())
        found.append(directory)
    return found


def measured_in(directory: RunDirectory) -> list[ContractRun]:
    """A run, or the runs of a group. Raises AssayError if it can't be read."""
    request = directory.request()
    if request is None or request.members is None:
        return [measured_run(read_run(directory.path), directory.name)]
    return [
        measured_run(member.run, directory.name, member.host or str(member.number))
        for member in read_group(directory.path).members
        if member.run is not None
    ]


def measured_run(run: RunData, name: str, node: str = "") -> ContractRun:
    """A run with what a contract needs of it. ``node``: its node, if it is a member of a group."""
    return ContractRun(run, name, node, summarise_cells(run), RunEvidence(run))


def items_of(contract: Contract, runs: Sequence[ContractRun]) -> list[Item]:
    """The commitments of a contract, each for every cell that it selects.

    Raises AssayError for a metric or a unit that a selected cell doesn't have, and for nodes that
    are not the contract's.
    """
    found = [
        Item(commitment=each, **vars(series))
        for each in contract.commitments
        for series in series_of(each, runs)
    ]
    for item in found:
        if not item.missing:
            item.commitment.limits(item.unit)
            item.commitment.check_direction(item.metric, item.better)
        _check_nodes(contract, item)
    return found


def _check_nodes(contract: Contract, item: Item) -> None:
    known = {_short(host) for host in contract.hosts}
    strange = [node for node in item.nodes if known and _short(node) not in known]
    if strange:
        raise AssayError(
            f"The node {strange[0]} isn't one of the contract's.",
            where=item.commitment.where,
            fix="Correct 'hosts' in [machine], or leave out the run.",
        )
    if contract.nodes is not None and len(item.nodes) > contract.nodes:
        raise AssayError(
            f"The runs measured {len(item.nodes)} nodes, but the contract's machine has "
            f"{contract.nodes}.",
            where=item.commitment.where,
            fix="Correct 'nodes' in [machine], or leave out a run.",
        )


def _short(host: str) -> str:
    """The host without its domain."""
    return host.partition(".")[0]


def series_of(selected: Selection, runs: Sequence[ContractRun]) -> list[CellSeries]:
    """What runs measured of each cell that is selected; one without a result if none was measured.

    Raises AssayError for a metric that a selected cell doesn't have.
    """
    of_node = selected.per == "node"
    parts: dict[str, list[tuple[ContractRun, CellSummary]]] = {}
    elsewhere = False
    for each in runs:
        for cell in each.cells:
            if not selects(selected.cells, cell) or is_search(cell.cell):
                continue
            fits = cell.cell.placement.nodes == 1 if of_node else not each.node
            elsewhere |= not fits
            if fits:
                parts.setdefault(cell.id, []).append((each, cell))
    if not parts:
        why = "The runs have no such cell."
        if elsewhere and of_node:
            why = "Its cells were measured on several nodes at once, not on each node."
        elif elsewhere:
            why = 'Its cells were measured on each node; a commitment for them has per = "node".'
        return [_missing(selected, selected.cells, why)]
    return [_series(selected, found) for found in parts.values()]


def _missing(selected: Selection, cell: str, why: str) -> CellSeries:
    return CellSeries(
        cell=cell,
        metric=selected.metric or "",
        unit="",
        better="more",
        values=np.empty(0),
        missing=why,
    )


def _series(selected: Selection, parts: Sequence[tuple[ContractRun, CellSummary]]) -> CellSeries:
    cell = parts[0][1]
    placement = cell.cell.placement
    name = (
        f"{cell_name(cell.cell)}, {counted(placement.nodes, 'node')}, "
        f"{counted(placement.ranks, 'rank')}"
    )
    if placement.threads > 1:
        name += f" of {placement.threads} threads"
    wrong = [each for _, each in parts if each.verified is False]
    if wrong:
        return _missing(selected, name, f"Not measured: {wrong[0].error or 'its check failed'}")
    metric = _metric_name(selected, [each for _, each in parts])
    found: list[tuple[ContractRun, Repeats]] = []
    for each, summary in parts:
        repeats = each.repeats(metric, summary.id)
        if repeats is not None:
            found.append((each, repeats))
    if not found:
        why = next((each.error for _, each in parts if each.error), "it has no result")
        return _missing(selected, name, f"Not measured: {why}")
    (whole,) = joined(repeats for _, repeats in found)
    order = np.argsort(whole.utc, kind="stable")
    walls = [
        m.record.wall for each, _ in found for m in each.run.measurements if m.cell.id == cell.id
    ]
    return CellSeries(
        cell=name,
        metric=whole.metric,
        unit=whole.unit,
        better=whole.better,
        values=whole.values[order],
        utc=whole.utc[order],
        nodes=_by_node(whole.take(order), found) if selected.per == "node" else {},
        dependence=_dependence(whole.take(order), found),
        id=cell.id,
        seconds=float(np.mean(walls)) if walls else None,
        width=placement.nodes,
        runs=tuple(dict.fromkeys(each.name for each, _ in found)),
        toolchain=cell.cell.toolchain,
    )


def _metric_name(selected: Selection, cells: Sequence[CellSummary]) -> str | None:
    """The metric; None for the first one of a program that isn't in the catalogue."""
    kernel = known_kernel(cells[0].kernel)
    wanted = selected.metric or (kernel.headline if kernel else None)
    known = list(dict.fromkeys(name for cell in cells for name in cell.metrics))
    if wanted is not None and known and wanted not in known:
        raise unmatched(selected.cells, wanted, known, selected.where)
    return wanted


def _by_node(whole: Repeats, found: Sequence[tuple[ContractRun, Repeats]]) -> dict[str, Floats]:
    """The launches of each node: by the hosts where they ran, or else by the members' nodes."""
    if all(whole.hosts):
        names = whole.hosts
    else:
        of_run = {
            each.run.manifest.run: each.node or host_of(each.run) or each.name for each, _ in found
        }
        names = tuple(of_run[run] for run in whole.run)
    which = np.array(names)
    return {name: whole.values[which == name] for name in dict.fromkeys(names)}


def _dependence(whole: Repeats, found: Sequence[tuple[ContractRun, Repeats]]) -> DependenceAt:
    """What the other cells of the runs show: the weakest evidence of any run that counts.

    ``whole``: the launches of all runs in order of time.
    """
    cell = whole.cell.id
    evidence = {each.run.manifest.run: each.evidence for each, _ in found}

    def at(launches: int) -> Dependence:
        counts = Counter(whole.run[:launches])
        parts = [evidence[run].of_others(cell, count) for run, count in counts.items()]
        return Dependence(
            cells=min(each.cells for each in parts),
            autocorrelation=max(each.autocorrelation for each in parts),
            together=max(each.together for each in parts),
        )

    return at
