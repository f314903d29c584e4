"""Exports of traces: chosen by name, written whole or not at all, and read back."""

from __future__ import annotations

import gzip
import itertools
import json
import re

import numpy as np
import polars as pl
import pytest

from assay.errors import AssayError
from assay.trace.exports import NAMES, exports, parse_target, write_export
from assay.trace.matching import match
from traces_to_export import all_traces, varied

TRACES = all_traces()


def export(trace, target):
    return write_export(trace, *parse_target(target))


def test_targets() -> None:
    made, path = parse_target("chrome:some/where:else.json")
    assert (made, str(path)) == (exports()["chrome"], "some/where:else.json")
    with pytest.raises(
        AssayError, match=r"'otf' is not a known format of traces or samples\. Did you mean 'otf2'"
    ):
        parse_target("otf:x")
    for name in NAMES:
        with pytest.raises(AssayError, match=f"--export {name}:"):
            parse_target(name)


def test_a_folder_is_never_overwritten(tmp_path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(AssayError, match="exists already"):
        export(varied(), f"parquet:{tmp_path}/there")


def test_a_failed_export_leaves_nothing(tmp_path, monkeypatch) -> None:
    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polars.DataFrame.write_parquet", full)
    with pytest.raises(AssayError, match="No space left on device"):
        export(varied(), f"parquet:{tmp_path}/there")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TRACES)
def test_parquet_has_every_call_and_message(name, tmp_path) -> None:
    trace = TRACES[name]
    assert export(trace, f"parquet:{tmp_path}/out") == []
    calls = pl.read_parquet(tmp_path / "out" / "events.parquet")
    assert len(calls) == len(trace)
    for rank in trace:
        part = calls.filter(pl.col("rank") == rank.rank)
        events = rank.events
        for column in ("peer", "tag", "source", "sent", "received", "request", "communicator"):
            assert part[column].to_list() == getattr(events, column).tolist(), column
        assert part["begin"].to_list() == pytest.approx(list(events.begin - trace.begin))
        assert part["function"].to_list() == [trace.functions[f] for f in events.function]
        starts = events.completed_start
        assert part["completed"].to_list() == [
            events.completed_request[a:b].tolist() for a, b in itertools.pairwise(starts)
        ]
    messages = pl.read_parquet(tmp_path / "out" / "messages.parquet")
    assert len(messages) == len(match(trace).messages) > 0
    joined = messages.join(
        calls.with_columns(send_event=pl.int_range(pl.len()).over("rank")),
        left_on=["sender", "send_event"], right_on=["rank", "send_event"],
    )  # fmt: skip
    assert joined["receiver"].to_list() == joined["peer"].to_list()
    assert joined["bytes"].to_list() == joined["sent_right"].to_list()
    assert (messages["received"] > messages["sent"]).all()


# The fields that the Trace Event Format requires, by phase.
FIELDS = {
    "M": {"ph", "pid", "tid", "name", "args"},
    "X": {"ph", "pid", "tid", "ts", "dur", "name", "cat", "args"},
    "s": {"ph", "pid", "tid", "ts", "name", "cat", "id"},
    "f": {"ph", "pid", "tid", "ts", "name", "cat", "id", "bp"},
}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_chrome_json_follows_its_format(name, suffix, tmp_path) -> None:
    trace = TRACES[name]
    path = tmp_path / f"trace.{suffix}"
    assert export(trace, f"chrome:{path}") == []
    content = path.read_bytes()
    found = json.loads(gzip.decompress(content) if suffix.endswith("gz") else content)
    assert found["displayTimeUnit"] in ("ms", "ns")
    by_phase: dict[str, list[dict]] = {}
    for event in found["traceEvents"]:
        assert set(event) == FIELDS[event["ph"]]
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        by_phase.setdefault(event["ph"], []).append(event)
    spans: dict[int, list[tuple[float, float]]] = {}
    for event in by_phase["X"]:
        spans.setdefault(event["pid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for rank in trace:
        expected = [
            (pytest.approx((begin - trace.begin) * 1e6, abs=6e-4),
             pytest.approx((end - trace.begin) * 1e6, abs=1.2e-3))
            for begin, end in zip(rank.events.begin, rank.events.end, strict=True)
        ]  # fmt: skip
        assert spans[rank.rank] == expected
    assert {e["name"] for e in by_phase["X"]} == {f"MPI_{one}" for one in trace.functions}
    # Each message: one begin within its send, one end within the call that received it.
    starts = {event["id"]: event for event in by_phase["s"]}
    ends = {event["id"]: event for event in by_phase["f"]}
    assert len(starts) == len(by_phase["s"]) == len(match(trace).messages)
    assert set(starts) == set(ends)
    for number, start in starts.items():
        end = ends[number]
        assert end["bp"] == "e" and end["ts"] >= start["ts"]
        for event in (start, end):
            assert any(a - 1e-6 <= event["ts"] <= b for a, b in spans[event["pid"]])
    pairs = sorted((start["pid"], ends[number]["pid"]) for number, start in starts.items())
    messages = match(trace).messages
    flat = match(trace).flat
    assert pairs == sorted(
        zip(flat.rank[messages.send].tolist(), flat.rank[messages.receive].tolist(), strict=True)
    )


def test_chrome_json_escapes_names(tmp_path) -> None:
    from dataclasses import replace

    import msgspec

    trace = varied()
    sites = tuple(msgspec.structs.replace(one, file='a"b\\c\n.c') for one in trace.sites)
    path = tmp_path / "trace.json"
    export(replace(trace, sites=sites), f"chrome:{path}")
    found = json.loads(path.read_text())["traceEvents"]
    places = {event["args"]["place"] for event in found if event["ph"] == "X"}
    assert any('a"b\\c\n.c' in place for place in places)


def test_exported_times_are_exact_nanoseconds() -> None:
    from assay.trace.exports.model import nanoseconds

    times = np.array([1.0, 1.000000001, 2.5])
    assert nanoseconds(times, 1.0).tolist() == [0, 1, 1_500_000_000]
    assert re.fullmatch(r"\d+", str(int(nanoseconds(1.25, 1.0))))
