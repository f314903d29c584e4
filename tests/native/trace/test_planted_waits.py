"""Waits of every kind, planted in a program that measures them by its own clock, as the command
reports them: their length, their cause, the late rank, and a verdict that doesn't deny them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mpi_libraries import MPI_LIBRARIES, MpiLibrary
from traced_programs import TracedProgram, traced_program

pytestmark = [
    pytest.mark.slow,
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


@pytest.mark.parametrize("library", MPI_LIBRARIES, ids=lambda one: one.name)
def test_every_planted_wait_is_found(tmp_path: Path, library: MpiLibrary) -> None:
    done = traced_program(
        "planted_waits.c", RANKS, str(tmp_path / "file"), "80", folder=tmp_path, library=library
    )
    assert len(done.own) > 30
    for kind, seconds in done.own.items():
        without = () if kind in BARRIERS else ("Barrier",)
        found = done.waiting_in(kind, without=without)
        assert seconds < LEAST or found > 0.5 * seconds, (kind, found, seconds)
    for kind, cause in CAUSES.items():
        times = {one["cause"]: one["time"] for one in _places(done, kind)}
        assert done.own[kind] < LEAST or times.get(cause, 0.0) > 0.002, kind
    waits = [
        one for one in done.trace["worst"]
        if one["place"].split(" (")[0] in done.own and one["time"] > 0.04
    ]  # fmt: skip
    late = sum(one["time"] for one in waits if one["late"] == LATE)
    assert late > 0.5 * sum(one["time"] for one in waits) > 0.0
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


@pytest.mark.parametrize(
    "kind", ["nothing", "probe", *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS)]
)
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
    # Who waits for a rank that waits itself names that one, as at the end of an epoch.
    assert LATE in {one["late"] for one in waits if one["time"] > 0.8 * waits[0]["time"]}
    assert sum(one["time"] for one in waits) > 0.25
    assert done.trace["waiting"] > 0.2
