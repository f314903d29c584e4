"""Variation between launches, from planted variation: it is reported, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import prepared_assay
from asking import figures_of, reply_to
from assay.charts.drawing import svg
from assay.kernels.naming import cell_labels
from assay.kernels.npb.own_code import OWN_CODE
from assay.questions.common.answer import Answer
from assay.questions.common.question import Measured
from assay.questions.steadiness.variation.figures import figures as figures_from
from assay.questions.steadiness.variation.findings import MIN_RESULTS, VariationFindings, find
from assay.questions.steadiness.variation.tables import tables as tables_of
from assay.report.build import build
from assay.stats.cells.summarise import summarise_cells
from variation_builder import BEGAN, normal, npb, run_of, tailed, two_speeds

EP, LU, FT = npb("ep"), npb("lu"), npb("ft")


def variation(run, history=()) -> VariationFindings:
    return find(Measured(run, [], history))


def answer_of(cells, run) -> Answer:
    return reply_to("steadiness", cells, run).answer


def planted():
    return run_of(
        [
            (EP, normal(1, 100, 0.004)),
            (LU, tailed(2, 100, 0.005, 0.08, 0.3)),
            (FT, two_speeds(3, 100, 0.01, 0.3, 1.4)),
        ]
    )


@pytest.fixture(scope="module")
def run():
    return planted()


@pytest.fixture(scope="module")
def answer(run) -> Answer:
    return answer_of(summarise_cells(run), run)


@pytest.fixture(scope="module")
def tables(run):
    return {table.id: table for table in tables_of(variation(run))}


def column(table, name):
    place = [c.name for c in table.columns].index(name)
    return [row[place] for row in table.rows]


def evidence(answer):
    return {row.label: row for row in answer.evidence}


def test_planted_variation_is_in_the_verdict(answer):
    assert answer.status == "answered"
    assert "EP is steady (CoV 0." in answer.verdict
    assert "LU has a long right tail: " in answer.verdict
    assert "FT's run times have 2 modes: " in answer.verdict
    assert "Over 16 min" in answer.verdict


def test_the_coefficient_is_that_of_the_times_and_its_interval_holds_the_planted_one(answer):
    row = evidence(answer)["Variation of EP"]
    values = normal(1, 100, 0.004)
    assert row.value == pytest.approx(values.std(ddof=1) / values.mean())
    assert row.ci95[0] < 0.004 < row.ci95[1]
    assert row.cells == [EP.id]


def test_speeds_are_reported_with_shares_and_distance(run):
    (ft,) = [each for each in variation(run).varied if each.cell == FT]
    first, second = ft.shape.modes
    slow = two_speeds(3, 100, 0.01, 0.3, 1.4) > 2.4
    assert second.n == slow.sum()
    assert second.at / first.at == pytest.approx(1.4, rel=0.01)


def test_the_share_of_slow_runs_is_counted(run):
    from assay.questions.steadiness.variation.answer import slow_text

    (lu,) = [each for each in variation(run).varied if each.cell == LU]
    words = slow_text(lu)
    over = float(words.split("over ")[1].split("%")[0]) / 100
    share = float(words.split("%")[0]) / 100
    times = tailed(2, 100, 0.005, 0.08, 0.3)
    slower = times / np.median(times) - 1
    assert lu.slower == pytest.approx(slower)
    assert share == pytest.approx((slower > over).mean(), abs=0.0005)
    assert over >= 0.1


def test_a_drift_is_reported_with_its_effect(run):
    times = normal(5, 100, 0.003) * np.linspace(1.0, 1.03, 100)
    answer = answer_of([], run_of([(EP, times)]))
    assert "slows by 3." in answer.verdict or "slows by 2.9" in answer.verdict
    assert any("Results drift with time" in sentence for sentence in answer.advice)


def test_a_step_in_time_is_a_change_and_not_modes():
    """Sixty launches of a run; the same values in random order are modes."""
    times = normal(1, 60, 0.01)
    times[35:] *= 1.15
    mixed = np.random.default_rng(2).permutation(times)
    run = run_of([(EP, times), (LU, mixed), (FT, normal(3, 60, 0.01))], every=60.0)
    ep, lu, ft = variation(run).varied
    assert (ep.shape.modes, len(lu.shape.modes), ft.shape.modes) == ((), 2, ())
    (change,) = ep.shape.changes
    assert (change.unit, change.direction) == ("launches", "more")
    assert change.utc == pytest.approx(BEGAN + 35 * 60.0)
    assert change.size_ci95[0] < 0.15 < change.size_ci95[1]
    assert lu.shape.changes == ft.shape.changes == ()
    assert not ep.shape.drifts and not ep.shape.long_tail
    assert ep.within.cov == pytest.approx(0.01, rel=0.3) and ep.spread.cov > 0.05
    answer = answer_of([], run)
    assert "EP takes 1" in answer.verdict and "more time since 2026-" in answer.verdict
    assert "LU's run times have 2 modes" in answer.verdict
    assert any("Results changed at a certain time (EP)" in each for each in answer.advice)
    assert any("several states of the machine (LU)" in each for each in answer.advice)


def test_a_level_that_lasts_for_a_while_is_two_changes():
    times = normal(5, 60, 0.01)
    times[20:40] /= 1.1
    (ep,) = variation(run_of([(EP, times)])).varied
    assert [change.direction for change in ep.shape.changes] == ["less", "more"]
    assert ep.shape.modes == ()


def test_walltime_is_recommended(answer, tables):
    (sentence,) = [s for s in answer.advice if "times its median time" in s]
    table = tables["variation-walltime"]
    times = [entry.value for entry in column(table, "times")]
    assert times == sorted(times, reverse=True)
    worst = table.rows[0][0].text
    assert sentence.startswith(f"For a job that varies as {worst}, request {times[0]:.2f} times")
    assert "Median + 2σ" in sentence
    hours = column(table, "lost")[[row[0].text for row in table.rows].index("LU")].value
    lu = tailed(2, 100, 0.005, 0.08, 0.3)
    limit = np.median(lu) + 2 * lu.std(ddof=1)
    # Of 100 such runs, in hours where the median run takes one.
    assert hours == pytest.approx((lu > limit).sum() * limit / np.median(lu))
    asked = {e[0].text: e[2].value for e in table.rows}
    assert asked["LU"] >= tailed(2, 100, 0.005, 0.08, 0.3).max()


def test_confidence_says_how_long_and_how_often(answer):
    assert answer.confidence in ("medium", "low")
    assert "all runs lie within 16 min" in answer.confidence_why
    assert any("days" in sentence for sentence in answer.limits)


def test_many_runs_over_days_are_trusted():
    spread_out = run_of([(EP, normal(1, 200, 0.004))], every=3600.0)
    answer = answer_of(summarise_cells(spread_out), spread_out)
    assert answer.confidence == "high"
    assert not any("lie within" in sentence for sentence in answer.limits)


def test_one_launch_is_not_nothing():
    run = run_of([(EP, normal(1, 1, 0.01)), (LU, normal(2, 1, 0.01))])
    answer = answer_of(summarise_cells(run), run)
    assert answer.verdict == (
        f"Too few launches: 2 cells have 1 of the {MIN_RESULTS} launches from which variation is "
        "reported. `assay run steadiness` measures them."
    )


def test_six_launches_give_no_spread():
    run = run_of([(EP, normal(1, 6, 0.01)), (LU, normal(2, 7, 0.01))])
    answer = answer_of(summarise_cells(run), run)
    assert answer.status == "unmeasured"
    assert f"2 cells have 6 to 7 of the {MIN_RESULTS} launches" in answer.verdict
    assert "median coefficient of variation" in answer.verdict
    assert "is steady" not in answer.verdict
    report = build(run, summarise_cells(run))
    (section,) = [s for s in report.sections if s.id == "steadiness"]
    assert not section.figures and not section.tables


def test_possibly_large_variation_is_not_called_steady():
    # One far outlier: the coefficient itself is 1.6%, its interval reaches far up.
    times = normal(1, 40, 0.003)
    times[7] *= 1.1
    (varied,) = variation(run_of([(EP, times)])).varied
    from assay.questions.steadiness.variation.answer import clause

    assert varied.spread.cov < 0.02 and varied.spread.cov_ci95[1] > 0.05
    assert clause(varied).startswith("EP varies (CoV 1.6% [")


def test_cells_with_few_launches_are_left_out_and_reported():
    run = run_of([(EP, normal(1, 40, 0.01)), (LU, normal(2, 10, 0.01))])
    answer = answer_of([], run)
    assert "EP is steady" in answer.verdict and "LU" not in answer.verdict
    assert any("1 cell ran fewer than 20 times" in sentence for sentence in answer.limits)


def test_other_runs_of_the_suite_count_and_other_suites_do_not():
    import msgspec

    mine = run_of([(EP, normal(1, 15, 0.01))], name="a-box-quick")
    later = run_of([(EP, normal(2, 15, 0.01))], began=BEGAN + 86400.0 * 3, name="b-box-quick")
    found = variation(mine, [later])
    (varied,) = found.varied
    assert (varied.spread.n, found.runs) == (30, 2)
    assert "in 2 runs" in found.when
    from dataclasses import replace

    plan = msgspec.structs.replace(later.manifest.plan, name="another")
    other = replace(later, manifest=msgspec.structs.replace(later.manifest, plan=plan))
    assert variation(mine, [other]).varied == ()


def test_a_rate_is_reported_as_time():
    # EP's headline is a rate; slower runs have lower ones.
    (varied,) = variation(run_of([(EP, [2.0] * 29 + [3.0])])).varied
    assert varied.unit == "s"
    assert varied.times.max() == pytest.approx(3.0)
    assert varied.slower.max() == pytest.approx(0.5)


def test_the_published_table_is_shown_for_comparison(tables):
    table = tables["variation-published"]
    assert [row[0].text for row in table.rows[::4]] == [
        "this machine", "Cray T3E", "IBM SP", "Compaq SC", "Intel cluster",
    ]  # fmt: skip
    assert column(table, "lu")[3 + 4].text == "15.58%"
    assert column(table, "ep")[0].value == 100
    assert column(table, "ft")[1].value == pytest.approx(two_speeds(3, 100, 0.01, 0.3, 1.4).mean())
    assert any("class S" in note and "2 ranks" in note for note in table.notes)
    assert any("class C on 128 processes" in note for note in table.notes)
    assert OWN_CODE in table.notes[0] and "table 2: NASA's NPB 2 for MPI" in table.notes[1]


def test_the_largest_number_of_ranks_is_compared_with_the_published_ones():
    run = run_of([(npb("ep", ppn=ppn), normal(ppn, 30, 0.01, 8.0 / ppn)) for ppn in (1, 4, 2)])
    tables = {table.id: table for table in tables_of(variation(run))}
    table = tables["variation-published"]
    assert "4 ranks" in table.notes[0]
    assert column(table, "ep")[1].value == pytest.approx(normal(4, 30, 0.01, 2.0).mean())


def test_the_lower_confidence_counts_and_both_reasons_are_given():
    from assay.questions.common.confidence import lowest_of

    assert lowest_of([("high", "A."), ("medium", "B.")]) == ("medium", "A. B.")
    assert lowest_of([("low", "A.")]) == ("low", "A.")


def test_components_add_up(tables):
    for row in tables["variation-components"].rows:
        shares = [entry.value for entry in row[1:] if entry.value is not None]
        assert sum(shares) == pytest.approx(1.0)


def test_the_spread_table_has_a_row_a_cell(tables):
    table = tables["variation-spread"]
    assert [row[0].text for row in table.rows] == ["EP", "LU", "FT"]
    assert [entry.value for entry in column(table, "modes")] == [1, 1, 2]
    assert column(table, "tail")[1].tone == "warn" and column(table, "tail")[0].tone == ""


def test_figures_show_the_data(run):
    figures = {f.id: f for f in figures_of("steadiness", summarise_cells(run), run)}
    wanted = {f"variation-histogram-{k}" for k in (1, 2, 3)}
    wanted |= {"variation-sequence", "variation-tails", "variation-cov"}
    assert wanted <= set(figures)
    for figure in figures.values():
        fields = [field.name for field in figure.fields]
        assert all(set(row) == set(fields) for row in figure.rows)
        assert svg(figure).startswith("<svg")
    (modal,) = [f for f in figures.values() if f.title.startswith("FT: distribution")]
    bins = [row for row in modal.rows if row["kind"] == "bin"]
    assert sum(row["count"] for row in bins) == 100
    assert [r["text"] for r in modal.rows if r["kind"] == "mode"] == ["76.0%", "24.0%"]
    assert "figure 5" in modal.caption
    assert any("figure 4" in f.caption for f in figures.values())
    dots = {row["name"]: row for row in figures["variation-cov"].rows}
    assert dots["LU, Cray T3E"]["cov"] == 0.1558 and dots["LU, Cray T3E"]["low"] is None
    assert dots["EP"]["low"] < dots["EP"]["cov"] < dots["EP"]["high"]


def test_tails_are_true_shares(run):
    found = variation(run)
    (figure,) = (each for each in figures_from(found) if each.id == "variation-tails")
    for row in figure.rows:
        (varied,) = [each for each in found.varied if each.label == row["cell"]]
        assert (varied.slower >= row["slower"]).mean() == pytest.approx(row["share"])


@pytest.mark.long
def test_figures_stay_readable_with_many_cells_and_many_runs():
    from assay.report.shorten import MOST_POINTS

    cells = [npb("ep", node_set=k) for k in range(60)]
    rng = np.random.default_rng(7)
    few = [(cell, 2.0 * np.exp(0.01 * rng.standard_normal(20))) for cell in cells[1:]]
    many = (cells[0], 2.0 * np.exp(0.02 * rng.standard_normal(10_000)))
    found = variation(run_of([many, *few]))
    figures = figures_from(found)
    assert len(figures) <= 13
    for figure in figures:
        assert 0 < len(figure.rows) <= MOST_POINTS
    sequence = next(f for f in figures if f.id == "variation-sequence")
    points = [row for row in sequence.rows if row["kind"] == "run"]
    assert max(row["slower"] for row in points) == pytest.approx(
        max(each.slower.max() for each in found.varied[:1])
    )
    assert any("of 60" in f.caption for f in figures)


@pytest.mark.long
def test_clean_runs_rarely_get_a_shape():
    """Claims of tails, drifts and speeds in runs of four bell curves: 1% each, over all cells."""
    trials, claims = 60, 0
    for seed in range(trials):
        run = run_of(
            [
                (npb(code), normal(40 * seed + k, 50, 0.01))
                for k, code in enumerate(("ep", "lu", "ft", "cg"))
            ]
        )
        claims += any(each.shape for each in variation(run).varied)
    # Binomial(60, 0.03): more than 6 has probability 0.002.
    assert claims <= 6


PLAN = """
schema = 1
title = "Repeated"
seed = 5
[replication]
budget = "10 d"
min_launches = 40
max_launches = 40
min_samples = 2
max_samples = 2
[[measure]]
kernel = ["npb.ep", "npb.lu"]
class = "S"
ppn = 2
[[measure]]
kernel = "npb.ft"
class = "S"
nodes = 2
ppn = 1
adapter = ["eth0", "eth0,eth1"]
"""
SCENARIO = """
schema = 1
seed = 5
nodes = 2
utc = 1.79e9
[[kernel]]
match = "npb.ft"
where = "adapters == 2"
time = 3.0
max_batch = 1
noise = { sigma = 0.001, launch_sigma = 0.03 }
[[kernel]]
match = "npb.ft"
time = 3.0
max_batch = 1
noise = { sigma = 0.001, launch_sigma = 0.004 }
[[kernel]]
match = "npb.lu"
time = 2.0
max_batch = 1
noise = { sigma = 0.001, launch_sigma = 0.002, slow_launches = 0.2, slow_tail = 0.3 }
[[kernel]]
match = "npb.ep"
time = 1.0
max_batch = 1
noise = { sigma = 0.001, launch_sigma = 0.003 }
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A whole run on a machine with planted variation: its report as JSON, and its folder."""
    import json
    import sys

    folder = tmp_path_factory.mktemp("steady")
    (folder / "plan.toml").write_text(PLAN)
    (folder / "scenario.toml").write_text(SCENARIO)
    words = "run plan.toml --fake scenario.toml --runs runs --json --no-report"
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", *words.split()],
        cwd=folder, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return folder, json.loads(done.stdout)


@pytest.mark.long
def test_from_the_plan_to_the_verdict(measured):
    _, report = measured
    (section,) = [s for s in report["sections"] if s["id"] == "steadiness"]
    verdict = section["verdict"]
    assert "EP is steady (CoV 0." in verdict
    assert "LU has a long right tail" in verdict
    assert "Two adapters raise FT's variation (p < 0.001, CoV 0." in verdict
    assert "EP's variation" not in verdict
    found = {row["label"]: row for row in section["evidence"]}
    assert found["Variation of EP"]["ci95"][0] < 0.003 < found["Variation of EP"]["ci95"][1]
    assert found["FT, adapter: largest CoV over the smallest"]["value"] == pytest.approx(
        7.5, rel=0.4
    )
    assert {"variation-histogram-1", "variation-factors"} <= {f["id"] for f in section["figures"]}


def test_terminal_and_markdown_agree(measured):
    import io

    from rich.console import Console

    from assay.records.directory import list_runs
    from assay.records.reading import read_run
    from assay.report import build_report, print_summary
    from assay.report.markdown import to_markdown

    folder, _ = measured
    (directory,) = list_runs(folder / "runs")
    run = read_run(directory.path)
    report = build_report(run, summarise_cells(run))
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    print_summary(report, console, verbose=True)
    text = console.file.getvalue()
    assert "LU has a long right tail" in " ".join(text.split())
    assert "Cray T3E" in text and "Walltime to request" in text
    assert max(map(len, text.splitlines())) <= 100
    markdown = to_markdown(report, "figures")
    assert "### Variation compared with published systems" in markdown
    assert "variation-histogram-1.svg" in markdown


def test_of_many_cells_the_middle_and_the_extremes_are_shown():
    covs = [0.002, 0.01, 0.004, 0.02, 0.003, 0.006]
    cells = [npb("ep", nodes=2, node_set=k) for k in range(6)]
    run = run_of(
        [(cell, normal(k, 60, cov)) for k, (cell, cov) in enumerate(zip(cells, covs, strict=True))]
    )
    verdict = answer_of([], run).verdict
    assert "half of 6 cells have a coefficient of variation (CoV) below 0." in verdict
    assert "EP node set 0 has the lowest (0." in verdict
    assert "EP node set 3 has the highest (" in verdict


def test_labels_distinguish_cells_and_no_more():

    cells = [npb("ep"), npb("lu"), npb("lu", ppn=4), npb("ft", size="A"), npb("ft", size="B")]
    cells += [npb("cg", nodes=4, ppn=2), *(npb("cg", nodes=2, ppn=2, node_set=k) for k in (1, 2))]
    labels = list(cell_labels(cells).values())
    assert labels == [
        "EP", "LU on 2 ranks", "LU on 4 ranks", "FT class A", "FT class B",
        "CG on 4 nodes", "CG on 2 nodes node set 1", "CG on 2 nodes node set 2",
    ]  # fmt: skip
