"""Storage by IO500's rules in the answer and the figures, from planted numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import pytest

from asking import figures_of, reply_to
from assay.kernels.storage.io500 import DATA_PHASES, FILE_PHASES, HARD_RECORD
from assay.questions.common.question import Measured
from assay.questions.speed.io500.topic import TOPIC
from report_builder import make_cell, make_measurement, make_metric, make_run, with_launches
from report_builder import make_summary as summary_of

GIB = 1 << 30
FACTS = {
    "filesystem": "lustre",
    "reads_from": "another node",
    "memory_share": 3.0,
    "slowest_share.ior_hard_write": 0.95,
}


def io500_cell(
    *, data=1e9, files=1e4, facts=None, spread=0.006, ppn=2, record=HARD_RECORD, **phases
):
    """A cell whose phases have these rates, unless named, and its measurement."""
    cell = make_cell("storage.io500", ppn=ppn, seconds=300.0, api="posix", record=record)
    return planted(cell, data, files, {**FACTS, **(facts or {})}, spread, phases)


def planted(cell, data, files, facts, spread, phases):
    rates = {name: phases.get(name, data) for name in DATA_PHASES}
    counts = {name: phases.get(name, files) for name in FILE_PHASES}
    means = [math.prod(each.values()) ** (1 / len(each)) for each in (rates, counts)]
    score = math.sqrt(means[0] / GIB * means[1] / 1000)
    summary = summary_of(cell, score, spread=spread)
    summary.metrics["score"] = make_metric(score, "points", spread=spread)
    summary.metrics["bandwidth_score"] = make_metric(means[0], "B/s", spread=spread)
    summary.metrics["metadata_score"] = make_metric(means[1], "op/s", spread=spread)
    for name, value in rates.items():
        summary.metrics[name] = make_metric(value, "B/s", spread=spread)
    for name, value in counts.items():
        summary.metrics[name] = make_metric(value, "op/s", spread=spread)
    measurement = make_measurement(cell, [])
    parameters = {**cell.parameters, "directory": "/scratch"}
    record = msgspec.structs.replace(measurement.record, facts=facts, parameters=parameters)
    return summary, replace(measurement, record=record)


def run_of(drawn):
    cells = [summary for summary, _ in drawn]
    return cells, make_run(cells, measurements=[measurement for _, measurement in drawn])


def part_of(*drawn):
    cells, run = run_of(drawn)
    return TOPIC.part(TOPIC.find(Measured(run, cells)))


def answer_of(*drawn):
    return reply_to("speed", *run_of(drawn)).answer


def rows(part):
    return {row.label: row for row in part.evidence}


def test_a_run_without_it_has_no_part() -> None:
    cells = [summary_of(make_cell("storage.parallel", op="write"), 1e9)]
    assert TOPIC.find(Measured(make_run(cells), cells)) is None


def test_the_score_is_stated_with_its_interval_and_as_not_official() -> None:
    answer = answer_of(io500_cell(data=4 * GIB, files=9e3))
    assert answer.verdict == (
        "Storage scores 6.00 points [5.96, 6.04] on 2 ranks (assay's own code, not an official "
        "IO500 result)."
    )
    assert "not an official IO500 result" in " ".join(answer.method)
    assert answer.caveats == []
    labels = {row.label: row for row in answer.evidence}
    assert labels["Storage score, 2 ranks"].value == pytest.approx(6)
    assert labels["ior-hard-read"].value == 4 * GIB
    assert labels["mdtest-hard-stat"].value == 9e3


def test_what_slows_the_hard_phases_is_advised_where_the_interval_shows_it() -> None:
    hard = {"ior_hard_write": 0.2e9, "ior_hard_read": 1e9, "mdtest_hard_write": 2e3}
    part = part_of(
        io500_cell(**hard), io500_cell(record=2 << 20, ior_hard_write=0.9e9, ior_hard_read=1e9)
    )
    found = rows(part)
    assert found["Write: ior-easy over ior-hard"].value == pytest.approx(5)
    assert found["Write, shared file: records of 2 MiB over 47008 B"].value == pytest.approx(4.5)
    assert [advice.split(":")[0] for advice in part.advice] == [
        "With 2 ranks, write large transfers to a file of each rank",
        "If ranks must share a file, write larger records",
        "With 2 ranks, give each rank a directory of its own",
    ]
    assert "5.00 times" in part.advice[0] and "4.50 times" in part.advice[1]
    wide = part_of(io500_cell(spread=0.9, **hard))
    assert wide.advice == []
    assert part_of(io500_cell()).advice == []


def test_the_score_of_a_record_by_the_rules_comes_first() -> None:
    part = part_of(io500_cell(), io500_cell(record=2 << 20, data=9e9))
    assert rows(part)["Storage score, 2 ranks"].value == pytest.approx(
        math.sqrt(1e9 / GIB * 10), rel=1e-9
    )


def test_mpi_io_beside_posix() -> None:
    summary, measurement = io500_cell()
    cell = make_cell("storage.io500", ppn=2, seconds=300.0, api="mpiio", record=HARD_RECORD)
    other = planted(cell, 0.25e9, 1e4, FACTS, 0.006, {})
    part = part_of((summary, measurement), other)
    assert rows(part)["Storage score: MPI-IO over POSIX"].value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"filesystem": "tmpfs"}, "in a file system in memory (tmpfs)"),
        ({"reads_from": "another rank"}, "It is unknown how much of the data the page cache"),
        (
            {"reads_from": "another rank", "from_cache": 0.4, "memory_share": 0.02},
            "served 40.0% of the bytes read, but memory can serve names, sizes and directories, "
            "which a program can't drop. They were 2.00% of its memory.",
        ),
        ({"reads_from": "another rank", "from_cache": 0.0}, "came from the device, but"),
        ({"limited": "ior_easy_write, find"}, "ior-easy-write and find had written as much as"),
        (
            {"slowest_share.ior_easy_write": 0.3},
            "When the time of ior-easy-write had passed, the slowest rank had written 30.0%",
        ),
    ],
)
def test_what_limits_a_score_is_said(facts, words) -> None:
    (caveat,) = part_of(io500_cell(facts=facts)).caveats
    assert words in caveat


def test_a_short_time_is_said() -> None:
    cell = make_cell("storage.io500", ppn=2, seconds=2.0)
    (caveat,) = part_of(planted(cell, 1e9, 1e4, FACTS, 0.006, {})).caveats
    assert caveat.startswith("Each phase of the storage score wrote for 2.00 s;")
    assert "require 300 s" in caveat


def test_memory_that_may_serve_files_limits_the_confidence() -> None:
    def answer(facts, *before):
        cells, run = run_of([io500_cell(facts=facts)])
        cells = with_launches([*before, *cells], 40)
        return reply_to("speed", cells, make_run(cells, measurements=list(run.measurements))).answer

    doubt = "memory may serve files"
    shared = answer({})
    assert (shared.confidence, doubt in shared.confidence_why) == ("high", False)
    alone = answer({"reads_from": "another rank", "from_cache": 0.0})
    assert (alone.confidence, doubt in alone.confidence_why) == ("medium", True)
    # It does not limit an answer that another subject leads.
    stream = summary_of(make_cell("memory.stream", op="triad", ppn=2), 2e10)
    led = answer({"reads_from": "another rank"}, stream)
    assert (led.confidence, doubt in led.confidence_why) == ("high", False)


def test_figures_have_a_point_for_each_phase_and_cell() -> None:
    cells, run = run_of([io500_cell(), io500_cell(record=2 << 20)])
    found = {figure.id: figure for figure in figures_of("speed", cells, run)}
    for name, phases in (("io500-data", DATA_PHASES), ("io500-files", FILE_PHASES)):
        figure = found[name]
        assert len(figure.rows) == 2 * len(phases)
        assert "not an official IO500 result" in figure.caption
