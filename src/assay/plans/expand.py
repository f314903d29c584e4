"""Factors × levels → cells, on a given machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from assay.errors import AssayError, nearest
from assay.kernels import find_kernel, parameters_text
from assay.kernels.catalogue import Kernel
from assay.plans.adapters import adapter_misfit, read_adapter
from assay.plans.expression import Expression, parse_expression
from assay.plans.largest import largest_choice
from assay.plans.levels import Largest, Level, Names, Written, read_parameter, spread
from assay.plans.model import BINDINGS, OWN_TOOLCHAIN, SMT, Cell, Placement, PlanContext, Value
from assay.plans.order import FITTED, ORDERS, order_misfit, read_order
from assay.units import format_quantity

if TYPE_CHECKING:
    from assay.plans.fitted_order import Matrix

PLACEMENT_WORDS = ("nodes", "smt", "ppn", "threads", "order", "binding", "adapter", "node_set")
FACTORS = ("toolchain", *PLACEMENT_WORDS)
MOST_CELLS = 100_000
# The toolchains that are there to be compared, or all: there must be two.
SEVERAL = "several"

_CHOICES = {"binding": (*BINDINGS, "numa:NODE", "numa:all"), "smt": (*SMT, "each")}


@dataclass(frozen=True)
class Measure:
    """One ``[[measure]]``: a kernel and its factors as written. ``keep``: which cells to make.

    ``search``: that only those cells are measured which the search for the best placement asks for.
    """

    kernel: str
    factors: Mapping[str, tuple[Written, ...]]
    where: str = ""
    keep: Expression | None = None
    keep_where: str = ""
    search: bool = False


@dataclass(frozen=True)
class Messages:
    """What the ranks of a command send each other: bytes, shape (ranks, ranks), and its file."""

    matrix: Matrix
    where: str

    @property
    def ranks(self) -> int:
        """Of how many ranks it tells."""
        return int(self.matrix.shape[0])


@dataclass
class Fitting:
    """What to do with a level that this machine can't do: drop it with a note, or refuse.

    ``choices``: sentences on what was chosen by the machine; ``pending``: those of the cells that
    are just being made, by factor. ``searched``, ``measured``: ids of the cells of measures that
    are a search, and of those that are not. ``messages``: what a command's ranks send each other,
    None if nobody knows; ``fitted``: ids of the cells whose order suits what theirs send.
    """

    context: PlanContext
    portable: bool = False
    oversubscribe: bool = False
    notes: dict[str, None] = field(default_factory=dict)
    choices: dict[str, None] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    searched: set[str] = field(default_factory=set)
    measured: set[str] = field(default_factory=set)
    messages: Messages | None = None
    fitted: set[str] = field(default_factory=set)


class Misfit(AssayError):
    """A level that is right by itself and too much, or too little, for this machine."""


def expand(measures: Iterable[Measure], fitting: Fitting) -> tuple[Cell, ...]:
    """All cells in the order written, equal ones merged.

    Raises AssayError for whatever is wrong wherever it would run, and, unless the plan is portable,
    for what this machine can't do; a portable plan leaves that out, and ``fitting.notes`` says so.
    """
    cells: dict[str, Cell] = {}
    for measure in measures:
        kernel = find_kernel(measure.kernel, where=measure.where)
        _check_factors(measure, kernel)
        for cell in _cells_of(measure, kernel, fitting):
            cells.setdefault(cell.id, cell)
            (fitting.searched if measure.search else fitting.measured).add(cell.id)
            if len(cells) > MOST_CELLS:
                raise AssayError(
                    f"The plan has more than {MOST_CELLS} cells.",
                    where=measure.where,
                    mend="Take fewer levels.",
                )
    if not cells:
        raise AssayError(
            "Nothing of this plan can be measured here.", detail="\n".join(fitting.notes)
        )
    return tuple(cells.values())


def _check_factors(measure: Measure, kernel: Kernel) -> None:
    valid = [parameter.name for parameter in kernel.parameters]
    for name, levels in measure.factors.items():
        if name not in FACTORS and name not in valid:
            raise AssayError(
                f"Kernel '{kernel.name}' has no parameter '{name}', and it is no placement word.",
                where=levels[0].where,
                mend=nearest(name, (*valid, *FACTORS)),
            )


def _cells_of(measure: Measure, kernel: Kernel, fitting: Fitting) -> Iterator[Cell]:
    """Walk the factors in an order in which each may speak of those before it."""
    context = fitting.context
    parameters = [parameter.name for parameter in kernel.parameters]
    order = (*FACTORS, *parameters)
    fitting.pending.clear()

    def walk(depth: int, names: dict[str, Value]) -> Iterator[Cell]:
        if depth == len(order):
            if measure.keep is None or measure.keep.value(names, where=measure.keep_where):
                cell = _make_cell(names, kernel, parameters, context)
                misfit = _misfit(cell, kernel, context, measure)
                if misfit is None and cell.placement.order == FITTED:
                    try:
                        cell = _with_fitted_order(cell, kernel, fitting)
                    except Misfit as unfit:
                        misfit = unfit
                if misfit is None:
                    fitting.choices |= dict.fromkeys(fitting.pending.values())
                    yield cell
                elif fitting.portable:
                    fitting.notes.setdefault(f"Left out {kernel.name}: {misfit.what}")
                else:
                    raise misfit
            return
        factor = order[depth]
        for written in measure.factors.get(factor, (None,)):
            fitting.pending.pop(factor, None)
            try:
                values = list(_values(factor, written, kernel, names, fitting))
            except Misfit as misfit:
                if not fitting.portable:
                    raise
                fitting.notes.setdefault(f"Left out {kernel.name}: {misfit.what}")
                continue
            for value in values:
                try:
                    known = _with_factor(names, factor, value, kernel, written, measure, fitting)
                except Misfit as misfit:
                    if not fitting.portable:
                        raise
                    fitting.notes.setdefault(f"Left out {kernel.name}: {misfit.what}")
                    continue
                yield from walk(depth + 1, known)

    machine: dict[str, Value] = {
        "cores": context.cores,
        "nodes": context.nodes,
        "hardware_threads": max(context.hardware_threads, context.cores),
        "numa_nodes": max(len(context.numa), 1),
        "caches": context.caches,
    }
    yield from walk(0, machine)


def _make_cell(names: Names, kernel: Kernel, parameters: list[str], context: PlanContext) -> Cell:
    adapter = str(names["adapter"])
    placement = Placement(
        nodes=int(names["nodes"]),
        ppn=int(names["ppn"]),
        threads=int(names["threads"]),
        order=str(names["order"]),
        binding=str(names["binding"]),
        adapter=adapter if adapter != "default" else None,
        # All nodes can be drawn in one way only.
        node_set=int(names["node_set"]) if int(names["nodes"]) < context.nodes else 0,
        smt="on" if names["smt"] == "on" else "off",
    )
    return Cell(
        kernel.name, {name: names[name] for name in parameters}, placement, str(names["toolchain"])
    )


def _with_fitted_order(cell: Cell, kernel: Kernel, fitting: Fitting) -> Cell:
    """The cell in the order that suits its ranks' messages; what came of it is said.

    Raises Misfit for a command's matrix of another number of ranks, AssayError where there is none.
    """
    placement = cell.placement
    on = f"{kernel.name} on {placement.nodes} × {placement.ppn} ranks"
    from assay.plans.fitted_order import MOST_RANKS, fit_order

    many = placement.ranks > MOST_RANKS
    alone = min(placement.nodes, placement.ppn) == 1
    matrix = None if alone or many else _matrix_of(cell, kernel, fitting)
    if many and not alone:
        order, why = "block", f"none is looked for of more than {MOST_RANKS} ranks"
    elif matrix is None:
        order, why = "block", "no order suits its messages better than others"
    else:
        fit = fit_order(matrix, placement.nodes, placement.ppn)
        order, why = fit.order, f"{fit.saved:.0%} fewer bytes between nodes than in block order"
        if fit.saved <= 0:
            why = "none that was looked at sends fewer bytes between nodes"
    short = order if len(order) <= 24 else f"{order[:20]},…"
    fitting.pending["order"] = f"{on}: order {short}: {why}."
    cell = msgspec.structs.replace(cell, placement=msgspec.structs.replace(placement, order=order))
    if order not in ORDERS:
        fitting.fitted.add(cell.id)
    return cell


def _matrix_of(cell: Cell, kernel: Kernel, fitting: Fitting) -> Matrix | None:
    """What the cell's ranks send each other; None where all send alike. Raises AssayError."""
    from assay.plans.fitted_order import dense

    ranks = cell.placement.ranks
    if not kernel.outside:
        if kernel.peers is None:
            return None
        return dense(kernel.peers(cell.parameters, ranks, cell.placement.threads), ranks)
    messages = fitting.messages
    if messages is None:
        raise AssayError(
            "No order can be fitted to a command of which nobody says what its ranks send each "
            "other.",
            where=f"order = {FITTED}",
            mend="Name the file of its communication matrix: --matrix FILE.",
        )
    if messages.ranks != ranks:
        raise Misfit(
            f"order = {FITTED} on {_count_of(ranks, 'rank')}, but the communication matrix is of "
            f"{messages.ranks}.",
            where=messages.where,
            mend=f"Place {messages.ranks} ranks, or count what {_count_of(ranks, 'rank')} send.",
        )
    return messages.matrix


