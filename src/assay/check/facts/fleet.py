"""What a fleet has in common, learned from its nodes, and one node compared with it.

docs/methods/check-facts.md states the rules.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from assay.check.facts import sentences
from assay.check.facts.common import FactBaseline, FactGroup, common_fact, fitting
from assay.check.facts.counters import (
    FATAL,
    UPTIME,
    burst,
    highest_rate,
    is_burst,
    since,
    unpack_counters,
)
from assay.check.facts.file_systems import SPACE_IN
from assay.check.facts.reading import WHILE_IDLE
from assay.check.model import Fact, NodeFinding

# Facts in which healthy nodes may differ: versions during an upgrade, processes that are just
# ending, alarms that stay after their cause, drivers that are not loaded, what measurements judge.
_WEAK = re.compile(
    r"version\.|edac\.|sensor\.|throttle\.|swap\.|processes\.users$|.+\.carrier_changes$|"
    r"memory\.shared_limit$|(disk\..+|scratch)\.size$|hugepages\.defrag$|"
    r"frequency\.(scaling_driver|energy)|device\.\d+\.persistence$|ib\..+\.excessive_buffer|pci\.\w+\.\w+:\w+\.count$"
)
# Facts that a healthy node may have in another way; without them it fails.
_WEAK_CHANGES = re.compile(r"mount\..+\.type$")
# States that are never a fault, also where the fleet has another one.
_GOOD_STATES = {"up", "active", "linkup"}
# One of these replaces another in an upgrade.
_SAME_DUTY = {f"daemon.{name}" for name in ("chronyd", "ntpd", "systemd-timesyncd")}
# The facts of a device's link; whether the device is there is a fact of its own.
_LINK = re.compile(r"pci\..+\.\d+\.(width|speed)$")
# Facts that are learned although they are not judged while jobs run, or inside of a job.
_LEARNED = re.compile(rf"{WHILE_IDLE.pattern}|limit\.(quota|cpus)$|clock\.synchronised$")
# Findings that follow from others: the cause's name, then the names of what follows.
_FOLLOWS = (
    (r"memory\.total$", r"memory\.(available|shared_limit)$|edac\..+\.(dimms|size)$|numa\.node\d"),
    (r"cpu\.online$", r"limit\.|cpu\.smt$|cpu\.sockets$"),
    (r"cpu\.(model|sockets|present)$", r"cpu\.online$|limit\.|numa\.|frequency\.|version\.micro"),
    (r"processes\.cpus$", r"processes\.users$"),
    (r"pci\.accelerator\.count$", r"device\."),
    (r"device\.count$", r"device\.\d"),
)
# What stands first in a drain reason.
_FIRST = (
    *(r"mount\..+\.answers$", r"cpu\.", r"(ecc\..+|device\.\d+)\.uncorrected$"),
    *(r"memory\.total$", r"limit\.", r"pci\..+\.count$", r"device\.count$", r"net\.|ib\."),
    *(r"mount\.", r"scratch\.|disk\.", r"memory\.", r"dimm\.", r"pci\.", r"device\."),
    *(r"processes\.cpus$", r"daemon\.", r"clock\."),
)


class DifferentNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that differed from the others when the fleet was learned."""

    host: str
    #: Name of the fact.
    about: str
    #: Value and expectation, at most 100 characters.
    text: str


class FactsBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """What the nodes of one kind have in common."""

    #: Number of nodes that it was learned from.
    nodes: int
    #: By name of the fact.
    facts: dict[str, FactBaseline]
    #: Nodes that differed. Their values were not learned.
    different: list[DifferentNode] = []


def learn_facts(by_host: Mapping[str, Sequence[Sequence[Fact]]]) -> FactsBaseline:
    """Learn from the readings of each host, in the order in which they were made."""
    samples: dict[str, dict[str, list[Fact]]] = defaultdict(dict)
    hidden: dict[str, tuple[str, ...]] = {}
    for host, readings in by_host.items():
        hidden[host] = _hidden(fact for reading in readings for fact in reading)
        for reading in readings:
            for fact in reading:
                samples[fact.name].setdefault(host, []).append(fact)
    uptimes = {host: found[-1].value for host, found in samples.get(UPTIME, {}).items()}
    facts: dict[str, FactBaseline] = {}
    for name, found in sorted(samples.items()):
        like = next(iter(found.values()))[-1]
        if name.endswith("*") or (like.rule == "shown" and not _LEARNED.match(name)):
            continue
        if like.rule == "counter":
            facts[name] = _learn_counter(like, found, uptimes)
            continue
        values = {
            host: known
            for host, each in found.items()
            if (known := [fact.value for fact in each if fact.value is not None])
        }
        absent = [
            host for host in by_host if host not in found and not name.startswith(hidden[host])
        ]
        facts[name] = common_fact(name, values, absent, like)
    learned = FactsBaseline(nodes=len(by_host), facts=facts)
    different = [
        DifferentNode(host=host, about=finding.about, text=finding.text)
        for host, readings in sorted(by_host.items())
        for finding in (compare_facts(readings[-1], learned) if readings else [])
    ]
    return msgspec.structs.replace(learned, different=different)


