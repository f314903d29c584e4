"""Values of a factor's levels on a machine, given the values of earlier factors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.errors import AssayError, nearest
from assay.kernels.catalogue import Kernel
from assay.model.cell import OWN_TOOLCHAIN
from assay.model.expression import parse_expression
from assay.model.placement import BINDINGS, SMT, Placement, Value
from assay.model.plan import PlanContext
from assay.model.rank_order import read_order
from assay.plans.adapters import DEFAULT, read_adapter
from assay.plans.largest_choice import largest_choice
from assay.plans.levels import (
    DEVICES_USED,
    FactorLevel,
    LargestLevel,
    Names,
    Written,
    read_parameter,
    shown,
    spread,
)
from assay.plans.plan_target import Fitting, Infeasible
from assay.units import whole_number

PLACEMENT_WORDS = (
    *("nodes", "smt", "devices", "ppn", "threads", "order", "binding", "adapter", "node_set"),
)
FACTORS = ("toolchain", *PLACEMENT_WORDS)
# Upper limit of nodes, ranks per node and threads in a plan.
MOST_COUNT = 10_000_000
# The level "several": the crossed toolchains if there are at least two, else all toolchains, of
# which there must be at least two.
SEVERAL = "several"

_OF_ALL = ("first", "all")  # words for adapters
_CHOICES = {"binding": (*BINDINGS, "numa:NODE", "numa:all"), "smt": (*SMT, "each")}


def values_of(
    factor: str, written: Written | None, kernel: Kernel, names: Names, fitting: Fitting
) -> Iterator[Value]:
    """The values of one entry of a factor's list, given the values of earlier factors."""
    if written is None:
        yield _default(factor, kernel, names, fitting)
    elif factor == "toolchain" and kernel.outside:
        yield OWN_TOOLCHAIN
    elif factor == "toolchain":
        yield from _toolchains(written, fitting)
    elif factor in ("nodes", "ppn", "threads"):
        yield from spread(written, lambda level: _count(level, factor, names), factor)
    elif factor == "devices":
        yield from spread(written, lambda level: _devices(level, names, fitting.context), factor)
    elif factor == "node_set":
        yield from spread(written, lambda level: _set_number(level, names), factor)
    elif factor == "binding":
        yield from _bindings(written, fitting.context)
    elif factor == "adapter" and isinstance(written, FactorLevel) and written.raw == "each":
        yield from _adapters(int(names["nodes"]), fitting.context)
    elif factor == "adapter" and isinstance(written, FactorLevel) and written.raw in _OF_ALL:
        yield _of_all(str(written.raw), int(names["nodes"]), fitting.context)
    elif factor == "smt" and isinstance(written, FactorLevel) and written.raw == "each":
        yield from SMT if fitting.context.threads_per_core > 1 else SMT[:1]
    elif factor in PLACEMENT_WORDS:
        yield from spread(written, lambda level: _word(level, factor), factor)
    else:
        parameter = kernel.parameter(factor)
        assert parameter is not None
        if parameter.numa_node and isinstance(written, FactorLevel) and written.raw == "all":
            yield from fitting.context.numa or (0,)
            return
        if isinstance(written, LargestLevel) and (parameter.choices or written.among):
            choice = largest_choice(written, parameter, kernel, names, fitting.context)
            if choice.value is None:
                raise Infeasible(f"{choice.why}.", where=written.where)
            fitting.pending[factor] = f"{kernel.name}: {factor}={choice.value}, {choice.why}."
            yield choice.value
            return
        yield from spread(written, lambda level: read_parameter(level, parameter, names), factor)


