"""Findings from traces with planted patterns, and what is reply of them."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest

from assay.charts.drawing import svg
from assay.errors import AssayError
from assay.questions.common.findings import findings_json
from assay.subjects.profile.traced.answer import answer
from assay.subjects.profile.traced.figures import figures
from assay.subjects.profile.traced.findings import find_trace
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.profile.traced.tables import tables
from assay.trace.events import Trace
from assay.trace.model import LaunchTime, SourcePlace
from simulated_mpi import Net, Script, events_of, simulate
from traces import (
    ETHERNET,
    FAST,
    MS,
    allreduce_share,
    imbalance,
    late_sender,
    ring,
    stencil,
    travelling_delay,
)


def _main(found: TraceFindings) -> tuple[int, str, float]:
    """The main origin, over its places."""
    shares: dict[tuple[int, str], float] = {}
    for one in found.origins:
        key = one.rank, one.kind
        shares[key] = shares.get(key, 0.0) + one.share
    (rank, kind), share = max(shares.items(), key=lambda item: item[1])
    return rank, kind, share


def test_a_late_sender_by_5_ms() -> None:
    found = find_trace(late_sender(5 * MS, times=100))
    (cause,) = found.causes
    assert (cause.cause, cause.calls) == ("late sender", 100)
    assert cause.time / cause.calls == pytest.approx(5 * MS, rel=0.03)
    assert _main(found) == (0, "computing", pytest.approx(1.0, rel=0.03))
    (place,) = found.places
    assert (place.function, place.place) == ("Recv", "take (app.c:2)")
    assert found.worst[0].late == 0
    assert found.iterations is not None
    assert found.iterations.times == 100


def test_imbalance_of_20_percent() -> None:
    found = find_trace(imbalance(0.2, ranks=4))
    assert found.efficiencies.load_balance == pytest.approx(0.875, rel=0.03)
    assert found.causes[0].share == pytest.approx(3 / 4 * 0.2 / 1.2, rel=0.03)
    assert _main(found) == (3, "computing", pytest.approx(1.0, rel=0.03))


def test_30_percent_of_time_in_allreduce() -> None:
    found = find_trace(allreduce_share(0.3))
    assert found.efficiencies.transfer == pytest.approx(0.7, rel=0.03)
    assert found.causes == []
    assert (found.analysed, found.skipped) == (1.0, [])
    assert answer(found).verdict.startswith(
        "The ranks don't wait for each other: of the 600 ms in MPI, all were analysed."
    )


def test_a_delay_that_travels() -> None:
    """30 of 40 ms of waiting go back to rank 0, of which 24 through others."""
    found = find_trace(travelling_delay(5 * MS, ranks=6))
    assert _main(found) == (0, "computing", pytest.approx(0.75, rel=0.03))
    assert found.origins[0].handed_on == pytest.approx(24 * MS, rel=0.03)
    assert found.critical[0].rank == 0
    assert found.critical[0].share == pytest.approx(16 / 21, rel=0.03)


def test_a_ring() -> None:
    found = find_trace(ring(4, 60_000, 5))
    assert found.network is not None
    assert found.network.messages == 20
    assert found.network.bytes == 20 * 60_000
    assert found.network.predictions[0].grain == "fine"
    # A hop takes h = 2 o + L + s G. From the end of its send, o after its begin, a rank waits until
    # its predecessor sends, three hops later: five times rank 0, four times each other rank, which
    # at first waits for the hops before its own (0, 1 and 2). All of it is for communication.
    hop = 2 * ETHERNET.overhead + ETHERNET.latency + 60_000 * ETHERNET.gap
    (cause,) = found.causes
    assert cause.cause == "late sender"
    expected = (5 + 3 * 4) * (3 * hop - ETHERNET.overhead) + (0 + 1 + 2) * hop
    assert cause.time == pytest.approx(expected, rel=0.03)
    shares = [one.share for one in found.origins if one.kind == "communication"]
    assert sum(shares) == pytest.approx(1.0, rel=0.03)


def test_a_stencil_of_100_iterations() -> None:
    found = find_trace(stencil(4, 100))
    of = found.iterations
    assert of is not None
    assert (of.times, of.calls, of.ranks) == (100, 6, 4)
    assert [phase.name for phase in found.phases] == ["setup", "iterations", "end"]
    iterations = found.phases[1]
    assert iterations.end - iterations.begin == pytest.approx(found.wall, rel=0.03)
    parts = iterations.computing + iterations.waiting + iterations.mpi
    assert parts == pytest.approx(iterations.end - iterations.begin, rel=0.03)
    assert iterations.computing == pytest.approx(100 * 1.1 * MS, rel=0.03)


def test_a_stencil_with_a_slow_rank() -> None:
    """Rank 2 computes 0.2 ms longer in each of 100 iterations. Its neighbours wait for it in their
    halo exchange, rank 0 in the norm: 3 x 100 x 0.2 ms in all.
    """
    ranks, more = 4, 0.2 * MS

    def program(rank: Script) -> None:
        for _ in range(100):
            rank.compute(MS + (more if rank.rank == 2 else 0.0))
            near = [(rank.rank - 1) % ranks, (rank.rank + 1) % ranks]
            coming = [rank.irecv(n, 8000, 1 + i, site="halo_in") for i, n in enumerate(near)]
            going = [rank.isend(n, 8000, 2 - i, site="halo_out") for i, n in enumerate(near)]
            rank.wait(*coming, *going, site="halo_wait")
            rank.allreduce(8, site="norm")

    found = find_trace(simulate(ranks, program, Net(collective=0.0)))
    times = {one.cause: one.time for one in found.causes}
    assert times == {
        "late sender": pytest.approx(2 * 100 * more, rel=0.03),
        "wait at N×N": pytest.approx(100 * more, rel=0.03),
    }
    assert _main(found) == (2, "computing", pytest.approx(1.0, rel=0.03))
    assert found.origins[0].place == "norm (app.c:4) to halo_in (app.c:1)"
    assert found.origins[0].phase == "iterations"
    assert found.iterations is not None and found.iterations.times == 100


@pytest.fixture(scope="module")
def found() -> TraceFindings:
    return find_trace(stencil(4, 500, Net(ETHERNET, FAST), size=60_000))


def test_the_verdict_names_the_network_and_gigabit_ethernet(found: TraceFindings) -> None:
    reply = answer(found)
    assert "of the time is waiting" in reply.verdict
    assert "It needs a latency under" in reply.verdict
    assert "B/s per rank, so that each costs at most 5.00% of the run time" in reply.verdict
    assert "on Gigabit Ethernet it would take" in reply.verdict
    assert reply.confidence == "medium"
    assert reply.advice


def test_slower_networks_take_longer_and_are_finer(found: TraceFindings) -> None:
    network = found.network
    assert network is not None
    by_name = {one.interconnect.split(" (")[0]: one for one in network.predictions}
    slow, fast = by_name["Gigabit Ethernet"], by_name["InfiniBand HDR"]
    assert slow.low <= slow.seconds <= slow.high
    assert slow.seconds > fast.seconds
    assert slow.computing_ratio is not None
    assert fast.computing_ratio is not None
    assert slow.computing_ratio < fast.computing_ratio
    assert [one.latency for one in network.needed] == sorted(
        one.latency or 0.0 for one in network.needed
    )
    assert [one.seconds for one in network.latencies] == sorted(
        one.seconds for one in network.latencies
    )


def test_figures_are_drawn_and_tables_have_rows(found: TraceFindings) -> None:
    drawn = figures(found)
    assert [figure.id for figure in drawn] == ["trace-origins", "trace-latency", "trace-grain"]
    for figure in drawn:
        assert "<svg" in svg(figure)
        assert {field.name for field in figure.fields} >= set(figure.rows[0])
    assert len(tables(found)) == 11
    assert isinstance(findings_json(found), dict)


def test_a_run_on_one_host_is_modelled_on_several() -> None:
    found = find_trace(stencil(4, 20, Net(ETHERNET, FAST), hosts=["a"] * 4))
    assert found.network is not None
    assert found.network.spread
    assert any("ran on one host" in text for text in answer(found).caveats)


def test_a_single_launch_has_an_assumed_difference() -> None:
    found = find_trace(stencil(4, 20))
    assumed = "assume that launches differ by 5.00%"
    assert any(assumed in text for text in answer(found).caveats)
    several = dataclasses.replace(found, launches=[LaunchTime(1.0, 0.5), LaunchTime(1.1, 0.6)])
    assert not any(assumed in text for text in answer(several).caveats)


def test_gaps_are_named_and_lower_the_confidence() -> None:
    trace = late_sender()
    cut = replace(trace, ranks=(trace.ranks[0], replace(trace.ranks[1], complete=False)))
    found = find_trace(cut)
    assert found.incomplete == [1]
    assert answer(found).confidence == "low"
    absent = find_trace(replace(trace, ranks=trace.ranks[:1]))
    assert "10 sends to ranks without a trace have no partner in the trace." in absent.unknown
    assert absent.network is None


def test_a_program_without_time_in_it_is_refused() -> None:
    def nothing(rank: Script) -> None:
        pass

    with pytest.raises(AssayError, match="No time passed"):
        find_trace(simulate(2, nothing))


def test_the_report_has_a_section_of_the_trace(tmp_path: Path, found: TraceFindings) -> None:
    from assay.report.profile.write import build_profile
    from assay.subjects.profile.findings import find
    from assay.trace.reading import read_profile
    from profiles import two_ranks

    report = build_profile(find(read_profile(two_ranks(tmp_path))), found)
    assert [section.id for section in report.sections] == ["profile", "trace"]


def _with_unknown_calls(seconds: float, whole: float) -> Trace:
    """Two ranks that each spend ``seconds`` of ``whole`` in MPI_Win_flush."""
    plain = simulate(2, lambda rank: rank.compute(whole))
    rows = [(0.0, seconds, 0, 0, 0, -1, -1, -1, -1, 0, 0, -1)]
    ranks = tuple(replace(rank, events=events_of(rows, [[]])) for rank in plain.ranks)
    return replace(
        plain,
        ranks=ranks,
        functions=("Win_flush",),
        sites=(SourcePlace("./app", 1, "main", "app.c", 1),),
    )


def test_waiting_is_not_denied_where_it_is_not_analysed() -> None:
    """As a share of the run time: of little time in MPI it doesn't matter."""
    found = find_trace(_with_unknown_calls(0.9, 1.0))
    assert (found.inside, found.analysed) == (1.8, 0.0)
    assert [(one.function, one.share) for one in found.skipped] == [("Win_flush", 0.9)]
    assert answer(found).verdict == (
        "No waiting was found, but not all was analysed: of the 1.80 s in MPI, 0% were analysed; "
        "waits in the rest (Win_flush) are unknown."
    )
    assert answer(found).confidence == "low"
    little = answer(find_trace(_with_unknown_calls(0.005, 1.0))).verdict
    assert little.startswith("The ranks don't wait for each other: of the 10.0 ms in MPI, 0%")


def test_the_grain_on_other_networks_has_no_waiting() -> None:
    """One rank computes four times as long as the other before each small message."""

    def program(rank: Script) -> None:
        for _ in range(50):
            rank.compute((4 if rank.rank else 1) * MS)
            rank.allreduce(8)

    found = find_trace(simulate(2, program, Net(ETHERNET, FAST), ["a", "b"]))
    assert found.network is not None
    assert found.waiting > 0.3
    assert {one.grain for one in found.network.predictions} == {"coarse"}
