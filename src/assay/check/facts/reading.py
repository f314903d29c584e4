"""Reading a node's facts in a given time, whatever hangs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from assay.check.facts.children import LATE, ask_children
from assay.check.facts.file_systems import answers_fact, file_system_questions, unknown_space
from assay.check.facts.groups import NAMES, PREFIXES, reader
from assay.check.model import Fact
from assay.system.files import Tree

#: Facts that running jobs change. They are judged only if no job is expected on the node.
WHILE_IDLE = re.compile(
    r"memory\.available$|processes\.|scratch\.(free|inodes)$|hugepages\.\w+\.(free|total)$|"
    # Batch systems set clock limits for a job that asks for them.
    r"frequency\.|device\.\d+\.(clock_application|power_limit|compute_mode)$"
)
# The share of the time in which children may answer; the rest is for what follows.
_ANSWERING = 0.85
# A file system hangs if the kernel kept the process that asks it waiting for this long, s. Servers
# that are well answer in a hundredth of this.
_HANGING = 0.1
# What the kernel answers from its own memory can't hang. One process reads all of it.
TOGETHER = (
    *("processor", "limits", "frequency", "memory", "dimms", "ecc", "mounts", "versions", "clock"),
)
_KERNEL = "kernel"
_ENDED = "end of "


class FactsRead(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a node that were read in time."""

    facts: list[Fact]
    #: Groups that were not read as a whole, each with the reason as a clause.
    unread: dict[str, str] = {}
    #: Mount points whose file system doesn't answer.
    hung: list[str] = []
    #: Processes that the kernel keeps until the file system or device that they wait for answers.
    left: list[int] = []
    #: Duration of reading, s.
    seconds: float = 0.0


def read_facts(
    tree: Tree | None = None,
    *,
    scratch: str = "",
    expect_idle: bool = False,
    seconds: float = 1.0,
    groups: Collection[str] = NAMES,
) -> FactsRead:
    """The facts of this node, or of the machine whose files lie below ``tree``; raises nothing.

    ``scratch``: the folder for files of jobs, whose free space is judged. ``expect_idle``: no job
    should be on the node, so that leftover processes and used memory are faults. ``seconds``: the
    time after which reading ends. ``groups``: those to read.
    """
    began = time.monotonic()
    tree = tree or Tree(Path("/"))
    together = [name for name in TOGETHER if name in groups]
    questions: dict[str, Callable[[], Iterable[Fact]]] = {
        name: partial(reader(name), tree) for name in groups if name not in together
    }
    if together:
        questions[_KERNEL] = partial(_several, tree, [(name, reader(name)) for name in together])
    mounts = file_system_questions(tree, scratch) if "mounts" in groups else {}
    questions |= mounts
    # All modules are imported by now: children would import them again and again.
    found = ask_children(questions, began + _ANSWERING * seconds, frozenset(mounts))
    facts: list[Fact] = []
    unread: dict[str, str] = {}
    hung: list[str] = []
    for name, answer in found.answers.items():
        facts += [fact for fact in answer.facts if not fact.name.startswith(_ENDED)]
        if name == _KERNEL:
            ends = {fact.name: fact.value for fact in answer.facts}
            missing = {each: ends.get(_ENDED + each, answer.failed) for each in together}
            unread |= {each: str(why) for each, why in missing.items() if why}
            continue
        if answer.whole:
            continue
        if name not in mounts:
            unread[name] = answer.failed
            continue
        # On a busy node a process may also lack the time to ask.
        late = answer.failed == LATE and answer.blocked >= _HANGING
        if late:
            hung.append(scratch if name == "scratch" else name.removeprefix("mount."))
        else:
            unread[name] = answer.failed
        facts.append(answers_fact(name, False if late else None))
        facts += unknown_space(name)
    for name in [name for name in unread if name in PREFIXES]:
        facts += [Fact(name=f"{prefix}*", value=None) for prefix in PREFIXES[name]]
    if not scratch:
        facts.append(Fact(name="scratch.*", value=None))
    return FactsRead(
        facts=[_in_use(fact, expect_idle) for fact in _naming_users_of_memory(facts)],
        unread=unread,
        hung=hung,
        left=list(found.left),
        seconds=time.monotonic() - began,
    )


def _several(
    tree: Tree, readers: Iterable[tuple[str, Callable[[Tree], Iterable[Fact]]]]
) -> Iterator[Fact]:
    """The facts of several groups, after each the reason why it ended early, or nothing."""
    for name, facts in readers:
        why = ""
        try:
            yield from facts(tree)
        except Exception as error:
            why = type(error).__name__
        yield Fact(name=f"{_ENDED}{name}", value=why)


def _in_use(fact: Fact, expect_idle: bool) -> Fact:
    """The fact with the rule for a node with or without jobs."""
    if expect_idle or fact.rule == "counter" or not WHILE_IDLE.match(fact.name):
        return fact
    return msgspec.structs.replace(fact, rule="shown")


def _naming_users_of_memory(facts: list[Fact]) -> list[Fact]:
    """The facts, where available memory names what uses most: a process or files in memory."""
    by_name = {fact.name: fact for fact in facts}
    largest, shared = by_name.get("processes.largest"), by_name.get("memory.shared")
    sizes = [
        each.value if each is not None and isinstance(each.value, float) else 0.0
        for each in (largest, shared)
    ]
    if largest is None or not any(sizes):
        return facts
    user = f"check {largest.look_at}" if sizes[0] >= sizes[1] else "check files in /dev/shm"
    return [
        msgspec.structs.replace(fact, look_at=user) if fact.name == "memory.available" else fact
        for fact in facts
    ]


def group_of(name: str) -> str:
    """The group that reads a fact; "mounts" for what file systems answer."""
    for group, prefixes in PREFIXES.items():
        if name.startswith(prefixes):
            return group
    return "mounts"
