"""The network under load, with planted impacts: what is found, what isn't, and what is said."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from asking import reply_to
from assay.charts.drawing import svg
from assay.cli.app import main
from assay.launch.fake.congestion import CongestionModel
from assay.model.demand import CallDemand, ProgramDemand
from assay.questions import questions
from assay.questions.common.answer import Answer
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured, Reply, ask
from assay.questions.network.congestion.findings import CongestionFindings, find
from assay.questions.network.congestion.topic import TOPIC
from assay.records.model import RunData
from assay.stats.cells.summarise import summarise_cells
from loaded_networks import congestion_cells, loaded_run, stored_loaded_run
from profiles import two_ranks

PAIRS = congestion_cells(("allreduce", "halo"), ("incast", "permutation"))
PLANTED = CongestionModel(
    slowed={"incast/allreduce": 3.0}, delayed={"incast/allreduce": 0.04}, operations=2000
)


def found_in(run: RunData) -> CongestionFindings:
    found = find(Measured(run, summarise_cells(run)))
    assert found is not None
    return found


def reply(run: RunData, program: ProgramDemand | None = None) -> Reply:
    (network,) = (one for one in questions() if one.name == "network")
    return ask(network, Measured(run, summarise_cells(run), program=program))


def said(answer: Answer) -> str:
    return " ".join([answer.verdict, *answer.advice, *answer.caveats, *answer.limits])


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return loaded_run(tmp_path_factory.mktemp("planted"), PLANTED, PAIRS)


def test_planted_impacts_are_found_and_others_are_not(planted: RunData) -> None:
    found = found_in(planted)
    (slower,) = found.slower
    impact = slower.impact
    assert (impact.victim, impact.aggressor) == ("allreduce", "incast")
    # 96% of the loaded operations take 3 times as long, 4% 30 times. The median is the quantile of
    # 0.5 / 0.96 of the former, the 99th percentile of 0.75 of the latter.
    known = {name: point.metric for name, point in impact.ratios().items()}
    assert known["median"].median == pytest.approx(3.0 * math.exp(0.2 * 0.0523), rel=0.02)
    tail = 30.0 * math.exp(0.2 * (0.674 - 2.326))
    low, high = known["99th percentile"].ci95 or (0.0, 0.0)
    assert low < tail < high < 1.2 * tail
    assert impact.mean is not None
    assert impact.mean.metric.median == pytest.approx(3.0 * (0.96 + 0.4), rel=0.03)
    assert found.worst is impact
    assert not any(each.slower or each.faster for each in found.judged if each is not slower)
    assert found.refuted == ()
    assert (impact.operations, impact.aggressors, impact.load) == (2000, 8, 1e9)


def test_the_answer_names_the_worst_pattern_and_its_victim(planted: RunData) -> None:
    answer = reply(planted).answer
    assert answer.status == "answered"
    assert answer.verdict.startswith("Under load, allreduce (8 B) beside incast has ")
    assert answer.verdict.endswith(
        "the quiet network's 99th percentile, the largest of 4 pairs; load slows victims in 1 of 4 "
        "pairs."
    )
    (spreads,) = (each for each in answer.advice if "incast overloads" in each)
    assert spreads.startswith("Load slows allreduce beside incast. ")
    assert "MPI doesn't report which traffic class or route" in said(answer)
    labels = [row.label for row in answer.evidence]
    assert labels[:2] == [
        "allreduce (8 B) beside incast, median",
        "allreduce (8 B) beside incast, 99th percentile",
    ]
    assert answer.evidence[1].unit == "" and answer.evidence[1].ci95 is not None


def test_without_planted_impact_none_is_found(tmp_path: Path) -> None:
    for seed in range(3):
        run = loaded_run(tmp_path, CongestionModel(), PAIRS, launches=6, seed=seed)
        found, answer = found_in(run), reply(run).answer
        assert not found.slower and not any(each.faster for each in found.judged)
        assert answer.verdict.startswith("No load is seen to slow a victim: the largest ratio")
        assert "isolated" in said(answer)
        assert "isn't shown" in said(answer)


def test_an_error_of_the_method_is_no_impact(tmp_path: Path) -> None:
    """The control without aggressors shows a bias, so that only what exceeds it counts."""
    model = CongestionModel(bias=1.2, slowed={"incast/allreduce": 3.0})
    found = found_in(loaded_run(tmp_path, model, PAIRS))
    assert found.refuted == ("allreduce", "halo")
    assert [each.impact.name for each in found.slower] == ["allreduce beside incast"]
    assert found.equal("halo") > 1.2
    answer = TOPIC.part(found)
    assert answer is not None
    assert "Only ratios above it count as slower" in answer.caveats[0]
    # Without controls the bias counts as an impact of every pair.
    uncontrolled = [cell for cell in PAIRS if cell.parameters["share"] > 0]
    assert len(found_in(loaded_run(tmp_path, model, uncontrolled)).slower) == 4


def test_few_launches_have_no_direction(tmp_path: Path) -> None:
    run = loaded_run(tmp_path, PLANTED, PAIRS, launches=3)
    found, answer = found_in(run), reply(run).answer
    assert not found.slower
    assert "slows" not in answer.verdict
    assert answer.verdict.endswith("(too few launches for an interval).")
    assert found.missing[0].method == "impact of load"
    assert "(3 launches, 6 needed)" in answer.advice[0]


def test_a_noisy_network_hides_an_impact_instead_of_inventing_it(tmp_path: Path) -> None:
    model = CongestionModel(slowed={"incast/allreduce": 1.3}, launch_sigma=0.5)
    found = found_in(loaded_run(tmp_path, model, PAIRS))
    assert not found.slower
    assert not any(each.unaffected for each in found.judged)
    ramps = found_in(loaded_run(tmp_path, model, RAMPED)).ramps
    # At least one median is above 1 by chance, which is no slowdown.
    assert any(ramp.steps[-1].worst.metric.median > 1.0 for ramp in ramps)
    assert not any(ramp.slower_from or ramp.grows for ramp in ramps)


def test_other_processes_limit_the_confidence(tmp_path: Path) -> None:
    busy = {"sampling_seconds": 1.0, "other_cpu_seconds": 3.9, "online_cpus": 4}
    run = loaded_run(tmp_path, PLANTED, PAIRS, launches=30, covariates=busy)
    quiet = loaded_run(tmp_path, PLANTED, PAIRS, launches=30)
    assert reply(run).answer.confidence == "low"
    assert "other processes" in reply(run).answer.confidence_why.lower()
    assert reply(quiet).answer.confidence != "low"


def test_quantiles_need_operations_beyond_them(tmp_path: Path, planted: RunData) -> None:
    # 2,000 operations are enough for the 99th percentile, but not for the 99.9th.
    (declined,) = found_in(planted).declined
    assert (declined.quantile, declined.needed, declined.operations) == (
        "99.9th percentile", 10_000, 2000
    )  # fmt: skip
    assert (declined.pairs, declined.of) == (4, 4)
    limits = reply(planted).answer.limits
    assert limits[0] == (
        "No ratio of 99.9th percentiles is given for 4 of 4 pairs: it needs 10,000 operations per "
        "launch and phase, 10 beyond the quantile; the fewest are 2,000."
    )
    few = replace_operations(planted, 900)
    found = found_in(few)
    assert [each.quantile for each in found.declined] == ["99th percentile", "99.9th percentile"]
    assert found.worst_of == "median"
    assert all(one.level <= 0.95 or not one.sure for one in found.worst.tail)


def replace_operations(run: RunData, operations: int) -> RunData:
    """The run as if each launch had had so many operations."""

    def changed(one):
        facts = one.record.facts | {"operations_quiet": operations}
        return replace(one, record=msgspec.structs.replace(one.record, facts=facts))

    return replace(run, measurements=tuple(map(changed, run.measurements)))


RAMPED = congestion_cells(("allreduce",), ("incast", "permutation"), (0.25, 0.5, 1.0))


def test_the_ramp_tells_from_which_share_on_a_victim_is_slower(tmp_path: Path) -> None:
    found = found_in(loaded_run(tmp_path, PLANTED, RAMPED))
    ramps = {ramp.steps[0].aggressor: ramp for ramp in found.ramps}
    assert [each.share for each in ramps["incast"].steps] == [0.25, 0.5, 1.0]
    assert ramps["incast"].slower_from == 0.25
    assert ramps["incast"].grows and ramps["incast"].growth.value > 5.0
    assert ramps["permutation"].slower_from is None and not ramps["permutation"].grows
    # A pair is judged where all aggressors are active.
    assert [each.impact.share for each in found.judged] == [1.0, 1.0]
    part = TOPIC.part(found)
    assert part is not None
    assert any(
        each.startswith("Beside incast, allreduce (8 B) is slower already with 25% of the aggre")
        for each in part.advice
    )


def test_the_settings_of_equal_pairs_are_named(tmp_path: Path) -> None:
    cells = [
        cell
        for draw in (1, 2)
        for cell in congestion_cells(("halo",), ("incast",), controls=False, draw=draw)
    ]
    found = found_in(loaded_run(tmp_path, PLANTED, cells, launches=6))
    assert [each.setting for each in found.impacts] == ["draw 1", "draw 2"]
    assert len(found.judged) == 2


CALLS = (
    CallDemand("Allreduce", 0.2, 1000, 8.0),
    CallDemand("Waitall", 0.1, 500, 0.0),
    CallDemand("Isend", 0.02, 500, 2e6),
    CallDemand("Bcast", 0.05, 10, 8.0),
)
PROGRAM = ProgramDemand("app", 4, 2, 1.0, 0.0, 0.4, 10.0, 1e3, 0.5, calls=CALLS)


def test_a_profiled_program_loses_its_share_of_calls_times_the_excess(planted: RunData) -> None:
    answered = reply(planted, PROGRAM)
    found = answered.findings.congestion.program
    reduce, halo = found.calls
    mean = answered.findings.congestion.worst.mean.metric
    assert (reduce.victim, reduce.functions, reduce.share) == ("allreduce", ("Allreduce",), 0.2)
    assert reduce.lost == pytest.approx(0.2 * (mean.median - 1.0))
    assert reduce.lost_ci95 == pytest.approx([0.2 * (end - 1.0) for end in mean.ci95])
    assert reduce.alike
    assert halo.functions == ("Waitall", "Isend") and halo.share == pytest.approx(0.12)
    assert halo.bytes == pytest.approx(2e6) and not halo.alike
    assert found.other == pytest.approx(0.05)
    assert found.lost == pytest.approx(reduce.lost + halo.lost)
    assert found.lost_ci95[0] == pytest.approx(reduce.lost_ci95[0] + halo.lost_ci95[0])
    text = said(answered.answer)
    assert "Beside the worst load the profiled program takes up to" in text
    assert re.search(r"halo calls send \S+ MiB and were measured with 64 KiB", text)
    assert "Calls that no measured victim stands for, 5.00% of its run time, are left out" in text
    assert any(row.label.startswith("Run time added by load") for row in answered.answer.evidence)


def test_without_a_profile_the_loss_is_stated_for_a_tenth_of_the_time(planted: RunData) -> None:
    text = said(reply(planted).answer)
    # 0.1 × (4.08 - 1)
    assert "An application that spends 10% of its quiet run time in allreduce calls of 8 B" in text
    assert re.search(r"takes up to 3[01]% \[2\d, 3\d\] longer beside incast", text)
    assert "assay report --profile FOLDER" in text


def test_tables_and_figures_of_all_pairs(planted: RunData) -> None:
    found = found_in(planted)
    tables = {table.id: table for table in TOPIC.tables(found)}
    rows = tables["congestion-impacts"].rows
    assert len(rows) == 6
    assert [row[-1].text for row in rows] == [
        "slower",
        "unaffected",
        "unaffected",
        "unaffected",
        "",
        "",
    ]
    assert rows[-1][1].text == "none (control)"
    assert len(tables["congestion-costs"].rows) == 2
    figures = TOPIC.figures(found)
    assert [figure.id for figure in figures] == [
        "congestion-tail-allreduce",
        "congestion-tail-halo",
    ]
    loads = {row["load"] for row in figures[0].rows}
    assert loads == {"quiet", "incast", "permutation"}
    by_load = {(row["load"], row["quantile"]): row["median"] for row in figures[0].rows}
    assert by_load["incast", 0.5] / by_load["quiet", 0.5] == pytest.approx(3.0, rel=0.03)
    assert max(quantile for _, quantile in by_load) == 0.995
    assert all(svg(figure) for figure in figures)


def test_the_ramp_is_drawn_per_victim(tmp_path: Path) -> None:
    found = found_in(loaded_run(tmp_path, PLANTED, RAMPED, launches=6))
    tail, ramp = TOPIC.figures(found)
    assert ramp.id == "congestion-ramp-allreduce"
    assert {row["share"] for row in ramp.rows} == {0.25, 0.5, 1.0}
    assert svg(ramp) and svg(tail)


def test_the_findings_are_json(planted: RunData) -> None:
    found = json.loads(json.dumps(findings_json(found_in(planted))))
    assert found["worst"]["victim"] == "allreduce"
    assert found["judged"][0]["slower"] is True


def test_nothing_is_found_in_controls_alone(tmp_path: Path) -> None:
    controls = [cell for cell in PAIRS if cell.parameters["share"] == 0]
    run = loaded_run(tmp_path, PLANTED, controls, launches=1)
    assert find(Measured(run, summarise_cells(run))) is None
    assert reply_to("network", summarise_cells(run), run).answer.status == "unmeasured"


def reported(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The network's section of `assay report --json`."""
    with pytest.raises(SystemExit) as ended:
        main(["report", *words, "--json"])
    assert not ended.value.code
    sections = json.loads(capsys.readouterr().out)["sections"]
    (network,) = (each for each in sections if each["id"] == "network")
    found: dict[str, Any] = network
    return found


