"""The attempts at a contract: all runs of the same machine that measured one of its cells.

Users who name only the best run with ``--run`` choose a result. So the stores of the judged runs
are searched for other runs, and those that were aborted or can't be read are among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from assay.acceptance.contract import Contract
from assay.acceptance.measured import ContractRun, Item, items_of, measured_in
from assay.errors import AssayError
from assay.records.chain.gaps import ChainedRun, gaps_in
from assay.records.chain.previous import final_digests, read_previous
from assay.records.directory import RunDirectory, list_runs
from assay.records.listing import RunListing, describe_run
from assay.records.model import system_in_name, system_name
from assay.records.summary import machine_identity

# A machine: the facts that identify it, or the name of its system.
_Machine = tuple[object, ...]


@dataclass(frozen=True)
class AttemptedCell:
    """What an attempt measured of a commitment for one cell."""

    #: Place of the commitment in the contract, from 1.
    number: int
    #: Name of the cell.
    cell: str
    #: Unit of the median; empty without a result.
    unit: str
    #: Number of launches.
    launches: int
    #: Median of its launches; per node, of the nodes' medians. None without a result.
    median: float | None
    #: Why there is no result; empty if there is one.
    problem: str


@dataclass(frozen=True)
class Attempt:
    """A run of the machine that measured a cell of the contract."""

    #: Name of the run or group.
    name: str
    #: Unix time of its begin, s; None if it can't be read.
    utc: float | None
    #: ``complete``, ``unfinished``, ``damaged`` or ``unreadable``.
    state: str
    #: Whether it was judged.
    judged: bool
    #: The contract's cells that it measured, or was to measure.
    cells: list[AttemptedCell]
    #: Why its cells are unknown; empty if they are known.
    problem: str


@dataclass(frozen=True)
class RunInStore:
    """A run of a store that holds a judged run."""

    directory: RunDirectory
    #: Number of its store, from 1.
    store: int
    listing: RunListing
    link: ChainedRun
    judged: bool


def stored_beside(judged: Sequence[RunDirectory]) -> list[RunInStore]:
    """All runs of the stores that hold the judged runs, by name."""
    paths = [run.path.resolve() for run in judged]
    stores = list(dict.fromkeys(path.parent for path in paths))
    found = []
    for number, store in enumerate(stores, start=1):
        for run in list_runs(store):
            link = ChainedRun(run.name, read_previous(run.path), final_digests(run.path))
            is_judged = run.path.resolve() in paths
            found.append(RunInStore(run, number, describe_run(run), link, is_judged))
    return found


def gaps_of(links: Iterable[tuple[int, ChainedRun]]) -> list[str]:
    """What the chains of stores lack, as sentences; ``links``: each with its store's number."""
    stores: dict[int, list[ChainedRun]] = {}
    for store, link in links:
        stores.setdefault(store, []).append(link)
    return [sentence for store in sorted(stores) for sentence in gaps_in(stores[store])]


def attempts_of(
    contract: Contract, measured: Sequence[ContractRun], stored: Sequence[RunInStore]
) -> list[Attempt]:
    """The attempts among stored runs, oldest first; ``measured``: the judged runs."""
    machines = {machine for each in measured for machine in _machines_of(each)}
    judged: dict[str, list[ContractRun]] = {}
    for each in measured:
        judged.setdefault(each.name, []).append(each)
    found = [
        _attempt(contract, each, judged.get(each.directory.name) if each.judged else None, machines)
        for each in stored
    ]
    return by_time([each for each in found if each is not None])


def by_time(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts, oldest first; those of unknown time are the first."""
    return sorted(attempts, key=lambda each: (each.utc or 0.0, each.name))


def _attempt(
    contract: Contract,
    stored: RunInStore,
    judged: list[ContractRun] | None,
    machines: set[_Machine],
) -> Attempt | None:
    listing = stored.listing
    attempt = Attempt(
        name=stored.directory.name,
        utc=listing.utc,
        state=listing.state,
        judged=judged is not None,
        cells=[],
        problem="",
    )
    if judged is None:
        if listing.state in ("damaged", "unreadable"):
            return replace(attempt, problem=listing.problem or "it can't be read")
        try:
            if not _may_have_cells(contract, stored, machines):
                return None
            judged = measured_in(stored.directory)
        except AssayError as error:
            return replace(attempt, problem=str(error))
    cells, problem = _cells(contract, judged)
    if not cells and not problem and not attempt.judged:
        return None
    return replace(attempt, cells=cells, problem=problem)


def _cells(contract: Contract, runs: Sequence[ContractRun]) -> tuple[list[AttemptedCell], str]:
    """The cells of each commitment, and the first reason why some are unknown."""
    cells, problem = [], ""
    for commitment in contract.commitments:
        alone = replace(contract, commitments=(commitment,), nodes=None, hosts=())
        try:
            items = items_of(alone, runs)
        except AssayError as error:
            problem = problem or error.what
            continue
        cells += [_cell(item) for item in items if not _is_elsewhere(item)]
    return cells, problem


def _is_elsewhere(item: Item) -> bool:
    """Whether no cell was selected, so that the item only has the commitment's pattern."""
    return bool(item.missing) and item.cell == item.commitment.cells


def _cell(item: Item) -> AttemptedCell:
    values = item.values
    if item.nodes:
        values = np.array([float(np.median(each)) for each in item.nodes.values()])
    return AttemptedCell(
        number=item.commitment.number,
        cell=item.cell,
        unit=item.unit,
        launches=int(item.values.size),
        median=float(np.median(values)) if values.size else None,
        problem=item.missing,
    )


def _may_have_cells(contract: Contract, stored: RunInStore, machines: set[_Machine]) -> bool:
    """Whether a run measured one of these machines with kernels of the contract, as far as its
    summary or manifest tells. Raises AssayError if it can't be read."""
    run = stored.directory
    request = run.request()
    if request is not None and request.members is not None:
        return ("system", system_in_name(run.name, request.suite)) in machines
    if not run.begun:
        return False
    summary = run.summary()
    if summary is not None:
        of_run = _machines(summary.machine, summary.system, imported=summary.imported)
        kernels = set(summary.kernels)
    else:
        manifest = run.manifest()
        of_run = _machines(
            machine_identity(manifest.system),
            system_name(manifest),
            imported=bool(manifest.imported),
        )
        kernels = {cell.kernel for cell in manifest.plan.cells}
    return not machines.isdisjoint(of_run) and any(
        fnmatchcase(kernel, each.cells.split()[0])
        for kernel in kernels
        for each in contract.commitments
    )


def _machines_of(each: ContractRun) -> set[_Machine]:
    manifest = each.run.manifest
    return _machines(
        machine_identity(manifest.system),
        system_name(manifest, each.name if each.node else ""),
        imported=bool(manifest.imported),
    )


def _machines(identity: _Machine, system: str, *, imported: bool) -> set[_Machine]:
    """A machine's identities: its facts, and its name. Imported runs have only a name."""
    named: _Machine = ("imported" if imported else "system", system)
    return {named} if imported else {("facts", *identity), named}
