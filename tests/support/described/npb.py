"""Times of the NPB on a machine that isn't there, from one measurement on one of its nodes.

The work is the catalogue's, for any class and number of ranks; its messages and bytes are compared
with counted calls in tests. What a core does in cache is taken from a measurement of the same
kernel on one node: the time that memory does not explain.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.kernels import find_kernel
from assay.kernels.naming import kernel_code
from assay.models.calls.npb import npb_messages
from described.figure import MachineFigure
from described.machine import DescribedMachine
from described.programs import (
    Predicted,
    ProgramTime,
    ProgramWork,
    program_time,
    propagate,
)

# A core is at least this fast in cache, as a share of the measured rate; memory can't explain all.
_LEAST_COMPUTING = 0.05


@dataclass(frozen=True)
class NodeMeasurement:
    """A kernel that was measured on one node: ``seconds`` with ``ranks`` ranks of one thread."""

    kernel: str
    npb_class: str
    ranks: int
    seconds: MachineFigure


def npb_work(kernel: str, npb_class: str, ranks: int) -> ProgramWork:
    """The work of all ranks, with the messages between two ranks that all calls come to.

    Integer sort counts an operation per key.
    """
    entry = find_kernel(kernel)
    parameters = {each.name: each.default for each in entry.parameters} | {"class": npb_class}
    counted = dict(entry.work(parameters, ranks, 1))
    if not counted.get("flops"):
        counted["flops"] = counted["operations"]
    messages = npb_messages(kernel_code(kernel).lower(), npb_class, ranks)
    sent = sum(size * number for size, number in messages.items())
    return ProgramWork(counted["flops"], counted["traffic"], sum(messages.values()), sent)


def core_rate(machine: DescribedMachine, measured: NodeMeasurement) -> float:
    """flop/s of a rank in cache (IS: keys/s), by what memory leaves of the measured time."""
    work = npb_work(measured.kernel, measured.npb_class, measured.ranks)
    memory = work.traffic / machine.node.bandwidth(measured.ranks)
    seconds = measured.seconds.value
    computing = max(seconds - memory, _LEAST_COMPUTING * seconds)
    return work.flops / measured.ranks / computing


def npb_time(
    machine: DescribedMachine, measured: NodeMeasurement, npb_class: str, ranks: int, per_node: int
) -> ProgramTime:
    """Seconds by cause. Raises ValueError if the ranks don't fit the machine."""
    work = npb_work(measured.kernel, npb_class, ranks)
    return program_time(machine, work, core_rate(machine, measured), ranks, per_node)


def predict_npb(
    machine: DescribedMachine, measured: NodeMeasurement, npb_class: str, ranks: int, per_node: int
) -> Predicted:
    """The time with its 90% interval, by the figures' uncertainty, and what is extrapolated.

    The interval has no part for the model itself: overlap, waiting, contention beyond the busiest
    link.
    """
    beyond = []
    if npb_class != measured.npb_class:
        beyond.append(f"class {npb_class} from class {measured.npb_class}")
    if ranks > measured.ranks:
        beyond.append(f"{ranks} ranks from {measured.ranks}")
    if per_node != measured.ranks:
        beyond.append(f"{per_node} ranks per node from {measured.ranks}")

    def seconds(drawn: DescribedMachine) -> float:
        return npb_time(drawn, measured, npb_class, ranks, per_node).seconds

    return propagate(machine, seconds, tuple(beyond))
