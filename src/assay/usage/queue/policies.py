"""Modelled schedulers: those that have a name, and those that a TOML file describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.errors import AssayError, nearest
from assay.toml import TomlDocument, load_toml
from assay.usage.scheduler.machine import Machine
from assay.usage.scheduler.policy import Maui, Multifactor, Policy, Sharing, Timing

_DAY = 86400.0
POLICIES = {
    "fcfs": Policy(order="fcfs", backfill="none"),
    "easy": Policy(order="fcfs", backfill="easy"),
    "conservative": Policy(order="fcfs", backfill="conservative"),
    "multifactor": Policy(
        order="multifactor",
        backfill="conservative",
        multifactor=Multifactor(
            age=1000.0,
            size=1000.0,
            fair_share=10000.0,
            max_age=14 * _DAY,
            half_life=14 * _DAY,
        ),
    ),
    "maui": Policy(order="maui", backfill="easy", maui=Maui(queue_time=1.0)),
}
WORDS = {
    "fcfs": "first come, first served, without backfilling",
    "easy": "first come, first served, with EASY backfilling",
    "conservative": "first come, first served, with conservative backfilling",
    "multifactor": "Slurm's multifactor priority (weights: age 1,000, size 1,000, fair share "
    "10,000; over 14 days) with conservative backfilling",
    "maui": "Maui's priority by time in the queue, with one reservation and backfilling",
}


class ModelFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that describes a scheduler: its ``policy``, and its ``machine`` if it differs from the
    log's.
    """

    #: Name in the report; the file's name by default.
    name: str = ""
    policy: Policy = Policy()
    machine: Machine | None = None


@dataclass(frozen=True)
class NamedModel:
    """A scheduler to model: its ``name``, a description in ``words``, its ``policy``, and the
    ``machine`` (None: the log's machine).
    """

    name: str
    words: str
    policy: Policy
    machine: Machine | None = None


def model_of(text: str, where: str = "--model") -> NamedModel:
    """The scheduler that a name in ``POLICIES`` or a TOML file describes.

    Raises AssayError for an invalid file, with line and key, and for any other text.
    """
    if text in POLICIES:
        return NamedModel(text, WORDS[text], POLICIES[text])
    path = Path(text)
    if path.suffix != ".toml":
        raise AssayError(
            f"'{text}' is neither a known scheduler nor a TOML file.",
            where=where,
            fix=nearest(text, POLICIES),
        )
    document = load_toml(path)
    model = document.read((), document.data, ModelFile)
    check_model(document, model)
    name = model.name or path.stem
    return NamedModel(name, f"as {path.name} describes", model.policy, model.machine)


def with_sharing(model: NamedModel, sharing: Sharing) -> Policy:
    """The policy of the model. A named policy doesn't say how jobs share nodes; a file does."""
    if model.policy is POLICIES.get(model.name):
        return msgspec.structs.replace(model.policy, sharing=sharing)
    return model.policy


def check_model(document: TomlDocument, model: ModelFile) -> None:
    """Raise AssayError, with its line, for the first impossible number."""
    policy, machine = model.policy, model.machine
    for group, table, names in (
        ("timing", policy.timing, Timing.__struct_fields__),
        ("maui", policy.maui, ("window", "windows", "decay")),
        ("multifactor", policy.multifactor, ("age", "size", "fair_share", "qos", "partition")),
    ):
        for name in names:
            if not getattr(table, name) >= 0:
                raise document.error(("policy", group, name), f"'{name}' is negative.", "Write 0 "
                                     "or more.")  # fmt: skip
    for name in ("max_age", "half_life", "period", "damping"):
        if not getattr(policy.multifactor, name) > 0:
            raise document.error(
                ("policy", "multifactor", name), f"'{name}' must be above 0.", "Write seconds > 0."
            )
    if policy.reservations < 0:
        raise document.error(("policy", "reservations"), "'reservations' is negative.")
    if machine is None:
        return
    if not machine.nodes:
        raise document.error(("machine", "nodes"), "The machine has no nodes.", "Add [[machine."
                             "nodes]] with count = …")  # fmt: skip
    for index, kind in enumerate(machine.nodes):
        for name, least in (("count", 1), ("processors", 1), ("memory", 0), ("gpus", 0)):
            if not getattr(kind, name) >= least:
                raise document.error(
                    ("machine", "nodes", index, name), f"'{name}' must be at least {least}."
                )
    _check_ranges(document, machine)


def _check_ranges(document: TomlDocument, machine: Machine) -> None:
    groups: Sequence[tuple[str, Sequence[object]]] = (
        ("partitions", machine.partitions),
        ("reservations", machine.reservations),
        ("failures", machine.failures),
    )
    for group, members in groups:
        for index, each in enumerate(members):
            first = getattr(each, "first", 0)
            last = getattr(each, "last", None)
            last = machine.size - 1 if last is None else last
            if not 0 <= first <= last < machine.size:
                raise document.error(
                    ("machine", group, index, "last"),
                    f"Nodes {first} to {last} are not in the machine, which has {machine.size}.",
                    "Nodes are numbered from 0.",
                )
            begin, end = getattr(each, "begin", 0.0), getattr(each, "end", 1.0)
            if not begin < end:
                raise document.error(
                    ("machine", group, index, "end"),
                    "The end is before the beginning.",
                    "Write times in seconds since the first submission.",
                )
    names = [each.name for each in machine.partitions]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise document.error(
                ("machine", "partitions", index, "name"),
                f"The partition '{name}' is defined twice.",
            )
