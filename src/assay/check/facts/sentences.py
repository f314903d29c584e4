"""Findings about facts, each with one clause that names value and expectation."""

from __future__ import annotations

import re

from assay.check.facts.common import FactBaseline, FactGroup
from assay.check.facts.texts import ascii_text, line, title, value_text
from assay.check.model import Fact, FactValue, NodeFinding

_HOUR, _DAY = 3600.0, 86400.0


def changed(fact: Fact, learned: FactBaseline, probability: float) -> NodeFinding:
    """A fact whose value the fleet doesn't have."""
    expected = _expected(fact.name, fact.value, learned)
    value = value_text(fact.value, fact.unit, fact.name)
    special = _special(fact, value, expected)
    share = _share(fact.value, learned)
    look_at = f"; {fact.look_at}" if fact.look_at else ""
    if special:
        text = line(special, look_at)
    else:
        text = line(f"{title(fact.name)} {value}, fleet {expected}", f" ({share})", look_at)
    return _finding(fact.name, value, expected, probability, text)


def lost(what: str, name: str, learned: FactBaseline, probability: float) -> NodeFinding:
    """A fact, or all of a part's facts, that this node doesn't have."""
    expected = _expected(name, None, learned)
    having = sum(group.nodes for group in learned.groups)
    text = line(
        f"{title(what)} missing",
        f", {having} of {learned.nodes} nodes have it",
        f"; {learned.look_at}" if learned.look_at else "",
    )
    return _finding(name, "missing", expected, probability, text)


def counted(
    fact: Fact, events: float, seconds: float | None, rate: float, probability: float
) -> NodeFinding:
    """A counter that grew faster than the fleet's."""
    span = "since boot" if seconds is None else f"in {_span(seconds)}"
    value = f"{events:.0f} {span}"
    expected = "none" if rate == 0 else f"below {_rate(rate)}"
    text = line(
        f"{events:.0f} {title(fact.name)} {span}", f", fleet {expected}", f"; {fact.look_at}"
    )
    return _finding(fact.name, value, expected, probability, text)


def groups(name: str, learned: FactBaseline) -> str:
    """``kernel: 5.14.0-70 on 30 nodes, 5.14.0-162 on 20 nodes``."""
    if not learned.groups:
        return ascii_text(
            f"{title(name)}: a different value on nearly each of {learned.nodes} nodes"
        )
    parts = [
        f"{_group_text(name, learned.unit, group)} on {group.nodes} of {learned.nodes} nodes"
        for group in learned.groups
    ]
    return ascii_text(f"{title(name)}: {', '.join(parts)}")


def _finding(about: str, value: str, expected: str, probability: float, text: str) -> NodeFinding:
    return NodeFinding(
        about=about,
        value=ascii_text(value),
        expected=ascii_text(expected),
        probability=probability,
        text=text,
    )


def _group_text(name: str, unit: str, group: FactGroup) -> str:
    if group.absent:
        return "none"
    if group.low is None or group.high is None:
        return value_text(group.value, unit, name)
    low, high = value_text(group.low, unit, name), value_text(group.high, unit, name)
    return low if low == high else f"{low} to {high}"


def _expected(name: str, value: FactValue, learned: FactBaseline) -> str:
    present = [group for group in learned.groups if not group.absent]
    if not present:
        return "no common value"
    first = present[0]
    if first.low is None or first.high is None or not isinstance(value, float):
        return _group_text(name, learned.unit, first)
    if learned.rule == "not below" and value < first.low:
        return f"at least {value_text(min(g.low or 0.0 for g in present), learned.unit, name)}"
    if learned.rule == "not above":
        return f"at most {value_text(max(g.high or 0.0 for g in present), learned.unit, name)}"
    return _group_text(name, learned.unit, first)


def _share(value: FactValue, learned: FactBaseline) -> str:
    first = next((group for group in learned.groups if not group.absent), None)
    return f"{first.nodes} of {learned.nodes} nodes" if first is not None else "no node"


def _special(fact: Fact, value: str, expected: str) -> str:
    """Clauses that say what is wrong instead of two values."""
    name, what = fact.name, title(fact.name)
    if name == "scratch.answers":
        return f"scratch: {value}" if isinstance(fact.value, str) else "scratch hangs"
    if match := re.match(r"mount\.(.+)\.answers$", name):
        return (
            f"mount {match[1]}: {value}"
            if isinstance(fact.value, str)
            else f"mount {match[1]} hangs"
        )
    if match := re.match(r"mount\.(.+)\.writable$", name):
        return f"mount {match[1]} is read-only"
    if name.startswith("daemon."):
        return f"{what} not running"
    if name == "clock.synchronised":
        return "clock not synchronised"
    if match := re.match(r"(?:disk\.(.+)|scratch)\.(free|inodes)$", name):
        path = fact.look_at.removeprefix("free space in ")
        what = match[1] if match[1] else f"scratch {path}"
        kind = "free" if match[2] == "free" else "inodes free"
        return f"{what} full: {value} {kind}, fleet {expected}"
    if name == "limit.quota":
        return f"CPU quota {value.removesuffix(' CPUs')} of {expected.removeprefix('at least ')}"
    if name in ("cpu.online", "cpu.present", "limit.cpus"):
        verb = {"cpu.online": "online", "cpu.present": "present", "limit.cpus": "usable"}[name]
        return f"{value} of {expected} CPUs {verb}"
    if name == "memory.available":
        return f"available memory {value}, fleet {expected}"
    if name == "processes.cpus":
        return f"leftover processes use {value}"
    if name.startswith("dimm.") and name.endswith(".size") and fact.value == 0:
        return f"{what} missing, fleet {expected}"
    return ""


def _span(seconds: float) -> str:
    if seconds >= 2 * _DAY:
        return f"{seconds / _DAY:.0f} days"
    if seconds >= 2 * _HOUR:
        return f"{seconds / _HOUR:.0f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def _rate(rate: float) -> str:
    """A rate with its unit of time: per second, hour or day."""
    if rate >= 1:
        return f"{rate:.2g}/s"
    return f"{rate * _HOUR:.2g}/h" if rate * _HOUR >= 1 else f"{rate * _DAY:.2g}/day"
