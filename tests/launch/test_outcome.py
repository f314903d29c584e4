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


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("[mpiexec@vm] HYDU_create_process (lib/utils/launch.c:39): unable to fork", "ulimit -u"),
        ("bash: fork: retry: Resource temporarily unavailable", "ulimit -u"),
        ("bash: fork: Cannot allocate memory", "enough memory"),
        ("OpenBLAS blas_thread_init: pthread_create failed: Resource temporarily unavailable",
         "ulimit -u"),
        ("[mpiexec@vm] HYDU_sock_create_pipe (sock.c:9): pipe error (Too many open files)",
         "ulimit -n"),
        ("The system limit on number of pipes a process can open was reached", "ulimit -n"),
        ("assay-kernels: /scratch/r/0001.jsonl can't be written: No space left on device",
         "The file system is full."),
        ("assay-kernels: x can't be written: Disk quota exceeded", "Your disk quota is used up."),
        ("accept failed: Resource temporarily unavailable", None),
        ("no such program", None),
    ],
)  # fmt: skip
def test_the_condition_that_ended_a_launch_is_named(
    tmp_path: Path, said: str, says: str | None
) -> None:
    output = f"===\nassay-kernels: a first line\n{said}\n==="
    error = judge(tmp_path / "none.jsonl", 255, output).error
    assert error is not None
    if says is None:
        assert "a first line" in error and "ulimit" not in error
    else:
        assert said in error and says in error and error[-1] != "."
