"""Placement's tables: the best of each work, and ratios beside published ones."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.placement_data import (
    Comparison,
    Outcome,
    compare,
    compared_name,
    how_text,
    name_of,
    outcomes,
    same_nodes,
    same_ranks,
    works,
)
from assay.answers.select import Point, measured_text, quantity_text
from assay.records.model import RunData
from assay.reference.placement import MACHINES, SOURCE, published
from assay.report.crossed import crossed_tables
from assay.report.model import Column, Entry, Table
from assay.report.placement_order import order_tables
from assay.stats.model import CellSummary
from assay.units import MISSING


def placement_tables(cells: Sequence[CellSummary], run: RunData) -> list[Table]:
    """What each search chose, ratios by fixed nodes and by fixed ranks, orders, crossed factors."""
    found = outcomes(cells, run)
    compared = works(cells)
    tables = [_chosen(found)] if found else []
    on_nodes = [c for work in compared for c in same_nodes(work)]
    of_ranks = [c for work in compared for c in same_ranks(work)]
    if on_nodes:
        tables.append(_ratios("nodes", on_nodes))
    if of_ranks:
        tables.append(_ratios("ranks", of_ranks))
    if on_nodes or of_ranks:
        tables += _beside_published(on_nodes, of_ranks)
    return [*tables, *order_tables(cells, run), *crossed_tables(cells, run)]


def _chosen(found: Sequence[Outcome]) -> Table:
    def over(outcome: Outcome, other: Point | None) -> Entry:
        if other is None or outcome.point is None:
            return Entry(MISSING, tone="quiet")
        if other.summary.id == outcome.point.summary.id:
            return Entry("is it", tone="quiet")
        ratio = compare(outcome.point, other)
        return Entry(quantity_text(ratio.value, "", ratio.interval), ratio.value)

    rows = []
    for outcome in found:
        sure = outcome.finding.probability
        rows.append(
            [
                Entry(name_of(outcome.work)),
                Entry(str(outcome.work.placement.nodes), outcome.work.placement.nodes),
                Entry(how_text(outcome.best.placement) if outcome.best else "none works"),
                Entry(measured_text(outcome.point), outcome.point.metric.median)
                if outcome.point
                else Entry(MISSING, tone="quiet"),
                Entry(f"{sure:.1%}", sure, tone="" if outcome.finding.settled else "warn"),
                Entry(f"{outcome.tried} of {len(outcome.search.cells)}", outcome.tried),
                Entry(f"{outcome.made} ({outcome.made / outcome.exhaustive:.0%})", outcome.made),
                over(outcome, outcome.one),
                over(outcome, outcome.full),
            ]
        )
    rule = found[0].search.rule
    return Table(
        id="placement-best",
        title="The best placement",
        caption=f"Sure: the probability that it is within {rule.within:.0%} of the best; asked was "
        f"{rule.probability:.0%}. Measurements: also as a share of all placements measured "
        f"{rule.fewest} times each.",
        columns=[
            Column("work", "Work"),
            Column("nodes", "Nodes", numeric=True),
            Column("best", "Best placement"),
            Column("time", "Time [95% interval]", unit="s", numeric=True),
            Column("sure", "Sure", numeric=True),
            Column("tried", "Tried", numeric=True),
            Column("made", "Measurements", numeric=True),
            Column("one", "Speed over 1 rank a node", numeric=True),
            Column("full", "Speed over a rank a core", numeric=True),
        ],
        rows=rows,
    )


def _ratios(fixed: str, compared: Sequence[Comparison]) -> Table:
    """A row for each work and fixed number, a column for each number of ranks a node."""
    counts = sorted({c.above.summary.cell.placement.ppn for c in compared})
    rows: dict[tuple[str, int], dict[int, Comparison]] = {}
    for found in compared:
        placement = found.above.summary.cell.placement
        number = placement.nodes if fixed == "nodes" else placement.ranks
        name = compared_name(found, compared)
        rows.setdefault((name, number), {})[placement.ppn] = found
    same = "on as many nodes" if fixed == "nodes" else "of as many ranks, on fewer nodes"
    return Table(
        id=f"placement-{fixed}",
        title=f"Performance over 1 rank a node, {same}",
        caption="Ratios with 95% intervals; above 1 more ranks a node are quicker.",
        columns=[
            Column("work", "Work"),
            Column(fixed, fixed.capitalize(), numeric=True),
            *(Column(f"ppn{count}", f"{count} a node", numeric=True) for count in counts),
        ],
        rows=[
            [
                Entry(name),
                Entry(str(number), number),
                *(_entry(found.get(count)) for count in counts),
            ]
            for (name, number), found in rows.items()
        ],
    )


def _entry(found: Comparison | None) -> Entry:
    if found is None:
        return Entry(MISSING, tone="quiet")
    return Entry(quantity_text(found.value, "", found.interval), found.value)


def _beside_published(
    on_nodes: Sequence[Comparison], of_ranks: Sequence[Comparison]
) -> list[Table]:
    """Two ranks a node over one, benchmark by benchmark, beside the paper's clusters."""
    kernels = dict.fromkeys(
        c.above.summary.kernel
        for c in (*on_nodes, *of_ranks)
        if published(c.above.summary.kernel, MACHINES[0]) is not None
    )
    if not kernels:
        return []
    rows = []
    for kernel in kernels:
        told = [published(kernel, machine) for machine in MACHINES]
        rows.append(
            [
                Entry(kernel[4:].upper()),
                _span(kernel, on_nodes),
                *(Entry(t.same_nodes if t else MISSING) for t in told),
                _span(kernel, of_ranks),
                *(
                    Entry(MISSING, tone="quiet")
                    if t is None or t.low is None
                    else Entry(f"{t.low:.2f} to {t.high:.2f}", t.low)
                    for t in told
                ),
            ]
        )
    return [
        Table(
            id="placement-published",
            title="Two ranks a node over one, beside published clusters",
            caption="Performance with 2 ranks a node over that with 1: on as many nodes, then of "
            "as many ranks on half the nodes. Ranges are over the numbers of nodes or ranks.",
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


def _span(kernel: str, compared: Sequence[Comparison]) -> Entry:
    """The ratio of two ranks a node over one; over several numbers of nodes its range."""
    found = [
        c
        for c in compared
        if c.above.summary.kernel == kernel and c.above.summary.cell.placement.ppn == 2
    ]
    if not found:
        return Entry(MISSING, tone="quiet")
    if len(found) == 1:
        return _entry(found[0])
    low, high = min(c.value for c in found), max(c.value for c in found)
    return Entry(f"{low:.2f} to {high:.2f}", low)
