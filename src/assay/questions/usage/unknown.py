"""What a log can't say: a sentence for each question that it has no data for."""

from __future__ import annotations

import numpy as np

from assay.questions.usage.prepared import PreparedJobs
from assay.usage.jobs import State


def unknown_of(data: PreparedJobs, zone_stated: bool) -> list[str]:
    """The sentences, in the order of the report. ``zone_stated``: on the command line."""
    jobs, machine = data.jobs, data.machine
    found = []
    if np.isnan(data.wait).all():
        found.append(
            "Waits and slowdowns: the log holds none; no job has a submission time before its "
            "start."
        )
    for column, name in (
        ("requested_time", "Requested times"),
        ("requested_memory", "Requested memory"),
        ("used_memory", "Used memory"),
    ):
        if np.isnan(jobs.number(column)).all():
            found.append(f"{name}: no job has one.")
    for names, what in (
        (jobs.queues, "Queues"),
        (jobs.users, "Users"),
        (jobs.groups, "Groups and accounts"),
    ):
        if not any(names):
            found.append(f"{what}: not recorded.")
    if not np.any(jobs.code("state") != State.UNKNOWN):
        found.append("Outcomes: not recorded; failed and timed-out jobs can't be distinguished.")
    elif not machine.timeouts:
        found.append(
            "Jobs killed at their time limit: the format doesn't distinguish them from other jobs."
        )
    if np.isnan(jobs.number("nodes")).all():
        found.append("Nodes of jobs: not recorded; whether jobs share nodes is unknown.")
    if np.isnan(jobs.number("gpus")).all():
        found.append("GPUs: not recorded.")
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
    if data.jobs.code("number").min(initial=0) < 0:
        found.append("Absent records: job ids are not consecutive, so they can't be noticed.")
    return found
