"""Tables of ratios between placements, and the published ones for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from assay.kernels.naming import kernel_code
from assay.kernels.npb.own_code import OWN_CODE
from assay.kernels.outside import is_beside
from assay.questions.common.tables import NOTHING, Entry, Table, TableBuilder, quantity
from assay.questions.placement.ratios.findings import PlacementRatio, RatioFindings, compared_name
from assay.reference.placement import CODE, MACHINES, SOURCE, published
from assay.units import MISSING, listed


def tables(found: RatioFindings) -> list[Table]:
    """Ratios on the same number of nodes and of ranks, and published ratios of two per node."""
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
    same = "same nodes" if fixed == "nodes" else "same ranks on fewer nodes"
    table = (
        TableBuilder(rows.items())
        .text("work", "Work", lambda row: row[0][0])
        .counts(fixed, fixed.capitalize(), lambda row: row[0][1])
    )
    for number in counts:
        table.numbers(f"ppn{number}", f"{number} per node", partial(_of_count, number))
    return table.table(
        f"placement-{fixed}",
        f"Performance over 1 rank per node, {same}",
        caption="Ratios with 95% intervals. A ratio whose interval contains 1 has no direction.",
    )


def _of_count(number: int, row: tuple[object, Mapping[int, PlacementRatio]]) -> Entry:
    return _entry(row[1].get(number))


def _entry(found: PlacementRatio | None) -> Entry:
    return NOTHING if found is None else quantity(found.value, "", found.interval)


def _with_published(found: RatioFindings) -> list[Table]:
    """Two ranks per node over one, by benchmark: here and on the paper's clusters."""
    kernels = dict.fromkeys(
        one.above.summary.kernel
        for one in (*found.same_nodes, *found.same_ranks)
        if published(one.above.summary.kernel, MACHINES[0]) is not None
    )
    if not kernels:
        return []
    codes = _codes(list(kernels), [*found.same_nodes, *found.same_ranks])
    source = f"({len(codes) + 1})"
    table = (
        TableBuilder(kernels)
        .text("work", "Benchmark", kernel_code)
        .numbers("nodes", "Same nodes, here (1)", lambda kernel: _range(kernel, found.same_nodes))
    )
    for machine in MACHINES:
        table.column(
            f"nodes-{machine.lower()}",
            f"Same nodes, {machine} {source}",
            partial(_nodes_of, machine),
        )
    table.numbers("ranks", "Same ranks, here (1)", lambda kernel: _range(kernel, found.same_ranks))
    for machine in MACHINES:
        table.numbers(
            f"ranks-{machine.lower()}",
            f"Same ranks, {machine} {source}",
            partial(_ranks_of, machine),
        )
    return [
        table.table(
            "placement-published",
            "Two ranks per node over one, compared with published clusters",
            caption="Performance with 2 ranks per node over performance with 1: first on the same "
            "number of nodes, then with the same number of ranks on half the nodes. Ranges cover "
            "all measured numbers of nodes or ranks.",
            notes=[
                *codes,
                f"{SOURCE}: {CODE}. Values are from its text; its figures have no numbers.",
            ],
        )
    ]


def _nodes_of(machine: str, kernel: str) -> Entry:
    one = published(kernel, machine)
    return Entry(one.same_nodes if one else MISSING)


def _ranks_of(machine: str, kernel: str) -> Entry:
    one = published(kernel, machine)
    if one is None or one.low is None:
        return NOTHING
    return Entry(f"{one.low:.2f} to {one.high:.2f}", one.low)


def _range(kernel: str, compared: Sequence[PlacementRatio]) -> Entry:
    """The ratio of two ranks per node over one, or its range over several numbers of nodes."""
    two = _two_per_node(kernel, compared)
    if len(two) < 2:
        return _entry(two[0] if two else None)
    low, high = min(one.value for one in two), max(one.value for one in two)
    return Entry(f"{low:.2f} to {high:.2f}", low)


def _two_per_node(kernel: str, compared: Sequence[PlacementRatio]) -> list[PlacementRatio]:
    """The ratios of two ranks per node over one; from the site's executable if it was measured."""
    two = [one for one in compared if one.above.summary.cell.placement.ppn == 2]
    site = [one for one in two if _of_site(one) == kernel]
    return site or [one for one in two if one.above.summary.kernel == kernel]


def _of_site(found: PlacementRatio) -> str:
    """The kernel that the site's executable was measured beside; empty for other ratios."""
    cell = found.above.summary.cell
    return str(cell.parameters["of"]) if is_beside(cell.kernel) else ""


def _codes(kernels: Sequence[str], compared: Sequence[PlacementRatio]) -> list[str]:
    """The code that was measured here: the site's executables, assay's own code, or both."""
    site = [
        kernel
        for kernel in kernels
        if any(_of_site(one) == kernel for one in _two_per_node(kernel, compared))
    ]
    if not site:
        return [f"NPB: {OWN_CODE}."]
    named = listed([kernel_code(kernel) for kernel in site])
    others = [f"The other NPB benchmarks: {OWN_CODE}."] if len(site) < len(kernels) else []
    return [f"{named}: here your executables (--beside).", *others]
