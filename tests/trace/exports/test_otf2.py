"""OTF2: the reader of the package otf2 gives the same events back."""

from __future__ import annotations

import sys

import pytest

from assay.errors import AssayError
from assay.trace.calls import COLLECTIVES, RECEIVES, SENDS
from assay.trace.exports import parse_target, write_export
from assay.trace.exports.model import nanoseconds, place_text
from traces_to_export import all_traces, varied

TRACES = all_traces()


def test_an_absent_package_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(AssayError, match=r"pip install 'assay\[otf2\]'"):
        write_export(varied(), *parse_target(f"otf2:{tmp_path}/out"))


def read(folder):
    """By rank: (time, name of the event, what it says)."""
    otf2 = pytest.importorskip("otf2", reason="The Python package otf2 isn't installed.")
    found: dict[int, list[tuple]] = {}
    with otf2.reader.open(str(folder / "traces.otf2")) as trace:
        assert trace.timer_resolution == 10**9
        for location, event in trace.events:
            rank = int(location.name.removeprefix("MPI Rank "))
            found.setdefault(rank, []).append((event.time, type(event).__name__, event))
        hosts = {
            int(one.name.removeprefix("MPI Rank ")): one.group.system_tree_parent.name
            for one in trace.definitions.locations
        }
        begin = min(time for events in found.values() for time, *_ in events)
    return {
        rank: [(t - begin, n, e) for t, n, e in events] for rank, events in found.items()
    }, hosts


@pytest.mark.parametrize("name", TRACES)
def test_the_reader_gives_the_same_events_back(name, tmp_path) -> None:
    pytest.importorskip("otf2", reason="The Python package otf2 isn't installed.")
    trace = TRACES[name]
    assert write_export(trace, *parse_target(f"otf2:{tmp_path}/out")) == []
    found, hosts = read(tmp_path / "out")
    assert hosts == {rank.rank: rank.host for rank in trace}
    assert sorted(found) == [rank.rank for rank in trace]
    for rank in trace:
        _same_calls(trace, rank, found[rank.rank])
        _same_messages(trace, rank, found[rank.rank])
        _same_collectives(trace, rank, found[rank.rank])


def _same_calls(trace, rank, found) -> None:
    events = rank.events
    entered = [(t, e.region.name, e.attributes) for t, n, e in found if n == "Enter"]
    left = [(t, e.region.name) for t, n, e in found if n == "Leave"]
    begins = nanoseconds(events.begin, trace.begin).tolist()
    ends = nanoseconds(events.end, trace.begin).tolist()
    names = [f"MPI_{trace.functions[f]}" for f in events.function]
    assert entered[0][:2] == (int(nanoseconds(rank.begin, trace.begin)), "program")
    assert [one[:2] for one in entered[1:]] == list(zip(begins, names, strict=True))
    places = [list(one[2].values()) for one in entered[1:]]
    assert places == [[place_text(trace.sites[site])] for site in events.site]
    assert left[:-1] == list(zip(ends, names, strict=True))


def _same_messages(trace, rank, found) -> None:
    events = rank.events
    begins = nanoseconds(events.begin, trace.begin)
    ends = nanoseconds(events.end, trace.begin)
    calls, requests = events.completions()
    done_at = dict(zip(requests.tolist(), ends[calls].tolist(), strict=True))
    sent, received, completed = [], [], []
    for i, function in enumerate(events.function):
        name, request = trace.functions[function], int(events.request[i])
        if name in SENDS:
            sent.append(
                (int(begins[i]), int(events.peer[i]), int(events.tag[i]), int(events.sent[i]))
            )
            if request >= 0:
                completed.append((done_at[request], request))
        source = int(events.source[i]) if name == "Sendrecv" else int(events.peer[i])
        tag = int(events.source_tag[i]) if name == "Sendrecv" else int(events.tag[i])
        if name in RECEIVES or name == "Sendrecv":
            at = done_at[request] if request >= 0 else int(ends[i])
            received.append((at, source, tag, int(events.received[i])))

    def shown(*names):
        return sorted(
            (t, e.receiver if hasattr(e, "receiver") else e.sender, e.msg_tag, e.msg_length)
            for t, n, e in found
            if n in names
        )

    assert shown("MpiSend", "MpiIsend") == sorted(sent)
    assert shown("MpiRecv", "MpiIrecv") == sorted(received)
    assert sorted((t, e.request_id) for t, n, e in found if n == "MpiIsendComplete") == sorted(
        completed
    )


def _same_collectives(trace, rank, found) -> None:
    events = rank.events
    expected = [
        (int(nanoseconds(events.end[i], trace.begin)), trace.functions[f].upper(),
         int(events.peer[i]), int(events.sent[i]), int(events.received[i]))
        for i, f in enumerate(events.function)
        if trace.functions[f] in COLLECTIVES
    ]  # fmt: skip
    shown = []
    for time, name, event in found:
        if name == "MpiCollectiveEnd":
            root = event.root if isinstance(event.root, int) and event.root < 1000 else -1
            operation = str(event.collective_op).rpartition(".")[2]
            shown.append((time, operation, root, event.size_sent, event.size_received))
    assert shown == expected
