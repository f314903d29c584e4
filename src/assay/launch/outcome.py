"""The outcome of a launch, from its stream, its exit status and its output."""

from __future__ import annotations

import errno
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.conditions import condition_of, number_in
from assay.errors import AssayError
from assay.plain_files import reading
from assay.records.schema import EXIT_MEASUREMENT, EXIT_PROCESSOR
from assay.records.stream import Stream, read_stream

# "lost" is decided elsewhere: this requires a check of the hosts.
Outcome = Literal["complete", "crash", "timeout", "interrupted"]
# Why assay ended a launch.
EndedBy = Literal["timeout", "interrupted", "budget"]

# The error of a launch that was ended because the budget was spent.
OVER_BUDGET = "ended because the budget was spent"
KEPT_OUTPUT = 4096  # bytes of a launch's last output that go into its record
# Exit statuses of a kernel program that ran to its end.
GOOD_EXITS = (0, EXIT_MEASUREMENT)
# Used as signal number if one of the launcher's own processes was ended (by an unknown signal).
AGENT_ENDED = 0
# Printed then by MPICH's mpiexec (Hydra, pmiserv_cb.c) and Open MPI's mpirun (PRRTE).
_AGENT_DIED = re.compile(
    r"assert \(!closed\) failed|daemon.{0,80}unexpectedly|lost communication with"
)
# Conditions that a launcher or a rank can meet through no fault of the program. If a host's limit
# differs from this process's limit, the launcher gives no details.
_LAUNCH_CONDITIONS = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.EAGAIN,
     errno.ENOMEM, errno.EROFS, errno.EIO, errno.ESTALE)
)  # fmt: skip
# EAGAIN's message has other meanings, too, such as for sockets; these words refer to new processes.
_NEW_PROCESS = re.compile(
    r"\b(?:fork|vfork|clone|posix_spawn|pthread_create|thread|process(?:es)?|proxy|daemon|exec\w*)\b",
    re.IGNORECASE,
)
# Texts of launchers and shells that name no system error: "Cannot fork" and "fork: retry" (bash and
# dash), "unable to fork" (Hydra), help texts on pipes and files (Open MPI).
_UNNUMBERED = (
    (
        r"(?:can(?:'t|not)|unable to|could not|failed to) v?fork|fork: retry|fork (?:call )?failed"
        r"|(?:can(?:'t|not)|unable to|could not|failed to) create (?:a )?(?:new )?thread",
        errno.EAGAIN,
    ),
    (
        r"system limit on number of (?:pipes|open files|children)"
        r"|limit (?:on|for) (?:the )?number of (?:open )?(?:files|file descriptors)",
        errno.EMFILE,
    ),
)


@dataclass(frozen=True)
class Verdict:
    """The end of a launch as stored in its record."""

    outcome: Outcome
    error: str | None = None
    blamed: str | None = None
    #: Number of the signal that ended it, if a signal did.
    signal: int | None = None


def judge(
    stream_path: Path,
    status: int | None,
    said: str,
    ended_by: EndedBy | None = None,
    after: float = 0.0,
) -> Verdict:
    """Judge a launch that has ended.

    ``status``: its exit status, negative for a signal. ``said``: its last output. ``ended_by``: why
    assay ended it, if it did; ``after``: the number of seconds until then. A launch counts as
    finished only if the stream has an end record with the right count; the exit status isn't
    enough.
    """
    try:
        stream = read_stream(stream_path, samples=False)
    except AssayError as error:
        return Verdict("crash", error.what.rstrip("."))
    if ended_by == "timeout":
        return Verdict("timeout", f"no end within {after:g} s", _under_way(stream))
    if ended_by == "interrupted":
        return Verdict("interrupted", None, stream.begun)
    if ended_by == "budget" and not (status in GOOD_EXITS and _ended_whole(stream)):
        return Verdict("interrupted", OVER_BUDGET, _under_way(stream))
    reason = stream.end.reason if stream.end and stream.finished else None
    if status in GOOD_EXITS and reason in ("complete", "signal"):
        return Verdict("complete")
    if reason == "complete":
        return Verdict("complete", f"after its end record: {_how(status, said)}")
    killed = _signal_of(status, said)
    return Verdict("crash", _crash(stream, status, said), _under_way(stream), killed)


