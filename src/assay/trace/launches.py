"""The launches by which `assay why` asks: ``why.json`` in their folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.trace.reading import read_description

WHY_SCHEMA = 1
WHY_FILE = "why.json"
# plain: as the user runs it. in turn: the ranks of a node compute one after another at first.
LaunchKind = Literal["plain", "in turn"]


class OtherProcess(msgspec.Struct, frozen=True):
    """A process that isn't the program's."""

    #: Its name.
    name: str
    #: CPUs that it used on average while the program ran.
    cpus: float


class WhyLaunch(msgspec.Struct, frozen=True):
    """One launch."""

    #: Whether the ranks computed as usual (plain) or in turn at first.
    kind: LaunchKind
    #: Its folder in the folder of all.
    folder: str
    #: From its start to its end, with the launcher's work, s.
    wall: float
    #: The busiest other processes of the host on which assay ran.
    others: list[OtherProcess] = []


class WhyRun(msgspec.Struct, frozen=True):
    """All launches, and what they may take."""

    schema: int
    assay: str
    command: list[str]
    utc: float
    #: Time for all launches, s; None: twice the first launch's time plus one minute.
    asked: float | None
    #: The same after the first launch, s.
    budget: float
    launches: list[WhyLaunch]
    #: What was not launched, and why, as sentences.
    left_out: list[str] = []


def read_why(folder: Path) -> WhyRun:
    """The launches in a folder. Raises AssayError if there are none."""
    path = folder / WHY_FILE
    fix = "Name the folder that `assay why -- COMMAND` printed."
    found = read_description(path, WhyRun, "a folder of `assay why`", fix)
    if found.schema != WHY_SCHEMA:
        raise AssayError(
            f"The folder has schema {found.schema}; this assay reads {WHY_SCHEMA}.",
            where=str(path),
            fix="Use the assay that wrote it, or ask again.",
        )
    if not any(one.kind == "plain" for one in found.launches):
        raise AssayError("The folder has no launch.", where=str(path), fix=fix)
    return found
