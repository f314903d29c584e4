"""Which processes of a command belong to one program."""

from __future__ import annotations

from pathlib import Path

from assay.subjects.profile.findings import find
from assay.subjects.profile.programs import other_programs
from assay.trace.reading import read_profile
from assay.trace.worlds import ProcessHeader, WorldProcess, grouped, main_world
from profiles import call, header, kind, write_profile


def _process(
    rank: int | None, ranks: int, begin: float, *, world: str = "", spawned: bool = False,
    wall: float = 1.0,
) -> WorldProcess:  # fmt: skip
    return WorldProcess(
        Path(f"rank-{rank}-{begin}"), ProcessHeader(rank, ranks, begin, wall, world, spawned)
    )


def _begins(processes: list[WorldProcess]) -> list[list[float]]:
    return [[one.header.begin_wall for one in world.processes] for world in grouped(processes)]


def test_programs_after_each_other_are_told_apart_by_their_begin() -> None:
    """No launcher names them; each rank of the second begins after the same one of the first."""
    first = [_process(rank, 2, 10.0 + rank) for rank in range(2)]
    second = [_process(rank, 2, 20.0 + rank) for rank in range(2)]
    assert _begins([second[1], first[0], second[0], first[1]]) == [[10.0, 11.0], [20.0, 21.0]]


def test_programs_at_once_are_told_apart_by_what_launchers_call_them() -> None:
    mixed = [_process(r, 2, b, world=w) for r, b, w in
             ((0, 1.0, "a"), (0, 1.1, "b"), (1, 1.2, "b"), (1, 1.3, "a"))]  # fmt: skip
    assert _begins(mixed) == [[1.0, 1.3], [1.1, 1.2]]


def test_sizes_and_spawning_tell_programs_apart_too() -> None:
    mixed = [
        _process(0, 1, 1.0, world="a"), _process(0, 2, 1.1, world="a"),
        _process(1, 2, 1.2, world="a"), _process(0, 2, 1.3, world="a", spawned=True),
    ]  # fmt: skip
    assert _begins(mixed) == [[1.0], [1.1, 1.2], [1.3]]


def test_processes_without_ranks_stay_together() -> None:
    assert _begins([_process(None, 0, 1.0), _process(None, 0, 2.0)]) == [[1.0, 2.0]]


def test_the_main_program_is_the_largest_that_no_other_spawned() -> None:
    worlds = grouped(
        [
            _process(0, 1, 1.0, wall=5.0),
            *(_process(rank, 2, 2.0, wall=4.0) for rank in range(2)),
            *(_process(rank, 8, 3.0, spawned=True, wall=4.0) for rank in range(8)),
        ]
    )
    assert [one.number for one in worlds] == [1, 2, 3]
    assert main_world(worlds).number == 2


def test_a_rank_that_was_killed_leaves_its_name_and_is_absent(tmp_path: Path) -> None:
    folder = write_profile(
        tmp_path / "kept",
        {"0": [header(0), kind("point", 1, 1.0), call("Send", 1.0)],
         "0-2": [header(0, ranks=1, wall=2.0, command="./other")]},
    )  # fmt: skip
    (folder / "rank-1.jsonl.part").touch()
    profile = read_profile(folder)
    assert (profile.absent, profile.cut, profile.number) == ([1], [], 1)
    (sentence,) = other_programs(find(profile))
    assert "program 2 (./other) with 1 rank, 2 s, 0% of it in MPI" in sentence.replace("2.00", "2")
