"""Linpack's tables: beside published clusters, and on every TOP500 list."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.linpack_data import Results, Share, price, results, shares
from assay.answers.linpack_places import rank_text
from assay.answers.select import Interval, quantity_text
from assay.records.model import RunData
from assay.reference.linpack import PUBLISHED, PublishedLinpack
from assay.reference.top500 import SOURCE, places
from assay.report.machine import machine_name
from assay.report.model import Column, Entry, Table
from assay.stats.model import CellSummary
from assay.units import MISSING, format_quantity, format_share

# Ranks whose Rmax stands beside one's own, list by list.
_RANKS = (1, 10, 100, 500)
# Significant digits that lists and papers give.
_DIGITS = 4


def linpack_tables(cells: Sequence[CellSummary], run: RunData) -> list[Table]:
    """Both of them; none where no usable cell measured Linpack."""
    known = results(cells)
    if known is None:
        return []
    return [_beside_published(known, cells, run), _on_lists(known)]


def _beside_published(known: Results, cells: Sequence[CellSummary], run: RunData) -> Table:
    """Rmax, its orders, its shares and its price, here and where they were published."""
    told = {share.name: share for share in shares(known, cells, run)}
    ranks = "DGEMM × cores" if "DGEMM × cores" in told else "DGEMM × ranks"
    rmax = known.rmax.metric
    rows = [
        [Entry("Rmax"), _number(rmax.median, "flop/s", rmax.ci95), *_each("rate", "flop/s")],
        [Entry("Nmax"), _number(known.nmax, "order"), *_each("order", "order")],
        [Entry("N½"), _half(known), *_each("half", "order")],
        [Entry("Share of the theoretical peak"), _share(told.get("peak")), *_each("of_peak")],
        [Entry(f"Share of {ranks}"), _share(told.get(ranks)), *_each("of_ranks")],
        [Entry("Share of DGEMM × nodes"), _share(told.get("DGEMM × nodes")), *_each("of_nodes")],
        [
            Entry("Times Linpack on one node"),
            _share(told.get("one node"), times=True),
            *_each("times_node", ""),
        ],
        [Entry("Price of a Gflop/s"), _price(known, run), *map(_published_price, PUBLISHED)],
    ]
    return Table(
        id="linpack",
        title="Linpack beside published clusters",
        columns=[
            Column("what", ""),
            Column("here", machine_name(run.manifest), numeric=True),
            *(
                Column(found.system.lower(), f"{found.system}, {found.year}", numeric=True)
                for found in PUBLISHED
            ),
        ],
        rows=[row for row in rows if row[1].value is not None],
        notes=[f"{found.system}: {found.source}." for found in PUBLISHED],
    )


def _number(value: float | None, unit: str, interval: Interval | None = None) -> Entry:
    if value is None:
        return Entry(MISSING, tone="quiet")
    if unit == "1":
        return Entry(format_share(value, interval), value)
    if unit == "flop/s" and interval is None:  # published, with as many digits
        return Entry(format_quantity(value, unit, digits=_DIGITS), value)
    return Entry(quantity_text(value, unit, interval), value)


def _each(field: str, unit: str = "1") -> list[Entry]:
    """One entry a published cluster."""
    return [_number(getattr(found, field), unit) for found in PUBLISHED]


def _half(known: Results) -> Entry:
    half = known.half
    if half is None:
        return _number(None, "order")
    text = quantity_text(half.order, "order", half.interval)
    if half.how == "bounded":
        text = f"at most {text}"
    return Entry(f"{text} (extrapolated)" if half.how == "extrapolated" else text, half.order)


def _share(share: Share | None, *, times: bool = False) -> Entry:
    if share is None:
        return _number(None, "1")
    return _number(share.value, "" if times else "1", share.interval)


def _price(known: Results, run: RunData) -> Entry:
    found = price(known, run)
    return _number(found.value, found.unit, found.interval) if found else _number(None, "1")


def _published_price(found: PublishedLinpack) -> Entry:
    if found.price is None:
        return _number(None, "1")
    return _number(found.price / found.rate, f"{found.currency}/(flop/s)")


def _on_lists(known: Results) -> Table:
    """The rank that Rmax would have had, and what it took, list by list."""
    rmax = known.rmax.metric
    return Table(
        id="linpack-top500",
        title="Linpack on every TOP500 list",
        columns=[
            Column("list", "List"),
            Column("rank", "Rank here [by the 95% interval]", numeric=True),
            *(Column(f"rank_{rank}", f"Rmax of rank {rank}", "flop/s", True) for rank in _RANKS),
        ],
        rows=[
            [
                Entry(found.name, found.date),
                Entry(
                    rank_text(found, rmax.median, rmax.ci95),
                    place,
                    tone="quiet" if place is None else "",
                ),
                *(_number(found.rmax[rank - 1], "flop/s") for rank in _RANKS),
            ]
            for found, place in places(rmax.median)
        ],
        notes=[f"{SOURCE}."],
        folded=True,
    )
