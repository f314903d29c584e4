"""Tables on profiles compared function by function."""

from __future__ import annotations

from collections.abc import Callable

from assay.questions.common.tables import (
    Entry,
    Table,
    TableBuilder,
    quantity,
    share,
    written,
)
from assay.subjects.profile.compared.model import (
    ChangedFunction,
    ChangedProfile,
    GrowingFunction,
    ProfileComparison,
    ProfileGrowth,
)
from assay.subjects.profile.sampled.words import shortened
from assay.units import format_minute

_MOST = 25


def tables(found: ProfileComparison) -> list[Table]:
    """A table per comparison, and one of the sizes."""
    every = [_changes(change, at) for at, change in enumerate(found.changes)]
    return every if found.growth is None else [*every, _growth(found.growth)]


def side_table(found: ProfileComparison) -> Table:
    """The profiles."""
    table = TableBuilder(found.sides).text("name", "Profile", lambda row: row.name)
    table.text("command", "Command", lambda row: shortened(" ".join(row.command), 60))
    table.text("utc", "Started", lambda row: format_minute(row.utc))
    table.counts("ranks", "Ranks", lambda row: row.ranks)
    table.counts("samples", "Samples", lambda row: row.samples)
    table.numbers("computing", "Computing", lambda row: quantity(row.computing, "s"), unit="s")
    return table.table("profile-sides", "Profiles")


def _ratio(row: ChangedFunction) -> Entry:
    if row.ratio is None:
        return Entry("new")
    low, high = row.ci95
    return written(row.ratio, "{:.3g}") if high == float("inf") else Entry(
        f"{row.ratio:.3g} [{low:.3g}, {high:.3g}]", row.ratio
    )  # fmt: skip


def _changes(change: ChangedProfile, number: int) -> Table:
    decided = [one for one in change.functions if one.verdict in ("slower", "faster")]
    rest = [one for one in change.functions if one.verdict not in ("slower", "faster")]
    table = TableBuilder([*decided, *rest][:_MOST])
    table.text("function", "Function", lambda row: shortened(row.function))
    table.text("module", "Module", lambda row: shortened(row.module, 32))
    table.numbers("before", "Before", lambda row: quantity(row.before, "s"), unit="s")
    table.numbers("after", "After", lambda row: quantity(row.after, "s"), unit="s")
    table.numbers("ratio", "After ÷ before", _ratio)
    table.numbers("p", "p", lambda row: written(row.p, "{:.2g}"))
    table.text("verdict", "Verdict", lambda row: row.verdict)
    more = f" {_MOST} of {change.found:,} functions." if change.found > _MOST else ""
    return table.table(
        f"profile-changes-{number}",
        f"{change.before} and {change.after}",
        caption=f"CPU times of all ranks, with 95% intervals of the ratios.{more}",
    )


def _growth(growth: ProfileGrowth) -> Table:
    def share_at(place: int) -> Callable[[GrowingFunction], Entry]:
        return lambda row: share(row.shares[place])

    table = TableBuilder(growth.functions[:_MOST])
    table.text("function", "Function", lambda row: shortened(row.function))
    for place, size in enumerate(growth.sizes):
        table.numbers(f"share_{size}", f"Share, {size} ranks", share_at(place))
    table.numbers(
        "next", f"Share, {growth.next_size} ranks (predicted)", lambda row: share(row.next_share)
    )
    table.numbers(
        "exponent",
        "Exponent",
        lambda row: Entry(f"{row.exponent:.2f} [{row.ci95[0]:.2f}, {row.ci95[1]:.2f}]",
                          row.exponent),
    )  # fmt: skip
    return table.table(
        "profile-growth",
        "Share of the CPU time by number of ranks",
        caption="The time of all ranks together follows ranks^exponent: 0 where more ranks divide "
        "the work, 1 where every rank repeats it.",
    )
