"""Profiles several launches of a program, and keeps the median launch."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import msgspec

from assay.campaign.commands.profile_program import keep_run, recorded_files
from assay.errors import AssayError
from assay.trace.matrix import MATRIX_FILE
from assay.trace.model import LaunchTime, ProgramProfile, middle_launch
from assay.units import rough_duration

if TYPE_CHECKING:
    from rich.console import Console


def profile_launches(
    launch: Callable[[Path | None], tuple[ProgramProfile | None, Path]],
    folder: Path | None,
    launches: int,
    console: Console,
) -> tuple[ProgramProfile | None, Path]:
    """The profile of the median of ``launches``, and its folder.

    ``launch`` profiles a launch in a given folder, as `profile_program` does. The profile has the
    times of all launches. A launch with an exit status other than 0 is the last one; its profile is
    kept without times. Raises AssayError if ``launch`` does; profiles of earlier launches stay.
    """
    began = time.monotonic()
    profile, kept = launch(folder)
    if profile is None:
        if launches > 1:
            raise AssayError(
                "Several launches are compared by their MPI calls, and this program has none. The "
                "first launch is kept.",
                where=str(kept),
                fix="Leave --launches out.",
            )
        return None, kept
    found, folders = [profile], [kept]
    for number in range(2, launches + 1):
        if found[-1].run.status:
            break
        rest = (time.monotonic() - began) / len(found) * (launches - len(found))
        console.print(
            f"launch {number} of {launches}, about {rough_duration(rest)} left", style="dim"
        )
        profile, place = launch(kept / f"launch-{number}")
        assert profile is not None
        found.append(profile)
        folders.append(place)
    if len(found) == 1:
        return found[0], kept
    if found[-1].run.status:
        times, chosen = [], len(found) - 1
    else:
        times = [_launch_time(one) for one in found]
        chosen = middle_launch(times)
    if chosen:
        _take_the_place(folders[chosen], kept)
    for other in folders[1:]:
        shutil.rmtree(other, ignore_errors=True)
    run = msgspec.structs.replace(found[chosen].run, launches=times)
    keep_run(run, kept)
    return msgspec.structs.replace(found[chosen], run=run), kept


def _launch_time(profile: ProgramProfile) -> LaunchTime:
    return LaunchTime(
        seconds=max(rank.header.covered for rank in profile.ranks),
        computing=mean(rank.computing for rank in profile.ranks),
    )


def _take_the_place(of: Path, kept: Path) -> None:
    """Move a profile from a subfolder of ``kept`` to ``kept``, where it replaces the profile there.

    Other files in ``kept``, such as a job's files, stay.
    """
    with tempfile.TemporaryDirectory(dir=kept, prefix="launch-") as aside:
        for old in _files(kept):
            old.rename(Path(aside) / old.name)
        for new in _files(of):
            new.rename(kept / new.name)


def _files(folder: Path) -> list[Path]:
    return [*recorded_files(folder), *folder.glob(MATRIX_FILE)]
