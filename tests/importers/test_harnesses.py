"""Importers of benchmark harnesses: recorded outputs and the expected numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from importing_probe import Read, output, probe


def test_hyperfine_has_a_result_per_run(read: Read) -> None:
    found = read("hyperfine.json")
    assert found.skipped == []
    times = found.values("hyperfine", "time", command="sleep 0.1", delay="0.1")
    assert times == [0.10175, 0.10211, 0.10254]
    assert [result.error for result in found.results] == [
        None,
        None,
        "The command ended with exit status 1.",
        None,
    ]
    assert found.value("hyperfine", "time", command="true") == 0.00124
    assert found.value("hyperfine", "time.mean", command="true") == 0.00125
    assert found.values("hyperfine", "time.stddev", command="true") == []


def test_google_benchmark(read: Read) -> None:
    found = read("google_benchmark.json")
    axpy = {"benchmark": "BM_Axpy/1024/repeats:2", "program": "axpy", "threads": 1}
    assert found.values("google-benchmark", "time", **axpy) == [
        pytest.approx(351.25e-9, rel=1e-15),
        pytest.approx(355.25e-9, rel=1e-15),
    ]
    assert found.values("google-benchmark", "time.cpu", **axpy) == [350e-9, 354e-9]
    assert found.values("google-benchmark", "bandwidth", **axpy) == [3.5e10, 3.46e10]
    assert found.values("google-benchmark", "counter.misses", **axpy) == [12.5, 13.5]
    # Aggregates of present repetitions are not reported.
    assert found.values("google-benchmark", "time.mean", **axpy) == []
    assert found.value("google-benchmark", "time.mean", benchmark="BM_Only") == 2.25e-3
    assert found.value("google-benchmark", "time.cv", benchmark="BM_Only") == 0.0125
    assert found.results[0].version == "1.8.3"
    assert found.skipped == [(77, "BM_Broken: The benchmark reported an error: no device.")]


def test_reframe_logs(read: Read) -> None:
    old = read("reframe_perflog-3.log")
    cell = {"test": "StreamTest %num=4", "system": "fritz", "partition": "compute"}
    assert old.value("reframe", "copy_bw", environment="gnu", **cell) == 24123.5e6
    assert old.value("reframe", "wall", **cell) == 12.75
    assert old.results[0].version == "3.9.2"
    new = read("reframe_perflog-4.log")
    cell = {"test": "stream_test", "system": "fritz", "partition": "compute", "ranks": 4}
    assert new.values("reframe", "copy_bw", **cell) == [22116.6e6, 1116.25e6]
    assert new.values("reframe", "solves", **cell) == [77.5, 70.25]
    assert [series.unit for series in new.results[0].series] == ["B/s", "solves/h"]
    assert [result.verified for result in new.results] == [True, False]
    assert old.skipped == new.skipped == []


def test_reframe_reports(read: Read) -> None:
    new = read("reframe_report-4.json")
    assert new.value("reframe", "triad_bw", test="stream_test", system="fritz") == 181234.5e6
    assert new.value("reframe", "residual", environment="gnu") == 0.000125
    assert [result.verified for result in new.results] == [True]
    assert new.results[0].version == "4.7.3"
    old = read("reframe_report-3.json")
    assert old.value("reframe", "latency", test="osu") == 2.75e-6
    assert [result.verified for result in old.results] == [False]
    assert new.skipped == old.skipped == []


def test_phoronix(read: Read) -> None:
    found = read("phoronix.xml")
    assert found.skipped == []
    cell = {"test": "pts/stream-1.3.4", "description": "Type: Copy", "system": "node 1"}
    assert found.values("phoronix", "result", **cell) == [30000.5e6, 30001.5e6, 30002.5e6]
    assert found.value("phoronix", "result", title="x264") == 61.25
    assert [result.series[0].unit for result in found.results] == ["B/s", "Frames Per Second"]
    assert {result.version for result in found.results} == {"10.8.4"}


def test_entities_of_an_xml_document_are_refused(tmp_path: Path) -> None:
    bomb = '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n'
    text = output("phoronix.xml").replace('<?xml version="1.0"?>\n', bomb)
    found = probe(text.replace("61.25", "&b;"), tmp_path / "output")
    assert found.results == []
    assert found.skipped[0][1] == "The XML document is damaged here."
