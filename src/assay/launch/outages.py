"""Commands on a job's hosts while the scheduler, through which they are reached, gives no answer.

A scheduler's own remote shell fails when the controller is restarted, and for good when the
controller has lost the job. Neither says anything on the hosts or on the shell.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Literal

from assay.errors import AssayError
from assay.launch.remote import HostReply, run_on_hosts
from assay.schedulers import systems
from assay.units import format_duration

# Seconds to wait for a scheduler to answer again: a restart of a large site's takes minutes.
OUTAGE = 600.0
# Seconds to the second try, growth of this pause, and its maximum.
_PAUSE, _GROWTH, _SLOWEST = 5.0, 1.5, 30.0


def ask_hosts(
    remote_shell: str,
    hosts: Sequence[str],
    command: str,
    *,
    patience: float,
    given_up: threading.Event | None = None,
) -> dict[str, HostReply]:
    """``run_on_hosts``; hosts that the scheduler doesn't let reach now are asked again.

    Raises AssayError, too, if the scheduler no longer knows the job, or gives no answer for
    ``OUTAGE`` seconds.
    """
    replies = run_on_hosts(remote_shell, hosts, command, patience=patience, given_up=given_up)
    began, pause, said = time.monotonic(), _PAUSE, False
    while silent := [host for host, reply in replies.items() if _fault(reply) == "silent"]:
        words = _words(replies[silent[0]], "silent")
        if given_up is not None and given_up.is_set():
            break
        if time.monotonic() - began > OUTAGE:
            raise AssayError(
                f"The scheduler has given no answer for {format_duration(OUTAGE)}, and the nodes "
                f"of this job are reached through it: {words}",
                where=f"`{remote_shell}`",
                fix="All measurements are kept. Continue when the scheduler answers again: assay "
                "run --resume.",
            )
        if not said:
            print(
                "assay: The scheduler does not answer, and the nodes are reached through it; assay "
                f"asks again. ({words})",
                file=sys.stderr,
            )
        said = True
        time.sleep(pause)
        pause = min(pause * _GROWTH, _SLOWEST)
        replies |= run_on_hosts(remote_shell, silent, command, patience=patience, given_up=given_up)
    _check_job(replies)
    return {host: replies[host] for host in hosts}


def silent_hosts(remote_shell: str, hosts: Sequence[str], *, patience: float) -> tuple[str, ...]:
    """The hosts on which ``true`` doesn't succeed within ``patience`` seconds. Raises AssayError as
    ``ask_hosts`` does.
    """
    replies = ask_hosts(remote_shell, hosts, "true", patience=patience)
    return tuple(host for host, reply in replies.items() if not reply.ok)


def _check_job(replies: Mapping[str, HostReply]) -> None:
    """Raises AssayError if a host's failure is that the scheduler no longer knows the job."""
    for reply in replies.values():
        if _fault(reply) == "lost":
            raise AssayError(
                "The scheduler no longer knows this job, so its nodes can't be reached: "
                f"{_words(reply, 'lost')}",
                fix="The job was ended, or the scheduler's controller has lost its state. All "
                "measurements are kept; `assay run --resume` continues in another job.",
            )


_Fault = Literal["silent", "lost"]


def _patterns(fault: _Fault) -> list[str]:
    found = [
        system.shell_silent if fault == "silent" else system.shell_lost for system in systems()
    ]
    return [pattern for pattern in found if pattern]


def _words(reply: HostReply, fault: _Fault) -> str:
    """The line of a reply that shows this fault; empty if there is none."""
    for line in reply.err.splitlines():
        if any(re.search(pattern, line) for pattern in _patterns(fault)):
            return line.strip()
    return ""


def _fault(reply: HostReply) -> _Fault | None:
    if reply.ok:
        return None
    faults: tuple[_Fault, ...] = ("lost", "silent")
    return next((fault for fault in faults if _words(reply, fault)), None)