def _hidden(facts: Iterable[Fact]) -> tuple[str, ...]:
    """What the names of facts begin with that a node has and that could not be read."""
    return tuple({fact.name.removesuffix("*") for fact in facts if fact.name.endswith("*")}) or (
        "\0",
    )


def _learn_counter(
    like: Fact, found: Mapping[str, Sequence[Fact]], uptimes: Mapping[str, object]
) -> FactBaseline:
    counts: dict[str, tuple[float, float]] = {}
    for host, each in found.items():
        value, seconds = each[-1].value, uptimes.get(host)
        if isinstance(value, int | float) and isinstance(seconds, int | float) and seconds > 0:
            counts[host] = (float(value), float(seconds))
    # The node with the highest rate is not learned from if its rate is a fault by the others'.
    while len(counts) > 2:
        worst = max(counts, key=lambda host: counts[host][0] / counts[host][1])
        others = {host: count for host, count in counts.items() if host != worst}
        if not is_burst(*counts[worst], highest_rate(others)[0]):
            break
        counts = others
    rate, exposure = highest_rate(counts)
    return FactBaseline(
        nodes=len(found),
        rule="counter",
        unit=like.unit,
        look_at=like.look_at,
        rate=rate if exposure else None,
        exposure=exposure,
    )


def compare_facts(
    facts: Sequence[Fact], baseline: FactsBaseline, before: bytes = b"", *, host: str = ""
) -> list[NodeFinding]:
    """How a node differs from its fleet; what fails it comes first.

    ``before``: the node's counters at its last check (``pack_counters``). ``host``: its name, which
    tells whether it was in a small group of nodes when the fleet was learned.

    ``probability`` of a finding is 0 if it fails the node. Others are reported and never fail it:
    their probability is above 0, and 1 if a healthy node may well have this value.
    """
    found: dict[str, NodeFinding] = {}
    uptime = next((fact.value for fact in facts if fact.name == UPTIME), None)
    counted = unpack_counters(before) if before else None
    for fact in facts:
        learned = baseline.facts.get(fact.name)
        if fact.rule == "counter":
            seconds = float(uptime) if isinstance(uptime, int | float) else None
            finding = _counter(fact, learned, seconds, counted)
        elif fact.value is None or fact.rule == "shown" or learned is None:
            finding = _unanswered(fact, learned)
        else:
            finding = _value(fact, learned, host)
        if finding is not None:
            found[fact.name] = finding
    _lost(facts, baseline, found)
    _without_consequences(found)
    _soften(facts, baseline, found)
    return sorted(found.values(), key=_order)


def failing(findings: Iterable[NodeFinding]) -> list[NodeFinding]:
    """The findings that fail a node."""
    return [finding for finding in findings if finding.probability == 0]


def new_facts(facts: Iterable[Fact], baseline: FactsBaseline) -> list[Fact]:
    """Facts that no node had when the fleet was learned. They are shown and not judged."""
    return [
        fact
        for fact in facts
        if fact.rule != "shown" and fact.value is not None and fact.name not in baseline.facts
    ]


def learned_scratch(baseline: FactsBaseline) -> str:
    """The folder for files of jobs on the nodes that the fleet was learned from; empty if none."""
    learned = baseline.facts.get("scratch.free")
    return learned.look_at.removeprefix(SPACE_IN) if learned is not None else ""


def divided(baseline: FactsBaseline) -> list[str]:
    """A clause for each fact in which the fleet is divided, with the sizes of the groups."""
    return [
        sentences.groups(name, fact)
        for name, fact in baseline.facts.items()
        if fact.rule != "counter"
        and fact.rule != "shown"
        and (len(fact.groups) > 1 or (not fact.groups and fact.nodes > 1))
    ]


def _unanswered(fact: Fact, learned: FactBaseline | None) -> NodeFinding | None:
    """A mount that hangs fails a node whatever its fleet is like."""
    if learned is None and fact.name.endswith(".answers") and fact.value not in (True, None):
        return sentences.changed(fact, FactBaseline(groups=[FactGroup(value=True)]), 0.0)
    return None