def _default(factor: str, kernel: Kernel, names: Names, fitting: Fitting) -> Value:
    parameter = kernel.parameter(factor)
    if factor == "toolchain":
        return OWN_TOOLCHAIN if kernel.outside else fitting.context.default_toolchain
    if factor == "ppn":  # the smallest number with which the kernel has its minimum number of ranks
        return max(-(-kernel.min_ranks // int(names["nodes"])), int(names[DEVICES_USED]))
    if parameter is not None and factor not in FACTORS:
        return parameter.default
    default: Value | None = getattr(Placement(), factor)
    return "default" if default is None else default


def _toolchains(written: Written, fitting: Fitting) -> Iterator[str]:
    context = fitting.context
    word = written.raw if isinstance(written, FactorLevel) else ""
    if word in ("all", SEVERAL):
        for name, why in context.unusable.items():
            fitting.notes.setdefault(f"Left out the toolchain '{name}': {why}")
    crossed = tuple(name for name in context.crossed if name in context.toolchains)
    compared = crossed if len(crossed) > 1 else context.toolchains
    if word == SEVERAL and len(compared) < 2:
        raise AssayError(
            f"There is nothing to compare: the only toolchain here is '{compared[0]}'.",
            where=written.where,
            fix="Name compilers and MPIs in assay.toml, as [compilers.NAME] and [mpis.NAME] "
            "(docs/formats/config.md); or measure only this one with toolchain=default.",
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
            fix=nearest(str(word), (*context.toolchains, "all", SEVERAL, "default")),
        )


def _bindings(written: Written, context: PlanContext) -> Iterator[Value]:
    """The bindings of one level: a name, one NUMA node, or "numa:all" for each NUMA node."""
    word = written.raw if isinstance(written, FactorLevel) else None
    if word == "numa:all":
        yield from (f"numa:{node}" for node, cores in (context.numa or {0: 1}).items() if cores)
    elif isinstance(word, str) and re.fullmatch(r"numa:[0-9]{1,4}", word):
        yield f"numa:{int(word[5:])}"
    else:
        yield from spread(written, lambda level: _word(level, "binding"), "binding")


def _adapters(nodes: int, context: PlanContext) -> Iterator[Value]:
    """The MPI library's own choice and, if there are several adapters, each one separately."""
    yield DEFAULT
    if nodes > 1 and context.adapters is not None and len(context.adapters) > 1:
        yield from context.adapters


def _of_all(word: str, nodes: int, context: PlanContext) -> str:
    """The first adapter only, or all together; the library's choice if there is only one.

    A library sends either over fabric ports ("mlx5_0:1") or over interfaces; ports are used if
    there are several.
    """
    known = [name for name in context.adapters or () if name != "lo"]
    ports = [name for name in known if ":" in name]
    alike = ports if len(ports) > 1 else [name for name in known if ":" not in name]
    if nodes == 1 or len(alike) < 2:
        return DEFAULT
    return alike[0] if word == "first" else ",".join(alike)


def _most(factor: str, names: Names) -> int:
    """The value of "all": of nodes, all; of ppn, the cores of a node, or its hardware threads with
    SMT; of threads, that number divided by ppn.
    """
    if factor == "nodes":
        return int(names["nodes"])
    have = int(names["hardware_threads" if names["smt"] == "on" else "cores"])
    return have // (int(names["ppn"]) if factor == "threads" else 1)


def _count(level: FactorLevel, factor: str, names: Names) -> int:
    raw = level.raw
    if raw in ("all", "half"):
        most = _most(factor, names)
        value: float = most if raw == "all" else most // 2
    elif isinstance(raw, str):
        value = parse_expression(raw, where=level.where).number(names, where=level.where)
    else:
        value = raw
    plain = isinstance(raw, str) and whole_number(raw) is not None
    if isinstance(raw, str) and not plain and -MOST_COUNT <= value <= MOST_COUNT:
        if value != int(value) or value < 1:
            raise Infeasible(f'{factor} = "{raw}" would be {value:g}.', where=level.where)
    elif not 1 <= value <= MOST_COUNT or value != int(value):  # NaN is neither
        range_ = f"at most {MOST_COUNT:,}" if value > MOST_COUNT else "at least 1"
        raise AssayError(
            f"'{factor}' must be a whole number of {range_}, not {shown(raw)}.", where=level.where
        )
    return int(value)


def _devices(level: FactorLevel, names: Names, context: PlanContext) -> int:
    if level.raw != "all":
        return _count(level, "devices", names)
    found = context.find_devices()
    if found is None or not found.count:
        raise Infeasible(
            "devices = all, but no accelerator is known here.",
            where=level.where,
            fix="State their number.",
        )
    return found.count


def _set_number(level: FactorLevel, names: Names) -> int:
    raw = level.raw
    if isinstance(raw, str):
        raw = parse_expression(raw, where=level.where).number(names, where=level.where)
    if not 0 <= raw <= MOST_COUNT or raw != int(raw):
        raise AssayError(
            f"'node_set' must be a whole number of at least 0, not {shown(level.raw)}.",
            where=level.where,
            fix="0 is the first nodes, 1, 2 … are random draws: node_set = [0, 1, 2].",
        )
    return int(raw)


def _word(level: FactorLevel, factor: str) -> Value:
    if factor == "order":
        return read_order(level.raw, level.where)
    if factor == "adapter":
        return read_adapter(level.raw, level.where)
    choices = _CHOICES.get(factor)
    if not isinstance(level.raw, str) or (choices is not None and level.raw not in choices):
        raise AssayError(
            f"'{factor}' can't be '{level.raw}'.",
            where=level.where,
            fix=nearest(str(level.raw), choices or ()),
        )
    return level.raw