def _ended_whole(stream: Stream) -> bool:
    """Whether the kernels made all their measurements before the request to end reached them."""
    return stream.finished and stream.end is not None and stream.end.reason == "complete"


def _under_way(stream: Stream) -> str | None:
    """The measurement in which a launch ended: the one that had begun, or the last one if it was
    cut short.

    When a rank ends, mpirun may ask the others to end, and they complete the stream normally.
    """
    last = stream.measurements[-1] if stream.measurements else None
    cut_short = last.measurement if last and last.status == "interrupted" else None
    return stream.begun or cut_short


def last_output(*paths: Path) -> str:
    """The last ``KEPT_OUTPUT`` bytes of the first of these files that isn't empty."""
    for path in paths:
        try:
            with reading(path) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - KEPT_OUTPUT))
                text = file.read(KEPT_OUTPUT).decode("utf-8", "replace").strip()
        except OSError:
            continue
        if text:
            return text
    return ""


def _crash(stream: Stream, status: int | None, said: str) -> str:
    how = _how(status, said)
    if stream.start is None and (unfit := _unfit(status, said)):
        return unfit
    if stream.start is None:
        return f"it never began its stream: {how}"
    if stream.end is not None and not stream.finished:
        wanted, found = stream.end.measurements, len(stream.measurements)
        return f"its stream counts {wanted} measurements and holds {found}: {how}"
    return how


def _unfit(status: int | None, said: str) -> str:
    """The message of a kernel program on a processor it wasn't built for; empty otherwise.

    If several ranks end, launchers mix their statuses, so the printed message is more reliable.
    """
    found = re.search(r"(?m)^assay-kernels: (the processor of host '.*' lacks .*)$", said)
    if found:
        return found[1]
    return "the processor lacks features that it was built for" if status == EXIT_PROCESSOR else ""


def _signal_of(status: int | None, said: str) -> int | None:
    """The number of the signal that ended the launcher or a rank; None if it ended otherwise.

    ``AGENT_ENDED`` if the launcher lost one of its agents, because it doesn't report how the agent
    ended.
    """
    if status is not None and status < 0:
        return -status
    # Both launchers name the signal of a rank: "(signal 11)", "on signal 11 (Segmentation fault)".
    named = re.search(r"\bsignal (\d{1,3})\b", said)
    if named and status != 0 and _signal_name(int(named[1])):
        return int(named[1])
    if status != 0 and _AGENT_DIED.search(said):
        return AGENT_ENDED
    if status is not None and status > 128 and _signal_name(status - 128):
        return status - 128
    return None


def _how(status: int | None, said: str) -> str:
    """Signal or exit status, and the most informative line of the output."""
    killed = _signal_of(status, said)
    if killed == AGENT_ENDED:
        how = f"a process of the launcher ended unexpectedly (exit status {status})"
    elif killed is not None:
        who = "the launcher" if status is not None and status < 0 else "a rank"
        how = f"{who} was ended by {_signal_name(killed)}"
    elif status == 0:
        how = "exit status 0 without an end record"
    else:
        how = f"exit status {status}"
    named = _condition(said) if status != 0 else None
    if named is not None:
        line, found = named
        return f"{how}: {line}. {found.what} {found.fix.rstrip('.')}"
    line = _relevant_line(said)
    return f"{how}: {line}" if line else how


def _condition(said: str) -> tuple[str, AssayError] | None:
    """The line that names a condition of the system, such as a full disk, and what it means."""
    for line in said.splitlines():
        number = number_in(line) or _unnumbered(line)
        if number == errno.EAGAIN and not _NEW_PROCESS.search(line):
            continue
        if number not in _LAUNCH_CONDITIONS:
            continue
        found = condition_of(number)
        if found is not None:
            return line.strip()[:300].rstrip("."), found
    return None


def _unnumbered(line: str) -> int | None:
    """The error number that corresponds to a launcher's or shell's own words."""
    return next((n for words, n in _UNNUMBERED if re.search(words, line, re.IGNORECASE)), None)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}" if number < 65 else ""


def _relevant_line(said: str) -> str:
    """The kernel program's own first line, else the first line that is not just decoration."""
    lines = [line.strip() for line in said.splitlines()]
    own = [line for line in lines if line.startswith("assay")]
    words = [line for line in lines if re.match(r"[^=\-*\s|+#]", line)]
    return next(iter(own or words), "")[:300]
