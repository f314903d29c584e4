"""Events counted beside the samples, in a program whose functions cause known numbers of them.

The kernel's own events take the same way as those of the hardware, which virtual machines often
lack.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.models.program.sampled.events import count_events
from assay.trace.samples.files import read_process
from assay.trace.samples.names_file import sampled_processes
from sampled_programs import compiled, run_sampled, samples_in

pytestmark = pytest.mark.slow


def _counted(folder: Path, events: str) -> int:
    """The page faults of the function `faults`, as the program counts them."""
    program = compiled("counted.c", "-O2", "-g")
    done = run_sampled(folder, [program, "0.4"], more={"ASSAY_SAMPLE_COUNTERS": events})
    assert (done.returncode, done.stderr) == (0, "")
    return int(done.stdout)


def test_page_faults_belong_to_the_function_that_causes_them(tmp_path: Path) -> None:
    planted = _counted(tmp_path, "page-faults,task-clock")
    samples = samples_in(tmp_path)
    if samples.counters != ("page-faults", "task-clock"):
        pytest.skip(f"The system lets nobody count: {samples.doubts}")
    found = count_events(samples)
    assert found is not None and found.counted == pytest.approx(1.0)
    faults, clock = found.totals
    # What comes after the last sample is missing; beginning and ending the program is not planted.
    assert faults == pytest.approx(planted, rel=0.05, abs=1000)
    (process,) = sampled_processes(tmp_path)
    assert process.threads[0].counted[0] == pytest.approx(planted, rel=0.02, abs=1000)
    assert 0.3e9 < clock < 0.7e9
    events = {one.place.function: one.events for one in found.functions}
    # The period in which `computes` begins has faults of `faults`, four times.
    assert events["computes"][0] < 0.3 * planted
    assert events["computes"][1] > 0.1 * clock
    assert events["faults"][0] > 0.6 * planted  # and the rest by munmap, which it calls
    assert all(0.0 <= one.shared <= 1.0 for one in found.functions)


def test_events_that_cannot_be_counted_leave_the_samples_whole(tmp_path: Path) -> None:
    _counted(tmp_path, "cycles,nonsense,page-faults")
    (path,) = tmp_path.glob("*.samples")
    process = read_process(path)
    uncounted = {one.event for one in process.uncounted}
    assert "nonsense" in uncounted
    assert process.end is not None and len(process.times) > 4
    samples = samples_in(tmp_path)
    assert any("The samples are complete without them." in one for one in samples.doubts)
    if "cycles" in uncounted:
        assert any("No counters of cycles: " in one for one in samples.doubts)
    else:
        assert np.nansum(samples.threads[0].events[:, 0]) > 1e6


def test_children_have_counters_of_their_own(tmp_path: Path) -> None:
    program = compiled("forks.c", "-O2", "-g", "-pthread")
    more = {"ASSAY_SAMPLE_FORKS": "1", "ASSAY_SAMPLE_COUNTERS": "task-clock"}
    done = run_sampled(tmp_path, [program, "generations"], more=more)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
    processes = sampled_processes(tmp_path)
    if not processes[0].counters:
        pytest.skip("The system lets nobody count.")
    for process, expected in zip(processes, (0.1, 0.2, 0.3), strict=True):
        total = 1e-9 * process.threads[0].counted[0]
        assert expected * 0.9 <= total < expected + 0.1
