"""Findings from profiles whose numbers are known."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.charts.drawing import svg
from assay.errors import AssayError
from assay.subjects.profile.answer import answer
from assay.subjects.profile.figures import figures
from assay.subjects.profile.findings import find
from assay.subjects.profile.model import ProfileFindings, RankSpread
from assay.subjects.profile.tables import program_table, rank_table, tables
from assay.trace.model import KindTotal, LaunchTime, ProgramProfile, RankProfile
from assay.trace.reading import read_profile
from profiles import call, header, kind, sent, two_ranks, write_profile


@pytest.fixture
def found(tmp_path: Path) -> ProfileFindings:
    return find(read_profile(two_ranks(tmp_path)))


def test_times_and_efficiencies(found: ProfileFindings) -> None:
    """Computing is 6 s and 8 s of 10 s; MPI_Init doesn't count."""
    assert [rank.computing for rank in found.ranks] == [6.0, 8.0]
    assert found.mpi_share == RankSpread(pytest.approx(0.3), 0.2, 0.4)
    of = found.efficiencies
    assert of is not None
    assert of.parallel == pytest.approx(0.7)
    assert of.load_balance == pytest.approx(7 / 8)
    assert of.communication == pytest.approx(0.8)
    # Rank 0 computes 2 s less than rank 1, which it waits for; 4 of the 6 s in MPI are left.
    assert (found.grain.waiting, found.grain.traced) == (2.0, False)
    assert found.grain.waiting_share == pytest.approx(1 / 3)
    assert found.grain.ratio == pytest.approx(14 / 4)
    assert found.grain.between == pytest.approx(14 / 12)
    assert not found.grain.fine


def test_kinds_functions_and_call_sites(found: ProfileFindings) -> None:
    collective, point = found.kinds
    assert (collective.kind, collective.calls, collective.share) == ("collective", 4, 3.5 / 20)
    assert collective.time == RankSpread(1.75, 0.5, 3.0)
    assert (point.kind, point.calls, point.time) == ("point", 8, RankSpread(1.25, 1.0, 1.5))
    functions = {each.function: (each.calls, each.bytes, each.time) for each in found.functions}
    assert functions == {"Allreduce": (4, 32, 3.5), "Recv": (4, 8000, 1.5), "Send": (4, 4000, 1.0)}
    sites = {each.function: (each.place, each.ranks, each.time) for each in found.sites}
    assert sites == {
        "Allreduce": ("solve (app+0xc8)", 2, RankSpread(1.75, 0.5, 3.0)),
        "Recv": ("exchange (app.c:7)", 1, RankSpread(0.75, 0.0, 1.5)),
        "Send": ("exchange (app.c:7)", 1, RankSpread(0.5, 0.0, 1.0)),
    }


def test_messages_sizes_and_demand(found: ProfileFindings) -> None:
    assert [(pair.sender, pair.receiver, pair.messages, pair.bytes) for pair in found.sent] == [
        (0, 1, 4, 4000)
    ]
    # Receives offer room; only Send and Allreduce send.
    assert [(size.low, size.high, size.calls, size.bytes) for size in found.sizes] == [
        (8, 16, 4, 32), (512, 1024, 4, 4000),
    ]  # fmt: skip
    assert found.demand.bytes == RankSpread(200.0, 0.0, 400.0)
    assert found.demand.messages == RankSpread(0.2, 0.0, 0.4)
    assert found.demand.collectives == pytest.approx(4 / 20)


def test_the_answer_names_the_share_the_function_and_the_place(found: ProfileFindings) -> None:
    reply = answer(found)
    assert reply.verdict == (
        "30.0% of 10.0 s in MPI (20.0% to 40.0% by rank), 2 ranks on 1 host: Allreduce 17.5%, "
        "Recv 7.50%. Computation is 3.5 × communication; at least 33.3% of the time in MPI is "
        "waiting and is not counted."
    )
    assert reply.confidence == "medium"
    assert any("Allreduce in solve (app+0xc8)" in sentence for sentence in reply.advice)


def test_the_answer_says_how_much_launches_differ(found: ProfileFindings) -> None:
    assert "One launch does not show how times vary" in answer(found).confidence_why
    times = [LaunchTime(10.0, 7.0), LaunchTime(9.0, 5.0), LaunchTime(12.0, 10.0)]
    of_several = answer(dataclasses.replace(found, launches=times))
    assert "took 9.00 s to 12.0 s; this is the median launch." in of_several.confidence_why
    values = {one.metric: one.value for one in of_several.evidence}
    assert values["launches"] == pytest.approx(12 / 9)
    assert values["computing_of_launches"] == 2.0


def test_figures_are_drawn_and_tables_have_all_ranks(found: ProfileFindings) -> None:
    for figure in figures(found):
        assert "<svg" in svg(figure)
        assert {field.name for field in figure.fields} >= set(figure.rows[0])
    assert {figure.id for figure in figures(found)} == {
        "profile-ranks", "profile-sent", "profile-sizes",
    }  # fmt: skip
    assert len(rank_table(found).rows) == 2
    assert all(table.rows for table in (*tables(found), program_table(found)))


def test_what_a_profile_cannot_say_is_said(tmp_path: Path) -> None:
    folder = write_profile(
        tmp_path,
        {
            "0": [
                header(0, 1.0, 3, fortran=False, complete=False, ended="signal", unfinished=2),
                kind("completion", 9, 1.5),
                call("Test", 1.5, calls=9, failed=8),
                sent(None, 3, 9),
                {"type": "overflow", "calls": 1, "bytes": 1, "time": 0.0, "least": 0, "most": 0},
            ],
            "2": [header(2, 1.0, 3, runs=1)],
        },
    )
    found = find(read_profile(folder))
    assert found.efficiencies is None
    assert found.grain.fine
    assert found.lost == pytest.approx(0.1)
    reply = answer(found)
    assert reply.confidence == "low"
    said = " ".join(reply.caveats)
    for words in (
        "1 rank wrote no profile (1)",
        "which hides calls from Fortran",
        "in total longer than the wall time",
        "1 rank got SIGTERM",
        "10.0% of the calls are only in the sums",
    ):
        assert words in said
    advice = " ".join(reply.advice)
    assert "8 of 9 calls are tests or probes that found nothing" in advice
    assert "2 requests never completed" in advice
    assert found.sent == []


