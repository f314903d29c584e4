"""Several clusters in one log: told apart, together, and one alone."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

from assay.cli.app import main
from assay.errors import AssayError
from assay.subjects.usage.answer import answer
from assay.subjects.usage.findings import find
from assay.subjects.usage.queue.asking import QueueQuery, find_with_queue
from assay.usage.analysis.query import UsageQuery
from plain_scheduler import first_come
from sacct_jobs import SacctJob, planted_jobs, sacct_text
from usage_logs import read_text

JOBS = planted_jobs()
EVENTS = """\
Cluster|NodeName|TimeStart|TimeEnd|State|TRES
alpha||2026-01-01T00:00:00|Unknown||cpu=64,mem=64G
beta||2026-01-01T00:00:00|Unknown||cpu=32,mem=64G
alpha|n1|2026-02-10T00:00:00|2026-02-11T00:00:00|DOWN|cpu=16
beta|n1|2026-02-10T12:00:00|2026-02-12T00:00:00|DOWN|cpu=8
"""


def most_at_once(jobs: list[SacctJob]) -> int:
    changes = Counter[int]()
    for job in jobs:
        changes[job.submit + job.wait] += job.cpus
        changes[job.submit + job.wait + job.run] -= job.cpus
    level = most = 0
    for when in sorted(changes):
        level += changes[when]
        most = max(most, level)
    return most


def test_clusters_are_told_apart(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, sacct_text(JOBS))
    found = find(accounts, UsageQuery(identify=True))
    # Both number their jobs from 1: no job is another one's repetition, and no id is absent.
    assert found.problems == [] and found.jobs == len(JOBS)
    assert found.records.absent == 0
    assert {each.name for each in found.clusters} == {"alpha", "beta"}
    for each in found.clusters:
        mine = [job for job in JOBS if job.cluster == each.name]
        assert each.jobs == len(mine)
        assert each.use == sum(job.run * job.cpus for job in mine)
        assert each.processors == most_at_once(mine)
        alone = find(accounts, UsageQuery(cluster=each.name, identify=True))
        assert alone.utilisation == each.utilisation and alone.clusters == []
        assert alone.efficiency == each.efficiency
        assert f"cluster {each.name}" in alone.chosen
    assert sum(each.share_of_use for each in found.clusters) == pytest.approx(1.0)
    assert found.capacity.processors == sum(each.processors for each in found.clusters)
    assert "By cluster: " in answer(found).verdict
    # Nodes of the same name are different nodes.
    assert found.by_node is not None and found.by_node.nodes == 8
    assert [row.name for row in found.by_node.rows][:2] == ["alpha:n1", "alpha:n2"]


def test_one_cluster_is_as_a_log_without_the_column(tmp_path: Path) -> None:
    mine = [job for job in JOBS if job.cluster == "beta"]
    text = sacct_text(mine)
    columns = [name for name in text.partition("\n")[0].split("|") if name != "Cluster"]
    one, plain = (
        dataclasses.asdict(find(read_text(tmp_path, each), UsageQuery()))
        for each in (text, sacct_text(mine, columns))
    )
    together = find(read_text(tmp_path, sacct_text(JOBS)), UsageQuery(cluster="beta"))
    for other in (plain, dataclasses.asdict(together)):
        for name in ("utilisation", "capacity", "records", "days", "users", "efficiency", "wait"):
            assert one[name] == other[name], name


def test_events_belong_to_their_cluster(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, sacct_text(JOBS), EVENTS)
    found = find(accounts, UsageQuery(identify=True))
    assert found.capacity.source == "node events" and found.capacity.processors == 96
    assert {each.name: each.processors for each in found.clusters} == {"alpha": 64, "beta": 32}
    assert found.by_node is not None
    down = {each.name: each.time for each in found.by_node.down}
    assert down == {"alpha:n1": 86400.0, "beta:n1": 1.5 * 86400.0}
    beta = find(accounts, UsageQuery(cluster="beta"))
    span = beta.period.end - beta.period.begin
    assert beta.capacity.down == pytest.approx(8 * 1.5 * 86400 / (32 * span))


def test_names_are_hidden(tmp_path: Path) -> None:
    found = find(read_text(tmp_path, sacct_text(JOBS)), UsageQuery())
    assert [each.name for each in found.clusters] == ["cluster 1", "cluster 2"]
    assert "alpha" not in repr(found) and "beta" not in repr(found)


def test_a_cluster_that_the_log_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(sacct_text(JOBS))
    with pytest.raises(SystemExit) as left:
        main(["usage", str(tmp_path / "log"), "--cluster", "gamma"])
    assert left.value.code == 2
    assert "names alpha and beta" in " ".join(capsys.readouterr().err.split())
    plain = read_text(tmp_path, sacct_text(JOBS[:9], ["JobID", "State", "Start", "End"]))
    with pytest.raises(AssayError, match="ran on this cluster"):
        find(plain, UsageQuery(cluster="alpha"))


def test_the_model_replays_one_cluster(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, sacct_text(JOBS))
    query = QueueQuery(model="fcfs")
    with pytest.raises(AssayError, match="2 clusters"):
        find_with_queue(accounts, UsageQuery(), query, lambda: first_come)
    found = find_with_queue(accounts, UsageQuery(cluster="beta"), query, lambda: first_come)
    assert found.queue is not None and found.queue.load.jobs == len(JOBS) // 2


def test_days_count_from_the_last_record_of_all(tmp_path: Path) -> None:
    found = find(read_text(tmp_path, sacct_text(JOBS)), UsageQuery(since="20 d", identify=True))
    assert sum(each.jobs for each in found.clusters) == found.jobs < len(JOBS)
