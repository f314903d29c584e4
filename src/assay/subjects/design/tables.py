"""Tables of a design: the shortlist, the parts list, predicted rates, uncertain figures."""

from __future__ import annotations

from pathlib import PurePath

from assay.questions.common.tables import (
    NOTHING,
    Table,
    TableBuilder,
    fact_table,
    quantity,
    share,
    written,
)
from assay.subjects.design.answer import money, years
from assay.subjects.design.model import (
    BillLine,
    ClusterDesign,
    DesignedCluster,
    PredictedRate,
    UncertainInput,
)
from assay.subjects.design.more_tables import chance, more_tables, rack_power
from assay.units import counted, format_minute, format_quantity

# Inputs that are worth less are not shown.
_LEAST_GAIN = 1e-4


def tables(found: ClusterDesign) -> list[Table]:
    """All tables. Parts and rates describe the best cluster."""
    own = [_own_kinds(found)] if found.best[0].own_kinds else []
    return [
        _shortlist(found),
        _rates(found),
        _balance(found),
        *own,
        _parts(found),
        *more_tables(found),
        *_inputs(found),
    ]


def spec_table(found: ClusterDesign) -> Table:
    """The requested design."""
    facts = [
        ("Specification", found.file),
        ("Designed", format_minute(found.utc)),
        ("Budget", "none" if found.budget is None else money(found.budget, found.currency)),
        ("Workload", ", ".join(f"{name} × {weight:g}" for name, weight in found.workload.items())),
        *_asked(found),
        ("Candidates", f"{found.considered:,}, {found.possible:,} meet the limits"),
    ]
    facts += [
        (f"Excluded by {name.replace('_', ' ')}", f"{number:,}")
        for name, number in found.excluded.items()
    ]
    return fact_table("system", "Specification", facts)


def _asked(found: ClusterDesign) -> list[tuple[str, str]]:
    facts = []
    if found.years is not None:
        facts.append(("Costs of use", years(found.years)))
    if found.objective != "rate":
        facts.append(("Objective", found.objective))
    return facts


def front_table(found: ClusterDesign) -> Table:
    """The Pareto front."""
    table = TableBuilder(found.front).text("name", "Cluster", lambda row: row.name)
    table.counts("nodes", "Nodes", lambda row: row.nodes)
    table.numbers("price", f"Price ({found.currency})", lambda row: written(row.price, "{:,.0f}"))
    table.numbers("power", "Power", lambda row: quantity(row.power, "W"), unit="W")
    table.numbers("score", "Rate, relative to the best", lambda row: share(row.score))
    return table.table("design-front", "Pareto front: price, power, rate")


def _shortlist(found: ClusterDesign) -> Table:
    table = _numbered(found).text("name", "Cluster", lambda row: row[1].name)
    table.counts("nodes", "Nodes", lambda row: row[1].nodes)
    table.numbers(
        "price", f"Price ({found.currency})", lambda row: written(row[1].price, "{:,.0f}")
    )
    table.numbers("power", "Power", lambda row: quantity(row[1].power, "W"), unit="W")
    if found.years is not None:
        table.numbers(
            "yearly",
            f"Per year ({found.currency})",
            lambda row: written(row[1].yearly, "{:,.0f}"),
        )
        table.numbers(
            "total", f"In {years(found.years)}", lambda row: written(row[1].total, "{:,.0f}")
        )
    table.numbers("rate", "Rate ÷ best", lambda row: share(row[1].rate))
    if found.objective != "rate":
        table.numbers("score", "Rate per cost ÷ best", lambda row: share(row[1].score))
    if found.best[0].likely is not None:
        table.numbers("likely", "Within 2% of the best", lambda row: chance(row[1].likely))
    return table.table("design-shortlist", "Best cluster of each architecture")


def _numbered(found: ClusterDesign) -> TableBuilder[tuple[int, DesignedCluster]]:
    """A row per cluster of the shortlist, with the number by which other tables name it."""
    table = TableBuilder(list(enumerate(found.best, 1)))
    return table.counts("number", "No.", lambda row: row[0])


