"""Causes of variation: the covariates that indicate each, and how directly it acts.

Covariates of one cause indicate the same effect (such as the time that ranks waited for a CPU, and
how often they lost the CPU), so that one of them represents the cause. ``tier`` is how directly a
cause acts on the ranks: 0 is time that the ranks were observed to lose, 3 and 4 are other activity
near the ranks and on the node, 5 is place and time. The share that a direct cause explains is not
attributed to an indirect cause again: other processes keep a CPU busy, so a rank waits for it, so
the rank is slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.stats.repeats.repeats import Repeats

# A difference over the sampling is divided by the sampling time; a level is not changed.
Scale = Literal["per second", "level"]
# Minimum share of the measurements for which a covariate must be known.
KNOWN = 0.8
# Whether a covariate counts the lost seconds of all ranks or of the rank or thread that lost most.
Lost = Literal["", "all", "a rank", "a thread"]


@dataclass(frozen=True)
class CovariateReading:
    """One covariate of a cause."""

    covariate: str
    scale: Scale = "per second"
    #: +1 if the cause raises it, -1 if it lowers it.
    sign: Literal[1, -1] = 1
    #: The covariate that it replaces in records without that covariate: a number of events instead
    #: of their duration.
    instead: str = ""
    #: Whose lost seconds it counts: of all ranks together, or of the rank or thread that lost most.
    #: These seconds bound the cost of the cause; empty for other covariates.
    lost: Lost = ""


@dataclass(frozen=True)
class Cause:
    """A cause that makes launches slow."""

    name: str
    tier: int
    #: Name of the cause in "62% of the variation is explained by ``words``".
    words: str
    #: Explanation of the cause.
    meaning: str
    #: What to do about the cause, a sentence.
    advice: str
    readings: tuple[CovariateReading, ...] = ()
    #: Causes that act through this one; if one of them is found, this cause is not reported in
    #: addition.
    way: tuple[str, ...] = ()


CAUSES: tuple[Cause, ...] = (
    Cause(
        name="steal",
        tier=0,
        words="steal time",
        meaning="the hypervisor gave the CPUs to other virtual machines",
        advice=(
            "Move to a dedicated host or instance type, or have the hypervisor pin the virtual "
            "CPUs."
        ),
        readings=(CovariateReading("steal_seconds", lost="all"),),
    ),
    Cause(
        name="quota",
        tier=0,
        words="a CPU quota",
        meaning="the ranks' control group had used up its share of CPU time and was throttled",
        advice="Request one CPU per rank and thread, or have the limit (cpu.max) lifted.",
        readings=(CovariateReading("quota_seconds", lost="a rank"),),
    ),
    Cause(
        name="competition",
        tier=0,
        words="waiting for a CPU",
        meaning="other processes ran on the ranks' cores",
        advice=(
            "Find what else runs there (`top -H`, cron, monitoring) and keep it off these "
            "cores: exclusive nodes, core isolation, or a core of each node left to the system."
        ),
        readings=(
            CovariateReading("worst_wait_seconds", lost="a thread"),
            CovariateReading("wait_seconds", lost="all"),
            CovariateReading("worst_involuntary_switches", instead="worst_wait_seconds"),
            CovariateReading("involuntary_switches", instead="wait_seconds"),
        ),
        # Threads that a quota holds back count as waiting for a CPU in the scheduler's accounting
        # (Linux 6.18).
        way=("quota",),
    ),
    Cause(
        name="clock",
        tier=0,
        words="the cores' clock",
        meaning="the cores ran at a different clock rate because of heat, power or a governor",
        advice="Set the governor to performance, and check power limits and cooling.",
        readings=(
            CovariateReading("clock_rate", "level", -1),
            CovariateReading("frequency", "level", -1),
            CovariateReading("throttle_events"),
        ),
    ),
    Cause(
        name="device clock",
        tier=0,
        words="the devices' clock",
        meaning="heat, power or a fault lowered the clock of a device",
        advice="Check the devices' power limit and cooling (`assay doctor`).",
        readings=(
            CovariateReading("device_clock", "level", -1),
            CovariateReading("device_throttled", "level"),
            CovariateReading("device_memory_clock", "level", -1),
            CovariateReading("device_temperature", "level"),
        ),
    ),
    Cause(
        name="device errors",
        tier=0,
        words="errors of the devices",
        meaning="the driver handled errors of a device or of its memory",
        advice="Look at the kernel's log and `assay doctor`, and have the device replaced.",
        readings=(
            CovariateReading("device_ecc_uncorrected"),
            CovariateReading("device_xid"),
        ),
    ),
    Cause(
        name="retransmits",
        tier=0,
        words="retransmitted TCP segments",
        meaning="the network lost packets: a shaped, congested or faulty link",
        advice=(
            "Look for drops and errors on the path (`ip -s link`, `tc -s qdisc`, the switch's "
            "ports)."
        ),
        readings=(CovariateReading("tcp_retransmits"),),
    ),
    Cause(
        name="disk faults",
        tier=0,
        words="page faults that read a disk",
        meaning="memory that the ranks used had to be read from disk",
        advice=(
            "Use fewer ranks per node or less memory per rank; find what else holds memory there."
        ),
        readings=(CovariateReading("major_faults"),),
    ),
    Cause(
        name="stopped",
        tier=2,
        words="ranks that were stopped or slept",
        meaning=(
            "a rank neither ran nor waited for a CPU: a CPU limiter (cpulimit), a debugger or a "
            "checkpointer stopped it, or it waited for a device"
        ),
        advice="Find what sends the ranks SIGSTOP, or what they wait for.",
        readings=(
            CovariateReading("asleep_seconds", lost="a rank"),
            CovariateReading("voluntary_switches", instead="asleep_seconds"),
        ),
        way=("memory", "disk faults", "devices", "retransmits", "quota", "steal"),
    ),
    Cause(
        name="memory",
        tier=1,
        words="a shortage or heavy use of memory",
        meaning="other processes used the node's memory, or the job's limit left too little of it",
        advice=(
            "Find what holds or streams through the node's memory; request exclusive nodes, or "
            "a higher limit."
        ),
        readings=(
            CovariateReading("memory_pressure_seconds"),
            CovariateReading("memory_latency", "level"),
            CovariateReading("memory_available", "level", -1),
            CovariateReading("swap_growth"),
        ),
    ),
    Cause(
        name="interrupts",
        tier=1,
        words="interrupts",
        meaning="CPUs served devices",
        advice="Move interrupts off the ranks' cores (irqbalance, /proc/irq/*/smp_affinity).",
        readings=(CovariateReading("interrupt_seconds"),),
    ),
    Cause(
        name="kernel",
        tier=3,
        words="the ranks' time in the kernel",
        meaning="page faults, system calls and network processing",
        advice="Check page faults, transparent huge pages, and the MPI library's system calls.",
        readings=(CovariateReading("system_seconds"), CovariateReading("minor_faults")),
    ),
    Cause(
        name="devices",
        tier=2,
        words="waiting for devices",
        meaning="a process on the node waited for a disk or a file system",
        advice="Find what reads or writes on these nodes.",
        readings=(CovariateReading("io_pressure_seconds"),),
        way=("memory", "disk faults"),
    ),
    Cause(
        name="shared caches",
        tier=3,
        words="work on neighbouring CPUs",
        meaning="processes ran on CPUs that share a core or a cache with the ranks' CPUs",
        advice=(
            "Find what runs there (`ps -eLo psr,pcpu,comm`), and request whole sockets or "
            "exclusive nodes."
        ),
        readings=(CovariateReading("neighbour_cpu_seconds"),),
    ),
    Cause(
        name="neighbours",
        tier=4,
        words="other processes on the nodes",
        meaning=(
            "they kept CPUs busy, but as far as observed none of the ranks' CPUs: caches, memory "
            "and a core's threads are shared"
        ),
        advice="Request exclusive nodes, or find what else runs there.",
        readings=(
            CovariateReading("other_cpu_seconds"),
            CovariateReading("load_average", "level"),
            CovariateReading("cpu_pressure_seconds"),
        ),
    ),
)

# Causes without a covariate: levels of place, time and concurrent runs.
HOSTS = Cause(
    "hosts",
    5,
    "the hosts that it ran on",
    "some hosts are slower than others",
    "Compare the nodes: `assay run --per-node`.",
)
CORES = Cause(
    "cores",
    5,
    "the CPUs that its ranks ran on",
    "some CPUs are slower than others",
    "Bind ranks to the other CPUs. Check the clock of the slow CPUs, their interrupts "
    "(/proc/interrupts), and what else is bound to them.",
)
BESIDE = Cause(
    "beside",
    3,
    "a concurrent run",
    "another run measured on the same hosts at the same time",
    "Run the runs one after the other, or on separate nodes.",
)
SESSIONS = Cause(
    "sessions",
    5,
    "the run or session that it was part of",
    "a change from one run or session to the next that no covariate records",
    "Compare the system and programs that the runs' manifests record.",
)
HOURS = Cause(
    "hours",
    5,
    "the time of day",
    "the machine is slower at some hours",
    "Look for what runs at those hours: backups, scans, other users' working day.",
)
TREND = Cause(
    "trend",
    5,
    "time",
    "it became slower or faster from the first launch to the last",
    "Look for something that grew or started in that time; `assay history` finds changes of level.",
)

LEVELS = (HOSTS, CORES, BESIDE, SESSIONS, HOURS, TREND)

_BY_COVARIATE = {
    reading.covariate: (cause, reading) for cause in CAUSES for reading in cause.readings
}


def cause_of(name: str) -> Cause:
    """The cause of that name. Raises KeyError."""
    return {cause.name: cause for cause in (*CAUSES, *LEVELS)}[name]


def reading_of(covariate: str) -> CovariateReading:
    """The reading of a covariate. Raises KeyError for a covariate that belongs to no cause."""
    return _BY_COVARIATE[covariate][1]


def scaled_covariate(repeats: Repeats, covariate: str) -> Floats:
    """A covariate by measurement, per second of sampling if it is a difference; nan if unknown."""
    values = np.asarray(repeats.covariates[covariate], dtype=np.float64)
    if reading_of(covariate).scale == "level":
        return values
    spans = repeats.covariates.get("sampling_seconds")
    if spans is None:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(spans > 0.0, values / spans, np.nan), dtype=np.float64)


# Units of levels that aren't bytes.
_LEVELS = {
    "clock_rate": "Hz",
    "frequency": "Hz",
    "device_clock": "Hz",
    "device_memory_clock": "Hz",
    "device_throttled": "1",
    "device_temperature": "°C",
    "memory_latency": "s",
    "load_average": "",
}


def unit_of(covariate: str) -> str:
    """The unit of ``scaled_covariate``: "1" for seconds per second."""
    if reading_of(covariate).scale == "per second":
        if covariate.endswith("_seconds"):
            return "1"
        return "B/s" if covariate == "swap_growth" else "1/s"
    return _LEVELS.get(covariate, "B")