def test_a_profile_of_regions_has_their_time_and_no_gap(tmp_path: Path) -> None:
    ranks = {
        str(rank): [
            header(rank, 100.0, 2, runs=4, counted=10.0, cpu_wait=0.1),
            kind("collective", 4, 2.5),
            call("Allreduce", 2.5, calls=4),
        ]
        for rank in range(2)
    }
    found = find(read_profile(write_profile(tmp_path, ranks)))
    assert (found.wall, found.mpi_share.mean, found.unknown) == (10.0, 0.25, [])
    assert found.regions is not None
    assert (found.regions.regions, found.regions.share) == (4, 0.1)
    assert found.cpu_wait == pytest.approx(0.01)
    reply = answer(found)
    assert reply.confidence == "medium"
    assert "of 10.0 s in MPI" in reply.verdict and "in its measured regions" in reply.verdict
    assert "10.0% of the time from MPI_Init" in " ".join(reply.method)
    # A program that is never switched off is profiled as a whole.
    whole = write_profile(tmp_path / "whole", {"0": [header(0, 5.0, 1, runs=1, counted=5.0)]})
    assert find(read_profile(whole)).regions is None


def test_a_program_that_never_calls_has_no_ratio(tmp_path: Path) -> None:
    found = find(read_profile(write_profile(tmp_path, {"0": [header(0, 2.0, 1)]})))
    assert found.grain.ratio is None and not found.grain.fine
    assert "0% of 2.00 s in MPI, 1 rank on 1 host." in answer(found).verdict
    assert len(figures(found)) == 1


def test_no_time_between_begin_and_end_is_refused(tmp_path: Path) -> None:
    profile = read_profile(write_profile(tmp_path, {"0": [header(0, 0.0, 1)]}))
    with pytest.raises(AssayError, match="No time passed"):
        find(profile)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 100.0), st.floats(0.0, 0.99)), min_size=1, max_size=20
    )
)  # fmt: skip
def test_parallel_efficiency_is_the_product_of_the_others(
    ranks: list[tuple[float, float]],
) -> None:
    """Whatever the ranks' wall times and shares in MPI."""
    first = RankProfile(_HEADER, [], [], None, [])
    profiles = [
        msgspec.structs.replace(
            first,
            header=msgspec.structs.replace(first.header, rank=number, ranks=len(ranks), wall=wall),
            kinds=[KindTotal("collective", 1, wall * share)],
        )
        for number, (wall, share) in enumerate(ranks)
    ]
    found = find(ProgramProfile(_RUN, profiles, [], []))
    of = found.efficiencies
    assert of is not None
    assert of.parallel == pytest.approx(of.load_balance * of.communication)
    assert 0.0 < of.load_balance <= 1.0 + 1e-12
    assert 0.0 < of.communication <= 1.0 + 1e-12
    inside = sum(wall * share for wall, share in ranks)
    assert sum(rank.mpi for rank in found.ranks) == pytest.approx(inside)


def _known() -> ProgramProfile:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return read_profile(two_ranks(Path(folder)))


_HEADER, _RUN = _known().ranks[0].header, _known().run


def _waiting_rank(folder: Path) -> Path:
    """Rank 0 computes 1 s of 10 s and waits for rank 1, which computes 9.5 s."""
    return write_profile(
        folder,
        {
            "0": [header(0), kind("point", 1, 9.0), call("Recv", 9.0)],
            "1": [header(1), kind("point", 1, 0.5), call("Send", 0.5)],
        },
    )


def test_waiting_does_not_make_the_grain_fine(tmp_path: Path) -> None:
    """8.5 of the 9.5 s in MPI are waiting, whether the profile or a trace says so."""
    profile = read_profile(_waiting_rank(tmp_path))
    for found in (find(profile), find(profile, waiting=8.5)):
        assert found.grain.waiting == pytest.approx(8.5)
        assert found.grain.ratio == pytest.approx(10.5)
        assert not found.grain.fine
        assert "fine grain" not in answer(found).verdict
        assert "89.5% of the time in MPI is waiting" in answer(found).verdict
    # More than there is: all of it.
    found = find(profile, waiting=20.0)
    assert (found.grain.ratio, found.grain.fine) == (None, False)
    assert "All of the time in MPI is waiting." in answer(found).verdict


def test_fine_grain_without_a_trace_may_be_waiting(tmp_path: Path) -> None:
    """Ranks that compute evenly, one after the other, wait for half of the time."""
    rows = [kind("point", 1, 6.0), call("Recv", 6.0)]
    profile = read_profile(write_profile(tmp_path, {str(r): [header(r), *rows] for r in range(2)}))
    assert "unless most communication is waiting; `--trace`" in answer(find(profile)).verdict
    assert "This is fine grain." in answer(find(profile, waiting=0.0)).verdict
    assert "fine grain" not in answer(find(profile, waiting=11.0)).verdict


def test_what_a_trace_cannot_say_is_a_caveat_of_the_profile(tmp_path: Path) -> None:
    found = find(read_profile(two_ranks(tmp_path)), problems=["The trace isn't analysed: x."])
    assert "The trace isn't analysed: x." in answer(found).caveats
    assert answer(found).confidence == "low"
