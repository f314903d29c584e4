"""Learns which devices the nodes of a kind have, and what is usual in each slot (``slots.py``)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

import msgspec

from assay.check.baseline.costs import cost_of
from assay.check.baseline.model import DeviceSlots
from assay.check.baseline.samples import LearningCheck
from assay.check.baseline.undisturbed import undisturbed
from assay.check.components import OF_DEVICES
from assay.check.devices.slots import levelled_round
from assay.check.model import CheckRecord, DeviceSet, Reading
from assay.units import counted, listed

# Nodes from which on a slot's difference is learned: with fewer, a slow device would look like a
# slow slot.
_LEAST_NODES = 3


def learn_slots(
    checks: Sequence[LearningCheck], before: DeviceSlots | None
) -> tuple[DeviceSlots | None, list[LearningCheck], list[str]]:
    """The devices that most nodes have, the checks on their terms, and sentences on other nodes.

    ``before``: the slots of the baseline that is replaced, by the same program. What was learned of
    a slot stays, since a later baseline must not make a slow device usual.
    """
    sets = Counter((c.devices.backend, *c.devices.names) for c in checks if c.devices is not None)
    if not sets:
        return None, list(checks), []
    backend, *names = sets.most_common(1)[0][0]
    usual = DeviceSet(backend=backend, names=names)
    others = {each.host for each in checks if each.devices not in (usual, None)}
    usable = [
        each
        if each.devices == usual
        else replace(each, rounds=[_without_devices(found) for found in each.rounds])
        for each in checks
    ]
    if before is not None and before.shifts and before.devices == usual:
        slots = before
    else:
        quiet, _ = undisturbed(usable)
        shifts = {name: _shifts(quiet, name, len(names)) for name in OF_DEVICES}
        known = {name: found for name, found in shifts.items() if found}
        slots = DeviceSlots(backend=backend, names=names, shifts=known)
    levelled = [
        replace(each, rounds=[levelled_round(found, slots) for found in each.rounds])
        for each in usable
    ]
    sentences = []
    if others:
        sentences.append(
            f"The devices of {listed(sorted(others)[:3])}"
            f"{' and others' if len(others) > 3 else ''} aren't compared: most nodes have "
            f"{counted(len(names), 'device')} of another kind."
        )
    return slots, levelled, sentences


def without_device_values(
    records: Mapping[str, Sequence[CheckRecord]],
) -> dict[str, Sequence[CheckRecord]]:
    """Records of checks without the values of devices."""
    return {
        host: [
            msgspec.structs.replace(
                each, values={k: v for k, v in each.values.items() if k not in OF_DEVICES}
            )
            for each in found
        ]
        for host, found in records.items()
    }


def _without_devices(found: Mapping[str, Reading]) -> dict[str, Reading]:
    return {name: each for name, each in found.items() if name not in OF_DEVICES}


def _shifts(checks: Sequence[LearningCheck], component: str, count: int) -> list[float]:
    """The usual shift of each slot: the median over nodes of a node's median; [] if unknown."""
    by_host: dict[str, list[list[float]]] = defaultdict(list)
    for check in checks:
        for found in check.rounds:
            reading = found.get(component)
            if reading is None or not reading.verified or len(reading.values) != count:
                continue
            costs = [cost_of(component, value) for value in reading.values]
            known = [cost for cost in costs if cost is not None]
            if len(known) == count:
                middle = median(known)
                by_host[check.host].append([cost - middle for cost in known])
    if count < 2 or len(by_host) < _LEAST_NODES:
        return []
    per_host = [[median(slot) for slot in zip(*rows, strict=True)] for rows in by_host.values()]
    return [median(slot) for slot in zip(*per_host, strict=True)]
