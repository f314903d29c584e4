"""Reading in child processes, each of which may hang without holding up the others or the check.

A process that waits for a sick file system or device can't be ended before the kernel gives up
waiting. Such a child must hold nothing of its parent: neither its output (a batch scheduler waits
until the output of its prolog is closed) nor its locks.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import selectors
import signal
import struct
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from assay.check.model import Fact

_PR_SET_PDEATHSIG = 1
_PIECE = 1 << 16
#: Why an answer is not whole if its time was over: the child waits for what it asked, or it has had
#: too little processor time to ask.
LATE, STARVED = "no answer in time", "too busy to answer in time"
_END = b"end"
# Precedes the time since which the kernel keeps a child waiting, or 0.
_SINCE = b"@"
# States of a process that waits for something other than a CPU.
_WAITING = ("S", "D")
# States of a killed process that ends as soon as it has the processor, or that has ended.
_ENDING = ("R", "Z", "X", "")
# For how long ended children are waited for, s.
_REAPING = 0.05
_PAUSE = 0.005
_LOCKS = "/dev/null"
_LOCK = "hhqqi4x"
_encode = msgspec.json.encode


class ChildAnswer(NamedTuple):
    """What one child has read."""

    facts: list[Fact]
    #: Whether it came to its end; otherwise ``failed`` says why.
    whole: bool
    failed: str = ""
    #: For how long the kernel has kept it waiting at the end, s; 0 if it was running or waiting for
    #: a CPU.
    blocked: float = 0.0


class ChildAnswers(NamedTuple):
    """What all children have read."""

    answers: dict[str, ChildAnswer]
    #: Processes that can't be ended now, since the kernel doesn't return from their system call.
    left: tuple[int, ...]


class _Child:
    def __init__(self, pid: int, pipe: int) -> None:
        self.pid = pid
        self.pipe = pipe
        self.text = b""
        self.closed = False
        self.ended = 0.0
        self.state = ""


def ask_children(
    questions: Mapping[str, Callable[[], Iterable[Fact]]],
    until: float,
    alone: Collection[str] = (),
) -> ChildAnswers:
    """Call each function in a process of its own, and return at ``until`` (``time.monotonic()``)
    at the latest.

    ``alone``: questions that only one process at a time may ask. A child waits for its turn, so
    that a child of an earlier check that still hangs is not joined by another one.
    """
    libc = ctypes.CDLL(None)
    parent = os.getpid()
    children: dict[str, _Child] = {}
    failed: dict[str, str] = {}
    for name, question in questions.items():
        try:
            children[name] = _start(question, name if name in alone else "", libc, parent)
        except OSError as error:
            failed[name] = error.strerror or "no process"
    try:
        _listen(children, until)
    finally:
        left = _end(children)
    answers = {name: _answer(child) for name, child in children.items()}
    for name, why in failed.items():
        answers[name] = ChildAnswer([], False, why)
    return ChildAnswers(answers, left)


def _start(
    question: Callable[[], Iterable[Fact]], lock: str, libc: ctypes.CDLL, parent: int
) -> _Child:
    read, write = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(read)
        os.close(write)
        raise
    if pid == 0:
        # Whatever happens, the child must not go on as a second parent.
        try:
            _answer_in_child(question, lock, write, libc, parent)
        finally:
            os._exit(1)
    os.close(write)
    os.set_blocking(read, False)
    return _Child(pid, read)


def _answer_in_child(
    question: Callable[[], Iterable[Fact]],
    lock: str,
    write: int,
    libc: ctypes.CDLL,
    parent: int,
) -> None:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGPIPE):
        signal.signal(each, signal.SIG_DFL)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    nothing = os.open(_LOCKS, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    # The lowest number that is free, so that all above belong to the parent.
    pipe = os.dup2(write, 3)
    os.closerange(4, 1 << 20)
    if lock:
        _wait_for_lock(lock, pipe)
    _since(pipe, time.monotonic())
    try:
        for fact in question():
            os.write(pipe, _encode(fact) + b"\n")
        os.write(pipe, _END)
    except Exception as error:
        os.write(pipe, b"!" + type(error).__name__.encode())
    os._exit(0)


def _since(pipe: int, when: float) -> None:
    os.write(pipe, _SINCE + repr(when).encode() + b"\n")


def _wait_for_lock(name: str, pipe: int) -> None:
    """Lock one byte of a device that everyone may write to: it needs no file, ends with the
    process, and its holder is known. Another user's lock is ignored: it could hold up the check.
    """
    place = zlib.crc32(name.encode("utf-8", "surrogateescape"))
    hangs = False
    while True:
        try:
            fcntl.lockf(1, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except BlockingIOError:
            holder = _holder(place)
            if holder < 0:
                return
            # The holder's wait is this child's, unless the holder only has no CPU.
            if (state_of(holder) in _WAITING) != hangs:
                hangs = not hangs
                _since(pipe, time.monotonic() if hangs else 0.0)
            time.sleep(_PAUSE)
        except OSError:
            return
        else:
            return


def _holder(place: int) -> int:
    """The process that holds the lock; 0 if none does any more, negative if it is to be ignored."""
    question = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    try:
        answer = struct.unpack(_LOCK, fcntl.fcntl(1, fcntl.F_GETLK, question))
        kind, holder = answer[0], answer[4]
        if kind == fcntl.F_UNLCK:
            return 0
        ours = holder > 0 and os.stat(f"/proc/{holder}").st_uid in (0, os.getuid())  # noqa: PTH116
    except OSError:
        return 0
    return int(holder) if ours else -1


def state_of(pid: int) -> str:
    """The letter of a process's state (proc(5)); empty if it is unknown."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, 1024).rpartition(b") ")[2][:1].decode("ascii", "replace")
    except OSError:
        return ""
    finally:
        os.close(file)


def _listen(children: Mapping[str, _Child], until: float) -> None:
    with selectors.DefaultSelector() as selector:
        for child in children.values():
            selector.register(child.pipe, selectors.EVENT_READ, child)
        while selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                child = key.data
                with contextlib.suppress(BlockingIOError):
                    piece = os.read(child.pipe, _PIECE)
                    child.text += piece
                    if not piece:
                        child.closed = True
                        selector.unregister(child.pipe)


def _end(children: Mapping[str, _Child]) -> tuple[int, ...]:
    waiting = set()
    for child in children.values():
        os.close(child.pipe)
        if not child.closed:
            child.ended, child.state = time.monotonic(), state_of(child.pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
        waiting.add(child.pid)
    until = time.monotonic() + _REAPING
    while waiting:
        for pid in tuple(waiting):
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue
            waiting.discard(pid)
        if time.monotonic() > until:
            break
        if waiting:
            time.sleep(_PAUSE / 5)
    # On a busy node a killed process may not have had the processor since, and ends without help.
    return tuple(sorted(pid for pid in waiting if state_of(pid) not in _ENDING))


def _answer(child: _Child) -> ChildAnswer:
    *lines, last = child.text.split(b"\n")
    facts = []
    since = 0.0
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError, ValueError):
            if line.startswith(_SINCE):
                since = float(line.removeprefix(_SINCE))
            else:
                facts.append(msgspec.json.decode(line, type=Fact))
    if last == _END:
        return ChildAnswer(facts, True)
    if last.startswith(b"!"):
        return ChildAnswer(facts, False, last[1:].decode("ascii", "replace"))
    if child.closed:
        return ChildAnswer(facts, False, "ended early")
    if since > 0 and child.state in _WAITING:
        return ChildAnswer(facts, False, LATE, child.ended - since)
    return ChildAnswer(facts, False, STARVED)
