"""Whether a machine and a kernel can do what a plan asks for, before anything is launched."""

from __future__ import annotations

from assay.kernels.catalogue import Kernel
from assay.kernels.naming import cell_name
from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.model.plan import PlanContext
from assay.model.rank_order import order_problem
from assay.plans.adapters import adapter_problem
from assay.plans.levels import Names
from assay.plans.plan_target import Fitting, Infeasible
from assay.units import counted, format_quantity


def with_factor(
    names: Names, factor: str, value: Value, kernel: Kernel, where: str, fitting: Fitting
) -> dict[str, Value]:
    """The names with one factor more. Raises Misfit if the machine or the kernel can't do it."""
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
                fix='"each" takes it where there are more.',
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
    """Whether the node that the binding names is there, and has a core for each thread."""
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
            fix="Ask for fewer ranks or threads, or for another binding.",
        )


def _check_cores(ppn: int, threads: int, smt: str, where: str, fitting: Fitting) -> None:
    context = fitting.context
    have, what = context.cores, "core"
    option = "--oversubscribe" if where.startswith("--") else "oversubscribe = true in the plan"
    fix = f"Ask for less, or allow several on a core: {option}."
    if smt == "on":
        have, what = context.hardware_threads, "hardware thread"
    elif context.threads_per_core > 1:
        fix = 'Ask for less, or let threads share cores with smt = "on".'
    if ppn * threads > have and not fitting.oversubscribe:
        asked = f"ppn = {ppn}" + (f" with threads = {threads}" if threads > 1 else "")
        raise Infeasible(
            f"{asked} needs {counted(ppn * threads, what)}, but a node has {have}.",
            where=where,
            fix=fix,
        )


def infeasibility(
    cell: Cell, kernel: Kernel, context: PlanContext, where: str
) -> Infeasible | None:
    """Why a cell can't be measured on this machine, of what its parameters and placement tell."""
    placement = cell.placement
    wrong = kernel.check(cell.parameters, placement) if kernel.check else None
    if wrong is not None:
        return Infeasible(wrong, where=where)
    crowded = _crowded_numa_node(placement, context)
    if crowded is not None:
        return Infeasible(crowded, where=where, fix="Ask for another binding.")
    if kernel.memory is None or context.memory is None:
        return None
    need = kernel.memory(cell.parameters, placement.ranks, placement.threads) * placement.ppn
    if need <= context.memory:
        return None
    return Infeasible(
        f"{cell_name(cell)} needs {format_quantity(need, 'B')} per node, but "
        f"{format_quantity(context.memory, 'B')} are available.",
        where=where,
        fix="Take a smaller size, or fewer ranks per node.",
    )


def _crowded_numa_node(placement: Placement, context: PlanContext) -> str | None:
    """Where the ranks that are dealt to a NUMA node take more than it has: a sentence."""
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


def _are(number: int, thing: str) -> str:
    return ("is " if number == 1 else "are ") + counted(number, thing)
