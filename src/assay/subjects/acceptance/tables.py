"""Tables of an acceptance."""

from __future__ import annotations

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    count,
    fact_table,
    quantity,
    written,
)
from assay.subjects.acceptance.amounts import NOTHING_DUE
from assay.subjects.acceptance.answer import label_of
from assay.subjects.acceptance.further_tables import (
    availability_table,
    outcome_entry,
    variation_table,
)
from assay.subjects.acceptance.model import (
    AcceptanceFindings,
    Amount,
    JudgedAvailability,
    JudgedCommitment,
    JudgedScore,
    JudgedVariation,
    Promised,
)
from assay.subjects.acceptance.words import amount_text, number_text
from assay.units import format_limit, format_minute, format_share


def tables(found: AcceptanceFindings) -> list[Table]:
    """All tables that have rows."""
    built = [
        _reasons(found),
        _slow_nodes(found),
        _decisions(found),
        availability_table(found),
        variation_table(found),
        _amounts(found),
    ]
    return [table for table in built if table.rows]


def commitment_table(found: AcceptanceFindings) -> Table:
    """A row for each commitment."""
    return (
        TableBuilder(found.commitments)
        .text("commitment", "Commitment", lambda each: label_of(each, found))
        .column("outcome", "Verdict", outcome_entry)
        .text("promise", "Promised", _promise)
        .numbers("value", "Measured [95% interval]", _value)
        .numbers("change", "Difference", _change)
        .numbers("margin", "Margin", lambda each: written(each.margin, "{:.1%}"))
        .table("acceptance-commitments", "Commitments")
    )


def facts_of(found: AcceptanceFindings) -> Table:
    """The contract's facts."""
    return fact_table(
        "acceptance-contract",
        "Contract",
        [
            ("Contract", found.title),
            ("File", found.file),
            ("SHA-256", found.digest),
            ("Supplier's risk", format_limit(found.supplier)),
            ("Buyer's risk", format_limit(found.buyer)),
            ("Launches, at most", str(found.most_launches)),
            ("Nodes", "" if found.nodes is None else str(found.nodes)),
        ],
    )


def run_table(found: AcceptanceFindings) -> Table:
    """The conditions: the runs that were judged."""
    return (
        TableBuilder(found.runs)
        .text("run", "Run", lambda each: each.name)
        .text("node", "Node", lambda each: each.node)
        .column("begun", "Begun (UTC)", lambda each: Entry(format_minute(each.utc), each.utc))
        .text("system", "System", lambda each: each.system)
        .text("processor", "Processor", lambda each: each.processor)
        .text("toolchains", "Toolchains", lambda each: ", ".join(each.toolchains))
        .counts("measurements", "Measurements", lambda each: each.measurements)
        .text("assay", "assay", lambda each: each.assay)
        .table("acceptance-runs", "Runs", folded=len(found.runs) > 20)
    )


def _promise(each: JudgedCommitment) -> str:
    if each.per == "system":
        return each.promise
    share = "each node" if each.share == 1.0 else f"{format_share(each.share)} of the nodes"
    return f"{each.promise}, {share}"


def _value(each: JudgedCommitment) -> Entry:
    return NOTHING if each.value is None else quantity(each.value, each.unit, each.ci95)


def _change(each: JudgedCommitment) -> Entry:
    if each.value is None or each.promised is None:
        return NOTHING
    return written(each.value / each.promised - 1.0, "{:+.1%}")


def _reasons(found: AcceptanceFindings) -> Table:
    return (
        TableBuilder(found.promises)
        .text("commitment", "Commitment", lambda each: label_of(each, found))
        .column("outcome", "Verdict", outcome_entry)
        .text("reason", "Why", lambda each: each.reason)
        .text("remedy", "What would decide it", lambda each: each.remedy)
        .table("acceptance-reasons", "Why")
    )


def _slow_nodes(found: AcceptanceFindings) -> Table:
    rows = [
        (each, node)
        for each in found.commitments
        if each.nodes is not None
        for node in each.nodes.slow
    ]
    return (
        TableBuilder(rows)
        .text("commitment", "Commitment", lambda row: label_of(row[0], found))
        .text("node", "Node", lambda row: row[1].node)
        .numbers("value", "Measured", lambda row: quantity(row[1].value, row[0].unit))
        .numbers(
            "change",
            "Difference",
            lambda row: written(row[1].value / (row[0].promised or 1.0) - 1.0, "{:+.1%}"),
        )
        .counts("launches", "Launches", lambda row: row[1].launches)
        .table("acceptance-nodes", "Nodes that are worse than promised")
    )


def _decisions(found: AcceptanceFindings) -> Table:
    rows = [each for each in found.commitments if each.nodes is None and each.value is not None]
    return (
        TableBuilder(rows)
        .text("commitment", "Commitment", lambda each: label_of(each, found))
        .text("cell", "Cell", lambda each: each.cell)
        .numbers("launches", "Launches", lambda each: count(each.launches))
        .numbers("used", "Used", lambda each: count(each.used))
        .numbers("worth", "Independent", lambda each: written(each.worth, "{:.1f}"))
        .numbers("low", "From", lambda each: quantity(each.decided_low, each.unit))
        .numbers("high", "To", lambda each: quantity(each.decided_high, each.unit))
        .numbers("weight", "Weight", lambda each: written(each.weight, "{:g}"))
        .numbers("speedup", "Speedup", _speedup)
        .table(
            "acceptance-decisions",
            "Tests",
            caption="The interval in the columns From and To belongs to the tests: its ends are "
            "the values at which they would just not decide. It is missing where the launches are "
            "too few.",
        )
    )


def _speedup(each: JudgedCommitment) -> Entry:
    if each.speedup is None:
        return NOTHING
    return Entry(number_text(each.speedup, each.speedup_ci95), each.speedup)


def _amounts(found: AcceptanceFindings) -> Table:
    def entry(amount: Amount) -> Entry:
        return Entry(amount_text(amount.value, amount.interval, found.currency), amount.value)

    due = [each for each in found.promises if not isinstance(each, JudgedVariation)]
    rows = [each for each in due if _pays(each)]
    return (
        TableBuilder(rows)
        .text("commitment", "Commitment", lambda each: label_of(each, found))
        .numbers("shortfall", "Worse by", lambda each: written(each.shortfall, "{:.1%}"))
        .numbers("penalty", "Penalty", lambda each: entry(each.penalty))
        .numbers("bonus", "Bonus", lambda each: entry(bonus_of(each)))
        .table("acceptance-amounts", "Penalties and bonuses")
    )


def bonus_of(each: Promised) -> Amount:
    """The bonus of a promise; only commitments have one."""
    return each.bonus if isinstance(each, JudgedCommitment) else NOTHING_DUE


def _pays(each: JudgedCommitment | JudgedAvailability | JudgedScore) -> bool:
    return bool(each.penalty.value or each.penalty.interval != (0.0, 0.0) or bonus_of(each).value)
