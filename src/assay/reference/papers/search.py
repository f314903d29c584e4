"""Search over the figures of the papers by words, cluster and kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assay.errors import AssayError, nearest
from assay.reference.papers.model import Paper, PublishedCluster, PublishedFigure


def matching(
    figures: Iterable[PublishedFigure],
    words: Sequence[str],
    clusters: Mapping[str, PublishedCluster],
    papers: Mapping[str, Paper],
) -> list[PublishedFigure]:
    """The figures in which each of the words begins a word of a field; case is ignored.

    Fields of the figure, of its cluster and of its paper are searched. A single word that is the id
    of a figure finds only this figure.
    """
    figures = list(figures)
    named = [figure for figure in figures if len(words) == 1 and figure.id == words[0]]
    if named or not words:
        return named or figures
    patterns = [re.compile(r"(?<!\w)" + re.escape(word.casefold())) for word in words]
    described = {name: _text(cluster) for name, cluster in clusters.items()}
    described |= {name: _text(paper) for name, paper in papers.items()}
    found = []
    for figure in figures:
        text = _text(figure) + described.get(figure.cluster, "") + described[figure.paper]
        if all(pattern.search(text) for pattern in patterns):
            found.append(figure)
    return found


def of_kernel(figures: Iterable[PublishedFigure], kernel: str) -> list[PublishedFigure]:
    """The figures of a kernel (``npb.lu``) or of all kernels of a family (``npb``)."""
    return [
        figure
        for figure in figures
        if figure.kernel == kernel or figure.kernel.startswith(f"{kernel}.")
    ]


def named_cluster(name: str, clusters: Mapping[str, PublishedCluster]) -> str:
    """The id of the cluster with this id or name; raises AssayError naming the nearest one."""
    for cluster in clusters.values():
        if name.casefold() in (cluster.id, cluster.name.casefold()):
            return cluster.id
    raise AssayError(f"There is no cluster '{name}'.", fix=nearest(name.casefold(), clusters))


def _text(entry: PublishedFigure | PublishedCluster | Paper) -> str:
    """All fields, one per line."""
    lines = []
    for field in entry.__struct_fields__:
        value = getattr(entry, field)
        lines.append(" ".join(value) if isinstance(value, tuple) else str(value or ""))
    return "\n".join(lines).casefold() + "\n"
