"""Earlier runs of the same machine: the best that was ever seen of it is a limit worth knowing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.errors import AssayError
from assay.records.directory import list_runs
from assay.records.model import RunData
from assay.records.reading import read_run

# What makes two runs' machines the same one: what a user can't change without changing its speed.
_IDENTITY = (("os", "hostname"), ("processor", "name"), ("processor", "cores"))
_NEWEST = 10  # reading more runs than this would cost more than the report


def read_history(run: RunData, root: Path | None = None) -> list[RunData]:
    """The newest other runs of the same machine under ``root``, by default the run's own parent.

    Runs that can't be read, of another version say, are passed over: the report is about ``run``.
    """
    folder = root or (run.path.parent if run.path else None)
    if folder is None:
        return []
    wanted = _identity(run.manifest.system)
    found: list[RunData] = []
    for directory in reversed(list_runs(folder)):
        if len(found) == _NEWEST:
            break
        if directory.name == run.manifest.run:
            continue
        try:
            if _identity(directory.manifest().system) == wanted:
                found.append(read_run(directory.path))
        except AssayError:
            continue
    return found


def _identity(system: Mapping[str, object]) -> tuple[object, ...]:
    """The facts that tell machines apart; a fact that is missing tells nothing, and equals None."""
    facts = []
    for section, fact in _IDENTITY:
        part = system.get(section)
        facts.append(part.get(fact) if isinstance(part, Mapping) else None)
    return tuple(facts)
