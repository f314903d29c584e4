"""CPU time, memory, energy and GPU time of jobs against what they got, by hand and by seff."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.subjects.usage.answer import answer
from assay.subjects.usage.findings import find
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.tables import tables
from assay.usage.analysis.model import UsageEfficiency
from assay.usage.analysis.prepared import prepare
from assay.usage.analysis.query import UsageQuery
from sacct_jobs import COLUMNS, SacctJob, planted_jobs, sacct_text
from usage_logs import PBS, SWF, read_text, sacct_json

JOBS = planted_jobs()


def found_of(folder: Path, text: str, **query: object) -> UsageFindings:
    return find(read_text(folder, text), UsageQuery(identify=True, **query))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> UsageFindings:
    return found_of(tmp_path_factory.mktemp("log"), sacct_text(JOBS))


def assert_sums(efficiency: UsageEfficiency | None, jobs: Sequence[SacctJob]) -> None:
    """Sums over the jobs, written out."""
    assert efficiency is not None
    got = sum(job.run * job.cpus for job in jobs)
    assert efficiency.cpu == pytest.approx(sum(job.computed for job in jobs) / got, rel=1e-4)
    assert efficiency.memory == pytest.approx(
        sum(job.used * job.run for job in jobs) / sum(job.memory * job.run for job in jobs),
        rel=1e-6,
    )
    assert efficiency.gpu_time == sum(job.gpus * job.run for job in jobs)
    with_energy = [job for job in jobs if job.energy]
    energy = sum(job.energy for job in with_energy)
    assert efficiency.energy == (pytest.approx(energy) if energy else None)
    if energy:
        held = sum(job.run * job.cpus for job in with_energy)
        assert efficiency.power == pytest.approx(energy / held)


def test_each_job_is_that_of_seff(tmp_path: Path) -> None:
    data = prepare(read_text(tmp_path, sacct_text(JOBS)), UsageQuery())
    (chunk,) = data.chunks()
    assert chunk.used.cpu().tolist() == pytest.approx([job.cpu for job in JOBS], abs=1e-4)
    assert chunk.used.memory().tolist() == pytest.approx([job.used / job.memory for job in JOBS])


def test_all_jobs_users_accounts_and_months(found: UsageFindings) -> None:
    assert_sums(found.efficiency, JOBS)
    for part in found.users:
        assert_sums(part.efficiency, [job for job in JOBS if job.user == part.name])
    for part in found.groups:
        assert_sums(part.efficiency, [job for job in JOBS if job.account == part.name])
    assert [span.name for span in found.months] == ["2026-01", "2026-02", "2026-03"]
    for span in found.months:
        jobs = [job for job in JOBS if job.month == span.name]
        assert_sums(span.efficiency, jobs)
        # The log's period ends with its last submission.
        last = max(job.submit for job in JOBS)
        assert span.ended == sum(job.submit + job.wait + job.run <= last for job in jobs)
    days = defaultdict(float)
    for day in found.days:
        days[day.name[:7]] += day.busy
    assert {span.name: span.busy for span in found.months} == pytest.approx(days)
    # At both ends of the log, months are covered in part.
    assert [span.whole for span in found.months] == [False, True, False]


def test_rows_by_month_cluster_account_and_user(found: UsageFindings) -> None:
    expected = defaultdict(list)
    for job in JOBS:
        expected[job.month, job.cluster, job.account, job.user].append(job)
    rows = {(row.month, row.cluster, row.group, row.user): row for row in found.accounts}
    assert rows.keys() == expected.keys()
    for key, jobs in expected.items():
        assert rows[key].jobs == len(jobs)
        assert rows[key].use == sum(job.run * job.cpus for job in jobs)
        assert_sums(rows[key].efficiency, jobs)
    assert [row.month for row in found.accounts] == sorted(row.month for row in found.accounts)


def test_many_rows_share_one_for_the_rest(tmp_path: Path) -> None:
    jobs = planted_jobs(900)
    many = [SacctJob(**{**vars(job), "user": f"user{n}"}) for n, job in enumerate(jobs)]
    found = found_of(tmp_path, sacct_text(many))
    assert len(found.accounts) <= 500
    assert sum(row.jobs for row in found.accounts) == 900
    assert sum(row.use for row in found.accounts) == sum(job.run * job.cpus for job in many)
    assert {row.group for row in found.accounts if row.user == "others"} == {"others"}


def test_jobs_with_the_most_unused_time(found: UsageFindings) -> None:
    unused = sorted((job.run * job.cpus - job.computed for job in JOBS), reverse=True)[:100]
    assert [job.unused for job in found.wasteful] == pytest.approx(unused, abs=1.0)
    first = found.wasteful[0]
    (real,) = [job for job in JOBS if (str(job.job), job.cluster) == (first.job, first.cluster)]
    assert (first.user, first.group, first.month) == (real.user, real.account, real.month)
    assert first.cpu == pytest.approx(real.cpu, abs=1e-4)


def test_steps_give_what_the_table_of_jobs_lacks(tmp_path: Path) -> None:
    """Without TotalCPU the times of all steps count, and without sums AveCPU × tasks."""
    columns = [name for name in COLUMNS if name != "TotalCPU"]
    assert_sums(found_of(tmp_path, sacct_text(JOBS, columns)).efficiency, JOBS)
    text = (
        "JobID|State|Start|End|AllocCPUS|AveCPU|NTasks|ConsumedEnergy\n"
        "1|COMPLETED|2026-01-01T00:00:00|2026-01-01T01:00:00|8||||\n"
        "1.0|COMPLETED|2026-01-01T00:00:00|2026-01-01T01:00:00|8|00:30:00|8|1.5K\n"
        "1.1|COMPLETED|2026-01-01T00:00:00|2026-01-01T01:00:00|8|00:15:00|4|0.5K\n"
    ).replace("8||||\n", "8|||\n")
    efficiency = found_of(tmp_path, text).efficiency
    assert efficiency is not None
    assert efficiency.cpu == pytest.approx((8 * 1800 + 4 * 900) / (8 * 3600))
    # Energy is counted by nodes, which the steps of a job share.
    assert efficiency.energy == 1500


def test_other_formats_have_processor_times(tmp_path: Path) -> None:
    swf = SWF.replace("3600  8  -1 ", "3600  8  900 ")
    for text, cpu in (
        (swf, 0.25),
        (
            PBS.replace("resources_used.mem", "resources_used.cput=02:00:00 resources_used.mem"),
            0.25,
        ),
        (sacct_json(1, 0, 2, 4, total={"seconds": 7200, "microseconds": 0}), 0.25),
    ):
        efficiency = found_of(tmp_path, text).efficiency
        assert efficiency is not None and efficiency.cpu == pytest.approx(cpu)


def test_what_the_log_lacks_is_named(tmp_path: Path) -> None:
    columns = ("JobID", "State", "Start", "End", "AllocCPUS")
    found = found_of(tmp_path, sacct_text(JOBS[:9:2], columns))
    assert found.efficiency is None and found.wasteful == []
    for what in ("CPU efficiency", "memory efficiency", "energy per job", "GPU hours"):
        assert any(what in each and "unknown" in each for each in found.unknown), what
    zeros = [SacctJob(**{**vars(job), "computed": 0.0}) for job in JOBS[:9]]
    found = found_of(tmp_path, sacct_text(zeros))
    assert found.efficiency is not None and found.efficiency.cpu is None
    assert any("0 for all jobs" in each for each in found.unknown)


def test_running_jobs_have_no_efficiency(tmp_path: Path) -> None:
    text = sacct_text(JOBS[:2]).replace("COMPLETED", "RUNNING", 1)
    found = found_of(tmp_path, text)
    assert found.running == 1 and found.limits.cpu is not None and found.limits.cpu.n == 1


def test_the_answer_and_its_tables(found: UsageFindings) -> None:
    reply = answer(found)
    cpu = found.efficiency.cpu if found.efficiency else None
    assert cpu is not None and f"computed in {100 * cpu:.1f}% of their" in reply.verdict
    built = {table.id: table for table in tables(found)}
    names = [column.name for column in built["usage-accounts"].columns]
    assert names == [
        "month", "cluster", "group", "user", "jobs", "use", "cpu", "memory", "gpus", "energy",
    ]  # fmt: skip
    assert built["usage-accounts"].filters == ["month", "cluster", "group", "user"]
    assert len(built["usage-months"].rows) == 3
