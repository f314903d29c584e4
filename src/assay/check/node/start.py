"""Starts a check under its watchdog, and prints how it ended."""

from __future__ import annotations

import sys
import time
from functools import partial

from assay.check.model import CheckVerdict
from assay.check.node.check import check_this_node, printed, undecided
from assay.check.node.request import DEADLINE, CheckRequest, check_options
from assay.check.node.watchdog import WatchedEnd, run_watched, start_of_process
from assay.check.outputs.line import printed_line
from assay.check.result import STATUS, NodeCheck
from assay.check.state.file_names import host_name
from assay.console import print_error
from assay.errors import INTERRUPTED
from assay.version import VERSION


def run_check(request: CheckRequest) -> int:
    """Check this node, print its outcome, and return the exit status.

    Raises AssayError for options that contradict each other.
    """
    begun = start_of_process()
    check_options(request)
    end = run_watched(
        partial(check_this_node, request),
        begun=begun,
        deadline=DEADLINE if request.deadline is None else request.deadline,
    )
    for warning in end.said.warnings:
        print_error(warning)
    if end.said.error is not None:
        print_error(**end.said.error)
        return end.said.status
    if end.said.output is not None:
        if not end.said.complete:
            print_error(f"The check ended in {end.said.stage}, after its verdict.")
        sys.stdout.write(end.said.output)
        return end.said.status
    if end.interrupted:
        return INTERRUPTED
    check = _ended_without_verdict(undecided(_why(end)), time.monotonic() - begun)
    sys.stdout.write(printed(check, request))
    return check.status


def _why(end: WatchedEnd) -> str:
    """Why a check ended without a verdict."""
    if end.late:
        why = f"the deadline of {end.said.deadline:g} s passed in {end.said.stage}"
    elif end.status is not None and end.status < 0:
        why = f"the check was ended by signal {-end.status} in {end.said.stage}"
    else:
        why = f"the check ended with status {end.status} in {end.said.stage}"
    if end.hung:
        pids = ", ".join(map(str, end.hung))
        why += f"; hangs in the kernel and can't be killed: {pids}"
    return why


def _ended_without_verdict(verdict: CheckVerdict, seconds: float) -> NodeCheck:
    return NodeCheck(
        assay=VERSION,
        host=host_name(),
        utc=time.time(),
        outcome=verdict.outcome,
        status=STATUS[verdict.outcome],
        reason=verdict.reason,
        line=printed_line(verdict.outcome, verdict.reason),
        seconds=round(seconds, 3),
    )
