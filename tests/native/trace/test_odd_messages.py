"""Messages and requests without a partner, or with another one than it seems, as the command
reports them: those behind them keep their partners.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpi_libraries import MPI_LIBRARIES, MpiLibrary
from quick_part import first_quickly
from traced_programs import reported, traced_program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.flaky(
        reruns=2, reason="on a busy machine calls last longer than the waits in them"
    ),
]
OLD = Path(__file__).parents[2] / "data" / "trace" / "version-1"
PENDING = "1 receives that never completed have no partner in the trace."


@pytest.mark.parametrize("library", first_quickly(MPI_LIBRARIES), ids=lambda one: one.name)
def test_waits_behind_cancelled_freed_and_truncated_messages(
    tmp_path: Path, library: MpiLibrary
) -> None:
    """Each of these would give later messages a wrong partner if it took part in the matching
    though it has none, or the other way round: the waits would then be too short.
    """
    done = traced_program("odd_messages.c", 2, "30", folder=tmp_path, library=library)
    assert len(done.own) >= 12
    whole = sum(done.own.values())
    assert 0.6 * whole < done.waiting_in("late_messages") < 1.05 * whole
    assert done.trace["unknown"] == [PENDING]
    assert done.trace["analysed"] > 0.95
    assert "No order of the trace's messages" not in done.text


def test_messages_that_cannot_be_told_apart_are_left_out_and_named(tmp_path: Path) -> None:
    """A send isn't recorded. Messages with another tag, and the profile, are analysed."""
    done = traced_program("odd_messages.c", 2, "40", "unseen_send", folder=tmp_path)
    assert {one["function"] for one in done.found["functions"]} >= {"Send", "Recv", "Barrier"}
    (left_out,) = [text for text in done.trace["unknown"] if "left out" in text]
    assert left_out.startswith("3 messages on MPI_COMM_WORLD between ranks 0 and 1 are left out")
    # Half of the messages are analysed.
    assert 0.35 < done.waiting_in("late_messages") / done.own["unseen_send"] < 0.65
    assert 0.3 < done.trace["analysed"] < 0.8
    assert "waits in the rest (Recv) are unknown" in done.text
    assert left_out in done.text


def test_a_trace_of_the_first_version_can_be_read(tmp_path: Path) -> None:
    """Its cancelled receive looks like one of 0 bytes: messages with its tag are left out."""
    kept = Path(shutil.copytree(OLD, tmp_path / "kept"))
    done = reported(kept)
    assert next(text for text in done.trace["unknown"] if "left out" in text).startswith(
        "3 messages on MPI_COMM_WORLD between ranks 0 and 1"
    )
    causes = {one["cause"]: one["time"] for one in done.trace["causes"]}
    assert causes["late sender"] == pytest.approx(0.049, abs=0.001)  # of the other tag
    assert "wait at N×N" in causes  # at MPI_Finalize


def test_whatever_is_wrong_with_a_trace_the_profile_is_reported(tmp_path: Path) -> None:
    kept = Path(shutil.copytree(OLD, tmp_path / "kept"))
    for content in (b"nonsense", b"assay-trace 9\n", b""):
        (kept / "rank-1.trace").write_bytes(content)
        done = reported(kept)
        assert "trace" not in done.found
        assert {one["function"] for one in done.found["functions"]} >= {"Send", "Recv"}
        (sentence,) = done.found["unknown"]
        assert sentence.startswith("The trace isn't analysed: ") and "rank-1.trace" in sentence
        assert "The trace isn't analysed: " in done.text
