"""Comparison of hosts: their differences, and the minimum of each resource over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from assay.hostnames import names_text
from assay.system.survey import HostSurvey
from assay.units import counted, format_memory, format_quantity

# Memory sizes that differ by less than this share count as equal: firmware reserves some of it.
_SAME_MEMORY = 0.03


_Value = Callable[[HostSurvey], Hashable]
_Text = Callable[[HostSurvey], str]
_Number = TypeVar("_Number", int, float)


def _memory_class(nodes: Sequence[HostSurvey]) -> _Value:
    """A function that maps nearly equal memory sizes to one value, the smallest of these sizes."""
    sizes = sorted({node.memory for node in nodes if node.memory is not None})
    first: dict[int, int] = {}
    for size in sizes:
        before = first[sizes[sizes.index(size) - 1]] if first else size
        first[size] = before if size <= before * (1 + _SAME_MEMORY) else size
    return lambda node: None if node.memory is None else first[node.memory]


def _count(number: int | None, noun: str) -> str:
    return f"an unknown number of {noun}s" if number is None else counted(number, noun)


def fastest_link(node: HostSurvey) -> float | None:
    """The speed of the fastest adapter whose link is up, B/s; None if none is known."""
    speeds = [a.speed for a in node.adapters if a.speed and a.state in ("up", "active")]
    return max(speeds, default=None)


def _links(node: HostSurvey) -> str:
    speed = fastest_link(node)
    return f"links of {format_quantity(speed * 8, 'bit/s')}" if speed else "no known links"


def _facts(nodes: Sequence[HostSurvey]) -> tuple[tuple[_Value, _Text], ...]:
    """The facts that affect results, each as a value for comparison and as text."""
    # Instruction sets are compared only if all processors have the same name.
    named = len({node.processor for node in nodes}) > 1
    return (
        (lambda n: n.processor, lambda n: n.processor or "an unknown processor"),
        (
            lambda n: None if named else n.identity,
            lambda n: f"instruction sets of kind {n.identity[:4]}",
        ),
        (lambda n: n.cores, lambda n: _count(n.cores, "core")),
        (lambda n: len(n.numa), lambda n: _count(len(n.numa), "NUMA node")),
        (_memory_class(nodes), lambda n: f"{format_memory(n.memory)} of memory"),
        (fastest_link, _links),
    )


def differences(nodes: Sequence[HostSurvey]) -> list[str]:
    """A sentence for each fact in which hosts differ: ``"d has 1 core; the others 2 cores."``"""
    return [
        sentence
        for value, text in _facts(nodes)
        if (sentence := difference(nodes, "have", value, text))
    ]


def difference(
    nodes: Sequence[HostSurvey],
    verb: str,
    value: _Value,
    text: _Text,
) -> str:
    """A sentence on the hosts that differ from the most common value of one fact; empty if none."""
    counts = Counter(value(node) for node in nodes)
    if len(counts) < 2:
        return ""
    usual = counts.most_common(1)[0][0]
    parts = []
    for other in counts:
        if other != usual:
            group = [node for node in nodes if value(node) == other]
            has = {"have": "has", "run": "runs"}.get(verb, verb) if len(group) == 1 else verb
            parts.append(f"{names_text([n.host for n in group])} {has} {text(group[0])}")
    most = text(next(node for node in nodes if value(node) == usual))
    others = "the other" if counts[usual] == 1 else "the others"
    return f"{'; '.join(parts)}; {others} {most}."


def kinds(nodes: Sequence[HostSurvey]) -> dict[str, list[HostSurvey]]:
    """Hosts by processor kind; one build suits all hosts of a kind."""
    found: dict[str, list[HostSurvey]] = {}
    for node in nodes:
        found.setdefault(node.identity, []).append(node)
    return found


def common_numa(nodes: Sequence[HostSurvey]) -> dict[int, int]:
    """The NUMA nodes that all hosts have, each with its minimum of usable cores over the hosts."""
    shared = set.intersection(*(set(node.numa) for node in nodes)) if nodes else set()
    return {number: min(node.numa[number] for node in nodes) for number in sorted(shared)}


def common_adapters(nodes: Sequence[HostSurvey]) -> tuple[str, ...]:
    """The names of the adapters that all hosts have, in the order of the first host."""
    names = [{a.name for a in node.adapters} for node in nodes]
    first = nodes[0].adapters if nodes else []
    return tuple(a.name for a in first if all(a.name in each for each in names))


def least(values: Sequence[_Number | None]) -> _Number | None:
    """The minimum of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return min(known, default=None)