def _rates(found: ClusterDesign) -> Table:
    rows = [(number, rate) for number, one in enumerate(found.best, 1) for rate in one.rates]
    rows.sort(key=lambda row: (row[1].workload, row[0]))
    table = TableBuilder(rows).text("workload", "Workload", lambda row: row[1].workload)
    table.counts("number", "No.", lambda row: row[0])
    table.text("rate", "Predicted [95% interval]", lambda row: _rate(row[1]))
    table.text("bound", "Limited by", lambda row: row[1].limit)
    table.numbers("part", "Share of time", lambda row: share(row[1].shares[row[1].limit]))
    return table.table("design-rates", "Predicted rates")


def _rate(one: PredictedRate) -> str:
    return format_quantity(one.rate, one.unit, one.interval)


def _balance(found: ClusterDesign) -> Table:
    table = _numbered(found).text("topology", "Topology", lambda row: row[1].topology)
    table.numbers("hops", "Hops, mean", lambda row: written(row[1].hops, "{:.2f}"))
    table.counts("racks", "Racks", lambda row: row[1].racks)
    table.numbers("rack", "Power per rack", lambda row: rack_power(row[1]), unit="W")
    table.numbers(
        "core", "Memory per core", lambda row: quantity(row[1].memory / row[1].cores, "B"), unit="B"
    )
    table.numbers("memory", "Memory B/flop", lambda row: written(row[1].memory_balance, "{:.3g}"))
    table.numbers(
        "network", "Network B/flop", lambda row: written(row[1].network_balance, "{:.3g}")
    )
    table.numbers(
        "gflops",
        f"{found.currency} per Gflop/s",
        lambda row: written(row[1].price_per_gflops, "{:,.3g}"),
    )
    latest = found.best[0].places[-1].date if found.best[0].places else ""
    if latest:
        table.numbers(
            "place",
            f"Place on the list of {latest}",
            lambda row: (
                NOTHING
                if row[1].places[-1].rank is None
                else written(float(row[1].places[-1].rank), "{:.0f}")
            ),
        )
    return table.table("design-balance", "Topology and balance")


def _own_kinds(found: ClusterDesign) -> Table:
    """The places described by Edmundsson et al. (2004), section 5.4, for the best cluster."""
    best = found.best[0]
    table = TableBuilder(best.own_kinds).text("kind", "Among", lambda row: row.kind)
    table.text("list", "Last list that includes this rate", lambda row: row.date)
    table.counts("rank", "Place", lambda row: row.rank)
    table.counts("of", "Listed systems of this kind, as far as known", lambda row: row.of)
    table.counts("unknown", "Faster systems of unknown kind", lambda row: row.unknown)
    return table.table(
        "design-own-kind", "The best cluster's Linpack among systems of the same kind"
    )


def _parts(found: ClusterDesign) -> Table:
    best = found.best[0]

    def origin(row: BillLine) -> str:
        return ", ".join(word for word in (row.kind, row.source, row.date) if word)

    table = TableBuilder(best.bill).text("part", "Part", lambda row: row.part)
    table.counts("number", "Number", lambda row: row.number)
    table.numbers("each", f"Each ({found.currency})", lambda row: written(row.price, "{:,.0f}"))
    table.numbers("sum", "Together", lambda row: written(row.price * row.number, "{:,.0f}"))
    table.text("origin", "Price", origin)
    title = f"Parts of the best cluster, {counted(best.nodes, 'node')}"
    return table.table("design-parts", title)


def _inputs(found: ClusterDesign) -> list[Table]:
    def kind(row: UncertainInput) -> str:
        return f"{row.kind}, {PurePath(row.where).name}" if row.where else row.kind

    known = [row for row in found.inputs if row.gain >= _LEAST_GAIN]
    if not known:
        return []
    table = TableBuilder(known).text("part", "Part", lambda row: row.part)
    table.text("what", "Figure", lambda row: row.what)
    table.numbers("gain", "Worth", lambda row: chance(row.gain))
    table.numbers("changes", "Range with another choice", lambda row: chance(row.changes))
    table.text("kind", "From", kind)
    table.text("measure", "Measured by", lambda row: row.measure)
    title = "Uncertain figures and the increase of the expected rate if each were known"
    return [table.table("design-inputs", title)]
