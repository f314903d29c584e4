"""Reading and comparing in one step, with an immediate second reading of what would fail a node."""

from __future__ import annotations

import time

import msgspec

from assay.check.facts.children import STARVED
from assay.check.facts.fleet import FactsBaseline, compare_facts, failing
from assay.check.facts.groups import NAMES
from assay.check.facts.reading import FactsRead, group_of, read_facts
from assay.check.model import NodeFinding
from assay.system.files import Tree

# The share of the time for the first reading.
_FIRST = 0.6


class FactsJudged(msgspec.Struct, frozen=True, kw_only=True):
    """A node's facts and what is wrong with them."""

    read: FactsRead
    #: What fails the node, said by both readings.
    failed: list[NodeFinding] = []
    #: What may be wrong, or what a healthy node may have, too.
    suspected: list[NodeFinding] = []


def judge_facts(
    baseline: FactsBaseline,
    *,
    tree: Tree | None = None,
    scratch: str = "",
    expect_idle: bool = False,
    seconds: float = 1.0,
    before: bytes = b"",
    host: str = "",
    patience: float = 0.0,
    busy: float = 0.0,
) -> FactsJudged:
    """Read this node's facts and compare them with its fleet's; raises nothing.

    The first reading may take three fifths of ``seconds``. What would fail the node, and what could
    not be read, is read again in the rest of the time, so that a server that is slow for a moment
    or a process that is just ending fails no node. A mount that hangs is given ``patience`` in s,
    if this is more, since a busy server may take seconds. The processes that read get ``busy`` in s
    if they had too little processor time. Other arguments: ``read_facts``, ``compare_facts``.
    """
    began = time.monotonic()
    first = read_facts(tree, scratch=scratch, expect_idle=expect_idle, seconds=_FIRST * seconds)
    findings = compare_facts(first.facts, baseline, before, host=host)
    failed = {finding.about for finding in failing(findings)}
    again = {group_of(name) for name in failed} | set(first.unread) & set(NAMES)
    if "memory" in again:
        again.add("processes")  # names what uses the memory
    if not again and not first.unread:
        return FactsJudged(read=first, suspected=findings)
    second = read_facts(
        tree,
        scratch=scratch,
        expect_idle=expect_idle,
        seconds=max(
            0.1,
            seconds - (time.monotonic() - began),
            patience if first.hung else 0.0,
            busy if STARVED in first.unread.values() else 0.0,
        ),
        groups=[name for name in NAMES if name in again] or ["mounts"],
    )
    read = _merged(first, second, again or {"mounts"}, time.monotonic() - began)
    findings = compare_facts(read.facts, baseline, before, host=host)
    kept = [finding for finding in failing(findings) if finding.about in failed]
    return FactsJudged(
        read=read,
        failed=kept,
        suspected=[finding for finding in findings if finding not in kept],
    )


def _merged(first: FactsRead, second: FactsRead, again: set[str], seconds: float) -> FactsRead:
    mounts = "mounts" in again
    kept = [fact for fact in first.facts if group_of(fact.name) not in again]
    unread = {
        name: why
        for name, why in first.unread.items()
        if name not in again and not (mounts and name not in NAMES)
    }
    return FactsRead(
        facts=kept + second.facts,
        unread=unread | second.unread,
        hung=second.hung if mounts else first.hung,
        left=sorted({*first.left, *second.left}),
        seconds=seconds,
    )
