"""The warden: the parent of one launch; it ends all of its processes on request, or if assay ends.

``python -I -S warden.py WHERE RANK_PROGRAM COMMAND…`` runs the command and ends with its exit
status or signal. It is a separate program because it must outlive assay: when mpirun is killed,
ranks may run forever with init as their new parent (Open MPI's ranks do, sleeping or computing). As
a "child subreaper" (prctl(2)) the warden becomes their parent instead, so every process of the
launch stays below it, whatever its session. It is started for each launch, so it imports little: no
site, not even pathlib.

Its standard input is a pipe from assay. ``a`` on it asks the ranks to end (SIGTERM). When the pipe
is closed, also by the end of assay, the warden kills all processes immediately. If the warden
itself is killed, mpirun gets SIGKILL from the kernel (PR_SET_PDEATHSIG). Ranks on other hosts are
not below it: the launcher's agents there end them when the connection to mpirun breaks. Linux only:
it uses prctl(2) and /proc.

If Hydra's agent (hydra_pmi_proxy, the parent of the ranks) ends before it has connected to mpirun,
or while it starts the ranks, mpirun waits for it forever. The warden ends such a launch (WHERE is
``agent``).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

ASK = b"a"
# Where the ranks run: below the launcher, in an agent of the launcher below it, or on other hosts.
HERE = "here"
AGENT = "agent"
REMOTE = "remote"
CANNOT_START = 127
CANNOT_END = 126
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SHARED_MEMORY = "/dev/shm/"
# Seconds to keep killing processes that don't end (in uninterruptible sleep).
_PATIENCE = 10.0
# Seconds between checks whether the launcher's agent runs, until a check finds it. A launcher that
# has not started anything yet may be waiting for a name server, for example, so it is not ended.
LOOK = 2.0


def processes_below(ancestor: int) -> dict[int, int]:
    """All running descendants of a process, as pid → parent, whatever their session."""
    parents: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            # "pid (name) state parent …", where the name may hold anything.
            with open(f"{entry.path}/stat", "rb") as stat:  # noqa: PTH123
                state, parent = stat.read().rpartition(b")")[2].split()[:2]
            if state not in b"ZX":
                parents[int(entry.name)] = int(parent)
    below: dict[int, int] = {}
    grown = True
    while grown:
        new = {p: q for p, q in parents.items() if p not in below and (q == ancestor or q in below)}
        below.update(new)
        grown = bool(new)
    return below


def ask_ranks(launcher: int, rank_program: str, where: str) -> None:
    """SIGTERM to the ranks: the processes that run the rank program, else those without children.

    Ranks stop together, so a signal to one rank on this host is enough. If all are on other hosts,
    the launcher gets SIGUSR1: the launchers of MPICH, Open MPI and Intel MPI pass it on to the
    ranks and continue, and kernels stop on it as on SIGTERM.
    """
    below = processes_below(os.getpid())
    ranks = [pid for pid in below if _runs(pid, rank_program)]
    if not ranks and where == REMOTE:
        with contextlib.suppress(ProcessLookupError):
            os.kill(launcher, signal.SIGUSR1)
        return
    for pid in ranks or set(below) - set(below.values()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def shared_memory(pid: int) -> set[str]:
    """The files of shared memory that a process has mapped."""
    found = set()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", errors="replace") as maps:  # noqa: PTH123
        for line in maps:
            fields = line.rstrip("\n").split(None, 5)  # the sixth is the path
            if len(fields) == 6 and fields[5].startswith(_SHARED_MEMORY):
                found.add(fields[5])
    return {path for path in found if not path.endswith(" (deleted)")}


def end_all(main: int, rank_program: str) -> int | None:
    """SIGKILL all descendants until none is left; returns the main child's wait status, if it
    ended.

    Removes the shared memory of ranks that are killed: MPI libraries remove it in MPI_Finalize.
    """
    deadline = time.monotonic() + _PATIENCE
    status = None
    left: set[str] = set()
    while below := processes_below(os.getpid()):
        left = left.union(*(shared_memory(pid) for pid in below if _runs(pid, rank_program)))
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            print(f"assay: can't be killed: processes {sorted(below)}", file=sys.stderr)
            os._exit(CANNOT_END)
        time.sleep(0.005)
        ended = _reap(main)
        status = status if ended is None else ended
    for path in left:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108
    ended = _reap(main)
    return status if ended is None else ended


def is_alone(launcher: int, warden: int, rank_program: str) -> bool:
    """Whether only the launcher is below the warden, except for ranks whose agent has ended.

    The warden is the parent of these ranks. They keep the agent's connection to mpirun open, and
    wait for each other.
    """
    return all(
        pid == launcher or (parent == warden and _runs(pid, rank_program))
        for pid, parent in processes_below(warden).items()
    )


def has_lost_children(launcher: int) -> bool:
    """Whether processes that the launcher started have ended, and it has waited for them.

    Their page faults are then added to its ``cminflt`` (proc_pid_stat(5)).
    """
    with open(f"/proc/{launcher}/stat", "rb") as stat:  # noqa: PTH123
        return int(stat.read().rpartition(b")")[2].split()[8]) > 0


def _runs(pid: int, program: str) -> bool:
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)  # noqa: PTH121
    except OSError:
        return False


def _reap(main: int) -> int | None:
    """Reap ended children; returns the main child's wait status if it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == main:
                status = ended
    return status


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(command: list[str]) -> int:
    warden = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != warden:
            os._exit(CANNOT_START)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # Python ignores these two signals, and exec keeps ignored signals ignored.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"assay: can't start {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(CANNOT_START)


def _end_as(status: int) -> None:
    """End as the command ended: with its exit status, or by its signal."""
    if os.WIFSIGNALED(status):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError):  # SIGKILL has no handler to reset
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def main(where: str, rank_program: str, command: list[str]) -> None:
    """Run the command, handle requests, and end with the command's status."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    child = _start(command)
    status = None
    looking, alone = where == AGENT, 0
    while status is None:
        ready, _, _ = select.select([0, woken], [], [], LOOK if looking else None)
        release = False
        if not ready:
            looking = is_alone(child, os.getpid(), rank_program)
            alone += looking and has_lost_children(child)
            if release := alone == 2:
                os.write(2, b"assay: its agent had ended\n")
        if 0 in ready:
            said = os.read(0, 64)
            release = not said
            if ASK in said:
                ask_ranks(child, rank_program, where)
        if woken in ready:
            release |= any(number != signal.SIGCHLD for number in os.read(woken, 64))
        if release:
            status = end_all(child, rank_program)
        status = _reap(child) if status is None else status
    end_all(child, rank_program)
    _end_as(status)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
