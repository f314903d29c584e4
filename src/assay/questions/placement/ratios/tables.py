"""Tables of ratios between placements, and the published ones for comparison."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import kernel_code
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Column, Entry, Table
from assay.questions.placement.ratios.findings import PlacementRatio, RatioFindings, compared_name
from assay.reference.placement import MACHINES, SOURCE, published
from assay.units import MISSING


def tables(found: RatioFindings) -> list[Table]:
    """Ratios on equally many nodes, of as many ranks, and published ratios of two."""
    return [
        *([_ratios("nodes", found.same_nodes)] if found.same_nodes else []),
        *([_ratios("ranks", found.same_ranks)] if found.same_ranks else []),
        *_with_published(found),
    ]


def _ratios(fixed: str, compared: Sequence[PlacementRatio]) -> Table:
    """A row for each work and fixed number, a column for each number of ranks per node."""
    counts = sorted({one.above.summary.cell.placement.ppn for one in compared})
    rows: dict[tuple[str, int], dict[int, PlacementRatio]] = {}
    for one in compared:
        placement = one.above.summary.cell.placement
        number = placement.nodes if fixed == "nodes" else placement.ranks
        rows.setdefault((compared_name(one, compared), number), {})[placement.ppn] = one
    same = "on equally many nodes" if fixed == "nodes" else "of equally many ranks, on fewer nodes"
    return Table(
        id=f"placement-{fixed}",
        title=f"Performance over 1 rank per node, {same}",
        caption="Ratios with 95% intervals; above 1, more ranks per node are faster.",
        columns=[
            Column("work", "Work"),
            Column(fixed, fixed.capitalize(), numeric=True),
            *(Column(f"ppn{count}", f"{count} per node", numeric=True) for count in counts),
        ],
        rows=[
            [
                Entry(name),
                Entry(str(number), number),
                *(_entry(of_ppn.get(count)) for count in counts),
            ]
            for (name, number), of_ppn in rows.items()
        ],
    )


def _entry(found: PlacementRatio | None) -> Entry:
    if found is None:
        return Entry(MISSING, tone="quiet")
    return Entry(quantity_text(found.value, "", found.interval), found.value)


def _with_published(found: RatioFindings) -> list[Table]:
    """Two ranks per node over one, by benchmark, beside the paper's clusters."""
    kernels = dict.fromkeys(
        one.above.summary.kernel
        for one in (*found.same_nodes, *found.same_ranks)
        if published(one.above.summary.kernel, MACHINES[0]) is not None
    )
    if not kernels:
        return []
    rows = []
    for kernel in kernels:
        of_paper = [published(kernel, machine) for machine in MACHINES]
        rows.append(
            [
                Entry(kernel_code(kernel)),
                _range(kernel, found.same_nodes),
                *(Entry(one.same_nodes if one else MISSING) for one in of_paper),
                _range(kernel, found.same_ranks),
                *(
                    Entry(MISSING, tone="quiet")
                    if one is None or one.low is None
                    else Entry(f"{one.low:.2f} to {one.high:.2f}", one.low)
                    for one in of_paper
                ),
            ]
        )
    return [
        Table(
            id="placement-published",
            title="Two ranks per node over one, beside published clusters",
            caption="Performance with 2 ranks per node over that with 1: on equally many nodes, "
            "then of equally many ranks on half the nodes. Ranges are over the numbers of nodes or "
            "ranks.",
            columns=[
                Column("work", ""),
                Column("nodes", "As many nodes, here", numeric=True),
                *(Column(f"nodes-{m.lower()}", f"{m} (1)") for m in MACHINES),
                Column("ranks", "As many ranks, here", numeric=True),
                *(Column(f"ranks-{m.lower()}", f"{m} (1)", numeric=True) for m in MACHINES),
            ],
            rows=rows,
            notes=[f"{SOURCE}; the text's statements, for its figures hold no numbers."],
        )
    ]


def _range(kernel: str, compared: Sequence[PlacementRatio]) -> Entry:
    """The ratio of two ranks per node over one; over several numbers of nodes its range."""
    two = [
        one
        for one in compared
        if one.above.summary.kernel == kernel and one.above.summary.cell.placement.ppn == 2
    ]
    if len(two) < 2:
        return _entry(two[0] if two else None)
    low, high = min(one.value for one in two), max(one.value for one in two)
    return Entry(f"{low:.2f} to {high:.2f}", low)