def _value(fact: Fact, learned: FactBaseline, host: str) -> NodeFinding | None:
    group = fitting(fact, learned)
    if group is None:
        # What a job of the fleet could use doesn't say what the batch system's daemon can.
        weak = (
            _WEAK.match(fact.name)
            or _WEAK_CHANGES.match(fact.name)
            or (learned.rule == "shown" and fact.name == "limit.cpus")
            or _good(fact, learned)
        )
        return sentences.changed(fact, learned, 1.0 if weak else 0.0)
    if host and group.hosts and host not in group.hosts and not _WEAK.match(fact.name):
        return sentences.changed(fact, learned, group.nodes / max(learned.nodes, 1))
    return None


def _good(fact: Fact, learned: FactBaseline) -> bool:
    """Whether a value is better than the fleet's: a port that is up, more memory, turbo."""
    if fact.name.startswith(("net.", "ib.")) and fact.value in _GOOD_STATES:
        return True
    if fact.name == "frequency.turbo":
        return fact.value is True
    highest = max((group.high or 0.0 for group in learned.groups), default=0.0)
    return fact.unit == "B" and isinstance(fact.value, float) and fact.value > highest > 0


def _soften(facts: Sequence[Fact], baseline: FactsBaseline, found: dict[str, NodeFinding]) -> None:
    """Findings that an upgrade in progress explains are reported and fail no node."""
    weak: set[str] = set()
    if "frequency.scaling_driver" in found:
        # Another driver states other limits and has other governors.
        weak |= {name for name in found if name.startswith("frequency.")}
    running = {fact.name for fact in facts if fact.name in _SAME_DUTY and fact.value is True}
    if any(_usually_stopped(baseline.facts.get(name)) for name in running):
        weak |= _SAME_DUTY & found.keys()
    for name in weak:
        found[name] = msgspec.structs.replace(found[name], probability=1.0)


def _usually_stopped(learned: FactBaseline | None) -> bool:
    return learned is None or all(group.value is not True for group in learned.groups)


def _counter(
    fact: Fact,
    learned: FactBaseline | None,
    uptime: float | None,
    before: Mapping[int, float] | None,
) -> NodeFinding | None:
    if not isinstance(fact.value, int | float):
        return None
    events, seconds = since(fact.name, float(fact.value), uptime, before)
    if events > 0 and FATAL.match(fact.name):
        return sentences.counted(fact, events, seconds, 0.0, 0.0)
    if learned is None or learned.rate is None or seconds is None:
        return None
    if not is_burst(events, seconds, learned.rate):
        return None
    chance = burst(events, seconds, learned.rate)
    weak = 1.0 if _WEAK.match(fact.name) else 0.0
    return sentences.counted(fact, events, seconds, learned.rate, weak and max(chance, 1e-300))


def _lost(facts: Sequence[Fact], baseline: FactsBaseline, found: dict[str, NodeFinding]) -> None:
    """Facts that this node lacks and the others have; one finding for what belongs together."""
    names = {fact.name for fact in facts}
    hidden = _hidden(facts)
    stems = {_stem(name) for name in found}
    for name, learned in baseline.facts.items():
        if name in names or learned.rule == "counter" or name.startswith(hidden):
            continue
        if not learned.groups or any(group.absent for group in learned.groups):
            continue
        if learned.rule == "shown" or _LEARNED.match(name) or _LINK.match(name):
            continue
        if _stem(name) in stems:
            continue
        stem = _stem(name)
        whole = "." in stem and not any(other.startswith(f"{stem}.") for other in names)
        found[name] = sentences.lost(
            stem if whole else name, name, learned, 1.0 if _WEAK.match(name) else 0.0
        )
        stems.add(_stem(name))


def _stem(name: str) -> str:
    """What a fact belongs to: of ``net.eth0.speed`` the adapter; a mount point has one stem."""
    stem = name.rpartition(".")[0]
    return "mount." + stem.removeprefix("disk.") if stem.startswith("disk.") else stem


def _without_consequences(found: dict[str, NodeFinding]) -> None:
    for cause, followers in _FOLLOWS:
        if any(re.match(cause, name) for name in found):
            for name in [n for n in found if re.match(followers, n) and not re.match(cause, n)]:
                if found[name].probability == 0 or name.startswith(("edac.", "processes.")):
                    del found[name]


def _order(finding: NodeFinding) -> tuple[float, int, str]:
    places = (place for place, name in enumerate(_FIRST) if re.match(name, finding.about))
    return finding.probability, next(places, len(_FIRST)), finding.about
