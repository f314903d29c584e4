"""What a timeline's file contains: the calls, the messages, within the limit of its size."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import AssayError
from assay.report.timeline.annotate import annotate
from assay.report.timeline.contents import contents_of
from assay.report.timeline.model import Annotations
from assay.report.timeline.windows import order_of_windows, spans_of, window_edges
from assay.report.timeline.write import write_timeline
from assay.trace.matching import match
from timeline_page import KIND, Page, noisy
from traces import late_at, late_sender, repeated, ring, stencil


@functools.cache
def large():
    return noisy(repeated(stencil(6, 40), 60))


def ns(trace, time):
    return round((time - trace.begin) * 1e9)


def all_calls(trace, rank):
    events = rank.events
    return [
        (
            ns(trace, events.begin[i]),
            ns(trace, events.end[i]) - ns(trace, events.begin[i]),
            {name: int(getattr(events, name)[i]) for name in KIND},
        )
        for i in range(len(events))
    ]


@pytest.mark.parametrize("trace", [late_sender(), ring(5), stencil(4, 20), noisy(stencil(3, 30))])
def test_a_small_trace_is_contained_whole(trace, tmp_path) -> None:
    matched = match(trace)
    path = tmp_path / "timeline.html"
    contents = write_timeline(trace, path, annotate(matched))
    page = Page(path)
    assert len(page.calls) == 1
    assert page.calls[0] == [all_calls(trace, rank) for rank in trace]
    assert (contents.kept, contents.calls, contents.share) == (len(trace), len(trace), 1.0)
    flat, of = matched.flat, matched.messages
    expected = {
        (0, int(flat.rank[s]), int(s - flat.first[flat.rank[s]]),
         int(flat.rank[r]), int(r - flat.first[flat.rank[r]]))
        for s, r in zip(of.send, of.received_in, strict=True)
    }  # fmt: skip
    assert set(page.arrows()) == expected
    assert len(page.arrows()) == len(expected) == page.head["arrows"] > 0


def test_a_large_trace_stays_within_the_limit(tmp_path) -> None:
    trace = large()
    path = tmp_path / "timeline.html"
    contents = write_timeline(trace, path, annotate(match(trace)), most_bytes=400_000)
    assert 300_000 < path.stat().st_size <= 400_000
    assert 0.05 * len(trace) < contents.kept < 0.9 * len(trace)
    assert contents.spans > 5
    page = Page(path)
    rows = [all_calls(trace, rank) for rank in trace]
    for (begin, end), calls in zip(page.head["spans"], page.calls, strict=True):
        for row, found in enumerate(calls):
            expected = [one for one in rows[row] if one[0] <= end and one[0] + one[1] >= begin]
            assert found == expected


def test_what_finds_no_room_is_left_out_but_counted(tmp_path) -> None:
    trace = large()
    contents = contents_of(trace, annotate(match(trace)), 1000)
    assert contents.kept == 0
    assert contents.head["calls"] == len(trace)
    assert sum(place["calls"] for place in contents.head["places"]) == len(trace)


def test_totals_and_places_are_exact() -> None:
    trace = large()
    head = contents_of(trace, Annotations(), 100_000).head
    function = trace.functions.index("Waitall")
    (place,) = [one for one in head["places"] if one["function"] == function]
    lengths, begins = [], []
    for rank in trace:
        waits = rank.events.function == function
        lengths.append(rank.events.end[waits] - rank.events.begin[waits])
        begins.append(rank.events.begin[waits].min())
    assert place["calls"] == sum(map(len, lengths))
    assert place["time"] == pytest.approx(sum(map(np.sum, lengths)))
    longest = max(part.max() for part in lengths)
    assert place["longest"][2] - place["longest"][1] == pytest.approx(longest * 1e9, abs=1)
    assert place["first"][:2] == [int(np.argmin(begins)), ns(trace, min(begins))]
    for rank, shown in zip(trace, head["ranks"], strict=True):
        assert sum(shown["times"]) == pytest.approx((rank.events.end - rank.events.begin).sum())


def test_windows_of_the_worst_waits_are_kept_first() -> None:
    trace = large()
    edges = window_edges(trace, 2000)
    at = (edges[20] + edges[21]) / 2
    order = order_of_windows(edges, [at, edges[7] + 1e-9])
    assert order[:4] == [0, len(edges) - 2, 20, 7]
    assert sorted(order) == list(range(len(edges) - 1))
    assert spans_of(edges, [3, 4, 9]) == [(edges[3], edges[5]), (edges[9], edges[10])]


def test_the_worst_waits_name_the_late_rank() -> None:
    notes = annotate(match(late_at("Allreduce", late=2, delay=5e-3)))
    assert len(notes.waits) >= 10
    for wait in notes.waits[:10]:
        assert (wait.origin, wait.cause, wait.function) == (2, "wait at N×N", "Allreduce")
        assert wait.waited == pytest.approx(5e-3, rel=0.03)
        assert wait.others == 2
    assert {piece.rank for piece in notes.path} >= {2}


def test_a_trace_without_calls(tmp_path) -> None:
    trace = late_sender()
    part = slice(0, 0)
    ranks = tuple(
        replace(
            rank,
            events=replace(
                rank.events,
                **{
                    name: getattr(rank.events, name)[part]
                    for name in rank.events.__dataclass_fields__
                    if name != "completed_start"
                },
                completed_start=np.zeros(1, np.int64),
            ),
        )
        for rank in trace
    )
    path = tmp_path / "timeline.html"
    assert write_timeline(replace(trace, ranks=ranks), path).kept == 0
    assert Page(path).head["states"] == []


def test_text_of_the_program_stays_text(tmp_path) -> None:
    trace = late_sender()
    run = replace_command(trace.run, ["./a</script><script>alert(1)</script>"])
    path = tmp_path / "timeline.html"
    write_timeline(replace(trace, run=run), path)
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    assert Page(path).head["command"] == run.command[0]


def replace_command(run, command):
    import msgspec

    return msgspec.structs.replace(run, command=command)


def test_a_folder_that_is_absent_is_named(tmp_path) -> None:
    with pytest.raises(AssayError, match="absent"):
        write_timeline(late_sender(), tmp_path / "absent" / "timeline.html")
