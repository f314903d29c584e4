"""The largest of a parameter's choices that suits a machine, such as the class of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from assay.kernels.catalogue import Kernel, Parameter, Work, WorkFormula
from assay.model.placement import Value
from assay.model.plan import PlanContext
from assay.plans.feasibility import network_seconds
from assay.plans.levels import LargestLevel, Names, read_parameter


@dataclass(frozen=True)
class ParameterChoice:
    """The chosen value of a parameter, with the reason."""

    #: Value chosen, None if no choice meets the condition and fits into memory.
    value: Value | None
    #: Reason for the choice.
    why: str


def largest_choice(
    written: LargestLevel, parameter: Parameter, kernel: Kernel, names: Names, context: PlanContext
) -> ParameterChoice:
    """The last choice that meets the condition and fits into a node's memory.

    The choices come from the parameter, or are written with the condition. The condition may
    use the kernel's work (``operations`` …) with that choice, ``core_seconds``: the approximate
    time on one core, and ``seconds``: that of the shortest measurement's messages. Memory must be
    enough both for one rank and for one rank per core, so that a sweep over ranks has the same
    choice throughout. Raises AssayError for an invalid condition.
    """
    too_large = False
    values = [read_parameter(level, parameter, names) for level in written.among]
    for value in reversed(values or parameter.choices):
        parameters = {p.name: names.get(p.name, p.default) for p in kernel.parameters}
        parameters[parameter.name] = value
        work = _work(
            kernel.work, tuple(parameters.items()), int(names["ranks"]), int(names["threads"])
        )
        nodes, ppn = int(names["nodes"]), int(names["ppn"])
        seconds = network_seconds(kernel, parameters, nodes, ppn, context)
        known = {**names, **work, parameter.name: value, "seconds": seconds}
        if kernel.pace is not None:
            known["core_seconds"] = work["operations"] / kernel.pace
        if not written.condition.value(known, where=written.where):
            continue
        if _fits(kernel, parameters, context):
            why = f"the largest with {written.condition.text}"
            return ParameterChoice(value, why + (" that memory can hold" if too_large else ""))
        too_large = True
    why = f"no {parameter.name} has {written.condition.text}"
    return ParameterChoice(None, why + (" and fits into memory" if too_large else ""))


@lru_cache(maxsize=4096)
def _work(
    work: WorkFormula, parameters: tuple[tuple[str, Value], ...], ranks: int, threads: int
) -> Work:
    """A kernel's work; cached, since every binding, order and so on of a plan needs it."""
    return work(dict(parameters), ranks, threads)


def _fits(kernel: Kernel, parameters: Mapping[str, Value], context: PlanContext) -> bool:
    if kernel.memory is None or context.memory is None:
        return True
    counts = {1, max(context.cores, 1)}
    return all(ppn * kernel.memory(parameters, ppn, 1) <= context.memory for ppn in counts)
