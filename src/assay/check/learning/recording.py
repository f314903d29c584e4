"""A learning check: all facts, and all measurements in several rounds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.check.components import ALONE, OF_DEVICES, WITH_PARTNER
from assay.check.facts.groups.devices import device_users
from assay.check.facts.kind import kind_of
from assay.check.facts.reading import read_facts
from assay.check.learning.program import cannot_write, make_folder, program_for
from assay.check.learning.records import LearningRecord, add_record, prepare
from assay.check.measuring.answers import failed
from assay.check.measuring.device_meter import DeviceMeter, with_users
from assay.check.measuring.meter import Meter
from assay.check.model import DeviceSet, Fact, Reading
from assay.check.quietness import is_quiet
from assay.check.state.file_names import host_name
from assay.check.state.header import NodeHeader
from assay.check.state.node_file import NODES, open_node_file
from assay.units import counted
from assay.version import VERSION

ROUNDS = 3
# Seconds for reading facts, and after which a round counts as hung.
_FACTS, _ROUND = 5.0, 30.0


@dataclass(frozen=True)
class Recorded:
    """One learning check that was stored."""

    record: LearningRecord
    kind: str
    path: Path
    #: Sentences on what is missing.
    warnings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What was recorded, and what comes next."""
        measured = {name for each in self.record.rounds for name in each if not each[name].failed}
        what = f"{counted(len(self.record.facts), 'fact')}, {counted(len(measured), 'component')}"
        return (
            f"recorded {self.record.host} ({self.kind}): {what} in {ROUNDS} rounds. After some "
            "records of each node: assay check --learn."
        )


def record_node(
    folder: Path, scratch: Path | None = None, partner: str = "", devices: str = ""
) -> Recorded:
    """Measure this node, and append the result to its learning checks.

    ``scratch``: where local storage is measured. ``partner``: the node that records with this node
    as its partner at the same time; messages between both are then measured, too. ``devices``: the
    backend that measures devices, or ``none``; empty: ``auto`` if the bus has accelerators. Builds
    the measuring program if the folder has none for this kind of node. Raises AssayError if that
    fails, if another check runs, and if the folder can't be written.
    """
    host, began = host_name(), time.time()
    try:
        make_folder(folder / NODES)
    except OSError as error:
        raise cannot_write(folder, error) from None
    prepare(folder, host)
    with open_node_file(folder, host) as file:
        found = read_facts(
            scratch=str(scratch) if scratch is not None else "", expect_idle=True, seconds=_FACTS
        )
        kind = kind_of(found.facts)
        program, digest = program_for(folder, kind, _say)
        components = (*ALONE, *WITH_PARTNER) if partner else ALONE
        with Meter(
            program,
            digest=digest,
            deadline=ROUNDS * _ROUND,
            scratch=scratch,
            partner=partner,
            own_name=host if partner else "",
        ) as meter:
            rounds = [meter.measure(components) for _ in range(ROUNDS)]
        backend = devices or ("auto" if _has_accelerators(found.facts) else "none")
        measured = _measure_devices(program, digest, backend, rounds)
        record = LearningRecord(
            assay=VERSION,
            host=host,
            utc=began,
            program=digest,
            facts=found.facts,
            rounds=rounds,
            devices=measured,
        )
        path = add_record(folder, record)
        # A check then only replaces its content, for which a full disk has room.
        why = file.write(file.content.header or NodeHeader(host=host))
    warnings = [f"Not readable: {name}: {reason}." for name, reason in found.unread.items()]
    warnings += _odd(rounds)
    if why:
        warnings.append(f"{file.path}: The node's file can't be written: {why}.")
    return Recorded(record, kind, path, tuple(warnings))


def _has_accelerators(facts: Iterable[Fact]) -> bool:
    return any(each.name == "pci.accelerator.count" and each.value for each in facts)


def _measure_devices(
    program: Path, digest: str, backend: str, rounds: list[dict[str, Reading]]
) -> DeviceSet | None:
    """Add the readings of devices to these rounds; returns the devices, if they were ready."""
    if backend == "none":
        return None
    with DeviceMeter(program, digest=digest, backend=backend, deadline=ROUNDS * _ROUND) as meter:
        for found in rounds:
            users = device_users(
                read_facts(seconds=_FACTS, groups=("devices",)).facts, meter.process
            )
            readings = with_users(meter.measure(OF_DEVICES), users)
            if meter.late:
                readings = {name: failed(name, meter.late) for name in OF_DEVICES}
            found |= readings
        return meter.devices


def _odd(rounds: list[dict[str, Reading]]) -> list[str]:
    """Sentences on readings that don't help to learn."""
    readings = [reading for each in rounds for reading in each.values()]
    failed = dict.fromkeys(each.failed for each in readings if each.failed)
    busy = sum(not is_quiet(each.quiet) for each in readings if not each.failed)
    found = list(failed)
    if busy:
        found.append(
            f"{busy} of {counted(len(readings), 'measurement')} ran beside other processes; "
            "record on an idle node."
        )
    return found


def _say(sentence: str) -> None:
    print(f"assay: {sentence}", file=sys.stderr)
