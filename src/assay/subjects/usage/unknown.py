"""What a log can't say: a sentence for each question that it has no data for."""

from __future__ import annotations

from assay.usage.analysis.prepared import PreparedJobs
from assay.usage.jobs import State


def unknown_of(data: PreparedJobs, zone_stated: bool) -> list[str]:
    """The sentences, in the order of the report. ``zone_stated``: on the command line."""
    jobs, machine = data.jobs, data.machine
    found = []
    if not data.waits:
        found.append(
            "Waits and slowdowns: the log holds none; no job has a submission time before its "
            "start."
        )
    for column, name in (
        ("requested_time", "Requested times"),
        ("requested_memory", "Requested memory"),
        ("used_memory", "Used memory"),
    ):
        if not jobs.has(column):
            found.append(f"{name}: no job has one.")
    for names, what in (
        (jobs.queues, "Queues"),
        (jobs.users, "Users"),
        (jobs.groups, "Groups and accounts"),
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
        found.append("Nodes of jobs: not recorded; whether jobs share nodes is unknown.")
    elif jobs.nodes is None:
        found.append(
            "Names of nodes: not recorded; use by node, and whether jobs shared nodes, are unknown."
        )
    if not jobs.has("gpus"):
        found.append("GPUs: not recorded.")
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
            "The time zone: not recorded; days and hours are as in the log, Unix times as UTC "
            "(`--zone` states another)."
        )
    if any(each.code("number").min(initial=0) < 0 for _, each in jobs.chunks()):
        found.append("Absent records: job ids are not consecutive, so they can't be noticed.")
    return found