def _misfit(cell: Cell, kernel: Kernel, context: PlanContext, measure: Measure) -> Misfit | None:
    """Why a cell can't be measured on this machine, of what its parameters and placement tell."""
    placement = cell.placement
    wrong = kernel.check(cell.parameters, placement) if kernel.check else None
    if wrong is not None:
        return Misfit(wrong, where=measure.where)
    crowded = _crowded_numa_node(placement, context)
    if crowded is not None:
        return Misfit(crowded, where=measure.where, mend="Ask for another binding.")
    if kernel.memory is None or context.memory is None:
        return None
    need = kernel.memory(cell.parameters, placement.ranks, placement.threads) * placement.ppn
    if need <= context.memory:
        return None
    return Misfit(
        f"{kernel.name} {parameters_text(cell)} needs {format_quantity(need, 'B')} a node, but "
        f"{format_quantity(context.memory, 'B')} are available.",
        where=measure.where,
        mend="Take a smaller size, or fewer ranks a node.",
    )


def _values(
    factor: str, written: Written | None, kernel: Kernel, names: Names, fitting: Fitting
) -> Iterator[Value]:
    """The values of one entry of a factor's list, given the factors before it."""
    if written is None:
        yield _default(factor, kernel, names, fitting)
    elif factor == "toolchain" and kernel.outside:
        yield OWN_TOOLCHAIN
    elif factor == "toolchain":
        yield from _toolchains(written, fitting)
    elif factor in ("nodes", "ppn", "threads"):
        yield from spread(written, lambda level: _count(level, factor, names), factor)
    elif factor == "node_set":
        yield from spread(written, lambda level: _set_number(level, names), factor)
    elif factor == "binding":
        yield from _bindings(written, fitting.context)
    elif factor == "adapter" and isinstance(written, Level) and written.raw == "each":
        yield from _adapters(int(names["nodes"]), fitting.context)
    elif factor == "smt" and isinstance(written, Level) and written.raw == "each":
        yield from SMT if fitting.context.threads_per_core > 1 else SMT[:1]
    elif factor in PLACEMENT_WORDS:
        yield from spread(written, lambda level: _word(level, factor), factor)
    else:
        parameter = kernel.parameter(factor)
        assert parameter is not None
        if parameter.numa_node and isinstance(written, Level) and written.raw == "all":
            yield from fitting.context.numa or (0,)
            return
        if isinstance(written, Largest) and parameter.choices:
            choice = largest_choice(written, parameter, kernel, names, fitting.context)
            if choice.value is None:
                raise Misfit(f"{choice.why}.", where=written.where)
            fitting.pending[factor] = f"{kernel.name}: {factor}={choice.value}, {choice.why}."
            yield choice.value
            return
        yield from spread(written, lambda level: read_parameter(level, parameter, names), factor)


