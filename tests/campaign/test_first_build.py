"""The first job of a new user: what it compiles is said before, kept, and continued by the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernel_runs
import slow_kernels
from assay.records.reading import read_run
from jobs_bench import Bench

pytestmark = pytest.mark.usefixtures("patient_ranks")

FILES = 12
PLAN = """
schema = 1
[replication]
budget = "2 s"
cell_budget = "20 ms"
min_launches = 2
max_launches = 2
[[measure]]
kernel = "memory.stream"
elements = 20000
ppn = 1
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Without any build; the kernels take longer to compile than a job has time."""
    bench = Bench(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    variables = slow_kernels.put_tools(tmp_path / "tools", kernel_runs.plain(), FILES, 1.0)
    bench.environment |= {**variables, "ASSAY_CACHE": str(tmp_path / "cache")}
    yield from bench.used()


def run(bench: Bench, *words: str) -> tuple[int, str]:
    done = bench.assay("run", "plan.toml", "--no-report", *words, timeout=200)
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("who", ["the job", pytest.param("who follows", marks=pytest.mark.long)])
def test_a_build_is_continued_by_the_next_job(bench: Bench, who: str) -> None:
    if who == "who follows":
        bench.environment["ASSAY_TEST_NO_SUBMISSION_FROM_JOBS"] = "1"
    status, said = run(bench, "--walltime", "11 s")
    assert status == 0, said
    # Said before the submission: that a job compiles, for how long, and how to avoid it.
    first = said[: said.index("Submitted as job")]
    assert "are not built yet. The job compiles them first, which takes up to 15 min" in first
    assert "`assay kernels --build` here" in first
    assert "in an interactive job on a node" in first
    jobs = bench.scheduler.jobs()
    ends = [bench.book().end(number) for number in range(1, len(jobs) + 1)]
    assert len(jobs) >= 2
    assert ends[0] is not None and ends[-1] is not None
    assert ends[0].compiled is not None and 0 < ends[0].compiled < 1
    # On a slow machine the scheduler may be faster.
    assert ends[0].how in ("time", "warned")
    assert ends[0].made == 0
    assert ends[0].objects > 0
    assert (ends[-1].how, ends[-1].compiled) == ("complete", None)
    out = (bench.only_run().path / "jobs" / "0001.out").read_text()
    assert re.search(r"\d+% of the kernels were compiled; the next job continues", out), out
    if who == "who follows":
        assert re.search(
            rf"Job {jobs[0]} ended before the run was complete \(its time was over: \d+% of the "
            rf"kernels were compiled\); job {jobs[1]} continues",
            said,
        ), said
    compiled = slow_kernels.compiled(bench.path / "tools")
    assert set(compiled) == set(range(1, FILES + 1))
    assert len(compiled) < FILES + len(jobs)  # only what was being compiled, once more
    assert len(read_run(bench.only_run().path).measurements) == 2


@pytest.mark.long
@pytest.mark.slow
def test_a_job_killed_while_it_compiles_is_continued_too(bench: Bench) -> None:
    """Its walltime is over without a warning, and it leaves no record of its end."""
    bench.scheduler.set(walltime_factor=9 / 60, kill_wait=0.0)
    status, said = run(bench, "--walltime", "1 min")
    bench.scheduler.set(walltime_factor=1.0)
    assert "complete" not in said or status == 0, said
    jobs = bench.scheduler.jobs()
    assert len(jobs) >= 2, said
    compiled = slow_kernels.compiled(bench.path / "tools")
    assert len(compiled) <= FILES + len(jobs)


@pytest.mark.long
@pytest.mark.slow
def test_a_walltime_that_is_too_short_for_a_file_is_said(bench: Bench) -> None:
    bench.environment["ASSAY_TEST_SECONDS"] = "60"
    status, said = run(bench, "--walltime", "20 s")
    assert status == 1
    assert len(bench.scheduler.jobs()) == 1
    assert "its time was over; 0% of the kernels were compiled" in said, said
    assert "Request more time with --walltime" in said
    assert "No cell was measured" in said
    assert not re.search(r"Job \d+: complete", said)
