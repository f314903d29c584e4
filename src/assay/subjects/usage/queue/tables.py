"""Tables of the scheduler's model: the load, policies and the real starts, and what-ifs."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.tables import Entry, Table, TableBuilder, count, share
from assay.subjects.usage.queue.model import QueueFindings, QueueWhatIf
from assay.subjects.usage.queue.trust import factor_text
from assay.subjects.usage.queue.words import seconds, signed, wait_at
from assay.units import Interval, format_duration, format_quantity, format_share
from assay.usage.queue.model import QueueMeasure, QueueMisfit

# What the changes are, by whether the model reproduces the real waits.
_WHOSE = {
    True: "Changes relative to the chosen policy on the same load, with 95% intervals over weeks "
    "of this kind.",
    False: "Changes in the model, which doesn't reproduce the real waits: they say nothing about "
    "this machine.",
}


def tables(found: QueueFindings) -> list[Table]:
    """The load, the policies, and the what-ifs if there are any."""
    built = [_load(found), _policies(found)]
    if found.fit is not None and found.fit.groups:
        built.append(_misfits(found.fit.groups))
    if found.what_ifs:
        built.append(_what_ifs(found))
    return built


def _load(found: QueueFindings) -> Table:
    load = found.load
    facts = [
        ("Source", load.source),
        ("Jobs replayed", f"{load.jobs:,}"),
        *((f"Jobs left out: {each.reason}", f"{each.number:,}") for each in load.left_out),
        ("Machine", f"{load.nodes:,} nodes, {load.processors:,} processors"),
        ("Submissions span", f"{format_duration(load.span)} ({load.weeks} whole weeks)"),
        ("Offered load", format_share(load.offered)),
        ("Requested times", load.requests),
    ]
    if found.agreement is not None:
        facts += [
            ("Pairs of jobs in the real order of starts", format_share(found.agreement.pairs)),
            ("… of pairs started within a day", format_share(found.agreement.near)),
            ("|Modelled start − real start|, median",
             format_duration(found.agreement.difference)),
        ]  # fmt: skip
    if found.fit is not None:
        fit = found.fit
        facts += [
            ("Real ÷ modelled mean wait", factor_text(fit.mean)),
            ("Typical factor between real and modelled waits, weeks", factor_text(fit.weeks)),
            ("… sizes of jobs", factor_text(fit.sizes)),
        ]
    return (
        TableBuilder(facts)
        .text("what", "What", lambda fact: fact[0])
        .text("value", "Value", lambda fact: fact[1])
        .table("queue-load", "The replayed load")
    )


@dataclass(frozen=True)
class _Row:
    """A row of the table of policies."""

    name: str
    measure: QueueMeasure
    backfilled: float | None
    longest_queue: int | None
    fit: float | None


def _policies(found: QueueFindings) -> Table:
    rows = [
        _Row(
            f"{each.name} (chosen)" if each.chosen else each.name,
            each.measure,
            each.backfilled,
            each.longest_queue,
            each.fit,
        )
        for each in found.policies
    ]
    if found.real is not None:
        rows.insert(0, _Row("real", found.real, None, None, None))

    def duration(value: float) -> Entry:
        return Entry(seconds(value), value)

    return (
        TableBuilder(rows)
        .text("name", "Policy", lambda row: row.name)
        .numbers("wait", "Mean wait", lambda row: duration(row.measure.wait), unit="s")
        .numbers("median", "Median", lambda row: duration(wait_at(row.measure, 0.5)), unit="s")
        .numbers("wait90", "90%", lambda row: duration(wait_at(row.measure, 0.9)), unit="s")
        .numbers(
            "slowdown",
            "Mean slowdown",
            lambda row: Entry(format_quantity(row.measure.slowdown, ""), row.measure.slowdown),
        )
        .numbers("utilisation", "In use", lambda row: share(row.measure.utilisation), unit="1")
        .numbers("backfilled", "Started early", lambda row: share(row.backfilled), unit="1")
        .numbers(
            "queue",
            "Longest queue",
            lambda row: Entry("–") if row.longest_queue is None else count(row.longest_queue),
        )
        .numbers(
            "fit",
            "Factor to real",
            lambda row: Entry("–") if row.fit is None else Entry(factor_text(row.fit), row.fit),
        )
        .table(
            "queue-policies",
            "Policies",
            caption="The same load with each policy. In use: between the first and the last "
            "submission. Started early: jobs that started before a job ahead of them in the "
            "queue. Factor to real: between the waits with this policy and the real ones. "
            + "; ".join(f"{each.name}: {each.words}" for each in found.policies)
            + ".",
        )
    )


def _misfits(groups: list[QueueMisfit]) -> Table:
    def duration(value: float) -> Entry:
        return Entry(seconds(value), value)

    return (
        TableBuilder(groups)
        .text("kind", "Jobs by", lambda each: each.kind)
        .text("name", "Group", lambda each: each.name)
        .counts("jobs", "Jobs", lambda each: each.jobs)
        .numbers("real", "Mean wait, real", lambda each: duration(each.real), unit="s")
        .numbers("modelled", "Modelled", lambda each: duration(each.modelled), unit="s")
        .numbers(
            "factor",
            "Real ÷ modelled",
            lambda each: Entry(factor_text(each.factor, each.ci95), each.factor),
        )
        .table(
            "queue-misfits",
            "Jobs that really wait longer or shorter",
            caption="Groups of jobs whose factor between real and modelled waits differs from that "
            "of the other jobs, with 95% intervals over weeks.",
        )
    )


def _what_ifs(found: QueueFindings) -> Table:
    def changed(value: float | None, interval: Interval | None) -> Entry:
        return Entry(signed(value, interval), value)

    def wait(each: QueueWhatIf) -> Entry:
        return Entry(seconds(each.measure.wait), each.measure.wait)

    return (
        TableBuilder(found.what_ifs)
        .text("what", "What if", lambda each: each.text)
        .numbers("wait", "Mean wait", wait, unit="s")
        .numbers("change", "Change", lambda each: changed(each.wait, each.wait_ci95), unit="1")
        .numbers(
            "slowdown",
            "Mean slowdown",
            lambda each: changed(each.slowdown, each.slowdown_ci95),
            unit="1",
        )
        .numbers(
            "utilisation",
            "In use",
            lambda each: changed(each.utilisation, each.utilisation_ci95),
            unit="1",
        )
        .text("confidence", "Confidence", lambda each: each.confidence or "not answered")
        .counts("killed", "Killed", lambda each: each.measure.killed)
        .counts("refused", "Can't run", lambda each: each.measure.refused)
        .table(
            "queue-what-ifs",
            "What if",
            caption=f"{_WHOSE[found.fit is None or found.fit.reproduced]} In use: in percent of "
            "the machine. "
            + "; ".join(f"{each.text}: {each.words}" for each in found.what_ifs)
            + ".",
        )
    )
