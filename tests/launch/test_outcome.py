"""How a launch ended, from the output of its launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.launch.outcome import AGENT_ENDED, judge

# What mpiexec of MPICH 5.0.2 printed when its proxy was killed.
HYDRA = (
    "[mpiexec@vm] control_cb (pm/hydra/mpiexec/pmiserv_cb.c:280): assert (!closed) failed\n"
    "[mpiexec@vm] main (mpiexec.c:270): process manager error waiting for completion"
)


@pytest.mark.parametrize(
    ("status", "said", "signal"),
    [
        (-9, "", 9),
        (9, "TERMINATED WITH THE EXIT STRING: Killed (signal 9)", 9),
        (139, "", 11),
        (255, HYDRA, AGENT_ENDED),
        (255, "no such program", None),
        (1, "", None),
    ],
)
def test_the_signal_that_ended_a_launch(
    tmp_path: Path, status: int, said: str, signal: int | None
) -> None:
    verdict = judge(tmp_path / "none.jsonl", status, said)
    assert verdict.outcome == "crash"
    assert verdict.signal == signal
