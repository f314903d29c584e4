"""Profiles several launches of a program, and keeps the one of middle length."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import msgspec

from assay.campaign.commands.profile_program import keep_run, profile_program
from assay.config import Config
from assay.trace.matrix import MATRIX_FILE
from assay.trace.model import LaunchTime, ProgramProfile
from assay.trace.reading import CUT_FILES, RANK_FILES, RUN_FILE, read_profile
from assay.trace.reading_trace import TRACE_FILES
from assay.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console


def profile_launches(
    command: Sequence[str],
    folder: Path | None,
    config: Config,
    console: Console,
    *,
    trace: bool = False,
    regions: bool = False,
    launches: int = 1,
) -> tuple[ProgramProfile, Path]:
    """Run the command ``launches`` times as `profile_program`; the profile of the middle launch.

    It has the times of all of them. A launch that doesn't end with exit status 0 is the last one:
    its profile is kept, and no times. Raises AssayError as `profile_program`; profiles of earlier
    launches stay.
    """
    began = time.monotonic()
    profile, kept = profile_program(command, folder, config, console, trace=trace, regions=regions)
    found, folders = [profile], [kept]
    for number in range(2, launches + 1):
        if found[-1].run.status:
            break
        rest = (time.monotonic() - began) / len(found) * (launches - len(found))
        console.print(f"launch {number} of {launches}, {format_duration(rest)} to go", style="dim")
        profile, place = profile_program(
            command, kept / f"launch-{number}", config, console, trace=trace, regions=regions
        )
        found.append(profile)
        folders.append(place)
    if len(found) == 1:
        return found[0], kept
    if found[-1].run.status:
        times, chosen = [], len(found) - 1
    else:
        times = [_launch_time(one) for one in found]
        order = sorted(range(len(times)), key=lambda number: times[number].seconds)
        chosen = order[(len(order) - 1) // 2]
    if chosen:
        _take_the_place(folders[chosen], kept)
    for other in folders[1:]:
        shutil.rmtree(other, ignore_errors=True)
    keep_run(msgspec.structs.replace(found[chosen].run, launches=times), kept)
    return read_profile(kept), kept


def _launch_time(profile: ProgramProfile) -> LaunchTime:
    return LaunchTime(
        seconds=max(rank.header.covered for rank in profile.ranks),
        computing=mean(rank.computing for rank in profile.ranks),
    )


def _take_the_place(of: Path, kept: Path) -> None:
    """Move a profile from a folder within ``kept`` to it, in place of the one there.

    Other files of ``kept``, such as a job's, stay.
    """
    with tempfile.TemporaryDirectory(dir=kept, prefix="launch-") as aside:
        for old in _files(kept):
            old.rename(Path(aside) / old.name)
        for new in _files(of):
            new.rename(kept / new.name)


def _files(folder: Path) -> list[Path]:
    kinds = (RUN_FILE, RANK_FILES, CUT_FILES, TRACE_FILES, MATRIX_FILE)
    return [path for kind in kinds for path in folder.glob(kind)]
