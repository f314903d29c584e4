"""The completeness of a log: what the log can and can't say about utilisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from assay.arrays import Floats, Ints
from assay.units import counted, format_share, listed
from assay.usage.analysis.model import UsageRecords, Utilisation
from assay.usage.analysis.prepared import PreparedJobs
from assay.usage.analysis.spans import day_name, local_day
from assay.usage.jobs import State
from assay.usage.period import DAY, HOUR
from assay.usage.problems import Problem
from assay.usage.use import Window

# Share of records, of ids or of the use that may be wrong or absent in a complete log.
TOLERATED = 0.05
# Numbers that are sorted at a time.
_SORTED = 1 << 22
# Columns of jobs: their names, and what they answer.
_ANSWERS = (
    ("requested_time", "Requested times", "used ÷ requested time"),
    ("requested_memory", "Requested memory", "memory efficiency"),
    ("used_memory", "Used memory", "memory efficiency"),
    ("processor_time", "Processor time (sacct's TotalCPU)", "CPU efficiency"),
    ("energy", "Energy (sacct's ConsumedEnergyRaw)", "energy per job and account"),
)
# Kinds of problems whose records may have been use that isn't counted.
_NOT_COUNTED = (
    "malformed", "columns", "long", "truncated", "range", "negative", "backwards", "no size",
    "no start", "no end", "too large",
)  # fmt: skip


def records_of(data: PreparedJobs) -> UsageRecords:
    """Absent ids, empty days and gaps, over all jobs of the log."""
    first, last = data.period.first, data.period.last
    gap, before = 0.0, first
    seen: set[int] = set()
    for window in data.over_time.windows():
        events = _events(data, window)
        seen.update(np.unique(np.floor(data.local.at(events) / DAY)).astype(np.int64).tolist())
        gap = max(gap, float(np.diff(np.concatenate(([before], events))).max(initial=0.0)))
        before = float(events[-1]) if events.size else before
    gap = max(gap, last - before)
    low, high = local_day(data, first), local_day(data, last)
    # Only whole days count: the days of the first and last record don't.
    empty = [day for day in range(low + 1, high) if day not in seen]
    absent, share = _absent(data)
    length = data.finish - data.begin
    quiet = _quiet(data)
    return UsageRecords(
        jobs=len(data.jobs),
        stated=data.machine.records or None,
        absent=absent,
        absent_share=share,
        days=max(high - low - 1, 0),
        empty_days=[day_name(data, day) for day in empty],
        longest_gap=gap,
        quiet=float(np.diff(quiet, axis=1).sum()) / length if length else 0.0,
    )


def _absent(data: PreparedJobs) -> tuple[int | None, float | None]:
    """Ids between the lowest and the highest that no record has, and their share of all ids
    between."""
    absent = between = 0
    for cluster in range(len(data.jobs.clusters)):

        def numbers(cluster: int = cluster) -> Iterator[Ints]:
            """The ids of a cluster, which counts its own jobs."""
            for _, each in data.jobs.chunks():
                mine = each.columns["cluster"] == cluster
                yield each.code("number")[mine]

        low, high = 2**63 - 1, -1
        for each in numbers():
            low, high = min(low, int(each.min(initial=low))), max(high, int(each.max(initial=-1)))
        if low < 0 or high < 0:
            return None, None
        between += high - low + 1
        absent += high - low + 1 - distinct(numbers, len(data.jobs))
    return absent, absent / between


def distinct(chunks: Callable[[], Iterator[Ints]], most: int) -> int:
    """How many different numbers (>= 0) there are among at most ``most``."""
    parts = max(-(-most // _SORTED), 1)
    total = 0
    for part in range(parts):
        mine = np.concatenate([each[each % parts == part] for each in chunks()])
        mine.sort()
        total += int(np.count_nonzero(np.diff(mine))) + (mine.size > 0)
    return total


def _events(data: PreparedJobs, window: Window) -> Floats:
    """Times of submissions, starts and ends in the log's period."""
    times = window.events
    events: Floats = times[(times >= data.period.first) & (times <= data.period.last)]
    return events


