"""What jobs used of what they got: processor time, memory, GPU time and energy, as sums over jobs.

A job's efficiencies are defined as in Slurm's ``seff``: processor time ÷ (run time × processors),
and memory used ÷ memory allocated. Over several jobs both parts are summed, so that a job counts in
proportion to the time for which it held its processors or its memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.usage.analysis.model import UsageEfficiency

# The amounts that are summed. ``…_of`` is what the amount before it is compared with.
AMOUNTS = (
    "jobs", "use", "processor_time", "processor_time_of", "memory", "memory_of", "gpu_time",
    "gpu_jobs", "energy", "energy_of",
)  # fmt: skip
_PLACES = {name: place for place, name in enumerate(AMOUNTS)}


@dataclass(frozen=True)
class JobUse:
    """Jobs by column: what they used and got; NaN if unknown."""

    #: Processor time held, processors × s.
    use: Floats
    #: Run time in s of jobs that ended, and their number of processors.
    run: Floats
    processors: Floats
    #: Processor time computed, s.
    processor_time: Floats
    #: ``used_memory``, ``requested_memory``: bytes.
    used_memory: Floats
    requested_memory: Floats
    #: Number of GPUs, and for how long the jobs held them, s.
    gpus: Floats
    held: Floats
    #: Energy, J.
    energy: Floats

    def cpu(self) -> Floats:
        """The CPU efficiency of each job."""
        return _ratio(self.processor_time, self.run * self.processors)

    def memory(self) -> Floats:
        """The memory efficiency of each job."""
        return _ratio(self.used_memory, self.requested_memory)

    def amounts(self) -> Floats:
        """The amounts of each job, shape (``AMOUNTS``, jobs)."""
        got = self.run * self.processors
        timed = ~np.isnan(self.cpu())
        measured = ~np.isnan(self.memory() * self.run)
        with_energy = ~np.isnan(self.energy) & (self.use > 0)
        rows = {
            "jobs": np.ones(self.use.size),
            "use": self.use,
            "processor_time": np.where(timed, self.processor_time, 0.0),
            "processor_time_of": np.where(timed, got, 0.0),
            "memory": np.where(measured, self.used_memory * self.run, 0.0),
            "memory_of": np.where(measured, self.requested_memory * self.run, 0.0),
            "gpu_time": np.nan_to_num(self.gpus * self.held),
            "gpu_jobs": (~np.isnan(self.gpus)).astype(np.float64),
            "energy": np.where(with_energy, self.energy, 0.0),
            "energy_of": np.where(with_energy, self.use, 0.0),
        }
        return np.array([rows[name] for name in AMOUNTS])


def _ratio(part: Floats, whole: Floats) -> Floats:
    known = (whole > 0) & (part >= 0)
    return np.where(known, part / np.where(known, whole, 1.0), np.nan)


def no_amounts() -> Floats:
    """The amounts of no job, to which others are added."""
    return np.zeros(len(AMOUNTS))


def amount(sums: Floats, name: str) -> float:
    """One of the summed amounts."""
    return float(sums[_PLACES[name]])


def efficiency_of(sums: Floats) -> UsageEfficiency | None:
    """The efficiency of jobs with these amounts; None if the log states nothing of it."""

    def of(name: str, whole: str) -> float | None:
        return amount(sums, name) / amount(sums, whole) if amount(sums, whole) > 0 else None

    cpu, memory, power = (
        of("processor_time", "processor_time_of"),
        of("memory", "memory_of"),
        of("energy", "energy_of"),
    )
    gpus = amount(sums, "gpu_time") if amount(sums, "gpu_jobs") else None
    if cpu is None and memory is None and power is None and gpus is None:
        return None
    return UsageEfficiency(
        cpu=cpu,
        processor_time=None if cpu is None else amount(sums, "processor_time"),
        memory=memory,
        gpu_time=gpus,
        energy=None if power is None else amount(sums, "energy"),
        power=power,
    )
