"""Streams: every complete line counts, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.records.schema import STREAM_SCHEMA, MeasurementRecord
from assay.records.stream import StreamTail, read_stream
from records_builder import make_cell, make_record, make_stream

CELL = make_cell()
RECORDS = [make_record(CELL, replicate, [1.0, 2.0, 3.0]) for replicate in range(3)]
WHOLE = make_stream("job", RECORDS)


def _read(tmp_path: Path, content: bytes):
    path = tmp_path / "stream.jsonl"
    path.write_bytes(content)
    return read_stream(path)


def test_whole_stream(tmp_path: Path) -> None:
    stream = _read(tmp_path, WHOLE)
    assert stream.measurements == RECORDS
    assert stream.finished
    assert [rank.rank for rank in stream.ranks] == [0, 1]
    assert stream.begun is None
    assert not stream.torn
    assert stream.damaged == []


@pytest.mark.parametrize("cut", range(0, len(WHOLE), 37))
def test_truncated_anywhere_it_keeps_exactly_the_complete_lines(tmp_path: Path, cut: int) -> None:
    stream = _read(tmp_path, WHOLE[:cut])
    whole = WHOLE[:cut].count(b'"record":"measurement"')
    # The last such line counts only if its newline was written.
    tail = WHOLE[:cut].rpartition(b"\n")[2]
    assert len(stream.measurements) == whole - tail.count(b'"record":"measurement"')
    assert not stream.finished
    assert stream.damaged == []


def test_missing_end_record_is_not_finished(tmp_path: Path) -> None:
    assert not _read(tmp_path, WHOLE[: WHOLE.index(b'{"record":"end"')]).finished


def test_wrong_count_is_not_finished(tmp_path: Path) -> None:
    wrong = WHOLE.replace(b'"measurements":3', b'"measurements":4')
    assert wrong != WHOLE
    assert not _read(tmp_path, wrong).finished


def test_begun_without_record_is_named(tmp_path: Path) -> None:
    cut = WHOLE.rindex(b'{"record":"measurement"')
    assert _read(tmp_path, WHOLE[:cut]).begun == RECORDS[2].measurement


def test_damage_within_the_stream_is_named_and_skipped(tmp_path: Path) -> None:
    lines = WHOLE.split(b"\n")
    lines[4] = lines[4][: len(lines[4]) // 2]
    stream = _read(tmp_path, b"\n".join(lines))
    assert stream.damaged == [5]
    assert stream.measurements == RECORDS[1:]


def test_other_schema_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    other = WHOLE.replace(b'"schema":%d' % STREAM_SCHEMA, b'"schema":99')
    with pytest.raises(AssayError, match=f"version 99; this assay reads {STREAM_SCHEMA}"):
        _read(tmp_path, other)


def test_unknown_fields_of_a_newer_writer_are_ignored(tmp_path: Path) -> None:
    newer = WHOLE.replace(b'"status":"ok"', b'"status":"ok","novelty":{"a":[1]}')
    assert _read(tmp_path, newer).measurements == RECORDS


@given(st.binary(max_size=400))
def test_garbage_never_raises(tmp_path_factory: pytest.TempPathFactory, garbage: bytes) -> None:
    stream = _read(tmp_path_factory.mktemp("garbage"), garbage)
    assert stream.measurements == []


@given(st.lists(st.integers(min_value=1, max_value=400), max_size=40))
def test_tail_returns_each_record_once_for_any_cuts(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int]
) -> None:
    path = tmp_path_factory.mktemp("tail") / "s.jsonl"
    tail = StreamTail(path)
    assert tail.new() == []
    seen, at = [], 0
    for step in [*steps, len(WHOLE)]:
        with path.open("ab") as stream:
            stream.write(WHOLE[at : at + step])
        at += step
        seen += tail.new()
    assert [record for record in seen if isinstance(record, MeasurementRecord)] == RECORDS
    assert len(seen) == WHOLE.count(b"\n")


@pytest.mark.parametrize("piece", [1, 7, 100, 1 << 20])
def test_a_tail_reads_the_same_in_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr("assay.records.stream._PIECE", piece)
    path = tmp_path / "stream.jsonl"
    tail, seen = StreamTail(path), []
    for end in (0, 1, len(WHOLE) // 3, len(WHOLE) // 2, len(WHOLE) - 1, len(WHOLE)):
        path.write_bytes(WHOLE[:end])
        seen += tail.new()
        assert len(seen) == WHOLE[:end].count(b"\n")
    assert [r for r in seen if isinstance(r, MeasurementRecord)] == RECORDS
