"""``assay watch --steps``: the iterations of a trace are the steps of the running program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.campaign.commands.profiled_steps import step_site
from assay.errors import AssayError
from native_build import TOOLS
from profiles import profiled_program
from traces import late_sender, stencil

pytestmark = pytest.mark.usefixtures("patient_ranks")

ITERATIONS = 60


def test_the_site_is_one_that_is_called_once_per_iteration() -> None:
    trace = stencil(4, 100)
    site, times, median = step_site(trace)
    assert times == 100
    assert median == pytest.approx((trace.end - trace.begin) / 100, rel=0.03)
    for rank in trace.ranks:
        assert int((rank.events.site == trace.sites.index(site)).sum()) == 100


def test_a_trace_without_iterations_has_no_steps() -> None:
    with pytest.raises(AssayError, match="No calls in the trace repeat"):
        step_site(late_sender(times=1))


@pytest.mark.slow
@pytest.mark.long
def test_each_iteration_of_a_program_is_a_step(tmp_path: Path, polite_waiting: None) -> None:
    """The program has no line and no heartbeat of its own."""
    program = [str(TOOLS / "mpirun"), "-n", "2", str(profiled_program()), str(ITERATIONS)]

    def assay(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "assay", *words, "--", *program],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        return done.stdout + done.stderr

    assay("profile", "--trace", "--folder", "kept", "--json")
    said = assay("watch", "--steps", "kept", "--json")
    assert "A step ends with each call from" in said
    found = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    assert ITERATIONS - 1 <= found["sources"][0]["steps"] <= ITERATIONS
