"""What a baseline was learned from, and what is missing, as sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.check.baseline.costs import CORE_GAP, value_of
from assay.check.baseline.coverage import missing_time
from assay.check.baseline.exceedance import exceeded_with
from assay.check.baseline.model import ComponentBaseline
from assay.check.components import BY_NAME
from assay.units import counted, format_quantity, format_share, listed

# The share of healthy checks whose value is a finding (``decision/judgement.py``), and the number
# of checks in which such a value occurs once.
_FOUND, _ONE_IN = 0.005, 200
_DAY_HOURS = 24
# Nodes from which on their scatter is known to 20%.
_MANY_NODES = 50


def described(
    components: Mapping[str, ComponentBaseline], hours: int, left_out: Mapping[str, str]
) -> list[str]:
    """One sentence per component, then what more data would add."""
    sentences = [_component(name, each) for name, each in components.items()]
    nodes = max(each.nodes for each in components.values())
    checks = max(each.checks for each in components.values())
    basis = f"With {counted(nodes, 'node')} and {counted(checks, 'check')}"
    if checks < _ONE_IN:
        more = math.ceil((_ONE_IN - checks) / max(nodes, 1))
        sentences.append(
            f"{basis}, the deviation that one in {_ONE_IN} checks exceeds is extrapolated; "
            f"{counted(more, 'more check')} per node would observe it."
        )
    if checks <= nodes:
        sentences.append(
            f"{basis}, the scatter of checks can't be separated from that of nodes; "
            "a second check per node would separate them."
        )
    if nodes < _MANY_NODES:
        sentences.append(
            f"{basis}, how much nodes differ is uncertain by "
            f"{format_share(1.645 / math.sqrt(2.0 * max(nodes - 1, 1)))}: nodes that have always "
            "been slow are found later than nodes that become slow."
        )
    if not any(each.hours for each in components.values()):
        sentences.append(
            f"Checks cover {hours} of {_DAY_HOURS} hours of the day; checks at all hours would "
            "separate the day from other changes."
        )
    sentences += _over_time(components)
    if left_out:
        sentences.append(f"{counted(len(left_out), 'slow node')} left out.")
    return sentences


def _over_time(components: Mapping[str, ComponentBaseline]) -> list[str]:
    """How the speed of all nodes moves, and whether that is known well enough."""
    missing = missing_time(components.values())
    if missing:
        return [missing]
    moving = [name for name, each in components.items() if each.moving]
    if not moving:
        return []
    widest = max(moving, key=lambda name: exceeded_with(components[name].movement, _FOUND))
    return [
        f"{counted(len(moving), 'component')} moved over time on all nodes, or may move "
        f"({listed([_title(name) for name in moving])}): one session in {_ONE_IN} may be "
        f"{format_share(exceeded_with(components[widest].movement, _FOUND))} slower in "
        f"{_title(widest)}. One check per two hours counts there, so that a slow node is drained "
        "after days."
    ]


def _title(name: str) -> str:
    return "the slowest CPU against the median CPU" if name == CORE_GAP else BY_NAME[name].title


def _component(name: str, usual: ComponentBaseline) -> str:
    found = exceeded_with(usual.fleet, _FOUND)
    found += exceeded_with(usual.movement, _FOUND) if usual.covers_time else 0.0
    if name == CORE_GAP:
        title, value = "slowest CPU against the median CPU", format_share(-math.expm1(-usual.level))
    else:
        component = BY_NAME[name]
        title, value = component.title, format_quantity(value_of(name, usual.level), component.unit)
    modes = (
        f", two modes {format_share(usual.gap)} apart, {format_share(usual.slow_share)} of checks "
        "in the slower"
        if usual.has_modes
        else ""
    )
    return (
        f"{title}: {value}; nodes scatter by {format_share(usual.node_scatter)}, checks of a node "
        f"by {format_share(usual.check_scatter)}{modes}; found if {format_share(found)} slower."
    )
