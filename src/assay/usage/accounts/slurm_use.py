"""What jobs of Slurm requested and used, from fields of sacct: memory, time, energy and GPUs.

CPU time, memory and their efficiencies are defined as in Slurm's ``seff``: CPU time is the sum over
a job's steps, its memory that of the step whose tasks' peaks have the greatest sum, and both are
compared with what was allocated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from assay.usage.accounts.stated import memory_in
from assay.usage.accounts.values import (
    fraction_of_seconds,
    gpus_of,
    memory,
    number_of,
    resources,
    scaled,
    seconds,
    whole,
)
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, JobRecord

# Fields of steps that tell what the job used. Those of the second group are only needed without
# the job's own field TotalCPU.
_USED = ("TRESUsageInTot", "MaxRSS", "ConsumedEnergyRaw", "ConsumedEnergy")
_TIMES = ("AveCPU", "NTasks")
TOTAL = "TotalCPU"
_GRES = re.compile(r"(?:gres[:/])?gpu(?::[A-Za-z]\w*)?[:=](\d{1,9})(?:\(.*)?", re.ASCII)


@dataclass
class StepUse:
    """What the steps of a job used so far; NaN if unknown. ``memory`` in bytes of the step that
    used most, ``processor_time`` in s of all steps if ``timed``, ``energy`` in J of the step that
    used most: energy is counted by nodes, which a job's steps share.
    """

    timed: bool = True
    memory: float = NAN
    processor_time: float = NAN
    energy: float = NAN

    def add(self, step: dict[str, str]) -> None:
        """Add the fields of a step."""
        self.memory = _greater(self.memory, _memory_of(step))
        if step.get("ConsumedEnergyRaw") or step.get("ConsumedEnergy"):
            self.energy = _greater(self.energy, energy_of(step))
        if self.timed and not math.isnan(time := _processor_time_of(step)):
            known = 0.0 if math.isnan(self.processor_time) else self.processor_time
            self.processor_time = known + time

    def complete(self, job: JobRecord) -> None:
        """Give a job what it does not state itself."""
        job.used_memory = _greater(job.used_memory, self.memory)
        if math.isnan(job.processor_time):
            job.processor_time = self.processor_time
        if math.isnan(job.energy):
            job.energy = self.energy


def used_fields(names: list[str]) -> list[tuple[str, int]]:
    """The fields of a table's steps that are needed, with their places."""
    needed = _USED if TOTAL in names else (*_USED, *_TIMES)
    return [(name, names.index(name)) for name in needed if name in names]


def _greater(known: float, more: float) -> float:
    return more if more > 0 and not known >= more else known


def _in_total(values: dict[str, str], name: str) -> str:
    """An amount of the field TRESUsageInTot, such as ``2G`` for the name ``mem=``; "" if absent."""
    text = values.get("TRESUsageInTot", "")
    rest = text[len(name) :] if text.startswith(name) else text.partition("," + name)[2]
    return rest.partition(",")[0]


def _memory_of(values: dict[str, str]) -> float:
    """Bytes that a step used: by all its tasks if recorded, else by the largest task."""
    total = _in_total(values, "mem=") or values.get("MaxRSS", "")
    return memory(total) if total else NAN


def _processor_time_of(values: dict[str, str]) -> float:
    """Processor time of a step in s: of all its tasks if recorded, else their mean × number."""
    total = seconds(_in_total(values, "cpu="))
    if total >= 0:
        return total
    tasks = whole(values.get("NTasks", ""))
    return tasks * seconds(values.get("AveCPU", "")) if tasks > 0 else NAN


def total_time(values: dict[str, str], *, running: bool) -> float:
    """``TotalCPU``, whose short times have milliseconds, in s; NaN if it is unknown.

    For a ``running`` job it only covers the steps that ended.
    """
    text = values.get(TOTAL, "")
    return NAN if running or not text else seconds(text) + fraction_of_seconds(text)


def energy_of(values: dict[str, str], allocated: dict[str, str] | None = None) -> float:
    """Energy in J of a job or a step; NaN if none was measured."""
    for text in (
        values.get("ConsumedEnergyRaw", ""),
        values.get("ConsumedEnergy", ""),
        allocated.get("energy", "") if allocated else "",
    ):
        if text and (joule := scaled(text)) > 0:
            return joule
    return NAN


def gpus(
    values: dict[str, str], allocated: dict[str, str], requested: dict[str, str], nodes: int
) -> int:
    """Number of GPUs; -1 if the table has no field of them."""
    for counts in (allocated, requested):
        if counts:
            return max(gpus_of(counts), 0)
    for name in ("AllocGRES", "ReqGRES"):  # per node
        if name in values:
            counted = [_GRES.fullmatch(part) for part in values[name].split(",")]
            return sum(int(match[1]) for match in counted if match) * max(nodes, 1)
    return -1


def requested_memory(
    values: dict[str, str],
    allocated: dict[str, str],
    line: int,
    out: JobCollector,
    *,
    processors: int,
    nodes: int,
) -> float:
    """Bytes that were allocated, as ``seff`` compares with, or else requested; NaN if unknown."""
    per = {"c": processors, "n": nodes}.get(values.get("ReqMem", "")[-1:], 1)
    value = memory_in(values, "ReqMem", line, out, "M")
    given = memory(allocated.get("mem", ""), "M")
    if given > 0:
        return given
    return value * per if value > 0 and per > 0 else NAN


def of_tres(values: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The allocated and the requested resources by name."""
    allocated, requested = (resources(values.get(f"{how}TRES", "")) for how in ("Alloc", "Req"))
    return allocated, requested


def allocated_processors(values: dict[str, str], allocated: dict[str, str], given: int) -> int:
    """The larger of ``AllocCPUS`` (``given``) and the allocated resource; -1 if unknown."""
    return max(given, number_of(allocated.get("cpu", "")), -1)
