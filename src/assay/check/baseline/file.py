"""The file of a baseline: read only if no other user can have written it, replaced atomically."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import msgspec

from assay.check.baseline.exceedance import GRID
from assay.check.baseline.model import SCHEMA, Baseline, ComponentBaseline
from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.ownership import why_untrusted
from assay.plain_files import reading

# A baseline of 10 components has a few kilobytes, its facts some dozens.
_LARGEST = 4_000_000
_LEARN = "Run `assay check --learn` to write a new one."
_DAY_HOURS = 24


class _Head(msgspec.Struct):
    schema: str = ""


def baseline_path(folder: Path, kind: str) -> Path:
    """The file of a kind of nodes in a folder of checks."""
    return folder / "baselines" / f"{kind}.json"


def read_baseline(path: Path, kind: str) -> Baseline:
    """Read and check a baseline.

    Raises AssayError if there is none, it is damaged, has another schema, describes another
    kind of node, or others can have written it.
    """
    where = str(path)
    try:
        why = why_untrusted(path)
        if why is not None:
            raise AssayError(
                f"The baseline {why}, so that others decide which nodes fail.",
                where=where,
                fix="Check its content, then let only its owner, such as root, write it.",
            )
        with reading(path) as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise AssayError(
            f"There is no baseline of {kind}.",
            where=where,
            fix="Run `assay check --record` on each node some times, then `assay check --learn`.",
        ) from None
    except OSError as error:
        raise AssayError(f"The baseline can't be read: {error.strerror}.", where=where) from None
    return _checked(content, kind, where)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Replace the file atomically. Raises AssayError if it can't be written, and if another
    baseline was written since ``baseline`` was made.
    """
    from assay.records.files import write_atomically

    if path.exists():
        try:
            newest = read_baseline(path, baseline.kind).version
        except AssayError:
            newest = 0
        if newest >= baseline.version:
            raise AssayError(
                f"Version {newest} of the baseline was written meanwhile.",
                where=str(path),
                fix="Repeat the command.",
            )
    content = msgspec.json.encode(baseline)
    write_atomically(path, content + b"\n", mode=0o644, option="--folder DIR")


def _checked(content: bytes, kind: str, where: str) -> Baseline:
    if len(content) > _LARGEST:
        raise AssayError("The baseline is too large to be one.", where=where, fix=_LEARN)
    try:
        schema = msgspec.json.decode(content, type=_Head).schema
    except UNREADABLE:
        raise AssayError("The baseline is damaged.", where=where, fix=_LEARN) from None
    if schema != SCHEMA:
        raise AssayError(
            f"The baseline has the schema {schema!r}, and this assay reads {SCHEMA!r}.",
            where=where,
            fix=_LEARN,
        )
    try:
        baseline = msgspec.json.decode(content, type=Baseline)
    except UNREADABLE:
        raise AssayError("The baseline is damaged.", where=where, fix=_LEARN) from None
    if baseline.kind != kind:
        raise AssayError(
            f"The baseline describes {baseline.kind!r} nodes, and this node is {kind!r}.",
            where=where,
        )
    parts = list(baseline.components.items())
    parts += [("core.gap", baseline.core_gap)] if baseline.core_gap is not None else []
    for name, each in parts:
        why = why_unusable(each)
        if why:
            raise AssayError(f"The baseline is damaged: {why} of {name}.", where=where, fix=_LEARN)
    return baseline


def why_unusable(usual: ComponentBaseline) -> str:
    """What of a component's baseline is absurd, as a clause; empty if nothing is."""
    for name in ("fleet", "within", "between", "movement"):
        table = getattr(usual, name)
        if name == "movement" and not table:
            continue
        if len(table) != len(GRID):
            return f"the table {name!r} has {len(table)} entries instead of {len(GRID)}"
        if not all(map(math.isfinite, table)) or any(one >= two for one, two in pairwise(table)):
            return f"the table {name!r} does not increase"
    if len(usual.hours) not in (0, _DAY_HOURS):
        return f"the profile has {len(usual.hours)} hours"
    single = (
        usual.level, usual.learned_level, usual.drift, usual.check_scatter, usual.node_scatter,
        usual.round_scatter, usual.gap, usual.valley, usual.wander, *usual.hours,
        *(value for each in usual.sessions for value in (each.begin, each.shift, each.error)),
    )  # fmt: skip
    if not all(map(math.isfinite, single)):
        return "a value is not a finite number"
    scatter = (usual.check_scatter, usual.node_scatter, usual.round_scatter)
    if min(scatter) <= 0.0 or min(usual.gap, usual.drift, usual.wander) < 0.0:
        return "a scatter is not positive"
    return ""
