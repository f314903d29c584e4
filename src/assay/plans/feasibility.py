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
from assay.model.plan import PlanContext, UsableDevices
from assay.model.rank_order import order_problem
from assay.model.replication import Replication
from assay.plans.adapters import adapter_problem
from assay.plans.levels import DEVICES_USED, Names
from assay.plans.plan_target import Fitting, Infeasible
from assay.reference.accelerators import ARITHMETIC_TYPES, identify
from assay.units import counted, format_duration, format_quantity

# Shorter times are not recorded, because they don't affect the division of a budget.
_SHORTEST = 0.01
# Seconds in which a kernel's device is opened, its text compiled and its results checked. OpenCL's
# driver for processors (PoCL) needs 0.4 to 1.1 s of one CPU for the text of a product. The others
# weren't measured: their drivers start in about a second, which the cells of a launch share. Before
# a job runs, the backend is unknown.
_DEVICE_SECONDS = {"opencl": 1.0, "cuda": 0.5, "hip": 0.5, "auto": 0.5}


def with_factor(
    names: Names, factor: str, value: Value, kernel: Kernel, where: str, fitting: Fitting
) -> dict[str, Value]:
    """The names with one more factor. Raises Infeasible if the machine or kernel can't do it."""
    known = {**names, DEVICES_USED if factor == "devices" else factor: value}
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
    elif factor == "devices":
        there = fitting.context.find_devices() if value else None
        if there is not None and int(value) > there.count:
            raise Infeasible(
                f"devices = {value}, but a node has {counted(there.count, 'device')}.", where=where
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
        if int(value) < int(known[DEVICES_USED]):
            raise Infeasible(
                f"devices = {known[DEVICES_USED]}, but there {_are(int(value), 'rank')} per node "
                "to use them.",
                where=where,
                fix=f"Set ppn to {known[DEVICES_USED]} or more, or request fewer devices.",
            )
        if kernel.min_devices:
            used = int(known[DEVICES_USED]) or int(value)
            _check_devices(used, fitting.context.find_devices(), where)
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
        if value == "near-device" and kernel.outside:
            raise Infeasible(
                "binding = near-device, but only assay's own kernels can be bound near devices.",
                where=where,
                fix="Use another binding, or the scheduler's (srun --gpu-bind=closest).",
            )
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


def device_shortage(kernel: Kernel, found: UsableDevices | None, where: str) -> Infeasible | None:
    """Why a node with these devices can't run a kernel; None if it can, or if they are unknown."""
    if found is None or found.count >= kernel.min_devices:
        return None
    if found.count == 0:
        return Infeasible(
            "this machine has no device that CUDA, HIP or OpenCL finds.",
            where=where,
            fix="`assay doctor` says which driver or library is missing.",
        )
    return Infeasible(
        f"{counted(found.count, 'device')} per node, but it needs at least {kernel.min_devices}.",
        where=where,
    )


def _check_devices(ppn: int, found: UsableDevices | None, where: str) -> None:
    """Raise Infeasible if the ranks of a node are more than its devices."""
    if found is None or ppn <= found.count:
        return
    raise Infeasible(
        f"ppn = {ppn} needs {counted(ppn, 'device')}, but a node has {found.count}.",
        where=where,
        fix="Each rank uses a device of its own: request fewer ranks per node, or let them share "
        "devices (devices = 1).",
    )


def _on_devices(parameters: Mapping[str, Value], context: PlanContext) -> Mapping[str, Value]:
    """The parameters, with the backend that ``auto`` will be if it is known."""
    found = context.find_devices()
    known = parameters.get("backend") == "auto" and found is not None and found.backend
    return {**parameters, "backend": found.backend} if known and found else parameters


def _type_without_peak(parameters: Mapping[str, Value], context: PlanContext) -> str | None:
    """A sentence if the vendor states peaks of the device, but none of this type; else None."""
    found, kind = context.find_devices(), str(parameters.get("type", ""))
    model = identify(found.name) if found is not None and found.name else None
    if model is None or kind not in ARITHMETIC_TYPES or model.peak(kind) is not None:
        return None
    return f"its vendor states no peak of {kind} for {model.name}."


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
    parameters = _on_devices(cell.parameters, context) if kernel.min_devices else cell.parameters
    wrong = kernel.check(parameters, placement) if kernel.check else None
    if wrong is None and kernel.min_devices:
        wrong = _type_without_peak(parameters, context)
    if wrong is not None:
        return Infeasible(wrong, where=where)
    older = context.older_mpi.get(cell.toolchain)
    lacks = kernel.needs_mpi_4(cell.parameters) if kernel.needs_mpi_4 and older else None
    if lacks is not None:
        return Infeasible(
            f"{lacks} needs MPI 4, and toolchain '{cell.toolchain}' has {older}.",
            where=where,
            fix="Use MPICH 4 or Open MPI 5, or later.",
        )
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
    found = {cell.id: _of_cell(cell, context) + device_seconds(cell, context) for cell in cells}
    return {name: seconds for name, seconds in found.items() if seconds >= _SHORTEST}


def device_seconds(cell: Cell, context: PlanContext) -> float:
    """Seconds that the shortest measurement on a device needs besides its samples: its driver
    starts, compiles and runs each part for the first time. 0 for other cells, and on devices of a
    backend without a name, which are made up.
    """
    kernel, parameters = known_kernel(cell.kernel), cell.parameters
    if kernel is None or not (kernel.min_devices or "backend" in parameters):
        return 0.0
    backend = str(parameters.get("backend", "auto"))
    if backend == "auto":
        found = context.find_devices()
        backend = "auto" if found is None else found.backend
    return _DEVICE_SECONDS.get(backend, 0.0)


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
