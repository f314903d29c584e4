"""Tables on why a program isn't faster."""

from __future__ import annotations

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    fact_table,
    quantity,
    share,
)
from assay.subjects.why.answer import cost_text
from assay.subjects.why.model import WhyFindings, WhyReason
from assay.units import capitalised, counted, format_duration, format_minute, listed

_MOST_RANKS = 64


def tables(found: WhyFindings) -> list[Table]:
    """Reasons in the order in which they are asked, and the launches."""
    return [reason_table(found), _launches(found)]


def reason_table(found: WhyFindings) -> Table:
    """Each reason with its cost."""

    def cost(row: WhyReason) -> Entry:
        return NOTHING if row.seconds is None else Entry(cost_text(row), row.seconds)

    def outcome(row: WhyReason) -> Entry:
        tone = {"stands out": "bad", "undecided": "warn"}.get(row.outcome, "quiet")
        return Entry(row.outcome, row.outcome, tone)  # type: ignore[arg-type]

    table = TableBuilder(found.reasons).text("reason", "Reason", lambda row: capitalised(row.name))
    table.numbers("cost", "Cost [95% interval]", cost, unit="s")
    table.numbers("share", "Share", lambda row: share(row.share))
    table.column("outcome", "Outcome", outcome)
    table.text("where", "Where", lambda row: row.where)
    table.text("note", "Evidence", lambda row: row.evidence)
    made = table.table(
        "why-reasons",
        "Reasons, in the order in which they are asked",
        caption="The costs of all reasons but the last two, and the computing that no reason "
        "explains, add up to the run time.",
    )
    made.rows.append(
        [
            Entry("Computing that no reason explains"),
            quantity(found.computing, "s"),
            share(found.computing / found.seconds) if found.seconds > 0.0 else NOTHING,
            *(Entry(""),) * 3,
        ]
    )
    return made


def _launches(found: WhyFindings) -> Table:
    table = TableBuilder(found.launches).text("kind", "Ranks compute", lambda row: _how(row.kind))
    table.numbers("seconds", "Run time", lambda row: quantity(row.seconds, "s"), unit="s")
    table.numbers("wall", "With its launcher", lambda row: quantity(row.wall, "s"), unit="s")
    return table.table("why-launches", "Launches")


def _how(kind: str) -> str:
    return "as usual" if kind == "plain" else "in turn at first"


def rank_table(found: WhyFindings) -> Table:
    """The ranks of the median launch."""
    table = TableBuilder(found.by_rank[:_MOST_RANKS]).counts("rank", "Rank", lambda row: row.rank)
    table.text("host", "Host", lambda row: row.host)
    table.text("cpus", "CPUs", lambda row: row.cpus)
    table.numbers("computing", "Computing", lambda row: quantity(row.computing, "s"), unit="s")
    table.numbers("mpi", "In MPI", lambda row: quantity(row.mpi, "s"), unit="s")
    table.numbers(
        "without_cpu", "Without a CPU", lambda row: quantity(row.without_cpu, "s"), unit="s"
    )
    table.numbers("held", "Held by a quota", lambda row: quantity(row.held, "s"), unit="s")
    table.numbers("speed", "Speed of its CPU", lambda row: share(row.speed))
    return table.table("why-ranks", "Ranks in the median launch")


def program_table(found: WhyFindings) -> Table:
    """The program and its launches."""
    others = [f"{one.name} ({one.cpus:.2g} CPUs)" for one in found.others if one.cpus >= 0.05]
    facts = [
        ("Command", " ".join(found.command)),
        ("Started", format_minute(found.utc)),
        ("Exit status", str(found.status)),
        ("MPI", found.mpi),
        ("Ranks", f"{found.ranks:,} on {counted(found.hosts, 'host')}"),
        ("Launches", str(len(found.launches))),
        ("Time for all launches", format_duration(found.budget)),
        ("Other processes here", listed(others) if others else ""),
    ]
    return fact_table("system", "Program", facts)
