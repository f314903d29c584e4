"""Describes the state of a followed job in one line, for the display."""

from __future__ import annotations

import time

from assay.campaign.engine.sessions import moment
from assay.campaign.jobs.polling import JobPoll
from assay.hostnames import compress_hosts
from assay.records.directory import NODES, RunDirectory
from assay.records.jobs import JobBook, JobEvent
from assay.system.survey import read_nodes
from assay.units import format_duration


def status_line(run: RunDirectory, book: JobBook, poll: JobPoll) -> str:
    """The job's state, such as ``"job 12: queued for 3 min, Resources"``."""
    jobs = book.jobs()
    if not jobs:
        return ""
    story = jobs[-1]
    words = [f"job {story.job or story.number}"]
    state = poll.state
    gone = format_duration(time.monotonic() - poll.since)
    if poll.silent_since is not None:
        silent = format_duration(time.monotonic() - poll.silent_since)
        words.append(f"no answer from the scheduler for {silent}")
    elif state is not None and state.state == "queued":
        words.append(f"queued for {gone}")
        begin = story.submitted.begin if story.submitted else None
        if begin is not None and begin > time.time():
            words = [words[0], f"begins {moment(begin)}"]
        words += [state.reason] if state.reason else []
    elif story.started is not None:
        words.append(f"running on {_hosts(run, story.started)}")
        walltime = story.submitted.walltime if story.submitted else None
        if walltime is not None:
            left = story.started.utc + walltime - time.time()
            words.append(f"{format_duration(max(left, 0.0))} left")
    elif state is not None:
        words.append(state.state)
    return ": ".join((words[0], ", ".join(words[1:]))) if words[1:] else words[0]


def _hosts(run: RunDirectory, started: JobEvent) -> str:
    """The nodes of a job after its survey; before the survey, its first node."""
    nodes = [node for node in read_nodes(run.path / NODES) if node.utc >= started.utc]
    return compress_hosts([node.host for node in nodes]) or started.host or "its first node"