def test_a_report_joins_a_profile(
    tmp_path: Path, planted: RunData, capsys: pytest.CaptureFixture[str]
) -> None:
    run, profile = str(stored_loaded_run(tmp_path, planted).path), two_ranks(tmp_path / "profile")
    plain = reported(capsys, run)
    assert not any("profiled program takes up to" in each for each in plain["advice"])
    # Of 20 s of two ranks 3.5 s are in Allreduce; no victim measures Send and Recv.
    joined = reported(capsys, run, "--profile", str(profile))
    (said,) = (each for each in joined["advice"] if "profiled program takes up to" in each)
    assert "17.5% of its run time is in Allreduce (beside incast)" in said
    assert "Calls that no measured victim stands for, 12.5% of its run time" in said
    assert "mpirun -n 2 ./app" in json.dumps(joined["tables"])
    hidden = reported(capsys, run, "--profile", str(profile), "--anonymize")
    assert "./app" not in json.dumps(hidden)
    assert "Profile of a profiled program." in json.dumps(hidden["tables"])


def test_what_is_no_profile_is_named(
    tmp_path: Path, planted: RunData, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(stored_loaded_run(tmp_path, planted).path)
    with pytest.raises(SystemExit) as ended:
        main(["report", run, "--profile", str(tmp_path / "nothing")])
    assert ended.value.code == 2
    assert "nothing" in capsys.readouterr().err
