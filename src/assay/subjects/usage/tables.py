"""Tables on the use of a machine: summary, parts, problems, weeks and days."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    count,
    fact_table,
    share,
)
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.service_tables import (
    efficiency_columns,
    energy_text,
    service_tables,
)
from assay.subjects.usage.words import (
    NOT_RECORDED,
    day_of,
    hours_text,
    period_text,
    processors_text,
    quantile,
    seconds_text,
    summary_line,
)
from assay.units import counted, format_duration, format_quantity, format_share
from assay.usage.analysis.model import NodeDown, UsagePart, UsageSpan, UsageSpread
from assay.usage.analysis.parts import MOST_PARTS


def tables(found: UsageFindings) -> list[Table]:
    """The summary, parts and problems. Long tables are folded."""
    named = (
        f"The {MOST_PARTS} with the most use."
        if found.anonymous is False
        else (f"The {MOST_PARTS} with the most use; `--identify` shows names.")
    )
    kinds: list[tuple[str, str, Sequence[UsagePart], str, bool]] = [
        ("queues", "Queue", found.queues, named, False),
        (
            "classes",
            "Users, largest first",
            found.classes,
            "Users in the order of their processor time, in groups that account for the stated "
            "share of the use.",
            False,
        ),
        ("states", "Outcome", found.states, "", False),
        ("sizes", "Processors", found.sizes, "", True),
        ("lengths", "Run time", found.lengths, "", True),
        ("groups", "Group or account", found.groups, named, True),
        ("users", "User", found.users, named, True),
    ]
    built = [summary_table(found)]
    built += service_tables(found)
    built += [_parts(*kind) for kind in kinds if kind[2]]
    if found.problems:
        built.append(problem_table(found))
    if found.by_node is not None and found.by_node.down:
        built.append(down_table(found.by_node.down))
    return [*built, span_table(found.weeks, "weeks", "Weeks", folded=True)]


def summary_table(found: UsageFindings) -> Table:
    """Each quantity, or a note that the log lacks it."""
    facts = [
        *_use(found),
        *_jobs(found),
        *_limits(found),
        *_efficiency(found),
        *_resources(found),
        *_records(found),
    ]
    return (
        TableBuilder(facts)
        .text("what", "What", lambda fact: fact[0])
        .text("value", "Value", lambda fact: fact[1])
        .table("usage-summary", "Summary")
    )


def _use(found: UsageFindings) -> list[tuple[str, str]]:
    use = found.utilisation
    bounds = f"{format_share(use.low)} to {format_share(use.high)}"
    down = found.capacity.down
    return [
        ("Period", period_text(found)),
        ("Processors", processors_text(found)),
        ("Most in use at once", f"{found.capacity.most_in_use:,}"),
        (
            "Utilisation recorded",
            "the log can't say" if use.value is None else format_share(use.value),
        ),
        ("Utilisation lies within", bounds),
        ("Processor time down", NOT_RECORDED if down is None else format_share(down)),
    ]


def _jobs(found: UsageFindings) -> list[tuple[str, str]]:
    return [
        ("Jobs", f"{found.jobs:,}"),
        ("Running, never started", f"{found.running:,}, {found.never_started:,}"),
        ("Wait: median, 90%, 99%", _three(found.wait)),
        ("Bounded slowdown: median, mean, 90%", _slowdown(found.slowdown)),
        ("Run time: median, 90%, 99%", _three(found.run)),
        ("Requested time: median, 90%, 99%", _three(found.requested)),
    ]


def _three(spread: UsageSpread | None) -> str:
    if spread is None:
        return NOT_RECORDED
    return ", ".join(seconds_text(quantile(spread, level)) for level in (0.5, 0.9, 0.99))


def _slowdown(spread: UsageSpread | None) -> str:
    if spread is None:
        return NOT_RECORDED
    values = (quantile(spread, 0.5), spread.mean, quantile(spread, 0.9))
    return ", ".join(format_quantity(value, "") for value in values)


def _limits(found: UsageFindings) -> list[tuple[str, str]]:
    limits = found.limits
    rows = [
        (f"Used ÷ requested {name}: median, 10%, 90%", _shares(spread))
        for name, spread in (("time", limits.time), ("memory", limits.memory))
    ]
    if limits.memory_doubt:
        rows[-1] = (rows[-1][0], "not stated: the log's unit is implausible")
    if limits.reached is None or limits.lost_share is None:
        return [*rows, ("Reached their time limit", NOT_RECORDED)]
    what = "Killed at their time limit" if limits.killed else "Ran for their requested time or more"
    share_of_jobs = format_share(limits.reached_share)
    lost = f"{format_share(limits.lost_share)} of the use ({hours_text(limits.lost or 0.0)})"
    return [*rows, (what, f"{counted(limits.reached, 'job')} ({share_of_jobs}), {lost}")]


def _shares(spread: UsageSpread | None) -> str:
    if spread is None:
        return NOT_RECORDED
    values = ", ".join(format_share(quantile(spread, level)) for level in (0.5, 0.1, 0.9))
    return f"{values} ({counted(spread.n, 'job')})"


def _efficiency(found: UsageFindings) -> list[tuple[str, str]]:
    """What all jobs used of what they got."""
    all_jobs = found.efficiency
    if all_jobs is None or all_jobs.cpu is None:
        rows = [("CPU efficiency", NOT_RECORDED)]
    else:
        rows = [
            ("CPU efficiency of all jobs together", format_share(all_jobs.cpu)),
            ("CPU efficiency of jobs: median, 10%, 90%", _shares(found.limits.cpu)),
        ]
    if all_jobs is not None and all_jobs.memory is not None:
        rows.append(("Memory efficiency of all jobs together", format_share(all_jobs.memory)))
    if all_jobs is not None and all_jobs.gpu_time:
        rows.append(("GPU time", hours_text(all_jobs.gpu_time)))
    energy = NOT_RECORDED
    if all_jobs is not None and all_jobs.energy is not None and all_jobs.power is not None:
        energy = (
            f"{energy_text(all_jobs.energy)}, {format_quantity(all_jobs.power, 'W')} per processor"
        )
    return [*rows, ("Energy", energy)]


def _resources(found: UsageFindings) -> list[tuple[str, str]]:
    rows = []
    if found.gpus is not None:
        rows.append(
            (
                "GPUs: most in use, their utilisation",
                f"{found.gpus.most_in_use:,}, {format_share(found.gpus.utilisation)} "
                f"({counted(found.gpus.jobs, 'job')})",
            )
        )
    if found.nodes is not None:
        rows.append(
            (
                f"Jobs on parts of nodes (of {found.nodes.per_node} processors)",
                f"{found.nodes.jobs:,} ({format_share(found.nodes.share_of_jobs)}), "
                f"{format_share(found.nodes.share_of_use)} of the use",
            )
        )
        shared = found.nodes.shared
        rows.append(
            (
                "Of these, on a node with another job at the same time",
                NOT_RECORDED
                if shared is None
                else f"{shared:,}, {format_share(found.nodes.shared_share_of_use)} of the use",
            )
        )
    if found.arrays is not None:
        rows.append(
            (
                "Job arrays",
                f"{found.arrays.arrays:,} with {counted(found.arrays.jobs, 'job')}, "
                f"{format_share(found.arrays.share_of_use)} of the use",
            )
        )
    return rows


def _records(found: UsageFindings) -> list[tuple[str, str]]:
    records = found.records
    empty = f"{len(records.empty_days)} of {records.days}"
    absent = (
        NOT_RECORDED
        if records.absent is None
        else f"{records.absent:,} ({format_share(records.absent_share)})"
    )
    return [
        ("Job ids absent", absent),
        ("Empty days", empty),
        ("Longest time without a record", format_duration(records.longest_gap)),
    ]


def _parts(kind: str, label: str, parts: Sequence[UsagePart], caption: str, folded: bool) -> Table:
    def seconds(value: float | None) -> Entry:
        return NOTHING if value is None else Entry(seconds_text(value), value)

    def slowdown(part: UsagePart) -> Entry:
        value = part.slowdown
        return NOTHING if value is None else Entry(format_quantity(value, ""), value)

    table = (
        TableBuilder(parts)
        .text("name", label, lambda part: part.name)
        .counts("jobs", "Jobs", lambda part: part.jobs)
        .numbers("use", "Processor time", lambda part: Entry(hours_text(part.use), part.use))
        .numbers("share_use", "Of the use", lambda part: share(part.share_of_use), unit="1")
    )
    # Columns without data in the log are left out.
    if any(part.utilisation is not None for part in parts):
        table.numbers("utilisation", "In use", lambda part: share(part.utilisation), unit="1")
    if any(part.users is not None for part in parts) and kind != "users":
        table.numbers("users", "Users", lambda p: NOTHING if p.users is None else count(p.users))
    efficiency_columns(table, parts, lambda part: part.efficiency)
    if any(part.wait is not None for part in parts):
        table.numbers("wait", "Median wait", lambda part: seconds(part.wait), unit="s")
        table.numbers("wait90", "90% wait", lambda part: seconds(part.wait90), unit="s")
        table.numbers("slowdown", "Slowdown", slowdown)
    return table.table(f"usage-{kind}", label, caption=caption, folded=folded)


def problem_table(found: UsageFindings) -> Table:
    """Kinds of wrong records with the places of the first ones."""
    return (
        TableBuilder(found.problems)
        .text("kind", "Problem", lambda each: each.kind)
        .counts("count", "Records", lambda each: each.count)
        .text("meaning", "Meaning, and what was done", lambda each: each.meaning)
        .text("places", "First places", lambda each: ", ".join(each.places))
        .table("usage-problems", "Records that are wrong")
    )


def down_table(nodes: Sequence[NodeDown]) -> Table:
    """The nodes that were down longest."""
    return (
        TableBuilder(nodes)
        .text("name", "Node", lambda node: node.name)
        .counts("times", "Times down", lambda node: node.times)
        .numbers("time", "Down for", lambda node: Entry(seconds_text(node.time), node.time))
        .numbers("share", "Of the period", lambda node: share(node.share), unit="1")
        .table("usage-down", "Nodes that were down", folded=True)
    )


def span_table(spans: Sequence[UsageSpan], kind: str, title: str, *, folded: bool = False) -> Table:
    """A row per day or week."""
    return (
        TableBuilder(spans)
        .column("name", "From" if kind == "weeks" else "Day", _span_name)
        .numbers("utilisation", "Utilisation", lambda span: share(span.utilisation), unit="1")
        .numbers("busy", "In use", lambda span: Entry(hours_text(span.busy), span.busy))
        .numbers(
            "available", "Available", lambda span: Entry(hours_text(span.available), span.available)
        )
        .counts("submitted", "Submitted", lambda span: span.submitted)
        .counts("started", "Started", lambda span: span.started)
        .counts("ended", "Ended", lambda span: span.ended)
        .text("part", "Coverage", lambda span: "" if span.whole else "in part", tone="quiet")
        .table(
            f"usage-{kind}" if folded else "cells",
            title,
            caption="In part: at the ends of the log, where use may be missing.",
            folded=folded,
        )
    )


def _span_name(span: UsageSpan) -> Entry:
    return Entry(span.name, span.utc)


def log_table(found: UsageFindings) -> Table:
    """The files that were read."""
    facts = [
        ("Log", summary_line(found)),
        ("First record", day_of(found.period.first, found.period)),
        ("Last record", day_of(found.period.last, found.period)),
        ("Time zone", found.period.zone or NOT_RECORDED),
        ("Processors", processors_text(found)),
        ("Names", "replaced by numbers" if found.anonymous else "as in the log"),
    ]
    return fact_table("system", "Log", facts)
