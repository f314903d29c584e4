"""The parts of a toolchain: compiler, MPI and BLAS as separate factors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import PurePath

# The only factor if the parts don't distinguish the toolchains.
WHOLE = "toolchain"
_MPI = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI", "other": "MPI"}
_VERSION = re.compile(r"\d+(?:\.\d+)+")

_FACTS = (
    "cxx", "cxx_version", "flags", "mpi_flavour", "mpi_version", "mpicxx", "launch_flags",
    "environment", "launcher",
)  # fmt: skip

Facts = Mapping[str, object]


def parts_of(toolchains: Mapping[str, Facts], *, blas: bool = False) -> dict[str, dict[str, str]]:
    """The level of each toolchain in each part that differs, from a manifest's facts.

    Parts are ``compiler`` (with its flags if these differ), ``MPI`` and, with ``blas``, ``BLAS``.
    If one part determines another, the two are combined (``compiler and MPI``), because their
    effects can't be separated. Toolchains that differ only in other facts, or have no facts, are
    levels of one factor ``toolchain``, by name. Toolchains that differ only in their names are one
    level.
    """
    kinds = {"compiler": _compilers, "MPI": _mpis, **({"BLAS": _blas} if blas else {})}
    facts = list(toolchains.values())
    columns = {name: _distinct(levels(facts)) for name, levels in kinds.items()}
    columns = {name: levels for name, levels in columns.items() if len(set(levels)) > 1}
    together = set(zip(*columns.values(), strict=True)) if columns else {()}
    if len(together) < len({_identity(name, own) for name, own in toolchains.items()}):
        columns = {WHOLE: list(toolchains)}
    columns = _merged(columns)
    return {
        toolchain: {name: levels[place] for name, levels in columns.items()}
        for place, toolchain in enumerate(toolchains)
    }


def _identity(name: str, facts: Facts) -> str:
    """All known facts of a toolchain; its name if nothing is known."""
    known = {key: str(facts[key]) for key in _FACTS if key in facts}
    if "cxx" in known:
        known["cxx"] = PurePath(known["cxx"]).name
    return str(sorted(known.items())) if known else name


# Names of a part, from the shortest to the most exact. The shortest that distinguishes all levels
# is used.
Names = tuple[str, ...]


def _distinct(names: Sequence[Names]) -> list[str]:
    """The shortest names that distinguish all levels that the most exact names distinguish."""
    different = len(set(names))
    for length in range(len(names[0])):
        short = [name[length] for name in names]
        if len(set(short)) == different:
            return short
    return [" ".join(filter(None, name)) for name in names]


def _merged(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The parts; each pair in which one part determines the other is combined."""
    left = dict(columns)
    for one, other in combinations(columns, 2):
        if one in left and other in left and _determines(left[one], left[other]):
            both = [f"{a}, {b}" for a, b in zip(left.pop(one), left.pop(other), strict=True)]
            left[f"{one} and {other}"] = both
    return left


def _determines(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether either column determines the other."""
    pairs = len(set(zip(one, other, strict=True)))
    return pairs in (len(set(one)), len(set(other)))


def _compilers(toolchains: Sequence[Facts]) -> list[Names]:
    names: list[Names] = []
    for facts in toolchains:
        cxx, flags = _text(facts, "cxx"), _text(facts, "flags")
        name = f"{PurePath(cxx).name} {_version(_text(facts, 'cxx_version'))}".strip()
        names.append((name, f"{name} {flags}".strip()))
    return names


def _mpis(toolchains: Sequence[Facts]) -> list[Names]:
    names: list[Names] = []
    for facts in toolchains:
        flavour = _text(facts, "mpi_flavour")
        name = f"{_MPI.get(flavour, flavour)} {_text(facts, 'mpi_version')}".strip()
        flags = facts.get("launch_flags")
        words = " ".join(map(str, flags)) if isinstance(flags, list | tuple) else ""
        names.append(
            (name, f"{name} {words}".strip(), f"{name} {words} {_text(facts, 'mpicxx')}".strip())
        )
    return names


def _blas(toolchains: Sequence[Facts]) -> list[Names]:
    names: list[Names] = []
    for facts in toolchains:
        blas = facts.get("blas")
        known = blas if isinstance(blas, Mapping) else {}
        name = f"{known.get('name') or ''} {known.get('version') or ''}".strip() or "no BLAS"
        names.append((name, f"{name} {known.get('libraries') or ''}".strip()))
    return names


def _text(facts: Facts, name: str) -> str:
    value = facts.get(name)
    return value if isinstance(value, str) else ""


def _version(text: str) -> str:
    """The last dotted number in a compiler's version text; distributions put other numbers
    before.
    """
    found = _VERSION.findall(text)
    return found[-1] if found else ""
