"""Short observation of the running machine: load, steal time, throttling, clock and disk."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import msgspec

from assay.system.files import Tree
from assay.system.processes import Process, busiest, process_times
from assay.system.processor import online_threads, throttle_count
from assay.system.surroundings import cpu_times

KERNELS = "assay-kernels"


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one observation; None where something could not be observed."""

    #: Duration of the observation, s.
    seconds: float
    #: Whether this process kept a CPU busy meanwhile (an idle CPU has no steal time).
    worked: bool = False
    #: Steal time as a share (0 to 1) of busy and stolen CPU time.
    steal: float | None = None
    #: CPU seconds per second used by all other processes.
    others: float | None = None
    #: Processes that used the most CPU time.
    busiest: list[Process] = []
    #: Process ids of running assay-kernels.
    kernels: list[int] = []
    #: Number of thermal throttling events meanwhile.
    throttled: int | None = None
    #: Resolution of the monotonic clock by the kernel, s.
    clock_resolution: float | None = None
    #: Smallest step between readings of the clock, s (includes the cost of a reading).
    clock_step: float | None = None
    #: Bytes free where runs are stored.
    disk: int | None = None
    #: The folder of ``disk``.
    disk_path: str | None = None


def probe(seconds: float = 1.0, runs: Path = Path("runs")) -> Probe:
    """Observe the running machine for ``seconds``; ``runs`` is the folder where runs are stored.

    One CPU is kept busy meanwhile, so that steal time can be seen, unless other assay-kernels are
    running, because that would disturb them.
    """
    tree = Tree(Path("/"))
    processes = process_times(tree)
    kernels = [pid for pid, (name, _) in processes.items() if name == KERNELS]
    online = online_threads(tree, ())
    throttled = throttle_count(tree, online)
    before = cpu_times(tree).get("cpu")
    own = time.process_time()
    start = time.perf_counter()
    if kernels:
        time.sleep(seconds)
        step = _clock_step(0.01)
    else:
        step = _clock_step(seconds)
    after = cpu_times(tree).get("cpu")
    elapsed = time.perf_counter() - start
    own = time.process_time() - own
    tick = 1 / os.sysconf("SC_CLK_TCK")
    later = process_times(tree)
    heated = throttle_count(tree, online)
    folder, free = _disk(runs)
    return Probe(
        seconds=elapsed,
        worked=not kernels,
        steal=steal_share(before, after),
        others=_others(before, after, own, elapsed, tick),
        busiest=busiest(processes, later, elapsed, {os.getpid()}),
        kernels=kernels,
        throttled=None if heated is None or throttled is None else max(heated - throttled, 0),
        clock_resolution=time.clock_getres(time.CLOCK_MONOTONIC),
        clock_step=step,
        disk=free,
        disk_path=folder,
    )


def busy_ticks(times: list[int]) -> int:
    """Busy ticks: user, nice, system, irq and softirq of a line of /proc/stat."""
    return sum(times[:3]) + sum(times[5:7])


def steal_share(before: list[int] | None, after: list[int] | None) -> float | None:
    """Share of steal time in demanded time (busy and stolen) between two readings of /proc/stat."""
    if before is None or after is None or min(len(before), len(after)) < 8:
        return None
    stolen = after[7] - before[7]
    demanded = busy_ticks(after) - busy_ticks(before) + stolen
    return min(max(stolen / demanded, 0.0), 1.0) if demanded > 0 else None


def _others(
    before: list[int] | None, after: list[int] | None, own: float, elapsed: float, tick: float
) -> float | None:
    if before is None or after is None or elapsed <= 0:
        return None
    return max((busy_ticks(after) - busy_ticks(before)) * tick - own, 0.0) / elapsed


def _clock_step(seconds: float) -> float | None:
    """The smallest nonzero step of the clock in ``seconds`` of repeated readings."""
    smallest = 0
    last = time.perf_counter_ns()
    end = last + int(seconds * 1e9)
    while last < end:
        now = time.perf_counter_ns()
        step = now - last
        if step > 0 and (step < smallest or smallest == 0):
            smallest = step
        last = now
    return smallest * 1e-9 if smallest else None


def _disk(runs: Path) -> tuple[str | None, int | None]:
    """The folder, or the nearest one above it that exists, and its free bytes."""
    try:
        folder = runs.absolute()
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return str(folder), shutil.disk_usage(folder).free
    except OSError:
        return None, None
