"""A node's facts, the baseline of its kind, and how it differs from it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import msgspec

from assay.check.baseline.file import baseline_path, read_baseline
from assay.check.baseline.model import Baseline
from assay.check.facts.counters import counters_of, pack_counters
from assay.check.facts.fleet import FactsBaseline, divided, learned_scratch, new_facts
from assay.check.facts.judging import judge_facts
from assay.check.facts.kind import kind_of, nearest_kind
from assay.check.facts.reading import read_facts
from assay.check.model import NodeFinding
from assay.check.node.course import CheckCourse
from assay.check.result import UsedBaseline
from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.ownership import untrusted_above

# Seconds for reading facts, at most and at least. Facts alone have the first from the start on.
FACTS_SECONDS, LEAST_SECONDS = 1.0, 0.8
# Seconds until a mount that doesn't answer fails the node, at most.
PATIENCE = 3.0
_SHORTEST = 0.1
# Share of the learned facts that must be read to call a node healthy.
_ENOUGH = 0.5
# The groups of facts that tell the kind of a node.
_OF_KIND = ("processor", "memory", "pci")
_DIGITS = 12
# A line of 100 characters with its outcome.
_NONE = "There is no baseline yet; run assay check --record on each node, then assay check --learn."
_FIRST = "Some records per node are enough to begin with, such as by 'srun --nodes=all'."


def baseline_of(course: CheckCourse) -> Baseline:
    """The baseline of this node's kind.

    Raises AssayError if there is none, and if others can have written it.
    """
    course.stage("kind of node")
    found = read_facts(seconds=_seconds(course), groups=_OF_KIND)
    course.unread = [f"{name}: {why}" for name, why in found.unread.items()]
    course.stage("baseline")
    folder = course.settings.folder
    kind = nearest_kind(found.facts, known_kinds(folder), course.header.kind)
    if not kind and course.unread:
        raise AssayError(
            "The kind of this node is unknown, since its facts couldn't be read.",
            where=course.unread[0],
            fix="Give a longer --deadline if time was short.",
        )
    if not kind:
        raise AssayError(
            f"There is no baseline of {kind_of(found.facts)} yet; run assay check --record there.",
            where=str(folder),
            fix="Then run 'assay check --learn' again.",
        )
    course.kind = kind
    path = baseline_path(folder, kind)
    above = untrusted_above(path)
    if above is not None:
        place, why = above
        raise AssayError(
            f"The folder of the baseline {why}, so that others decide which nodes fail.",
            where=str(place),
            fix="Let only its owner write to it: chmod go-w.",
        )
    baseline = read_baseline(path, kind)
    course.used = UsedBaseline(
        digest=hashlib.sha256(msgspec.json.encode(baseline)).hexdigest()[:_DIGITS],
        version=baseline.version,
        created=baseline.created,
        nodes=baseline.nodes,
        checks=baseline.checks,
    )
    return baseline


def known_kinds(folder: Path) -> list[str]:
    """The kinds that have a baseline. Raises AssayError if there is none."""
    try:
        found = [path.name.removesuffix(".json") for path in (folder / "baselines").glob("*.json")]
        if not found and not folder.is_dir():
            raise AssayError(
                "There is no such folder of checks.",
                where=str(folder),
                fix="Correct its name, or begin with 'assay check --record' on each node.",
            )
    except OSError as error:
        raise AssayError(
            f"The folder of baselines can't be read: {error.strerror}.", where=str(folder)
        ) from None
    if not found:
        raise AssayError(_NONE, where=str(folder), fix=_FIRST)
    return found


def judged_facts(
    course: CheckCourse, baseline: Baseline
) -> tuple[list[NodeFinding], list[NodeFinding]]:
    """Read the facts of this node and compare them with the fleet's: what fails it, what is noted.

    Raises AssayError for a baseline whose facts are damaged or were learned in another scratch.
    """
    course.stage("facts")
    try:
        learned = msgspec.json.decode(baseline.facts, type=FactsBaseline)
    except UNREADABLE:
        raise AssayError(
            "The baseline is damaged: its facts can't be read.",
            where=str(baseline_path(course.settings.folder, baseline.kind)),
            fix="Run 'assay check --learn' to write a new one.",
        ) from None
    scratch = _scratch(course, learned)
    found = judge_facts(
        learned,
        scratch=scratch,
        expect_idle=course.request.idle,
        seconds=_seconds(course),
        before=course.header.counters,
        host=course.host,
        patience=0.0 if course.request.facts_only else _patience(course),
        busy=_patience(course),
    )
    course.facts = found.read.facts
    course.unread = [f"{name}: {why}" for name, why in found.read.unread.items()]
    course.divided = divided(learned)
    course.new = [fact.name for fact in new_facts(course.facts, learned)]
    if not course.unread:
        course.counters = pack_counters(counters_of(course.facts))
    if found.read.left:
        pids = ", ".join(map(str, found.read.left))
        course.warnings.append(f"These processes hang in the kernel and can't be killed: {pids}.")
    read = {fact.name for fact in course.facts if fact.value is not None} & learned.facts.keys()
    if len(read) < _ENOUGH * len(learned.facts):
        course.missing = f"only {len(read)} of {len(learned.facts)} facts could be read in time"
    return found.failed, found.suspected


def _scratch(course: CheckCourse, learned: FactsBaseline) -> str:
    """The scratch folder of this check: by default the learned one.

    A misspelt one must not fail a whole fleet, and another disk must not look slow. Raises
    AssayError if it isn't the learned one.
    """
    known, named = learned_scratch(learned), course.settings.scratch
    if named is None and known:
        course.settings = replace(course.settings, scratch=Path(known))
    elif named is not None and str(named) != known:
        raise AssayError(
            "The scratch folder isn't the one that the fleet was learned with.",
            where=str(named),
            fix=f"Correct it to {known}, or record and learn with it."
            if known
            else "Record and learn with it first, or leave it out.",
        )
    return known


def _patience(course: CheckCourse) -> float:
    """The time for a mount that hangs, as a busy server may take seconds, or for reading on a busy
    node; measuring needs the rest.
    """
    return min(PATIENCE, course.reporter.remaining() / 2)


def _seconds(course: CheckCourse) -> float:
    """The time for reading facts: hung file systems cost all of it."""
    reporter = course.reporter
    most = FACTS_SECONDS - reporter.elapsed() if course.request.facts_only else FACTS_SECONDS
    return min(max(most, LEAST_SECONDS), max(reporter.remaining(), _SHORTEST))