def _quiet(data: PreparedJobs) -> Floats:
    """Intervals (n, 2) of an hour or more within the period, without use and without any event."""
    found = []
    # The beginning of an interval without events, and the amount in use from then on.
    before, level = data.begin, 0.0
    for window in data.over_time.windows():
        if window.low <= data.begin <= window.high:
            level = float(window.busy.at(np.array([data.begin]))[0])
        events = _events(data, window)
        inside = events[(events > data.begin) & (events < data.finish)]
        edges = np.concatenate(([before], inside))
        levels = np.concatenate(([level], window.busy.at(inside)))
        empty = (np.diff(edges) >= HOUR) & (levels[:-1] == 0.0)
        found.append(np.column_stack((edges[:-1][empty], edges[1:][empty])))
        before, level = float(edges[-1]), float(levels[-1])
    if data.finish - before >= HOUR and level == 0.0:
        found.append(np.array([[before, data.finish]]))
    return np.concatenate([np.empty((0, 2)), *found])


def utilisation_of(
    data: PreparedJobs, records: UsageRecords, problems: Sequence[Problem]
) -> Utilisation:
    """Utilisation with the bounds that the log's gaps allow, and the reasons for them."""
    span = np.array([data.begin, data.finish])
    over_time = data.over_time
    available = float(over_time.integral(data.available, span)[0])
    used = float(over_time.integral(lambda window: window.busy, span)[0])
    held = float(over_time.integral(data.counted, span)[0])
    excess = (used - held) / used if used > 0 else 0.0
    mine = over_time.integral(data.counted_chosen, span)[0]
    work = 0.0
    for chunk in data.chunks():
        began = chunk.chosen & (chunk.start >= data.begin) & (chunk.start < data.finish)
        work += float(chunk.use[began].sum())
    load = work / available if available else 0.0
    nothing = _nothing(data, available)
    if nothing:
        return Utilisation(
            value=None, low=0.0, high=1.0, load=load, excess=excess, reasons=[nothing]
        )
    value = min(float(mine) / available, 1.0)
    low = high = value
    missing = _missing(data, records, problems)
    reasons = [*missing]
    if data.capacity.source == "most in use":
        low = 0.0
        reasons.append(
            "The log doesn't state the machine's size. The share refers to the most processors "
            f"that were ever in use ({data.capacity.processors:,}); if the machine is larger, its "
            "utilisation is lower."
        )
    # With node events, time without use counts as idle unless nodes are down.
    if not data.machine.outages and records.quiet > 0.0:
        unseen = float(over_time.integral(data.available, _quiet(data).ravel())[::2].sum())
        high = float(mine) / max(available - unseen, float(mine)) if mine else 0.0
        reasons.append(
            f"For {format_share(records.quiet)} of the time nothing was in use and nothing was "
            "recorded; the log doesn't say whether the machine was idle or down."
        )
    if missing:
        high = 1.0
    if excess > TOLERATED:
        reasons.insert(
            0,
            f"{format_share(excess)} of the use exceeds the machine's {data.capacity.processors:,} "
            "processors: some jobs can't have run at the times in the log, or the size is wrong.",
        )
        return Utilisation(value=None, low=0.0, high=1.0, load=load, excess=excess, reasons=reasons)
    return Utilisation(value=value, low=low, high=high, load=load, excess=excess, reasons=reasons)


def _nothing(data: PreparedJobs, available: float) -> str:
    """Why the log says nothing about use; "" if it does."""
    number = len(data.jobs)
    if data.machine.sites and data.capacity.source != "stated":
        return f"{_of_sites(data)} How many processors the sites offered to these jobs is unknown."
    if not data.over_time.most:
        return (
            f"None of its {counted(number, 'job')} ran."
            if number > 1
            else "Its one job did not run."
        )
    if data.finish <= data.begin:
        if number == 1:
            return "It has only one job, which doesn't define a period."
        return f"All its {number:,} jobs were recorded at the same moment, so it covers no time."
    return "" if available > 0.0 else "No processor was available."


def _of_sites(data: PreparedJobs) -> str:
    return (
        f"Its jobs ran at {data.machine.sites:,} sites or partitions, as jobs that a grid's broker "
        "distributes; the sites' other jobs are not in the log."
    )


