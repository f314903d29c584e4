"""The profiles of a comparison, as named on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.models.program.sampled.counts import SampleCounts, count_samples
from assay.records.directory import is_run
from assay.trace.model import ProfiledRun
from assay.trace.reading import RUN_FILE, read_run
from assay.trace.samples.reading import read_samples


@dataclass(frozen=True)
class ProfileSide:
    """One profile."""

    #: The folder as named.
    name: str
    run: ProfiledRun
    counts: SampleCounts
    #: What its samples don't show, in sentences.
    doubts: tuple[str, ...] = ()


def is_profile(word: str) -> bool:
    """Whether a side of a comparison is the folder of a profile."""
    folder = Path(word)
    return (folder / RUN_FILE).is_file() and not is_run(folder)


def are_profiles(words: Sequence[str]) -> bool:
    """Whether all sides are profiles. Raises AssayError if only some of them are."""
    found = [is_profile(word) for word in words]
    if any(found) and not all(found):
        raise AssayError(
            "A profile can be compared only with profiles.",
            where=words[found.index(False)],
            fix="Name folders that `assay profile --sample` wrote, or only runs.",
        )
    return bool(found) and all(found)


def read_profiles(words: Sequence[str]) -> list[ProfileSide]:
    """The profiles. Raises AssayError if one has no samples, or if there is only one."""
    if len(words) < 2:
        raise AssayError(
            "One profile can't be compared.", where=words[0], fix="Name a second folder."
        )
    return [_read(word) for word in words]


def _read(word: str) -> ProfileSide:
    folder = Path(word)
    run, samples = read_run(folder), read_samples(folder)
    if samples is None:
        raise AssayError(
            "The profile has no samples, so its functions can't be compared.",
            where=word,
            fix="Profile the program with `assay profile --sample`.",
        )
    return ProfileSide(word, run, count_samples(samples), samples.doubts)
