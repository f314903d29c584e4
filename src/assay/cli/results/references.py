"""List and search the figures that papers print about their clusters.

Examples::

    assay references  # the clusters
    assay references ping-pong latency  # all figures with these words
    assay references --cluster seth --kernel linpack
    assay references seth.linpack.rate  # one figure, with the words that print it
"""

from __future__ import annotations

from assay.cli.options import Json


def references(
    *words: str,
    cluster: str | None = None,
    kernel: str | None = None,
    json: Json = False,
) -> None:
    """List the clusters of the papers, or the figures that match.

    Parameters
    ----------
    words
        Words that must all occur in a figure's fields, or a figure's id.
    cluster
        Only figures of this cluster, such as seth.
    kernel
        Only figures of this kernel or family of kernels, such as npb.lu or npb.
    json
        Print the figures with their papers and clusters as JSON on stdout.
    """
    from assay.console import console, print_json
    from assay.reference.papers.loading import clusters_by_id, figures, papers
    from assay.reference.papers.search import matching, named_cluster, of_kernel
    from assay.report.references.listing import described, print_figures, print_overview

    by_cluster = clusters_by_id()
    by_paper = {each.id: each for each in papers()}
    found = matching(figures(), words, by_cluster, by_paper)
    if cluster:
        wanted = named_cluster(cluster, by_cluster)
        found = [figure for figure in found if figure.cluster == wanted]
    if kernel:
        found = of_kernel(found, _known_kernel(kernel))
    if json:
        print_json(described(found, by_cluster, by_paper))
    elif not (words or cluster or kernel):
        print_overview(found, by_cluster, by_paper, console())
    elif found:
        print_figures(found, by_cluster, by_paper, console())
    else:
        console().print(_nothing(words, cluster, kernel), markup=False, soft_wrap=True)


def _known_kernel(name: str) -> str:
    """The name of a kernel or a family; raises AssayError naming the nearest kernel."""
    from assay.kernels import find_kernel, kernels

    families = {kernel.name.split(".")[0] for kernel in kernels()}
    return name if name in families else find_kernel(name).name


def _nothing(words: tuple[str, ...], cluster: str | None, kernel: str | None) -> str:
    """The sentence for an empty result."""
    parts = [f"of {cluster}" if cluster else "", f"for {kernel}" if kernel else ""]
    if words:
        quoted = ", ".join(f"'{word}'" for word in words)
        parts.append(f"with {'all of ' if len(words) > 1 else ''}{quoted}")
    what = " ".join(filter(None, parts))
    return f"The papers print no figure {what}. `assay references` lists their clusters."
