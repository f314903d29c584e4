"""Storage in the answer and the figures, from planted numbers."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from asking import figures_of, reply_to
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured
from assay.questions.speed.storage import findings as storage
from assay.questions.speed.storage.topic import TOPIC
from report_builder import make_cell, make_failure, make_measurement, make_metric, make_run
from report_builder import make_summary as summary_of

MIB = 1 << 20


def file_cell(op, method, bandwidth, *, record=MIB, ppn=1, cached=None, filesystem="ext4", **more):
    """A cell of storage.file and its measurement, with the facts that the kernel would report."""
    cell = make_cell(
        "storage.file", ppn=ppn, op=op, method=method, record=record, file_size=64 * MIB
    )
    return planted(cell, bandwidth, cached=cached, filesystem=filesystem, **more)


def parallel_cell(op, layout, bandwidth, *, ppn=2, api="posix", cached=0.0, **more):
    cell = make_cell("storage.parallel", ppn=ppn, op=op, layout=layout, api=api, bytes=MIB)
    return planted(cell, bandwidth, cached=cached, **more)


def metadata_cell(op, rate, *, layout="own", ppn=2):
    cell = make_cell("storage.metadata", ppn=ppn, op=op, layout=layout, files=100)
    return planted(cell, rate)


def planted(cell, value, *, cached=None, filesystem="ext4", latency=None, spread=0.006):
    summary = summary_of(cell, value, spread=spread)
    if cell.kernel == "storage.file":
        rate = make_metric(value / int(cell.parameters["record"]), "op/s", spread=spread)
        summary.metrics["rate"] = rate
    if latency is not None:
        summary.metrics["latency"] = make_metric(latency, "s", better="less")
        summary.metrics["latency_p99"] = make_metric(5 * latency, "s", better="less")
    facts = {"filesystem": filesystem} | ({} if cached is None else {"from_cache": cached})
    measurement = make_measurement(cell, [])
    parameters = {**cell.parameters, "directory": "/scratch"}
    record = msgspec.structs.replace(measurement.record, facts=facts, parameters=parameters)
    return summary, replace(measurement, record=record)


def run_of(drawn):
    cells = [summary for summary, _ in drawn]
    return cells, make_run(cells, measurements=[measurement for _, measurement in drawn])


def part_of(*drawn):
    return TOPIC.part(find(*run_of(drawn)))


def find(cells, run):
    return TOPIC.find(Measured(run, cells))


def answer_of(cells, run):
    return reply_to("speed", cells, run).answer


def rows(part):
    return {row.label: row for row in part.evidence}


def test_a_run_without_storage_has_no_part():
    cells = [summary_of(make_cell("memory.stream", op="triad"), 1e10)]
    assert find(cells, make_run(cells)) is None


def test_the_headline_is_what_reached_the_device():
    """Buffered writes stayed in the cache, however fast; buffered reads came from the device."""
    drawn = [
        file_cell("write", "buffered", 5e9, cached=1.0),
        file_cell("write", "fsync", 200e6, cached=0.0),
        # The system does not report the cache; O_DIRECT bypasses it.
        file_cell("write", "direct", 180e6),
        file_cell("read", "buffered", 300e6, cached=0.01),
        file_cell("reread", "buffered", 9e9, cached=1.0),
    ]
    part = part_of(*drawn)
    assert part.remark == ("storage writes 200 MB/s [199, 201] and reads 300 MB/s [298, 302]")
    assert [point.metric.median for point in part.headline] == [200e6, 300e6]
    answer = answer_of(*run_of(drawn))
    assert answer.status == "answered"
    assert answer.verdict == ("Storage writes 200 MB/s [199, 201] and reads 300 MB/s [298, 302].")


def test_the_answer_says_when_a_cache_answered():
    part = part_of(
        file_cell("write", "buffered", 5e9, cached=0.97),
        file_cell("read", "buffered", 4e9, cached=0.5),
        file_cell("reread", "buffered", 9e9, cached=1.0),
        file_cell("write", "fsync", 2e8, cached=0.0),
    )
    (caveat,) = part.caveats
    assert caveat.startswith("In 2 storage cells the page cache served")
    assert "97.0% of the bytes (storage.file op=write" in caveat
    assert "the page cache served 97.0%" in rows(part)["Write, buffered, records of 1 MiB"].note
    clean = part_of(file_cell("write", "fsync", 2e8, cached=0.0))
    assert clean.caveats == []


def test_memory_is_not_reported_as_a_device():
    part = part_of(
        file_cell("write", "fsync", 3e9, cached=0.0, filesystem="tmpfs"),
        file_cell("read", "buffered", 4e9, cached=1.0, filesystem="tmpfs"),
    )
    (caveat,) = part.caveats
    assert "2 cells were in a file system in memory" in caveat
    assert part.remark.startswith("storage does storage.file op=read")  # no claim on a device


def test_the_cache_is_set_against_going_around_it_at_the_same_record():
    part = part_of(
        file_cell("read", "buffered", 600e6, record=MIB, cached=0.0),
        file_cell("read", "direct", 400e6, record=MIB),
        file_cell("read", "buffered", 500e6, record=4096, cached=0.0),
        file_cell("read", "direct", 50e6, record=4096),
        file_cell("write", "buffered", 5e9, cached=1.0),
    )
    row = rows(part)["Read, buffered over direct, records of 1 MiB"]
    assert row.value == pytest.approx(1.5)
    assert row.ci95[0] < 1.5 < row.ci95[1]
    assert not [label for label in rows(part) if "over direct" in label and "Write" in label]


def test_the_record_that_arrives_is_the_first_within_five_percent():
    sweep = {4096: 50e6, 65536: 189e6, MIB: 195e6, 4 * MIB: 200e6}
    part = part_of(*(file_cell("write", "direct", b, record=r) for r, b in sweep.items()))
    row = rows(part)["Write, direct, records of 4 MiB"]
    assert "95% of its best with records of 1 MiB" in row.note


def test_small_random_records_have_rates_and_latencies():
    part = part_of(
        file_cell("random_read", "direct", 4096 * 10_000, record=4096, latency=90e-6),
        file_cell("random_read", "direct", 1e9, record=MIB, latency=1e-3),
        file_cell("random_write", "fsync", 4096 * 30_000, record=4096, latency=1e-6),
    )
    found = [(row.metric, row.value) for row in part.evidence]
    assert found == [
        ("rate", pytest.approx(10_000)),
        ("latency", pytest.approx(90e-6)),
        ("latency_p99", pytest.approx(450e-6)),
        ("rate", pytest.approx(30_000)),  # its latencies are the cache's
    ]


def test_ranks_and_methods_are_compared():
    part = part_of(
        parallel_cell("write", "own", 100e6, ppn=1),
        parallel_cell("write", "own", 150e6, ppn=2),
        parallel_cell("write", "strided", 50e6, ppn=2, api="mpiio"),
        parallel_cell("read", "own", 100e6, ppn=2),
        parallel_cell("read", "shared", 98e6, ppn=2),
    )
    found = rows(part)
    assert found["Parallel write, 1 → 2 ranks, file per rank, posix"].value == pytest.approx(1.5)
    assert found["Parallel write, 2 ranks, shared file, strided, mpiio"].value == 50e6
    (advice,) = part.advice  # 2% more isn't reported
    assert advice.startswith(
        "With 2 ranks, write with file per rank, posix: 3.00 times the bandwidth"
    )


def test_files_are_counted_on_the_largest_number_of_ranks():
    part = part_of(
        metadata_cell("create", 9_000, ppn=1),
        metadata_cell("create", 12_000),
        metadata_cell("create", 7_000, layout="shared"),
        metadata_cell("stat", 300_000),
    )
    assert {label: row.value for label, row in rows(part).items()} == {
        "Files: create, 2 ranks, directory per rank": 12_000,
        "Files: create, 2 ranks, one directory": 7_000,
        "Files: stat, 2 ranks, directory per rank": 300_000,
    }
    assert part.remark.startswith("storage does storage.metadata op=stat")


def test_the_place_of_measurement_is_reported():
    (limit,) = part_of(file_cell("write", "fsync", 2e8, cached=0.0)).limits
    assert "measured in /scratch (ext4)" in limit


def test_failures_are_named():
    cells, run = run_of([file_cell("write", "fsync", 2e8, cached=0.0)])
    broken = make_failure(make_cell("storage.file", op="read"), "too little space")
    answer = answer_of([*cells, broken], run)
    assert answer.confidence == "low"
    assert any("too little space" in caveat for caveat in answer.caveats)


def figures(*drawn):
    return {figure.id: figure for figure in figures_of("speed", *run_of(drawn))}


def test_figures_hold_the_planted_numbers_and_can_be_drawn():
    from assay.charts.drawing import svg

    drawn = figures(
        *(file_cell("write", "fsync", r * 100.0, record=r) for r in (4096, 65536, MIB)),
        *(file_cell("read", "direct", r * 90.0, record=r) for r in (4096, MIB)),
        parallel_cell("write", "own", 100e6, ppn=1),
        parallel_cell("write", "own", 150e6, ppn=2),
        parallel_cell("read", "shared", 150e6, ppn=2, api="mpiio_collective"),
        metadata_cell("create", 12_000),
        metadata_cell("create", 7_000, layout="shared"),
    )
    assert set(drawn) == {f"storage-{n}" for n in ("writing", "reading", "parallel", "metadata")}
    curves = drawn["storage-writing"].rows + drawn["storage-reading"].rows
    assert [(r["record"], r["operation"], r["median"]) for r in curves] == [
        (4096, "write", 409_600.0),
        (65536, "write", 6_553_600.0),
        (MIB, "write", 104_857_600.0),
        (4096, "read", 368_640.0),
        (MIB, "read", 94_371_840.0),
    ]
    assert [(r["way"], r["ranks"], r["median"]) for r in drawn["storage-parallel"].rows] == [
        ("write: file per rank, posix", "1 rank", 100e6),
        ("write: file per rank, posix", "2 ranks", 150e6),
        ("read: shared file, segmented, mpiio_collective", "2 ranks", 150e6),
    ]
    assert [(r["who"], r["median"]) for r in drawn["storage-metadata"].rows] == [
        ("2 ranks, directory per rank", 12_000),
        ("2 ranks, one directory", 7_000),
    ]
    for figure in drawn.values():
        assert all(set(row) == {field.name for field in figure.fields} for row in figure.rows)
        assert "NaN" not in svg(figure)


def test_a_single_record_size_makes_no_curve():
    assert figures(file_cell("write", "fsync", 1e8)) == {}


def test_findings_are_plain_json_with_the_planted_numbers():
    import json

    cells, run = run_of(
        [
            file_cell("write", "buffered", 5e9, cached=1.0),
            file_cell("write", "direct", 2e8, record=MIB),
            file_cell("write", "direct", 1e8, record=4096),
            file_cell("random_read", "direct", 4096 * 10_000, record=4096, latency=90e-6),
            parallel_cell("write", "own", 100e6, ppn=1),
            parallel_cell("write", "own", 150e6, ppn=2),
            parallel_cell("write", "strided", 50e6, ppn=2, api="mpiio"),
            metadata_cell("create", 12_000),
        ]
    )
    found = findings_json(reply_to("speed", cells, run).findings)
    found = json.loads(json.dumps(found, allow_nan=False))["storage"]
    assert found["facts"][cells[0].id] == {
        "filesystem": "ext4", "directory": "/scratch", "from_cache": 1.0,
    }  # fmt: skip
    assert found["device"] == {"write": {"cell": cells[1].id, "metric": "bandwidth"}}
    arrivals = {each["point"]["cell"]: each["arrival"] for each in found["operations"]}
    assert arrivals == {cells[0].id: None, cells[1].id: MIB}
    assert found["page_cache"]["write"]["value"] == pytest.approx(25)
    assert list(found["small_records"][0]["latencies"]) == ["latency", "latency_p99"]
    parallel = found["parallel"]["write"]
    assert (parallel["ranks"], list(parallel["ways"])) == (2, ["own/posix", "strided/mpiio"])
    assert parallel["speedups"]["own/posix"]["value"] == pytest.approx(1.5)
    assert parallel["spread"]["value"] == pytest.approx(3)
    assert list(found["metadata"]) == ["create/own"]
    assert found["cached"] == [{"cell": cells[0].id, "metric": "bandwidth"}]


def test_facts_are_read_once(monkeypatch):
    calls = []
    read = storage._facts

    def counting(run):
        calls.append(run)
        return read(run)

    monkeypatch.setattr(storage, "_facts", counting)
    cells, run = run_of([parallel_cell("write", "own", 100e6)])
    reply = reply_to("speed", cells, run)
    assert [figure.id for figure in reply.figures()] == ["storage-parallel"]
    assert len(calls) == 1
