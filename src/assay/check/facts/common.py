"""What nodes have in common in one fact, and which nodes differ.

A value belongs to the fleet if several nodes have it: at least two, and 5% of them. A value of
fewer nodes is a fault of theirs. Values of many nodes that differ make groups, none of which is a
fault.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from assay.check.model import Fact, FactRule, FactValue

#: Nodes with one value that make it a value of the fleet: this many, and this share.
LEAST_NODES = 2
LEAST_SHARE = 0.05
# Quantities of nodes of one kind differ by less: firmware and kernels reserve some memory.
_SAME = 0.01
# Hosts of a group that are kept by name.
_MOST_HOSTS = 64

# How far beyond the fleet's range a quantity may lie, beside the width of this range.
# Free space and idle memory change with time by more than the nodes differ when they are learned.
_SHARES: tuple[tuple[re.Pattern[str], float], ...] = (
    (re.compile(r"memory\.available$"), 0.05),
    (re.compile(r"(disk\..+|scratch)\.(free|inodes)$"), 0.75),
)
# The same in the fact's unit: processes that begin or end while they are counted.
_ABSOLUTE = {"processes.cpus": 0.5, "processes.users": 0.5}


class FactGroup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Nodes with the same value of a fact."""

    #: The value; of a quantity the lowest and highest instead, in the fact's unit.
    value: FactValue = None
    low: float | None = None
    high: float | None = None
    #: Whether these nodes don't have the fact.
    absent: bool = False
    #: Number of nodes.
    nodes: int = 0
    #: Their names, if they are not the largest group and few.
    hosts: list[str] = []


class FactBaseline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a fleet has in common in one fact."""

    #: The values of the fleet, the most common first; empty if nearly each node has its own.
    groups: list[FactGroup] = []
    #: Number of nodes on which the fact is known.
    nodes: int = 0
    rule: FactRule = "same"
    unit: str = ""
    look_at: str = ""
    #: Counters: the highest rate of a node in 1/s, and the time over all nodes in s.
    rate: float | None = None
    exposure: float = 0.0


def is_quantity(value: FactValue) -> bool:
    """Whether a value is measured, so that nodes may differ a little; others are exact."""
    return isinstance(value, float)


def least_nodes(nodes: int) -> int:
    """The number of nodes with one value that makes it a value of a fleet of ``nodes``."""
    return 1 if nodes == 1 else max(LEAST_NODES, math.ceil(LEAST_SHARE * nodes))


def common_fact(
    name: str, values: Mapping[str, Sequence[FactValue]], absent: Iterable[str], like: Fact
) -> FactBaseline:
    """The fleet's values of one fact.

    ``values``: of all readings, by host. ``absent``: hosts that don't have the fact. ``like``: the
    fact of one host, for rule and unit.
    """
    without = sorted(absent)
    total = len(values) + len(without)
    found = [each for host in values for each in values[host]]
    if any(is_quantity(value) for value in found):
        groups = _ranges(name, values, like.rule)
    else:
        groups = _exact(values)
    if without:
        groups.append(FactGroup(absent=True, nodes=len(without), hosts=without))
    least = least_nodes(total)
    accepted = sorted((g for g in groups if g.nodes >= least), key=lambda g: -g.nodes)
    if sum(group.nodes for group in accepted) * 2 < total:
        accepted = []
    return FactBaseline(
        groups=[
            msgspec.structs.replace(
                group, hosts=group.hosts if number and len(group.hosts) <= _MOST_HOSTS else []
            )
            for number, group in enumerate(accepted)
        ],
        nodes=total,
        rule=like.rule,
        unit=like.unit,
        look_at=re.sub(r"\b[0-9a-f]{4}:[0-9a-f]{2}:\S+", "", like.look_at).strip(),
    )


def _exact(values: Mapping[str, Sequence[FactValue]]) -> list[FactGroup]:
    hosts: dict[tuple[str, FactValue], set[str]] = defaultdict(set)
    for host, found in values.items():
        for value in found:
            hosts[type(value).__name__, value].add(host)
    return [
        FactGroup(value=value, nodes=len(names), hosts=sorted(names))
        for (_, value), names in hosts.items()
    ]


def _ranges(
    name: str, values: Mapping[str, Sequence[FactValue]], rule: FactRule
) -> list[FactGroup]:
    """Ranges without gaps that are wider than what nodes of one kind may differ by."""
    spans = []
    for host, found in values.items():
        numbers = [float(value) for value in found if isinstance(value, int | float)]
        if numbers:
            spans.append((min(numbers), max(numbers), host))
    groups: list[FactGroup] = []
    for low, high, host in sorted(spans):
        last = groups[-1] if groups else None
        edge = last.high if last is not None and last.high is not None else None
        if last is not None and edge is not None and low <= edge + _gap(name, edge, rule):
            groups[-1] = FactGroup(
                low=last.low,
                high=max(edge, high),
                nodes=last.nodes + 1,
                hosts=[*last.hosts, host],
            )
        else:
            groups.append(FactGroup(low=low, high=high, nodes=1, hosts=[host]))
    return groups


def _gap(name: str, edge: float, rule: FactRule) -> float:
    """The distance to the next higher value that still belongs to the same range."""
    if rule == "same":
        return _SAME * abs(edge)
    share = _share(name)
    # From below: the next value ``v`` may lie ``share`` of itself above the edge.
    return max(abs(edge) * (1 / (1 - share) - 1), _ABSOLUTE.get(name, 0.0))


def _share(name: str) -> float:
    return next((share for pattern, share in _SHARES if pattern.match(name)), _SAME)


def margin(name: str, low: float, high: float) -> float:
    """How far beyond a range of the fleet a quantity may lie, in the fact's unit.

    Of n values of one kind a further one lies outside of their range with probability 2/(n + 1),
    and hardly ever by more than the width of the range.
    """
    return max(high - low, _share(name) * abs(low), _ABSOLUTE.get(name, 0.0))


def fitting(fact: Fact, baseline: FactBaseline) -> FactGroup | None:
    """The group of the fleet that a node's fact belongs to, or is better than; None if none."""
    groups = [group for group in baseline.groups if not group.absent]
    if not groups:
        return FactGroup()  # nearly each node has its own value
    value, rule = fact.value, fact.rule
    for group in groups:
        if is_quantity(value) and group.low is not None and group.high is not None:
            assert isinstance(value, float)
            space = margin(fact.name, group.low, group.high)
            above = value >= _lowest(fact.name, group, space)
            below = value <= group.high + space
        elif _comparable(value, group.value):
            assert isinstance(value, int) and isinstance(group.value, int)
            above, below = value >= group.value, value <= group.value
        else:
            above = below = type(value) is type(group.value) and value == group.value
        if (above or rule == "not above") and (below or rule == "not below"):
            return group
    return None


def _lowest(name: str, group: FactGroup, space: float) -> float:
    low, high = group.low or 0.0, group.high or 0.0
    if _share(name) > 0.5:
        # Free space: its ratios vary and not its differences. A width of the whole range below
        # the lowest would be less than nothing.
        return min(low * (1 - _share(name)), low * low / high if high > 0 else 0.0)
    return low - space


def _comparable(value: FactValue, other: FactValue) -> bool:
    return type(value) is type(other) and isinstance(value, int)
