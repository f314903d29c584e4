"""Whether a machine and a kernel can do what a plan requests, checked before any launch.

The expected time of measurements on a network, from the speed of its links, is a lower bound:
messages that share a link further inside the network take longer. Plans choose message sizes by
this bound and leave out cells that can't end in time. No result depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.kernels import known_kernel
from assay.kernels.catalogue import Kernel
from assay.kernels.naming import cell_name
from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.model.plan import PlanContext
from assay.model.rank_order import order_problem
from assay.model.replication import Replication
from assay.plans.adapters import adapter_problem
from assay.plans.levels import Names
from assay.plans.plan_target import Fitting, Infeasible
from assay.units import counted, format_duration, format_quantity

# Shorter times are not recorded, because they don't affect the division of a budget.
_SHORTEST = 0.01


def with_factor(
    names: Names, factor: str, value: Value, kernel: Kernel, where: str, fitting: Fitting
) -> dict[str, Value]:
    """The names with one more factor. Raises Infeasible if the machine or kernel can't do it."""
    known = {**names, factor: value}
    if factor == "nodes":
        machine = fitting.context.nodes
        if int(value) > machine:
            raise Infeasible(f"nodes = {value}, but there {_are(machine, 'node')}.", where=where)
    elif factor == "smt":
        if value == "on" and fitting.context.threads_per_core == 1:
            raise Infeasible(
                "smt = on, but a core has 1 hardware thread here.",
                where=where,
                fix='smt = "each" includes it only on machines with more.',
            )
    elif factor == "ppn":
        ranks = known["ranks"] = int(known["nodes"]) * int(value)
        if ranks < kernel.min_ranks:
            raise Infeasible(
                f"{counted(ranks, 'rank')}, but it needs at least {kernel.min_ranks}.",
                where=where,
                fix=f"Set ppn or nodes so that there are {kernel.min_ranks} ranks or more.",
            )
        if kernel.max_ranks is not None and ranks > kernel.max_ranks:
            raise Infeasible(
                f"{counted(ranks, 'rank')}, but it takes at most {kernel.max_ranks}.", where=where
            )
        _check_cores(int(value), 1, str(known["smt"]), where, fitting)
    elif factor == "threads":
        if int(value) > 1 and not kernel.threaded:
            raise Infeasible(
                f"threads = {value}, but '{kernel.name}' has no threads.",
                where=where,
                fix="Leave threads at 1.",
            )
        _check_cores(int(known["ppn"]), int(value), str(known["smt"]), where, fitting)
    elif factor == "binding":
        _check_numa_node(known, where, fitting)
    elif (parameter := kernel.parameter(factor)) and parameter.numa_node and int(value) >= 0:
        _has_numa_node(int(value), where, fitting.context)
    elif factor == "order":
        infeasible = order_problem(str(value), int(known["ranks"]))
        if infeasible is not None:
            raise Infeasible(infeasible, where=where, fix="List one seat per rank.")
    elif factor == "adapter":
        wrong = adapter_problem(str(value), int(known["nodes"]), fitting.context.adapters)
        if wrong is not None:
            raise Infeasible(wrong.what, where=where, fix=wrong.fix)
    return known


def _has_numa_node(node: int, where: str, context: PlanContext) -> None:
    if context.numa and node not in context.numa:
        raise Infeasible(
            f"There is no NUMA node {node}.",
            where=where,
            fix=f"NUMA nodes here: {', '.join(map(str, sorted(context.numa)))}.",
        )


def _check_numa_node(names: Names, where: str, fitting: Fitting) -> None:
    """Raise Infeasible if the binding names a NUMA node that is missing or has too few cores."""
    context = fitting.context
    node = Placement(binding=str(names["binding"])).numa_node
    if node is None or not context.numa:
        return
    _has_numa_node(node, where, context)
    ppn, threads = int(names["ppn"]), int(names["threads"])
    shared = names["smt"] == "on"
    have = context.numa[node] * (context.threads_per_core if shared else 1)
    what = "hardware thread" if shared else "core"
    if ppn * threads > have and not (fitting.oversubscribe and have):
        raise Infeasible(
            f"binding = numa:{node} with {counted(ppn, 'rank')} of {counted(threads, 'thread')}"
            f" needs {counted(ppn * threads, what)}, but NUMA node {node} has {have}.",
            where=where,
            fix="Request fewer ranks or threads, or another binding.",
        )


