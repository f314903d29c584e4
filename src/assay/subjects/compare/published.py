"""A side of a comparison that a paper published: figures of a cluster that name a metric."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from assay.errors import AssayError, nearest
from assay.kernels import known_kernel
from assay.kernels.naming import kernel_name
from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.reference.papers.loading import clusters, clusters_by_id, figures, paper
from assay.reference.papers.model import PublishedCluster, PublishedFigure
from assay.subjects.compare.results import ResultSubject, SideResult

PREFIX = "ref:"
# The toolchain's name in the cells of published figures.
PUBLISHED_TOOLCHAIN = "published"
_CLASS = re.compile(r"class ([A-Z])")
_ORDER = re.compile(r"N = ([\d ,]+)")
_BYTES = re.compile(r"([\d,]+) bytes?")
# Numbers of processors that the papers print in words.
_IN_WORDS = {"one processor": 1, "both processors": 2}


@dataclass(frozen=True)
class PublishedSide:
    """Figures of one cluster."""

    #: As named on the command line.
    words: str
    cluster: PublishedCluster
    paper: str
    #: The figures that can be compared.
    results: tuple[SideResult, ...]
    #: The remaining figures with a metric, each with the reason why it can't be compared.
    others: tuple[str, ...]
    #: Clock rate of its processors, Hz.
    clock: float | None


def read_published(name: str) -> PublishedSide:
    """The cluster with this id or name, or the one figure with this id.

    Raises AssayError for an unknown name, and for a cluster without comparable figures.
    """
    chosen = [figure for figure in figures() if figure.id == name]
    if chosen:
        cluster = clusters_by_id().get(chosen[0].cluster)
    else:
        folded = name.casefold()
        cluster = next((c for c in clusters() if folded in (c.id, c.name.casefold())), None)
        chosen = [figure for figure in figures() if cluster and figure.cluster == cluster.id]
    if cluster is None:
        raise AssayError(
            f"No paper has a cluster '{name}'.",
            where=PREFIX + name,
            fix=f"{nearest(name, clusters_by_id())} `assay references` lists them.",
        )
    results, others = [], []
    for figure in chosen:
        if not figure.metric:
            continue
        found = _result(figure)
        if isinstance(found, str):
            others.append(f"{figure.id} ({found})")
        else:
            results.append(found)
    if not results:
        raise AssayError(
            f"No figure of {cluster.name} can be compared with a measured cell.",
            where=PREFIX + name,
            fix=f"`assay references --cluster {cluster.id}` lists its figures.",
        )
    return PublishedSide(
        words=PREFIX + name,
        cluster=cluster,
        paper=paper(cluster.paper).short,
        results=tuple(results),
        others=tuple(others),
        clock=clock_of(cluster.id),
    )


def clock_of(cluster: str) -> float | None:
    """The clock rate of its processors in Hz, printed or derived from a printed ratio."""
    by_id = {figure.id: figure for figure in figures()}
    printed = by_id.get(f"{cluster}.clock")
    if printed is not None and printed.si_unit == "Hz":
        return printed.si
    # The T3E: "clock rate of Seth / of the T3E".
    ratio, seth = by_id.get(f"{cluster}.clock_ratio"), by_id.get("seth.clock")
    return seth.si / ratio.si if ratio is not None and seth is not None else None


def _result(figure: PublishedFigure) -> SideResult | str:
    """The figure as a result of one cell, or why it can't be compared."""
    kernel = known_kernel(figure.kernel)
    metric = kernel.metric(figure.metric) if kernel is not None else None
    if metric is None:
        return "no metric of a kernel"
    if figure.upper:
        return "a range is printed"
    if figure.per and figure.processes is None:
        return f"it is stated per {figure.per}, and their number is not printed"
    subject = _subject(figure)
    if figure.kernel.startswith("npb.") and subject.size is None:
        return "its class is not printed"
    value = figure.si * ((figure.processes or 1) if figure.per else 1)
    cell = _cell(figure, subject)
    # If no number of processes is printed, the quantity says where it was measured.
    where = _processors(figure) or figure.quantity
    words = [kernel_name(figure.kernel), figure.size, where, figure.conditions]
    return SideResult(
        cell=cell,
        name=", ".join(filter(None, words)),
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        values=np.array([value]),
        code=figure.code,
        foreign=True,
        subject=subject,
        note=" ".join(filter(None, [figure.bound, figure.quantity])) + f" ({figure.id})",
        clock=clock_of(figure.cluster),
    )


def _subject(figure: PublishedFigure) -> ResultSubject:
    network = figure.kernel.startswith("network.")
    size, order, length = (pattern.fullmatch(figure.size) for pattern in (_CLASS, _ORDER, _BYTES))
    return ResultSubject(
        kernel=figure.kernel,
        metric=figure.metric,
        size=size[1] if size else None,
        order=int(re.sub(r"\D", "", order[1])) if order else None,
        length=int(length[1].replace(",", "")) if length else None,
        ranks=figure.processes,
        cores=next((n for text, n in _IN_WORDS.items() if text in figure.quantity), None),
        # For programs that compute, the number of processes counts, not the number of nodes.
        nodes=figure.nodes if network or figure.processes is None else None,
    )


def _cell(figure: PublishedFigure, subject: ResultSubject) -> Cell:
    parameters: dict[str, Value] = {"figure": figure.id}
    if subject.size is not None:
        parameters["class"] = subject.size
    nodes = figure.nodes or 1
    ppn = figure.ppn or max((figure.processes or 1) // nodes, 1)
    return Cell(figure.kernel, parameters, Placement(nodes=nodes, ppn=ppn), PUBLISHED_TOOLCHAIN)


def _processors(figure: PublishedFigure) -> str:
    return "" if figure.processes is None else f"{figure.processes:,} processes"
