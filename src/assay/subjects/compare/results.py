"""The results of a side, cell by cell, and which results of two sides measure the same cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from assay.arrays import Floats, Ints
from assay.kernels.hpcg.counts import process_grid
from assay.kernels.hpcg.entry import EDGES
from assay.kernels.memory import STREAM_NAMES
from assay.model.cell import Cell
from assay.stats.cells.contention import Contention

# Names of the codes of assay's own kernels (``code=plain`` is one of them), and of programs that
# assay measures (``--app``).
OWN_CODE = "assay"
PLAIN_CODE = "assay's plain code"
OWN_CODES = (OWN_CODE, PLAIN_CODE)
OUTSIDE_CODE = "the measured program"


@dataclass(frozen=True)
class ResultSubject:
    """What a result describes, as far as stated. None means not stated or not applicable."""

    #: ``kernel``, ``metric``: their names in the catalogue.
    kernel: str
    metric: str
    #: NPB class, or the edges of HPCG's grid.
    size: str | None = None
    #: Order of the Linpack matrix.
    order: int | None = None
    #: Message size, bytes.
    length: int | None = None
    #: Operation of STREAM. ``ranks``, ``cores`` (ranks × threads), ``nodes``: their numbers.
    operation: str | None = None
    ranks: int | None = None
    cores: int | None = None
    nodes: int | None = None


@dataclass(frozen=True)
class SideResult:
    """The results of one cell on a side, in order of time."""

    cell: Cell
    #: Name of the cell as text.
    name: str
    metric: str
    unit: str
    better: Literal["more", "less"]
    #: Values of ``metric`` in ``unit``, one per launch (or per published or imported number).
    values: Floats
    #: What was timed, with its version; empty if it is not stated.
    code: str
    #: Whether the result was imported or published.
    foreign: bool
    #: What the result describes; None if it can only be compared with the same cell.
    subject: ResultSubject | None
    #: Session of each value; -1 without sessions.
    session: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: Hosts of each value, in bracket notation. Sessions and hosts may be empty.
    hosts: tuple[str, ...] = ()
    #: How a published value is stated.
    note: str = ""
    #: Clock rate of the processors, Hz.
    clock: float | None = None
    #: Contention by other processes during the measurement; None if unknown.
    contention: Contention | None = None


def fits(one: ResultSubject, other: ResultSubject) -> bool:
    """Whether both may describe the same cell: what both state agrees, and neither lacks the size.

    A problem of the NPB needs its class and a number of ranks or cores. A network that is not
    stated to be within a node is a network between nodes.
    """
    if (one.kernel, one.metric) != (other.kernel, other.metric):
        return False
    for name in ("size", "length", "operation", "ranks", "cores", "nodes"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine is not None and theirs is not None and mine != theirs:
            return False
    if one.kernel.startswith("npb."):
        counted = any(
            getattr(one, name) is not None and getattr(other, name) is not None
            for name in ("ranks", "cores")
        )
        return counted and one.size is not None and other.size is not None
    if one.kernel.startswith("network."):
        return all(each.nodes is None or each.nodes > 1 for each in (one, other))
    return True


def best_of(subject: ResultSubject, candidates: Sequence[SideResult]) -> SideResult | None:
    """The best result that the subject fits; None if it fits none.

    Results with the same matrix order are preferred. The best is chosen because a published value
    is also its authors' best.
    """
    fitting = [each for each in candidates if each.subject and fits(subject, each.subject)]
    same = [each for each in fitting if each.subject and each.subject.order == subject.order]
    fitting = same or fitting
    if not fitting:
        return None
    sign = 1.0 if fitting[0].better == "more" else -1.0
    return max(fitting, key=lambda each: sign * float(np.median(each.values)))


def subject_of(cell: Cell, metric: str) -> ResultSubject:
    """The subject of a measured cell."""
    parameters, placement = cell.parameters, cell.placement
    return ResultSubject(
        kernel=cell.kernel,
        metric=metric,
        size=_hpcg_grid(cell) if cell.kernel == "hpcg" else _text(parameters, "class"),
        order=_number(parameters, "n") if cell.kernel == "linpack" else None,
        length=_number(parameters, "bytes") if cell.kernel.startswith("network.") else None,
        operation=_text(parameters, "op") if cell.kernel == "memory.stream" else None,
        ranks=placement.ranks,
        cores=placement.ranks * placement.threads,
        nodes=placement.nodes,
    )


# The kernels of assay that correspond to imported codes, with their metrics. Ports to accelerators
# have none.
_NPB_CODES = ("nasa-npb", "npb-c", "npb-cpp", "npb-unknown")
_ACCELERATORS = ("CUDA", "OpenCL", "OpenACC", "SYCL", "HIP", "oneAPI", "ACC", "OCL")
_ALIKE: Mapping[str, tuple[str, str, str]] = {
    # Code: kernel, metric of the import, metric of the kernel.
    "hpl": ("linpack", "rate", "rate"),
    "hpcc.hpl": ("linpack", "rate", "rate"),
    "stream": ("memory.stream", "rate", "bandwidth"),
    "hpcg-benchmark": ("hpcg", "rate", "rate"),
}


def alike_of(cell: Cell) -> tuple[str, ResultSubject] | None:
    """The metric of an imported cell to compare, and its subject; None for other codes."""
    head, _, benchmark = cell.kernel.partition(".")
    parameters = cell.parameters
    if head in _NPB_CODES and parameters.get("model") in _ACCELERATORS:
        return None
    if head in _NPB_CODES:
        serial = parameters.get("model") == "SER"
        return "time", ResultSubject(
            kernel=f"npb.{benchmark}",
            metric="time",
            size=_text(parameters, "class"),
            ranks=_number(parameters, "ranks"),
            cores=1 if serial else _number(parameters, "threads"),
        )
    if cell.kernel not in _ALIKE:
        return None
    kernel, imported, metric = _ALIKE[cell.kernel]
    if kernel == "hpcg":
        ranks, threads = _number(parameters, "ranks"), _number(parameters, "threads")
        return imported, ResultSubject(
            kernel=kernel,
            metric=metric,
            size=_shape([_number(parameters, name) for name in EDGES]),
            ranks=ranks,
            cores=ranks * threads if ranks and threads else None,
        )
    operation = _text(parameters, "op")
    rows, columns = _number(parameters, "p"), _number(parameters, "q")
    return imported, ResultSubject(
        kernel=kernel,
        metric=metric,
        order=_number(parameters, "n") if kernel == "linpack" else None,
        operation=STREAM_NAMES.get(operation, operation) if operation else None,
        ranks=rows * columns if rows and columns else None,
        cores=_number(parameters, "threads"),
    )


def _hpcg_grid(cell: Cell) -> str | None:
    """The grid of all ranks, whose edges HPCG's results state; None if a launch chose its size."""
    first, *others = (_number(cell.parameters, name) for name in EDGES)
    processes = process_grid(cell.placement.ranks)
    edges = (first, *(edge or first for edge in others))
    return _shape([edge and edge * count for edge, count in zip(edges, processes, strict=True)])


def _shape(edges: Sequence[int | None]) -> str | None:
    """``128 × 64 × 64``, the longest edge first; None if one is unknown."""
    known = sorted((edge for edge in edges if edge), reverse=True)
    return " × ".join(map(str, known)) if len(known) == len(edges) else None


def _number(parameters: Mapping[str, object], name: str) -> int | None:
    value = parameters.get(name)
    return value if isinstance(value, int) else None


def _text(parameters: Mapping[str, object], name: str) -> str | None:
    value = parameters.get(name)
    return value if isinstance(value, str) else None
