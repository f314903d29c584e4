"""Other processes on the machines of some measurements, by the covariate ``other_cpu_seconds``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.records.model import Measurement

# CPUs per machine kept busy by other processes. Daemons of a quiet node take a few hundredths of a
# CPU.
BUSY = 0.1
# Error of the CPU time per measurement and CPU, s: /proc/stat counts in steps of 10 ms, at the
# start and at the end.
TICKS = 0.02
# Maximum difference in seconds of hosts' monotonic clocks that are the same clock. Monotonic clocks
# begin at boot, so that the clocks of two machines differ by far more.
_SAME_CLOCK = 1e-3


@dataclass(frozen=True)
class Contention:
    """Other processes during measurements."""

    #: Number of CPUs that other processes kept busy on all machines together, averaged over the
    #: time of sampling.
    busy: float
    #: CPU time of these processes, s.
    seconds: float
    #: Number of hardware threads of these machines; None if unknown.
    cpus: int | None
    #: Number of machines; hosts that share a machine count once.
    machines: int
    #: Number of measurements.
    spans: int

    @property
    def noticeable(self) -> bool:
        """Whether they kept more than a tenth of a CPU per machine busy, beyond the clock's error.

        See ``BUSY`` and ``TICKS``.
        """
        return self.busy > BUSY * self.machines and self.seconds > TICKS * self.spans

    @property
    def share(self) -> float | None:
        """Share of the machines' CPUs, at most 1; None if their number is unknown."""
        return min(self.busy / self.cpus, 1.0) if self.cpus else None

    @property
    def possible(self) -> bool:
        """Whether this many CPUs can have been busy, given the error of each CPU's time."""
        if not self.cpus or self.busy <= 0.0:
            return True
        sampled = self.seconds / self.busy
        return self.seconds <= self.cpus * (sampled + TICKS * self.spans)


def contention_of(
    measurements: Sequence[Measurement], system: Mapping[str, object]
) -> Contention | None:
    """CPU time of other processes during these measurements; None if it was not recorded.

    ``system``: the facts of the run's manifest, for streams that don't state the number of CPUs.
    """
    known = [
        (taken, m.record.covariates.get("sampling_seconds") or m.record.wall, m)
        for m in measurements
        if (taken := m.record.covariates.get("other_cpu_seconds")) is not None
    ]
    sampled = sum(seconds for _, seconds, _ in known)
    if sampled <= 0.0:
        return None
    total = sum(taken for taken, _, _ in known)
    widest = max((m for _, _, m in known), key=lambda m: len(m.ranks))
    counted = [m.record.covariates.get("online_cpus") for _, _, m in known]
    most = max((number for number in counted if number), default=None)
    cpus = _from_manifest(widest, system) if most is None else round(most)
    return Contention(total / sampled, total, cpus, machines_of(widest), len(known))


def machines_of(measurement: Measurement) -> int:
    """Number of machines of a measurement. Hosts whose monotonic clocks agree share a machine."""
    hosts = dict.fromkeys(rank.host for rank in measurement.ranks)
    clocks = {rank.host: rank.clocks.monotonic for rank in measurement.ranks if rank.clocks}
    if not hosts or len(clocks) < len(hosts):
        return max(len(hosts), 1)
    offsets: list[float] = []
    for clock in sorted(clocks.values(), key=lambda clock: clock.offset):
        if not offsets or clock.offset - offsets[-1] > _SAME_CLOCK + clock.error:
            offsets.append(clock.offset)
    return len(offsets)


def shared_cpus(measurement: Measurement) -> int | None:
    """Number of CPUs of the machine that all hosts share, as in a virtual cluster; else None."""
    hosts = {rank.host for rank in measurement.ranks}
    cpus = measurement.record.covariates.get("online_cpus")
    if len(hosts) < 2 or machines_of(measurement) != 1 or not cpus:
        return None
    return round(cpus)


def _from_manifest(measurement: Measurement, system: Mapping[str, object]) -> int | None:
    """Hardware threads of the measured machines by the manifest, which describes the host that
    assay ran on; None unless that is the one machine that was measured.
    """
    hosts = {rank.host for rank in measurement.ranks}
    names = system.get("os")
    here = names.get("hostname") if isinstance(names, Mapping) else None
    # Several hosts on one machine are a virtual cluster, which assay makes where it runs.
    if machines_of(measurement) != 1 or not (here in hosts or len(hosts) > 1):
        return None
    processor = system.get("processor")
    threads = processor.get("threads") if isinstance(processor, Mapping) else None
    return threads if isinstance(threads, int) and threads > 0 else None
