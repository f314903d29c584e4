"""``assay references``: the overview of clusters, tables of figures, one figure, plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from assay.reference.papers.model import Paper, PublishedCluster, PublishedFigure
from assay.report.references.values import (
    printed_value,
    shown_processors,
    shown_quantity,
    shown_source,
    shown_value,
)
from assay.units import counted

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = ("cluster", "what", "value", "processors", "code", "source")
# Minimum columns of a terminal at which the overview shows the clusters' networks.
_ROOM_FOR_NETWORK = 100
# Maximum number of figures whose quotations are shown below the table.
_FEW = 4
# Kernels whose codes differ from the codes of the papers (docs/references.md).
_OTHER_CODES = ("npb", "linpack", "compute")
_RESERVATION = (
    "The rates and times of NPB, Linpack and DGEMM come from other codes and aren't comparable "
    "with assay's results."
)


def described(
    figures: Sequence[PublishedFigure],
    clusters: Mapping[str, PublishedCluster],
    papers: Mapping[str, Paper],
) -> dict[str, Any]:
    """The papers' figures with their clusters and papers, as plain values (docs/references.md)."""
    return {
        "schema": 1,
        "papers": [papers[name] for name in dict.fromkeys(each.paper for each in figures)],
        "clusters": [
            clusters[name] for name in dict.fromkeys(each.cluster for each in figures) if name
        ],
        "figures": [
            {
                **msgspec.to_builtins(figure),
                "si": figure.si,
                "si_upper": figure.si_upper,
                "si_unit": figure.si_unit,
            }
            for figure in figures
        ],
    }


def print_overview(
    figures: Sequence[PublishedFigure],
    clusters: Mapping[str, PublishedCluster],
    papers: Mapping[str, Paper],
    out: Console,
) -> None:
    """One line per cluster."""
    from rich.table import Table
    from rich.text import Text

    by_id = {figure.id: figure for figure in figures}
    numbers = Counter(figure.cluster for figure in figures)
    table = Table(box=None, pad_edge=False, header_style="bold")
    roomy = out.width >= _ROOM_FOR_NETWORK
    for heading in ("cluster", "name", "processors", "network", "figures", "paper"):
        if heading == "network" and not roomy:
            continue
        right = heading in ("processors", "figures")
        table.add_column(
            heading,
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=heading in ("cluster", "figures"),
        )
    for cluster in clusters.values():
        table.add_row(
            cluster.id,
            Text(cluster.name),
            _processors(cluster, by_id),
            *([Text("; ".join(cluster.interconnect[:1]))] if roomy else []),
            str(numbers[cluster.id]),
            papers[cluster.paper].short,
        )
    unnamed = ["", "benchmarks and methods", "", *([""] if roomy else [])]
    table.add_row(*unnamed, str(numbers[""]), "")
    out.print(table)
    total = f"{counted(len(figures), 'figure')} of {counted(len(papers), 'paper')}"
    out.print(
        f"\n{total}. Search by words, cluster or kernel:\n"
        "  [bold]assay references latency --cluster seth[/bold]"
    )


def print_figures(
    figures: Sequence[PublishedFigure],
    clusters: Mapping[str, PublishedCluster],
    papers: Mapping[str, Paper],
    out: Console,
) -> None:
    """A table of figures. A short table is followed by quotations."""
    from rich.table import Table
    from rich.text import Text

    names = {figure.cluster for figure in figures}
    alone = clusters.get(names.pop()) if len(names) == 1 else None
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in _COLUMNS if alone is None else _COLUMNS[1:]:
        table.add_column(name, overflow="fold")
    for figure in figures:
        cluster = clusters.get(figure.cluster)
        fields = (
            *((cluster.name if cluster else "",) if alone is None else ()),
            shown_quantity(figure),
            shown_value(figure) + (" *" if figure.note else ""),
            shown_processors(figure),
            figure.code,
            shown_source(figure, papers[figure.paper]),
        )
        table.add_row(*map(Text, fields))
    if alone is not None:
        out.print(f"[bold]{alone.name}[/bold]\n")
    out.print(table)
    if len(figures) <= _FEW:
        for figure in figures:
            _print_details(figure, clusters.get(figure.cluster), papers[figure.paper], out)
    elif notes := [figure for figure in figures if figure.note]:
        out.print()
        for figure in notes:
            out.print(f"* {figure.id}: {figure.note}", markup=False, soft_wrap=True)
    other = any(figure.kernel.split(".")[0] in _OTHER_CODES for figure in figures)
    closing = [f"{counted(len(figures), 'figure')}.", *([_RESERVATION] if other else [])]
    out.print("\n" + " ".join(closing), soft_wrap=True)


def _processors(cluster: PublishedCluster, figures: Mapping[str, PublishedFigure]) -> str:
    """The printed number of processors, or otherwise of nodes; empty if neither is printed."""
    processors, nodes = (figures.get(f"{cluster.id}.{what}") for what in ("processors", "nodes"))
    if processors is not None:
        return shown_value(processors)
    return f"{shown_value(nodes)} nodes" if nodes is not None else ""


def _print_details(
    figure: PublishedFigure, cluster: PublishedCluster | None, paper: Paper, out: Console
) -> None:
    """How the figure is printed, what was measured, and which software was used."""
    built = (figure.compiler, figure.flags, figure.mpi)
    lines = [
        ("printed", printed_value(figure)),
        ("in", f"{', '.join(paper.authors)}: {paper.title} ({paper.year}), {figure.section}"),
        ("table", figure.header),
        ("words", figure.quote),
        ("context", "; ".join(figure.context)),
        ("kernel", figure.kernel),
        ("built with", ", ".join(filter(None, built))),
        ("note", figure.note),
    ]
    if cluster is not None:
        lines += [
            (field, "; ".join(getattr(cluster, field)))
            for field in (
                "processor",
                "interconnect",
                "os",
                "mpi",
                "compilers",
                "scheduler",
                "site",
            )
        ]
    out.print(f"\n[bold]{figure.id}[/bold]")
    for name, text in lines:
        if text:
            out.print(f"  {name + ':':<13} {text}", markup=False, soft_wrap=True)
