"""Several launches of a profiled program: which one is kept, and what is known of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from assay.campaign.commands.profile_launches import profile_launches
from assay.errors import AssayError
from assay.trace.model import LaunchTime, ProgramProfile
from assay.trace.reading import read_profile
from profiles import RUN, header, kind, write_profile

SENT = 2.0
Launch = Callable[[Path | None], tuple[ProgramProfile, Path]]


def _played(walls: Sequence[float | int]) -> tuple[Launch, list[Path]]:
    """A program whose launches take these s; an int is a status, of one of 1 s."""
    folders: list[Path] = []

    def launch(folder: Path | None) -> tuple[ProgramProfile, Path]:
        assert folder is not None
        wall = walls[len(folders)]
        if isinstance(wall, int) and wall < 0:
            raise AssayError("No process of the program wrote a profile.")
        status = wall if isinstance(wall, int) else 0
        seconds = 1.0 if status else float(wall)
        folders.append(folder)
        records = [header(0, seconds, ranks=1), kind("point", 3, SENT), kind("life", 1, 50.0)]
        run = msgspec.structs.replace(RUN, status=status, wall=seconds + 1.0)
        write_profile(folder, {"0": records}, run)
        (folder / f"rank-0.of-{len(folders)}.trace").touch()
        (folder / "job.out").touch()
        return read_profile(folder), folder

    return launch, folders


def _run(launch: Launch, folder: Path, launches: int) -> ProgramProfile:
    profile, kept = profile_launches(launch, folder, launches, Console(quiet=True))
    assert kept == folder
    assert read_profile(folder) == profile
    return profile


@pytest.mark.parametrize(
    ("walls", "middle"),
    [((5.0, 9.0, 7.0), 3), ((7.0, 5.0, 9.0), 1), ((9.0, 7.0, 5.0, 6.0), 4), ((6.0, 4.0), 2)],
)
def test_the_launch_of_middle_length_is_kept(
    tmp_path: Path, walls: tuple[float, ...], middle: int
) -> None:
    """Of an even number the shorter of the two middle ones; with its files, and a job's."""
    profile = _run(_played(walls)[0], tmp_path / "kept", len(walls))
    assert profile.run.wall == walls[middle - 1] + 1.0
    assert profile.run.launches == [LaunchTime(wall, wall - SENT) for wall in walls]
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        "run.json", "rank-0.jsonl", f"rank-0.of-{middle}.trace", "job.out",
    }  # fmt: skip


def test_a_single_launch_has_no_others(tmp_path: Path) -> None:
    assert _run(_played([5.0])[0], tmp_path / "kept", 1).run.launches == []


def test_a_launch_that_fails_is_the_last_one(tmp_path: Path) -> None:
    """Its profile is kept, to be looked at; it is no launch of middle length."""
    launch, folders = _played([5.0, 6.0, 3, 7.0])
    profile = _run(launch, tmp_path / "kept", 4)
    assert len(folders) == 3
    assert profile.run.status == 3
    assert profile.run.launches == []
    assert (tmp_path / "kept" / "rank-0.of-3.trace").exists()


def test_an_error_loses_no_earlier_launch(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="No process"):
        _run(_played([5.0, -1])[0], tmp_path / "kept", 2)
    assert read_profile(tmp_path / "kept").ranks[0].header.wall == 5.0
