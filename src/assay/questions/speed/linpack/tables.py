"""Linpack's tables: comparison with published clusters, and ranks on every TOP500 list."""

from __future__ import annotations

from dataclasses import dataclass

from assay.kernels.linpack import OWN_CODE
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import NOTHING, Column, Entry, Table, TableBuilder
from assay.questions.speed.linpack.findings import LinpackFindings
from assay.questions.speed.linpack.shares import (
    DGEMM_CORES,
    DGEMM_NODES,
    DGEMM_RANKS,
    ONE_NODE,
    THEORETICAL_PEAK,
    RmaxShare,
)
from assay.questions.speed.linpack.top500_figures import RANKS
from assay.questions.speed.linpack.top500_places import rank_text
from assay.reference.linpack import PUBLISHED, PublishedLinpack
from assay.reference.top500 import SOURCE
from assay.units import Interval, format_quantity, format_share

# Number of significant digits in lists and papers.
_DIGITS = 4


def tables(found: LinpackFindings) -> list[Table]:
    """Tables of Linpack against published results, among its own kind, and on the TOP500 lists."""
    own = [_among_own_kind(found)] if found.own_kinds else []
    return [_beside_published(found), *own, _on_lists(found)]


@dataclass(frozen=True)
class ShareRow:
    """A row of shares: label, name of the share, field of published results, and unit."""

    label: str
    name: str
    published: str
    unit: str = "1"


def _beside_published(found: LinpackFindings) -> Table:
    """Rmax, orders, shares and price of this machine and of published clusters."""
    each = DGEMM_CORES if found.share(DGEMM_CORES) is not None else DGEMM_RANKS
    share_rows = [
        ShareRow("Share of the theoretical peak", THEORETICAL_PEAK, "of_peak"),
        ShareRow(f"Share of {each}", each, "of_ranks"),
        ShareRow(f"Share of {DGEMM_NODES}", DGEMM_NODES, "of_nodes"),
        ShareRow("Times Linpack on one node", ONE_NODE, "times_node", unit=""),
    ]
    rmax = found.rmax.metric
    rows = [
        [Entry("Rmax"), _number(rmax.median, "flop/s", rmax.ci95), *_each("rate", "flop/s")],
        [Entry("Nmax"), _number(found.nmax, "order"), *_each("order", "order")],
        [Entry("N½"), _half(found), *_each("half", "order")],
        *(
            [
                Entry(row.label),
                _share(found.share(row.name), row.unit),
                *_each(row.published, row.unit),
            ]
            for row in share_rows
        ),
        [Entry("Price per Gflop/s"), _price(found), *map(_published_price, PUBLISHED)],
    ]
    return Table(
        id="linpack",
        title="Linpack compared with published clusters",
        columns=[
            Column("what", "Quantity"),
            Column("here", found.system, numeric=True),
            *(
                Column(one.system.lower(), f"{one.system}, {one.year}", numeric=True)
                for one in PUBLISHED
            ),
        ],
        rows=[row for row in rows if row[1].value is not None],
        notes=[
            f"{found.system}: {OWN_CODE}.",
            *(f"{one.system}: {one.code}; {one.source}." for one in PUBLISHED),
        ],
    )


def _number(value: float | None, unit: str, interval: Interval | None = None) -> Entry:
    if value is None:
        return NOTHING
    if unit == "1":
        return Entry(format_share(value, interval), value)
    if unit == "flop/s" and interval is None:  # a published number, with its digits
        return Entry(format_quantity(value, unit, digits=_DIGITS), value)
    return Entry(quantity_text(value, unit, interval), value)


def _each(field: str, unit: str) -> list[Entry]:
    """One entry per published cluster."""
    return [_number(getattr(one, field), unit) for one in PUBLISHED]


def _half(found: LinpackFindings) -> Entry:
    half = found.half
    if half is None:
        return _number(None, "order")
    text = quantity_text(half.order, "order", half.interval)
    if half.how == "bounded":
        text = f"at most {text}"
    return Entry(f"{text} (extrapolated)" if half.how == "extrapolated" else text, half.order)


def _share(share: RmaxShare | None, unit: str) -> Entry:
    return _number(share.value, unit, share.interval) if share else _number(None, unit)


def _price(found: LinpackFindings) -> Entry:
    price = found.price
    return _number(price.value, price.unit, price.interval) if price else _number(None, "1")


def _published_price(one: PublishedLinpack) -> Entry:
    if one.price is None:
        return _number(None, "1")
    return _number(one.price / one.rate, f"{one.currency}/(flop/s)")


def _among_own_kind(found: LinpackFindings) -> Table:
    """The rank of Rmax among systems of the same kind, as in Edmundsson et al. (2004), 5.4."""
    table = TableBuilder(found.own_kinds).text("kind", "Among", lambda row: row.kind)
    table.text("list", "Last list with this rate", lambda row: row.list)
    table.counts("rank", "Place", lambda row: row.rank)
    table.counts("of", "Systems known to be listed", lambda row: row.of)
    table.counts("unknown", "Faster systems of unknown kind", lambda row: row.unknown)
    table.text("first", "None faster until", lambda row: row.first_until or NOTHING.text)
    notes = [
        f"{SOURCE}. Names on the lists determine the kinds, if known. Faster systems of unknown "
        "kind can increase the place by their number. A machine counts as self-made if its owner "
        "built it."
    ]
    return table.table("linpack-own-kind", "Linpack among systems of the same kind", notes=notes)


def _on_lists(found: LinpackFindings) -> Table:
    """The rank that Rmax would have had, and the Rmax of some ranks, per list."""
    return Table(
        id="linpack-top500",
        title="Linpack on every TOP500 list",
        columns=[
            Column("list", "List"),
            Column("rank", "Rank here [by the 95% interval]", numeric=True),
            *(Column(f"rank_{rank}", f"Rmax of rank {rank}", "flop/s", True) for rank in RANKS),
        ],
        rows=[
            [
                Entry(one.found.name, one.found.date),
                Entry(rank_text(one), one.place, tone="quiet" if one.place is None else ""),
                *(_number(one.found.rmax[rank - 1], "flop/s") for rank in RANKS),
            ]
            for one in found.top500.lists
        ],
        notes=[f"{SOURCE}. Each site ran its own code, mostly HPL; here: {OWN_CODE}."],
        folded=True,
    )
