"""Covariates of this machine while the program runs, read at most once per second.

Names that kernels' records use too have the same meaning (docs/formats/stream.md, "Covariates");
there values cover a measurement, here the time between two readings.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.system.doctor.probe import busy_ticks
from assay.system.files import Tree, to_integer
from assay.system.memory import available_memory
from assay.system.processes import (
    TICK,
    Process,
    ProcessState,
    descendants,
    last_cpus,
    parse_state,
    process_times,
    used_between,
)
from assay.system.processor import online_threads, throttle_count
from assay.system.surroundings import (
    cpu_times,
    quota_groups,
    quota_seconds,
    stall_seconds,
    tcp_retransmits,
)

# Quantities that add up, by name: unit and meaning.
COUNTERS = {
    "steal_seconds": ("s", "CPU time that the hypervisor gave to others, all CPUs"),
    "wanted_seconds": ("s", "CPU time that processes needed: used or stolen, all CPUs"),
    "own_cpu_seconds": ("s", "CPU time of the program's processes, ended ones included"),
    "other_cpu_seconds": ("s", "CPU time of all processes but the program's and assay's own"),
    "quota_seconds": ("s", "time that the control group was held back for its CPU quota"),
    "memory_stall_seconds": ("s", "time that some task waited for memory (pressure stall)"),
    "io_stall_seconds": ("s", "time that some task waited for a disk (pressure stall)"),
    "minor_faults": ("1", "the program's page faults served without reading a disk"),
    "major_faults": ("1", "the program's page faults that read a disk"),
    "tcp_retransmits": ("1", "TCP segments sent again"),
    "throttle_events": ("1", "thermal throttling events of the CPUs in use"),
}
# Quantities that have a value at any moment.
GAUGES = {
    "frequency": ("Hz", "of the CPUs that the program ran on, the minimum"),
    "memory_available": ("B", "memory available"),
    "processes": ("1", "of the program"),
}
# Not a counter: the maximum increase over threads of their wait between two readings.
WAIT = "run_queue_seconds"
# Share of a CPU that readings may cost; expensive readings are made less often.
_COST = 0.001
_FASTEST = 1.0
# Maximum number of threads of which waits are read: the first threads of each process.
_MOST_THREADS = 256
_MOST_CPUS = 8
# Number of other processes whose CPUs are looked up after an alarm.
_MOST_EXAMINED = 64


@dataclass
class SampledValue:
    """One reading."""

    #: s of the monotonic clock.
    time: float
    #: Cumulative.
    counters: dict[str, float]
    #: Now.
    gauges: dict[str, float]
    #: Seconds that each thread has waited for a CPU.
    waits: dict[int, float] = field(default_factory=dict)
    #: Number of processes in each state.
    states: dict[str, int] = field(default_factory=dict)


def rates(before: SampledValue, after: SampledValue) -> dict[str, float]:
    """Counters per second, and the later gauges; without those missing in either reading.

    The wait is the maximum over threads, because the others wait for that thread.
    """
    span = max(after.time - before.time, 1e-9)
    found = {
        name: max(value - before.counters[name], 0.0) / span
        for name, value in after.counters.items()
        if name in before.counters
    }
    waited = [value - before.waits[t] for t, value in after.waits.items() if t in before.waits]
    if waited:
        found[WAIT] = min(max(waited) / span, 1.0)
    return found | after.gauges


class Family:
    """The program's processes: the descendants of its first one, and others added explicitly.

    A process stays a member if its parent ends. Only new processes are examined, because scanning
    /proc completely costs milliseconds.
    """

    def __init__(self, tree: Tree, roots: Iterable[int]) -> None:
        self._tree = tree
        self._known: set[int] = set()
        self.members: set[int] = set(roots)

    def add(self, pid: int) -> None:
        """Add a process that sent heartbeats of the program."""
        self.members.add(pid)
        self._known = set()  # its children may have been seen already

    def look(self) -> None:
        """Add new processes, drop those that have ended."""
        try:
            names = os.listdir(self._tree.path("/proc"))  # noqa: PTH208 (ten times as fast)
        except OSError:
            return
        now = {int(name) for name in names if name.isdigit()}
        states = {
            pid: state
            for pid in now - self._known
            if (state := parse_state(self._tree.text(f"/proc/{pid}/stat")))
        }
        for pid in self.members & now:
            if pid not in states and (state := parse_state(self._tree.text(f"/proc/{pid}/stat"))):
                states[pid] = state
        self.members = descendants(states, self.members & now)
        self._known = now

    def states(self) -> dict[int, ProcessState]:
        """The states of its existing members."""
        found = {}
        for pid in self.members:
            if state := parse_state(self._tree.text(f"/proc/{pid}/stat")):
                found[pid] = state
        return found


class Sampler:
    """Reads the covariates, as often as the cost allows.

    ``readings``: the last ones, oldest first. ``cost``: CPU seconds spent on reading.
    """

    def __init__(self, pid: int, relay: int, *, tree: Tree | None = None, keep: int = 900) -> None:
        self._tree = tree or Tree(Path("/"))
        self.family = Family(self._tree, [pid])
        self._ours = {os.getpid(), relay}
        self._keep = keep
        self._groups = quota_groups(self._tree)
        self._online = online_threads(self._tree, ())
        self._next = 0.0
        self._others: tuple[float, Mapping[int, tuple[str, int]]] | None = None
        self._own_cpus: set[int] = set()  # that the program ran on since ``look_at_others``
        self._reaped: dict[int, float] = {}
        self._own_ended = 0.0
        self._own_last: dict[int, float] = {}
        self._costs: deque[float] = deque(maxlen=5)
        self.interval = _FASTEST
        self.cost = 0.0
        self.readings: list[SampledValue] = []

    def due(self, now: float) -> bool:
        """Whether the next reading is due."""
        return now >= self._next

    def read(self) -> SampledValue:
        """Read the covariates now."""
        began = time.thread_time()
        reading = self._read()
        self.readings.append(reading)
        del self.readings[: -self._keep]
        cost = time.thread_time() - began
        self.cost += cost
        # The first reading scans all processes; later ones are cheaper.
        self._costs.append(cost)
        self.interval = max(_FASTEST, min(min(self._costs) / _COST, 60.0))
        if len(self.readings) == 1:
            self.interval = _FASTEST
        self._next = reading.time + self.interval
        return reading

    def look_at_others(self) -> None:
        """Store the CPU time of all processes, to find the busiest later."""
        began = time.thread_time()
        self._others = (time.monotonic(), process_times(self._tree))
        self._own_cpus = self._cpus_of(self.family.members)
        self.cost += time.thread_time() - began

    def busiest(self) -> tuple[list[Process], set[int]]:
        """The processes that used CPU time since ``look_at_others``, without the program's, the
        busiest first; and the ids of those that ran on CPUs that the program ran on since then.

        A process ran on the CPUs that its threads ran on last. Only the busiest are examined.
        """
        if self._others is None:
            return [], set()
        began = time.thread_time()
        then, before = self._others
        self._others = (time.monotonic(), process_times(self._tree))
        elapsed = max(self._others[0] - then, 1e-3)
        without = self.family.members | self._ours
        used = used_between(before, self._others[1], elapsed, without)
        own = self._own_cpus | self._cpus_of(self.family.members)
        sharing = {
            process.pid
            for process in used[:_MOST_EXAMINED]
            if last_cpus(self._tree, process.pid, _MOST_THREADS) & own
        }
        self.cost += time.thread_time() - began
        return used, sharing

    def _cpus_of(self, pids: Iterable[int]) -> set[int]:
        """The CPUs that the threads of these processes ran on last."""
        chosen = list(pids)[:_MOST_THREADS]
        share = max(_MOST_THREADS // max(len(chosen), 1), 1)
        return {cpu for pid in chosen for cpu in last_cpus(self._tree, pid, share)}

    def _read(self) -> SampledValue:
        tree = self._tree
        self.family.look()
        states = self.family.states()
        self._own_cpus |= {state.cpu for state in states.values() if state.cpu >= 0}
        counters: dict[str, float] = {}
        gauges: dict[str, float] = {"processes": float(len(states))}

        def put(name: str, value: float | None) -> None:
            if value is not None:
                counters[name] = float(value)

        own = self._own_seconds(states)
        times = cpu_times(tree).get("cpu")
        if times is not None and len(times) >= 8:
            busy, stolen = busy_ticks(times) * TICK, times[7] * TICK
            put("steal_seconds", stolen)
            put("wanted_seconds", busy + stolen)
            put("other_cpu_seconds", busy - own - self._our_seconds())
        put("own_cpu_seconds", own)
        put("quota_seconds", quota_seconds(tree, self._groups))
        put("memory_stall_seconds", stall_seconds(tree, "memory"))
        put("io_stall_seconds", stall_seconds(tree, "io"))
        put("minor_faults", sum(state.minor_faults for state in states.values()))
        put("major_faults", sum(state.major_faults for state in states.values()))
        put("tcp_retransmits", tcp_retransmits(tree))
        cpus = sorted({state.cpu for state in states.values() if state.cpu >= 0})[:_MOST_CPUS]
        put("throttle_events", throttle_count(tree, cpus or self._online[:_MOST_CPUS]))
        if (available := available_memory(tree)) is not None:
            gauges["memory_available"] = float(available)
        if frequencies := [f for cpu in cpus if (f := self._frequency(cpu))]:
            gauges["frequency"] = min(frequencies)
        tally: dict[str, int] = {}
        for state in states.values():
            tally[state.state] = tally.get(state.state, 0) + 1
        return SampledValue(time.monotonic(), counters, gauges, self._waits(states), tally)

    def _own_seconds(self, states: Mapping[int, ProcessState]) -> float:
        """CPU time of the program's processes. Ended ones count by the parent that reaped them; if
        none of the program's processes did, by their last reading.
        """
        now = {pid: state.cpu_seconds + state.reaped_seconds for pid, state in states.items()}
        grown = sum(max(value - self._own_last.get(pid, 0.0), 0.0) for pid, value in now.items())
        self._own_ended += grown
        # The parent's sum now includes the time of ended children, which was counted before.
        ended = [pid for pid in self._own_last if pid not in now]
        lost = sum(self._own_last[pid] for pid in ended)
        reaped = sum(
            max(state.reaped_seconds - self._reaped.get(pid, 0.0), 0.0)
            for pid, state in states.items()
        )
        self._own_ended -= min(lost, reaped)
        self._own_last = now
        self._reaped = {pid: state.reaped_seconds for pid, state in states.items()}
        return self._own_ended

    def _our_seconds(self) -> float:
        used = 0.0
        for pid in self._ours:
            if state := parse_state(self._tree.text(f"/proc/{pid}/stat")):
                used += state.cpu_seconds
        return used

    def _waits(self, states: Iterable[int]) -> dict[int, float]:
        """Seconds that threads have waited for a CPU (schedstat's second number, ns)."""
        pids = list(states)
        share = max(_MOST_THREADS // max(len(pids), 1), 1)
        found: dict[int, float] = {}
        for pid in pids[:_MOST_THREADS]:
            try:
                threads = os.listdir(self._tree.path(f"/proc/{pid}/task"))  # noqa: PTH208
            except OSError:
                continue
            for thread in threads[:share]:
                words = (self._tree.text(f"/proc/{pid}/task/{thread}/schedstat") or "").split()
                waited = to_integer(words[1]) if len(words) > 1 else None
                if waited is not None and thread.isdigit():
                    found[int(thread)] = waited * 1e-9
        return found

    def _frequency(self, cpu: int) -> float | None:
        folder = f"/sys/devices/system/cpu/cpu{cpu}/cpufreq"
        kilohertz = self._tree.integer(f"{folder}/scaling_cur_freq")
        return kilohertz * 1e3 if kilohertz else None
