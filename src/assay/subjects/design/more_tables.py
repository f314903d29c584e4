"""Tables of a design beyond the purchase: costs of use, storage, lots, renting, networks."""

from __future__ import annotations

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    quantity,
    share,
    written,
)
from assay.subjects.design.answer import break_even, years
from assay.subjects.design.model import ClusterDesign, DesignedCluster, NetworkNeed, NetworkWorth
from assay.units import counted, counted_verb, format_chance, format_quantity


def more_tables(found: ClusterDesign) -> list[Table]:
    """The tables for which the findings have data."""
    drawn = [_costs, _storage, _lots, _rented, _needs]
    return [table for draw in drawn if (table := draw(found)) is not None]


def chance(value: float | None) -> Entry:
    """A share that was counted in random draws."""
    return NOTHING if value is None else Entry(format_chance(value), value)


def rack_power(one: DesignedCluster) -> Entry:
    """Mean power of a rack, and the limit if there is one."""
    text = format_quantity(one.rack_power, "W")
    if one.rack_limit is not None:
        text += f" of {format_quantity(one.rack_limit, 'W')}"
    return Entry(text, one.rack_power)


def _costs(found: ClusterDesign) -> Table | None:
    best = found.best[0]
    if best.total is None or best.yearly is None:
        return None
    rows = [
        ("purchase", None, best.price, ""),
        *((line.what, line.per_year, line.whole, f"{line.note}; {line.kind}".lstrip("; "))
          for line in best.costs),
        ("together", best.yearly, best.total, ""),
    ]  # fmt: skip
    table = TableBuilder(rows).text("what", "Costs", lambda row: row[0])
    table.numbers("year", f"Per year ({found.currency})", lambda row: written(row[1], "{:,.0f}"))
    table.numbers("whole", f"In {years(found.years)}", lambda row: written(row[2], "{:,.0f}"))
    table.text("note", "From", lambda row: row[3])
    title = f"Costs of the best cluster in {years(found.years)}"
    return table.table("design-costs", title)


def _storage(found: ClusterDesign) -> Table | None:
    rows = [(no, one.storage) for no, one in enumerate(found.best, 1) if one.storage is not None]
    if not rows:
        return None
    table = TableBuilder(rows).counts("no", "No.", lambda row: row[0])
    table.text("name", "Storage", lambda row: f"{row[1].number} × {row[1].name}")
    table.numbers(
        "capacity",
        "Capacity",
        lambda row: Entry(f"{row[1].capacity / 1e12:,.0f} TB", row[1].capacity),  # as it is sold
        unit="B",
    )
    table.numbers(
        "bandwidth", "Predicted I/O", lambda row: quantity(row[1].bandwidth, "B/s"), unit="B/s"
    )
    table.text("limit", "Limited by", lambda row: row[1].limit)
    table.numbers("inodes", "Files", lambda row: written(row[1].inodes, "{:,.0f}"))
    return table.table("design-storage", "Storage that all nodes share")


def _lots(found: ClusterDesign) -> Table | None:
    if not found.lots:
        return None
    table = TableBuilder(found.lots)
    table.numbers("share", "Spent now", lambda row: written(row.share, "{:.0%}"))
    table.text("first", "First lot", lambda row: row.first)
    table.text("second", f"After {years(found.lot_after)}", lambda row: row.second)
    table.numbers(
        "work", f"Work in {years(found.lot_years)} ÷ all now", lambda row: share(row.work)
    )
    table.numbers("end", "Rate at the end ÷ all now", lambda row: share(row.end))
    return table.table("design-lots", "The budget in two lots")


def _rented(found: ClusterDesign) -> Table | None:
    if not found.rented:
        return None
    table = TableBuilder(found.rented).text("name", "Instance", lambda row: row.name)
    table.text(
        "number",
        "Instead of the cluster",
        lambda row: (
            counted(row.number, "instance")
            if row.number is not None
            else f"{counted_verb(row.most, 'instance', 'are')} slower"
        ),
    )
    table.numbers("hour", f"Per hour ({found.currency})", lambda row: written(row.hour, "{:,.2f}"))
    table.numbers(
        "even",
        "Buying is cheaper above [95% interval]",
        lambda row: Entry(break_even(row), row.break_even),
    )
    table.numbers("buying", "Buying is cheaper at the load", lambda row: chance(row.buying))
    return table.table("design-rented", "Renting instead of buying")


def _needs(found: ClusterDesign) -> Table | None:
    if not found.needs:
        return None
    rows: list[tuple[NetworkNeed, NetworkWorth]] = [
        (need, network) for need in found.needs for network in need.networks
    ]
    table = TableBuilder(rows).text("program", "Program", lambda row: row[0].workload)
    table.numbers("between", "Computing per message", lambda row: quantity(row[0].between, "s"))
    table.numbers("latency", "Latency up to", lambda row: quantity(row[0].latency, "s"))
    table.numbers("bandwidth", "Per node", lambda row: quantity(row[0].bandwidth, "B/s"))
    table.text("network", "Interconnect", lambda row: row[1].name)
    table.text("meets", "Meets this", lambda row: "yes" if row[1].meets else "no")
    table.numbers("share", "Time in messages", lambda row: chance(row[1].share))
    table.numbers("rate", "Rate ÷ best", lambda row: share(row[1].rate))
    return table.table("design-needs", "What programs need of the network")
