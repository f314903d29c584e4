"""Compares profiles, and prints and writes the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.questions.common.findings import findings_json
from assay.report.destination import Destination
from assay.report.subject import present_subject
from assay.subjects.profile.compared.findings import find_changes
from assay.subjects.profile.compared.model import ProfileComparison
from assay.subjects.profile.compared.sides import ProfileSide, read_profiles
from assay.subjects.profile.compared.subject import SUBJECT

if TYPE_CHECKING:
    from rich.console import Console


def compare_profiles(
    words: Sequence[str],
    margin: float,
    console: Console | None,
    target: Destination | None,
    *,
    hide: bool = False,
    verbose: bool = False,
) -> ProfileComparison:
    """Compare the profiles in folders, and present the report.

    ``margin``: relative difference that counts as the same. ``console``: None prints the findings
    as JSON. ``hide``: replace names of folders, and leave out commands. Raises AssayError if a
    folder has no samples, or if the file can't be written.
    """
    sides = read_profiles(words)
    found = find_changes(
        [_hidden(s, at) for at, s in enumerate(sides, 1)] if hide else sides, margin
    )
    present_subject(SUBJECT, found, console, target, verbose=verbose, document=findings_json(found))
    return found


def _hidden(side: ProfileSide, number: int) -> ProfileSide:
    import msgspec

    run = msgspec.structs.replace(side.run, command=[])
    return replace(side, name=f"profile {number}", run=run, doubts=())
