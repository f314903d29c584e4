"""Learns the baselines of a fleet and writes them."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.check.baseline.file import baseline_path, read_baseline, write_baseline
from assay.check.baseline.learn import Learning, learn
from assay.check.baseline.model import Baseline
from assay.check.baseline.runs import RunSpread
from assay.check.baseline.samples import LearningCheck
from assay.check.baseline.update import update
from assay.check.components import BY_NAME
from assay.check.devices.learned_slots import learn_slots, without_device_values
from assay.check.facts.fleet import FactsBaseline, divided, learn_facts
from assay.check.facts.groups.processor import VIRTUAL
from assay.check.facts.kind import kinds_of_fleet
from assay.check.learning.healthy_checks import healthy_checks
from assay.check.learning.program import cannot_write, make_folder, sealed_program
from assay.check.learning.records import LearningRecord, read_records
from assay.check.measuring.program import program_digest
from assay.errors import AssayError
from assay.units import counted, format_share

# Differing nodes and divided facts that are printed.
_MOST = 12


@dataclass(frozen=True)
class LearnedKind:
    """The baseline of one kind of nodes, as it was written."""

    baseline: Baseline
    facts: FactsBaseline
    path: Path
    #: What was learned, what is missing and what was left out, as sentences.
    sentences: list[str]


def learn_fleet(
    folder: Path, slow: Mapping[str, str], spreads: Mapping[str, RunSpread] | None = None
) -> tuple[list[LearnedKind], list[str]]:
    """Learn from all learning checks and from the records of checks, and write the baselines.

    ``slow``: hosts that are known to be slow, each with the reason. ``spreads``: how much nodes
    differ in runs (``read_spreads``), if the fleet has one kind of nodes. Returns the kinds, and
    sentences on what can't be read. Raises AssayError if there is nothing to learn from, or if a
    baseline can't be written.
    """
    records, problems = read_records(folder)
    if not records:
        raise AssayError(
            "There are no learning checks yet.",
            where=str(folder),
            fix="Run 'assay check --record' on each node some times first, such as with "
            "'srun --nodes=all --ntasks-per-node=1'.",
        )
    by_host: dict[str, list[LearningRecord]] = {}
    for record in records:
        by_host.setdefault(record.host, []).append(record)
    newest = {host: found[-1].facts for host, found in by_host.items()}
    kinds = []
    found = kinds_of_fleet(newest)
    used = spreads or {} if len(found) == 1 else {}
    for kind, hosts in found.items():
        of_kind = {host: by_host[host] for host in hosts}
        kinds.append(_learn_kind(folder, kind, of_kind, slow=slow, spreads=used))
    return kinds, problems


def _learn_kind(
    folder: Path,
    kind: str,
    by_host: Mapping[str, Sequence[LearningRecord]],
    *,
    slow: Mapping[str, str],
    spreads: Mapping[str, RunSpread],
) -> LearnedKind:
    program, notes = _chosen_program(folder, by_host)
    path = baseline_path(folder, kind)
    before = _before(path, kind, notes)
    newest = max(record.utc for found in by_host.values() for record in found)
    if before is not None and before.program == program and newest < before.created and not slow:
        return _updated(folder, path, before, notes)
    facts = learn_facts({host: [each.facts for each in found] for host, found in by_host.items()})
    used = [
        LearningCheck(host=host, utc=record.utc, rounds=record.rounds, devices=record.devices)
        for host, found in by_host.items()
        for record in found
        if record.program == program
    ]
    same = before if before is not None and before.program == program else None
    known = same.devices if same is not None else None
    devices, checks, unlike = learn_slots(used, known)
    records = healthy_checks(folder, kind, same.created) if same is not None else {}
    if known is not None and known != devices:
        records = without_device_values(records)
    baseline = learn(
        Learning(
            kind=kind,
            program=program,
            checks=checks,
            records=records,
            devices=devices,
            slow={host: why for host, why in slow.items() if host in by_host},
            spreads=spreads,
            facts=msgspec.Raw(msgspec.json.encode(facts)),
            virtual=any(_is_virtual(found[-1]) for found in by_host.values()),
            before=before,
        )
    )
    try:
        make_folder(path.parent)
    except OSError as error:
        raise cannot_write(path.parent, error) from None
    write_baseline(path, baseline)
    return LearnedKind(baseline, facts, path, [*baseline.learned, *unlike, *notes])


def _is_virtual(record: LearningRecord) -> bool:
    return any(each.name == VIRTUAL and each.value is True for each in record.facts)


def _updated(folder: Path, path: Path, before: Baseline, notes: Sequence[str]) -> LearnedKind:
    """The baseline after healthy checks, if there were no further learning checks.

    A level follows them only a little, so that a slow decline of the fleet stays visible.
    """
    records = healthy_checks(folder, before.kind, 0.0)
    result = update(before, records, time.time())
    facts = msgspec.json.decode(before.facts, type=FactsBaseline)
    checks = counted(sum(map(len, records.values())), "healthy check")
    basis = f"{checks} of {counted(len(records), 'node')}"
    sentences = [f"There are no new learning checks, but {basis}."]
    for decline in result.declines:
        low, high = decline.interval
        sentences.append(
            f"{BY_NAME[decline.component].title} became {format_share(math.expm1(decline.shift))} "
            f"slower on all nodes ({format_share(math.expm1(low))} to "
            f"{format_share(math.expm1(high))}, {counted(decline.nodes, 'node')}); the baseline "
            "doesn't follow that far."
        )
    if result.baseline.components == before.components:
        return LearnedKind(
            before, facts, path, [*sentences, "The baseline stays as it is.", *notes]
        )
    write_baseline(path, result.baseline)
    return LearnedKind(result.baseline, facts, path, [*sentences, *notes])


def _chosen_program(
    folder: Path, by_host: Mapping[str, Sequence[LearningRecord]]
) -> tuple[str, list[str]]:
    """The SHA-256 of the program of the newest record, and a note on records of others.

    Raises AssayError if the program itself is missing or damaged.
    """
    records = [record for found in by_host.values() for record in found]
    digest = max(records, key=lambda record: record.utc).program
    path = sealed_program(folder, digest)
    if program_digest(path) != digest:
        raise AssayError(
            "The measuring program is damaged.",
            where=str(path),
            fix="Remove it, and run 'assay check --record' on each node again.",
        )
    others = Counter(record.program for record in records)
    del others[digest]
    if not others:
        return digest, []
    checks = counted(sum(others.values()), "learning check")
    return digest, [f"{checks} of an earlier measuring program left out."]


def _before(path: Path, kind: str, notes: list[str]) -> Baseline | None:
    """The baseline that is replaced; None if there is none or it can't be read."""
    try:
        path.lstat()
    except OSError:
        return None
    try:
        return read_baseline(path, kind)
    except AssayError as error:
        notes.append(f"The baseline before can't be read, and is replaced: {error.what}")
        return None


def learned_lines(kinds: Sequence[LearnedKind], problems: Sequence[str]) -> list[str]:
    """What was learned, in a few lines per kind."""
    lines: list[str] = []
    for each in kinds:
        baseline = each.baseline
        lines.append(
            f"{baseline.kind}: version {baseline.version}, from "
            f"{counted(baseline.checks, 'check')} of {counted(baseline.nodes, 'node')}"
        )
        sentences = list(each.sentences)
        sentences += [f"{host} left out: {why}." for host, why in baseline.left_out.items()]
        sentences += _first([f"{d.host} differs: {d.text}." for d in each.facts.different])
        sentences += _first([f"divided: {clause}." for clause in divided(each.facts)])
        lines += [f"  {sentence}" for sentence in sentences]
        lines.append(f"  {each.path}")
    return [*lines, *problems]


def _first(sentences: Sequence[str]) -> list[str]:
    if len(sentences) <= _MOST:
        return list(sentences)
    return [*sentences[:_MOST], f"and {len(sentences) - _MOST} more."]