def _check_cores(ppn: int, threads: int, smt: str, where: str, fitting: Fitting) -> None:
    context = fitting.context
    have, what = context.cores, "core"
    option = "--oversubscribe" if where.startswith("--") else "oversubscribe = true in the plan"
    fix = f"Request fewer, or allow several per core: {option}."
    if smt == "on":
        have, what = context.hardware_threads, "hardware thread"
    elif context.threads_per_core > 1:
        fix = 'Request fewer, or let threads share cores with smt = "on".'
    if ppn * threads > have and not fitting.oversubscribe:
        requested = f"ppn = {ppn}" + (f" with threads = {threads}" if threads > 1 else "")
        raise Infeasible(
            f"{requested} needs {counted(ppn * threads, what)}, but a node has {have}.",
            where=where,
            fix=fix,
        )


def infeasibility(
    cell: Cell, kernel: Kernel, context: PlanContext, where: str
) -> Infeasible | None:
    """Why a cell can't be measured on this machine, by its parameters and placement; else None."""
    placement = cell.placement
    wrong = kernel.check(cell.parameters, placement) if kernel.check else None
    if wrong is not None:
        return Infeasible(wrong, where=where)
    crowded = _crowded_numa_node(placement, context)
    if crowded is not None:
        return Infeasible(crowded, where=where, fix="Use another binding.")
    if kernel.memory is None or context.memory is None:
        return None
    need = kernel.memory(cell.parameters, placement.ranks, placement.threads) * placement.ppn
    if need <= context.memory:
        return None
    return Infeasible(
        f"{cell_name(cell)} needs {format_quantity(need, 'B')} per node, but "
        f"{format_quantity(context.memory, 'B')} are available.",
        where=where,
        fix="Use a smaller size, or fewer ranks per node.",
    )


def _crowded_numa_node(placement: Placement, context: PlanContext) -> str | None:
    """A sentence if binding = per-numa puts more threads on a NUMA node than it has; else None."""
    nodes = {number: cores for number, cores in context.numa.items() if cores}
    if placement.binding != "per-numa" or len(nodes) < 2:
        return None
    here = -(-placement.ppn // len(nodes)) * placement.threads
    each = context.threads_per_core if placement.smt == "on" else 1
    number, cores = min(nodes.items(), key=lambda item: item[1])
    if here <= cores * each:
        return None
    return (
        f"binding = per-numa with {counted(placement.ppn, 'rank')} of "
        f"{counted(placement.threads, 'thread')} puts {here} threads on a NUMA node, but node "
        f"{number} has {cores * each}."
    )


def _are(number: int, noun: str) -> str:
    return ("is " if number == 1 else "are ") + counted(number, noun)


def link_speed(nodes: int, context: PlanContext) -> float | None:
    """B/s that messages between this number of nodes get at most; None if unknown.

    Two nodes are limited by their adapters, more nodes by the slowest link of the network.
    """
    speeds = [context.adapter_speed, context.slowest_link if nodes > 2 else None]
    return min((speed for speed in speeds if speed and speed > 0), default=None)


def network_seconds(
    kernel: Kernel, parameters: Mapping[str, Value], nodes: int, ppn: int, context: PlanContext
) -> float:
    """Seconds that the shortest measurement needs for its messages: set-up, one sample, check.

    0 within a node, for a kernel without messages, and if the links' speed is unknown.
    """
    speed = link_speed(nodes, context)
    if speed is None or nodes < 2 or kernel.link_bytes is None:
        return 0.0
    return kernel.link_bytes(parameters, nodes, ppn) / speed


def expected_times(cells: Sequence[Cell], context: PlanContext) -> dict[str, float]:
    """Seconds of the shortest measurement by cell id, for cells with a considerable time."""
    found = {cell.id: _of_cell(cell, context) for cell in cells}
    return {name: seconds for name, seconds in found.items() if seconds >= _SHORTEST}


def within_time(
    cells: Sequence[Cell], rule: Replication, context: PlanContext
) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """The cells that can end in time, and a note on each other cell.

    "In time" means within the part of a plan's time that one measurement may take
    (``Replication.longest``).
    """
    kept, notes = [], []
    for cell in cells:
        seconds, longest = _of_cell(cell, context), rule.longest(len(cells))
        if seconds <= longest:
            kept.append(cell)
            continue
        speed = link_speed(cell.placement.nodes, context) or 0.0
        notes.append(
            f"Left out {cell_name(cell)}: over links of {format_quantity(speed * 8, 'bit/s')} the "
            f"shortest measurement takes {format_duration(seconds)}, and one may take "
            f"{format_duration(longest)} here; a longer --budget includes it."
        )
    return tuple(kept), tuple(notes)


def _of_cell(cell: Cell, context: PlanContext) -> float:
    kernel, placement = known_kernel(cell.kernel), cell.placement
    if kernel is None:
        return 0.0
    return network_seconds(kernel, cell.parameters, placement.nodes, placement.ppn, context)