def _missing(data: PreparedJobs, records: UsageRecords, problems: Sequence[Problem]) -> list[str]:
    """Why the log may lack jobs that used the machine; nothing for a complete log."""
    found = [_of_sites(data)] if data.machine.sites else []
    if records.absent_share is not None and records.absent_share > TOLERATED:
        found.append(
            f"{format_share(records.absent_share)} of the job ids between the lowest and the "
            f"highest are absent ({records.absent:,}); the use of these jobs is unknown."
        )
    if records.stated is not None and records.stated * (1.0 - TOLERATED) > records.jobs:
        found.append(
            f"The log's header states {records.stated:,} records, but the log has {records.jobs:,}."
        )
    if len(records.empty_days) > TOLERATED * max(records.days, 1):
        found.append(
            f"On {len(records.empty_days)} of {counted(records.days, 'whole day')} no job was "
            "submitted, started or ended."
        )
    wrong = sum(each.count for each in problems if each.kind in _NOT_COUNTED)
    if wrong > TOLERATED * (records.jobs + wrong):
        found.append(f"{counted(wrong, 'record')} could not be counted as use.")
    if not data.period.whole:
        found.append(
            "The log is too short: jobs that it lacks at its beginning and end may have run most "
            "of the time."
        )
    return found


def unknown_of(data: PreparedJobs, zone_stated: bool) -> list[str]:
    """A sentence for each question that the log can't answer, in the order of the report.

    ``zone_stated``: whether the command line states the time zone.
    """
    jobs, machine = data.jobs, data.machine
    found = []
    if not data.waits:
        found.append(
            "Waits and slowdowns: not recorded; no job has a submission time before its start."
        )
    found += [
        f"{name}: not recorded for any job, so {what} is unknown."
        for column, name, what in _ANSWERS
        if not jobs.has(column)
    ]
    if jobs.has("processor_time") and not data.processor_times:
        found.append(
            "Processor time: 0 for all jobs, so CPU efficiency is unknown; the scheduler doesn't "
            "gather it (JobAcctGatherType)."
        )
    for names, what in (
        (jobs.queues, "Queues"),
        (jobs.users, "Users"),
        (jobs.groups, "Groups and accounts"),
        (jobs.clusters, "Clusters"),
    ):
        if not any(names):
            found.append(f"{what}: not recorded.")
    if not any(bool((each.code("state") != State.UNKNOWN).any()) for _, each in jobs.chunks()):
        found.append("Outcomes: not recorded; failed and timed-out jobs can't be distinguished.")
    elif not machine.timeouts:
        found.append(
            "Jobs killed at their time limit: the format doesn't distinguish them from other jobs."
        )
    if not jobs.has("nodes"):
        found.append("Nodes of jobs: not recorded, so it is unknown whether jobs share nodes.")
    elif jobs.nodes is None:
        found.append(
            "Names of nodes: not recorded, so use by node and sharing of nodes are unknown."
        )
    if not jobs.has("gpus"):
        found.append("GPUs: not recorded, so GPU hours are unknown.")
    if machine.outages and not data.per_node and any(o.processors < 0 for o in machine.outages):
        found.append(
            "Processors down: the log's node events state none (sacctmgr's field TRES does), and "
            "no job's nodes are known."
        )
    if not machine.outages:
        found.append("Down time: the log has no node events.")
    if not machine.calendar:
        found.append("Days of the week: the log's times count from an unknown day.")
    elif machine.zone and not data.local.zone:
        found.append(
            "Local time: this system doesn't know the log's time zone; days and hours are UTC "
            "(`--zone` states another)."
        )
    elif not data.local.zone and not zone_stated and not machine.local:
        found.append(
            "The time zone: not recorded; days and hours are as in the log, and Unix times count "
            "as UTC (`--zone` states another)."
        )
    if not machine.fair_shares and any(jobs.groups):
        found.append(
            "Fair shares: not recorded, so use can't be compared with targets (`sshare -a -P` "
            "prints them; add its output as a file)."
        )
    if machine.unread_fields:
        fields = listed(machine.unread_fields)
        found.append(f"Fields that the format doesn't define: {fields} were not read.")
    if any(each.code("number").min(initial=0) < 0 for _, each in jobs.chunks()):
        found.append(
            "Absent records: job ids are not consecutive, so absent ones can't be detected."
        )
    return found
