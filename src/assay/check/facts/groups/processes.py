"""Processes: what ordinary users' jobs left, the largest one, and the clock's daemons."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.check.model import Fact
from assay.schedulers import NAMES
from assay.system.files import Tree, to_integer
from assay.system.surroundings import uptime_seconds

#: Daemons that synchronise clocks, by the kernel's name of their process (15 characters).
CLOCK_DAEMONS = {
    "chronyd": "chronyd",
    "ntpd": "ntpd",
    "systemd-timesyn": "systemd-timesyncd",
    "ptp4l": "ptp4l",
    "phc2sys": "phc2sys",
    "timemaster": "timemaster",
}
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = 1 / os.sysconf("SC_CLK_TCK")
# CPU use is observed for this long, s.
_OBSERVED = 0.2
# Younger ones may be what starts this check, s.
_YOUNG = 10.0
_NOBODY = (65534, 4294967294)
# A flag of a process that is ending, PF_EXITING of the kernel's sched.h.
_EXITING = 0x4
# Services of systemd whose processes are jobs where no control group is made for each job.
_OTHER_SCHEDULERS = ("sbatchd", "sge", "gridengine", "condor", "oar")
_SCHEDULERS = re.compile("|".join((*NAMES, *_OTHER_SCHEDULERS)), re.ASCII)
_SERVICE = re.compile(r"(?m):/system\.slice/(?:[^/\n]+\.slice/)*([^/\n]+)\.service(?:/|$)")


class SeenProcess(NamedTuple):
    """A process, as /proc/PID/stat shows it."""

    pid: int
    uid: int
    name: str
    state: str
    parent: int
    #: CPU time, s.
    used: float
    #: Start after boot, s.
    started: float
    #: Resident memory, bytes.
    memory: int
    #: When it was read, s of ``time.monotonic``.
    at: float
    flags: int = 0
    threads: int = 1

    @property
    def ended(self) -> bool:
        """Whether it runs no more, or only frees its memory.

        What is left of it is an entry for its parent, which some programs collect seconds later.
        With more threads the first one has ended, and the others run. In state D, an ending process
        waits for a device or a file server.
        """
        if self.threads > 1:
            return False
        return self.state in ("Z", "X") or (self.state == "R" and bool(self.flags & _EXITING))


def facts(tree: Tree) -> Iterator[Fact]:
    """Counts, CPUs in use, the largest process in bytes, and which clock daemons run."""
    if not tree.exists("/proc/1/stat"):
        # The mount option hidepid hides other users' processes from ordinary users.
        yield Fact(name="processes.*", value=None)
        yield Fact(name="daemon.*", value=None)
        return
    seen = all_seen(tree)
    yield from _daemons(tree, seen)
    yield from _largest(seen)
    users = list(_of_jobs(tree, seen))
    alive = {each.pid: each for each in users if not each.ended}
    if alive and tree.live:
        time.sleep(_OBSERVED)
    # A process that ends between both observations is not left over.
    later = {
        pid: again
        for pid, each in alive.items()
        if (again := _seen(tree, pid)) and again.started == each.started and not again.ended
    }
    look_at = "check leftover processes"
    if later:
        look_at = f"check {_named(max(later.values(), key=lambda each: each.memory))}"
    yield Fact(name="processes.users", value=float(len(later)), rule="not above", look_at=look_at)
    yield Fact(name="processes.zombies", value=float(len(users) - len(alive)), rule="shown")
    blocked = sum(each.state == "D" for each in seen.values())
    yield Fact(name="processes.blocked", value=float(blocked), rule="shown")
    yield _busy(alive, later)


def all_seen(tree: Tree) -> dict[int, SeenProcess]:
    """Every visible process. Kernel threads are among them: they belong to root."""
    found: dict[int, SeenProcess] = {}
    try:
        names = os.listdir(tree.path("/proc"))  # noqa: PTH208 - thousands
    except (OSError, ValueError):
        return found
    for name in names:
        if name.isascii() and name.isdigit() and (each := _seen(tree, int(name))):
            found[each.pid] = each
    return found


def _seen(tree: Tree, pid: int) -> SeenProcess | None:
    folder = tree.path(f"/proc/{pid}")
    at = time.monotonic()
    try:
        uid = os.stat(folder).st_uid  # noqa: PTH116 - thousands of them
    except OSError:
        return None
    text = tree.text(f"/proc/{pid}/stat") or ""
    before, _, rest = text.rpartition(")")
    words = rest.split()
    # The third field of proc(5), the state, is the first here.
    if len(words) < 22:
        return None
    numbers = [to_integer(words[field - 3]) for field in (4, 9, 14, 15, 20, 22, 24)]
    if any(number is None for number in numbers):
        return None
    parent, flags, user, system, threads, started, pages = (number or 0 for number in numbers)
    return SeenProcess(
        pid=pid,
        uid=uid,
        name=before.partition("(")[2],
        state=words[0],
        parent=parent,
        used=(user + system) * _TICK,
        started=started * _TICK,
        memory=max(pages, 0) * _PAGE,
        at=at,
        flags=flags,
        threads=threads,
    )


def ordinary_uids(tree: Tree) -> int:
    """The lowest number of an ordinary user, UID_MIN of login.defs(5)."""
    match = re.search(r"(?m)^UID_MIN\s+(\d{1,9})", tree.text("/etc/login.defs") or "", re.ASCII)
    return int(match[1]) if match else 1000


def _ancestors(seen: Mapping[int, SeenProcess]) -> set[int]:
    """This process and those that started it."""
    found: set[int] = set()
    pid = os.getpid()
    while pid and pid not in found:
        found.add(pid)
        pid = seen[pid].parent if pid in seen else 0
    return found


def _of_jobs(tree: Tree, seen: Mapping[int, SeenProcess]) -> Iterator[SeenProcess]:
    """Processes of ordinary users that may belong to jobs."""
    uptime = uptime_seconds(tree)
    own = _ancestors(seen)
    least = ordinary_uids(tree)
    for each in seen.values():
        if each.uid < least or each.uid in _NOBODY or each.pid in own:
            continue
        if uptime is not None and uptime - each.started <= _YOUNG:
            continue
        if not _of_no_job(tree.text(f"/proc/{each.pid}/cgroup") or ""):
            yield each


def _of_no_job(groups: str) -> bool:
    """Whether systemd counts a process to a login session or to a service, by its control groups.

    Some services have users with the numbers of ordinary ones, and start processes now and then.
    """
    if "/user.slice/" in groups:
        return True
    services = _SERVICE.findall(groups)
    return bool(services) and not any(_SCHEDULERS.search(each) for each in services)


def _named(each: SeenProcess) -> str:
    return f"{each.name} (pid {each.pid}, uid {each.uid})"


def _largest(seen: dict[int, SeenProcess]) -> Iterator[Fact]:
    if seen:
        largest = max(seen.values(), key=lambda each: each.memory)
        yield Fact(
            name="processes.largest",
            value=float(largest.memory),
            unit="B",
            rule="shown",
            look_at=_named(largest),
        )


def _daemons(tree: Tree, seen: dict[int, SeenProcess]) -> Iterator[Fact]:
    here = tree.link("/proc/self/ns/net")
    running: dict[str, bool | None] = dict.fromkeys(CLOCK_DAEMONS.values(), False)
    for each in seen.values():
        name = CLOCK_DAEMONS.get(each.name)
        if name is None or each.state == "Z":
            continue
        # A daemon of a container or of a virtual host doesn't set this node's clock. Ordinary users
        # can't see where another user's process belongs.
        there = tree.link(f"/proc/{each.pid}/ns/net")
        if here is None or there == here:
            running[name] = True
        elif there is None and not running[name]:
            running[name] = None
    for name, value in running.items():
        yield Fact(name=f"daemon.{name}", value=value, rule="not below", look_at="start the daemon")


def _busy(before: Mapping[int, SeenProcess], later: Mapping[int, SeenProcess]) -> Fact:
    """CPUs that ordinary users' processes kept busy between both observations."""
    used: dict[str, float] = {}
    for pid, each in later.items():
        with contextlib.suppress(ZeroDivisionError):
            used[_named(each)] = (each.used - before[pid].used) / (each.at - before[pid].at)
    name = max(used, key=lambda key: used[key], default="")
    return Fact(
        name="processes.cpus",
        value=round(float(sum(used.values())), 2),
        unit="CPU",
        rule="not above",
        look_at=f"check {name}" if name else "check leftover processes",
    )
