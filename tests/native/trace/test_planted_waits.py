"""Waits of every kind, planted in a program that measures them by its own clock, as the command
reports them: their length, their cause, the late rank, and a verdict that doesn't deny them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mpi_libraries import MPI_LIBRARIES, MpiLibrary
from quick_part import first_quickly
from traced_programs import TracedProgram, traced_program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("polite_waiting"),
    pytest.mark.flaky(
        reruns=2,
        reason="on a busy machine ranks get their CPUs late: they come to the calls later than the "
        "late one, or calls last longer than the waits in them",
    ),
]
RANKS, LATE = 3, 2
# Kinds that hardly wait at all with some MPI libraries are compared, too, but have no lower bound.
LEAST = 0.03
DENIAL = "don't wait for each other"
# In place of a wait of their own these have the barriers that part their waits.
BARRIERS = {"barrier", "intercomm"}
CAUSES = {
    "probe": "late sender",
    "iprobe": "late sender",
    "ssend": "late receiver",
    "neighbours": "wait at N×N",
    "comm_dup": "wait at N×N",
    "fence": "wait at N×N",
    "active_target": "late complete",
    "locked": "lock contention",
    "files": "wait at N×N",
}


@pytest.mark.parametrize("library", first_quickly(MPI_LIBRARIES), ids=lambda one: one.name)
@pytest.mark.long
def test_every_planted_wait_is_found(tmp_path: Path, library: MpiLibrary) -> None:
    kinds: tuple[str, ...] = ()  # all
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        done = traced_program(
            *("planted_waits.c", RANKS, str(folder / "file"), "80", *kinds),
            folder=folder,
            library=library,
        )
        if not kinds:
            assert len(done.own) > 30
        assert set(kinds) <= set(done.own)
        _look_at_whole(done)
        kinds = tuple(kind for kind in done.own if not _is_found(done, kind))
        if not kinds:
            return
    pytest.fail(f"These waits were found in none of the runs: {', '.join(kinds)}.")


def _is_found(done: TracedProgram, kind: str) -> bool:
    """On a busy machine now and then one of forty kinds isn't; it is looked for again."""
    without = () if kind in BARRIERS else ("Barrier",)
    found = done.waiting_in(kind, without=without)
    times = {one["cause"]: one["time"] for one in _places(done, kind)}
    return done.own[kind] < LEAST or (
        found > 0.5 * done.own[kind]
        and (kind not in CAUSES or times.get(CAUSES[kind], 0.0) > 0.002)
    )


def _look_at_whole(done: TracedProgram) -> None:
    waits = [
        one for one in done.trace["worst"]
        if one["place"].split(" (")[0] in done.own and one["time"] > 0.04
    ]  # fmt: skip
    assert waits
    late = sum(one["time"] for one in waits if one["late"] == LATE)
    assert late >= 0.5 * sum(one["time"] for one in waits)
    (finalize,) = [one for one in done.trace["places"] if one["function"] == "Finalize"]
    assert finalize["time"] > 0.06
    assert done.trace["unknown"] == []
    assert done.trace["analysed"] > 0.9
    assert DENIAL not in done.text


def _places(done: TracedProgram, kind: str) -> list[dict[str, object]]:
    return [one for one in done.trace["places"] if one["place"].split(" (")[0] == kind]


KINDS = (
    "mprobe", "iprobe", "two_tests", "neighbours", "comm_dup", "intercomm", "fence",
    "active_target", "locked", "files", "persistent_collective", "partitioned",
)  # fmt: skip


@pytest.mark.parametrize("kind", first_quickly(["nothing", "probe", *KINDS]))
def test_a_program_that_waits_for_one_reason_is_not_told_that_it_does_not(
    tmp_path: Path, kind: str
) -> None:
    """``nothing``: it waits in MPI_Finalize only. Its grain isn't said to be fine."""
    done = traced_program("planted_waits.c", RANKS, str(tmp_path / "file"), "300", kind,
                          folder=tmp_path)  # fmt: skip
    assert DENIAL not in done.text
    assert "of the time is waiting" in done.text
    assert "in MPI, " in done.text and " analysed" in done.text
    assert "This is fine grain." not in done.text
    assert done.found["grain"]["fine"] is False
    waits = sorted(done.trace["worst"], key=lambda one: -one["time"])
    # A rank that waits for both ends of an epoch names one of them, and waits as long as both.
    assert LATE in {one["late"] for one in waits if one["time"] > 0.4 * waits[0]["time"]}
    assert sum(one["time"] for one in waits) > 0.25
    assert done.trace["waiting"] > 0.2