def _default(factor: str, kernel: Kernel, names: Names, fitting: Fitting) -> Value:
    parameter = kernel.parameter(factor)
    if factor == "toolchain":
        return OWN_TOOLCHAIN if kernel.outside else fitting.context.default_toolchain
    if factor == "ppn":  # as few as the kernel can do with
        return -(-kernel.min_ranks // int(names["nodes"]))
    if parameter is not None and factor not in FACTORS:
        return parameter.default
    default: Value | None = getattr(Placement(), factor)
    return "default" if default is None else default


def _toolchains(written: Written, fitting: Fitting) -> Iterator[str]:
    context = fitting.context
    word = written.raw if isinstance(written, Level) else ""
    if word in ("all", SEVERAL):
        for name, why in context.unusable.items():
            fitting.notes.setdefault(f"Left out the toolchain '{name}': {why}")
    crossed = tuple(name for name in context.crossed if name in context.toolchains)
    compared = crossed if len(crossed) > 1 else context.toolchains
    if word == SEVERAL and len(compared) < 2:
        raise AssayError(
            f"There is nothing to compare: the only toolchain here is '{compared[0]}'.",
            where=written.where,
            mend="Name compilers and MPIs in assay.toml, as [compilers.NAME] and [mpis.NAME] "
            "(docs/formats.md); or toolchain=default measures this one alone.",
            detail="\n".join(fitting.notes),
        )
    if word == SEVERAL:
        yield from compared
    elif word == "all":
        yield from context.toolchains
    elif word == "default":
        yield context.default_toolchain
    elif isinstance(word, str) and word in context.toolchains:
        yield word
    else:
        raise AssayError(
            f"There is no toolchain '{word}'.",
            where=written.where,
            mend=nearest(str(word), (*context.toolchains, "all", SEVERAL, "default")),
        )


def _bindings(written: Written, context: PlanContext) -> Iterator[Value]:
    """A word, one NUMA node, or each of them in turn."""
    word = written.raw if isinstance(written, Level) else None
    if word == "numa:all":
        yield from (f"numa:{node}" for node, cores in (context.numa or {0: 1}).items() if cores)
    elif isinstance(word, str) and re.fullmatch(r"numa:[0-9]{1,4}", word):
        yield f"numa:{int(word[5:])}"
    else:
        yield from spread(written, lambda level: _word(level, "binding"), "binding")


def _adapters(nodes: int, context: PlanContext) -> Iterator[Value]:
    """The MPI library's own choice, and where there is a choice each adapter by itself."""
    yield "default"
    if nodes > 1 and context.adapters is not None and len(context.adapters) > 1:
        yield from context.adapters


def _most(factor: str, names: Names) -> int:
    """What "all" is: every node; every core of a node, or hardware thread where cores are shared;
    those that each rank can have.
    """
    if factor == "nodes":
        return int(names["nodes"])
    have = int(names["hardware_threads" if names["smt"] == "on" else "cores"])
    return have // (int(names["ppn"]) if factor == "threads" else 1)


def _count(level: Level, factor: str, names: Names) -> int:
    raw = level.raw
    if raw in ("all", "half"):
        most = _most(factor, names)
        value: float = most if raw == "all" else most // 2
    elif isinstance(raw, str):
        value = parse_expression(raw, where=level.where).number(names, where=level.where)
    else:
        value = raw
    if isinstance(raw, str) and (value != int(value) or value < 1):
        raise Misfit(f'{factor} = "{raw}" would be {value:g}.', where=level.where)
    if value != int(value) or value < 1:
        raise AssayError(
            f"'{factor}' must be a whole number of at least 1, not {raw}.", where=level.where
        )
    return int(value)


def _set_number(level: Level, names: Names) -> int:
    raw = level.raw
    if isinstance(raw, str):
        raw = parse_expression(raw, where=level.where).number(names, where=level.where)
    if raw != int(raw) or raw < 0:
        raise AssayError(
            f"'node_set' must be a whole number of at least 0, not {level.raw}.",
            where=level.where,
            mend="0 is the first nodes, 1, 2 … are random draws: node_set = [0, 1, 2].",
        )
    return int(raw)


def _word(level: Level, factor: str) -> Value:
    if factor == "order":
        return read_order(level.raw, level.where)
    if factor == "adapter":
        return read_adapter(level.raw, level.where)
    choices = _CHOICES.get(factor)
    if not isinstance(level.raw, str) or (choices is not None and level.raw not in choices):
        raise AssayError(
            f"'{factor}' can't be '{level.raw}'.",
            where=level.where,
            mend=nearest(str(level.raw), choices or ()),
        )
    return level.raw


def _with_factor(
    names: Names,
    factor: str,
    value: Value,
    kernel: Kernel,
    written: Written | None,
    measure: Measure,
    fitting: Fitting,
) -> dict[str, Value]:
    """The names with one factor more. Raises Misfit if the machine or the kernel can't do it."""
    where = written.where if written else measure.where
    known = {**names, factor: value}
    if factor == "nodes":
        machine = fitting.context.nodes
        if int(value) > machine:
            raise Misfit(f"nodes = {value}, but there {_are(machine, 'node')}.", where=where)
    elif factor == "smt":
        if value == "on" and fitting.context.threads_per_core == 1:
            raise Misfit(
                "smt = on, but a core has 1 hardware thread here.",
                where=where,
                mend='"each" takes it where there are more.',
            )
    elif factor == "ppn":
        ranks = known["ranks"] = int(known["nodes"]) * int(value)
        if ranks < kernel.min_ranks:
            raise Misfit(
                f"{_count_of(ranks, 'rank')}, but it needs at least {kernel.min_ranks}.",
                where=where,
                mend=f"Set ppn or nodes so that there are {kernel.min_ranks} ranks or more.",
            )
        if kernel.max_ranks is not None and ranks > kernel.max_ranks:
            raise Misfit(
                f"{_count_of(ranks, 'rank')}, but it takes at most {kernel.max_ranks}.", where=where
            )
        _check_cores(int(value), 1, str(known["smt"]), where, fitting)
    elif factor == "threads":
        if int(value) > 1 and not kernel.threaded:
            raise Misfit(
                f"threads = {value}, but '{kernel.name}' has no threads.",
                where=where,
                mend="Leave threads at 1.",
            )
        _check_cores(int(known["ppn"]), int(value), str(known["smt"]), where, fitting)
    elif factor == "binding":
        _check_numa_node(known, where, fitting)
    elif (parameter := kernel.parameter(factor)) and parameter.numa_node and int(value) >= 0:
        _has_numa_node(int(value), where, fitting.context)
    elif factor == "order":
        misfit = order_misfit(str(value), int(known["ranks"]))
        if misfit is not None:
            raise Misfit(misfit, where=where, mend="List one seat a rank.")
    elif factor == "adapter":
        wrong = adapter_misfit(str(value), int(known["nodes"]), fitting.context.adapters)
        if wrong is not None:
            raise Misfit(wrong.what, where=where, mend=wrong.mend)
    return known


def _has_numa_node(node: int, where: str, context: PlanContext) -> None:
    if context.numa and node not in context.numa:
        raise Misfit(
            f"There is no NUMA node {node}.",
            where=where,
            mend=f"NUMA nodes here: {', '.join(map(str, sorted(context.numa)))}.",
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
        raise Misfit(
            f"binding = numa:{node} with {_count_of(ppn, 'rank')} of {_count_of(threads, 'thread')}"
            f" needs {_count_of(ppn * threads, what)}, but NUMA node {node} has {have}.",
            where=where,
            mend="Ask for fewer ranks or threads, or for another binding.",
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
        f"binding = per-numa with {_count_of(placement.ppn, 'rank')} of "
        f"{_count_of(placement.threads, 'thread')} puts {here} threads on a NUMA node, but node "
        f"{number} has {cores * each}."
    )


def _check_cores(ppn: int, threads: int, smt: str, where: str, fitting: Fitting) -> None:
    context = fitting.context
    have, what = context.cores, "core"
    mend = "Ask for less, or allow several on a core with oversubscribe."
    if smt == "on":
        have, what = context.hardware_threads, "hardware thread"
    elif context.threads_per_core > 1:
        mend = 'Ask for less, or let threads share cores with smt = "on".'
    if ppn * threads > have and not fitting.oversubscribe:
        asked = f"ppn = {ppn}" + (f" with threads = {threads}" if threads > 1 else "")
        raise Misfit(
            f"{asked} needs {_count_of(ppn * threads, what)}, but a node has {have}.",
            where=where,
            mend=mend,
        )


def _count_of(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _are(number: int, thing: str) -> str:
    return ("is " if number == 1 else "are ") + _count_of(number, thing)


def parse_keep(text: object, where: str) -> Expression:
    """The condition of ``where``. Raises AssayError."""
    if not isinstance(text, str):
        raise AssayError("'where' must be a text such as 'ppn * threads <= cores'.", where=where)
    return parse_expression(text, where=where)
