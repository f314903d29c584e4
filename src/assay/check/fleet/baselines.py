"""What the baselines of a fleet say: usual levels, and facts in which nodes of a kind differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assay.check.baseline.costs import value_of
from assay.check.baseline.coverage import missing_time, series_of
from assay.check.baseline.exceedance import exceeded_with
from assay.check.baseline.file import baseline_path, read_baseline
from assay.check.baseline.model import Baseline
from assay.check.components import BY_NAME
from assay.check.facts.common import FactGroup
from assay.check.facts.fleet import FactsBaseline
from assay.check.facts.texts import title, value_text
from assay.decoding import UNREADABLE
from assay.errors import AssayError

# The share of sessions beyond an allowance, and the allowance while one session is known.
_SELDOM, _UNKNOWN = 0.025, 0.01


@dataclass(frozen=True)
class UsualLevel:
    """What is usual of one component on one kind of nodes."""

    #: In the component's unit, as it was learned.
    value: float
    #: Deviation of all nodes that one session in forty exceeds, as a share.
    allowance: float
    #: Standard deviation of checks of one node, as a share.
    scatter: float
    #: Whether values lie in two modes.
    modes: bool = False


@dataclass(frozen=True)
class DividedValues:
    """A fact in which nodes of one kind differ, by groups of nodes."""

    kind: str
    fact: str
    values: tuple[str, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class FleetBaselines:
    """The baselines of a fleet."""

    by_kind: Mapping[str, Baseline] = field(default_factory=dict)
    #: Why baselines can't be read, by kind.
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def levels(self) -> dict[tuple[str, str], UsualLevel]:
        """Usual levels by kind and component."""
        return {
            (kind, name): UsualLevel(
                value_of(name, each.learned_level),
                exceeded_with(each.movement, _SELDOM) if each.movement else _UNKNOWN,
                each.check_scatter,
                each.has_modes,
            )
            for kind, baseline in self.by_kind.items()
            for name, each in baseline.components.items()
            if name in BY_NAME
        }

    def waiting(self) -> dict[str, str]:
        """The kinds whose slowness can't drain yet, each with what is missing."""
        found = {kind: missing_time(series_of(each)) for kind, each in self.by_kind.items()}
        return {kind: missing for kind, missing in found.items() if missing}

    def divided(self) -> list[DividedValues]:
        """The facts in which nodes of one kind differ."""
        found = []
        for kind, baseline in self.by_kind.items():
            try:
                facts = msgspec.json.decode(baseline.facts, type=FactsBaseline | None)
            except UNREADABLE:
                continue
            if facts is None:
                continue
            for name, fact in facts.facts.items():
                if len(fact.groups) < 2 or fact.rule in ("counter", "shown"):
                    continue
                values = tuple(_text(name, fact.unit, group) for group in fact.groups)
                nodes = tuple(group.nodes for group in fact.groups)
                found.append(DividedValues(kind, title(name), values, nodes))
        return found


def read_baselines(folder: Path, kinds: Iterable[str]) -> FleetBaselines:
    """The baselines of these kinds of nodes; ``folder``: that of the fleet's checks."""
    found, unreadable = {}, {}
    for kind in sorted(set(kinds) - {""}):
        try:
            found[kind] = read_baseline(baseline_path(folder, kind), kind)
        except AssayError as error:
            unreadable[kind] = error.what
    return FleetBaselines(found, unreadable)


def _text(name: str, unit: str, group: FactGroup) -> str:
    if group.absent:
        return "absent"
    if group.low is None or group.high is None:
        return value_text(group.value, unit, name)
    low, high = (value_text(end, unit, name) for end in (group.low, group.high))
    return low if low == high else f"{low} to {high}"
