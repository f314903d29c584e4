"""Factors compared: planted effects are reported in a sentence, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from asking import reply_to
from assay.questions.common.question import Measured
from assay.questions.common.topics import find_topics
from assay.questions.steadiness.factors.answer import level_words, p_text, sentence
from assay.questions.steadiness.factors.findings import FactorFindings
from assay.questions.steadiness.factors.topic import TOPIC
from assay.questions.steadiness.variation.topic import TOPIC as VARIATION
from variation_builder import normal, npb, run_of


def two_adapters(code, seed, one, other, n=60, factor=1.0, **more):
    return [
        (npb(code, nodes=2, adapter="eth0", **more), normal(seed, n, one)),
        (npb(code, nodes=2, adapter="eth0,eth1", **more), factor * normal(seed + 1, n, other)),
    ]


def factors_of(run, history=()) -> FactorFindings | None:
    return find_topics((VARIATION, TOPIC), Measured(run, [], history))["factors"]


def compared(cells, **options):
    found = factors_of(run_of(cells, **options))
    return {each.name: each for each in found.comparisons}


def test_two_adapters_raise_variation_and_leave_the_median_alone():
    found = compared(two_adapters("ft", 10, 0.005, 0.015, n=100))
    comparison = found["FT, adapter"]
    words = sentence(comparison)
    assert words.startswith("two adapters raise FT's variation (p < 0.001, CoV 0.")
    assert words.endswith("and leave FT's median unchanged") or words.endswith(
        "and leave its median unchanged"
    )
    assert comparison.location.verdict == "alike"


def test_less_variation_is_reported_as_less():
    (comparison,) = compared(two_adapters("ft", 40, 0.03, 0.005)).values()
    assert sentence(comparison).startswith("two adapters lower FT's variation (p < 0.001, CoV ")


def test_a_planted_shift_is_reported_with_its_size():
    found = compared(two_adapters("ft", 20, 0.01, 0.01, factor=1.05))
    comparison = found["FT, adapter"]
    assert comparison.spread.verdict != "differs"
    words = sentence(comparison)
    assert words.startswith("two adapters raise FT's median by 5") or words.startswith(
        "two adapters raise FT's median by 4."
    )


def test_a_level_is_chosen_for_mean_and_variation_together():
    """Kramer & Ryan (2003), 4: a setting is tuned for speed and for the least variation.

    Two adapters are 1% faster, and vary six times as much: then 5% of the runs take longer.
    """
    cells = two_adapters("ft", 60, 0.005, 0.03, n=100, factor=0.99)
    (comparison,) = compared(cells).values()
    best, other = comparison.steadiest
    assert (best.level, other.level) == ("eth0", "eth0,eth1")
    centre = np.mean([np.median(values) for _, values in cells])
    for tail, (_, values) in zip((best, other), cells, strict=True):
        assert tail.p95 == pytest.approx(np.quantile(values / centre, 0.95), rel=0.003)
        assert tail.p95_ci95[0] < tail.p95 < tail.p95_ci95[1]
    advice = TOPIC.part(factors_of(run_of(cells))).advice
    assert len(advice) == 1
    assert advice[0].startswith("FT: adapter eth0 is best for speed and steadiness together")
    # A faster adapter that varies as little is chosen for its speed.
    (faster,) = compared(two_adapters("ft", 61, 0.005, 0.005, n=100, factor=0.95)).values()
    assert faster.steadiest[0].level == "eth0,eth1"
    (alike,) = compared(two_adapters("ft", 62, 0.005, 0.005, n=100)).values()
    assert alike.steadiest is None


def test_absence_of_evidence_is_not_called_absence():
    # Twenty runs with a CoV of 5% can't show that medians are within 1%.
    (comparison,) = compared(two_adapters("ft", 33, 0.05, 0.05, n=20)).values()
    assert comparison.location.verdict == "open"
    assert not comparison.differs


def test_more_ranks_are_not_reported_as_an_effect_on_speed():
    cells = [
        (npb("ep", ppn=1), normal(1, 40, 0.01, 4.0)),
        (npb("ep", ppn=2), normal(2, 40, 0.01, 2.0)),
    ]
    found = compared(cells)["EP, ppn"]
    assert found.location is None
    assert not found.differs
    assert "faster" not in reply_to("steadiness", [], run_of(cells)).answer.verdict


def test_other_factors_are_held_equal():
    """Orders differ considerably in time; adapters, compared within each order, don't."""
    rng = np.random.default_rng(5)
    cells = [
        (
            npb("lu", nodes=2, adapter=adapter, order=order),
            base * (1.0 + 0.004 * rng.standard_normal(40)),
        )
        for order, base in (("block", 2.0), ("cyclic", 3.0))
        for adapter in ("eth0", "eth1")
    ]
    found = compared(cells)
    assert not found["LU, adapter"].median_changes
    covs = [group.cov for group in found["LU, adapter"].spread.groups]
    assert covs == pytest.approx([0.004, 0.004], rel=0.25)
    order = found["LU, order"]
    assert order.location.verdict == "differs"
    assert order.location.pairs[0].ratio == pytest.approx(1.5, rel=0.01)
    (variance,) = factors_of(run_of(cells)).variances
    effects = {effect.factors: effect for effect in variance.anova.effects}
    assert effects[("order",)].omega2 > 0.9
    assert effects[("adapter",)].p_corrected > 0.05
    assert ("adapter", "order") in effects or ("order", "adapter") in effects


def test_levels_confounded_with_another_factor_are_not_compared():
    cells = [
        (npb("lu", nodes=2, adapter="eth0", order="block"), normal(1, 30, 0.01)),
        (npb("lu", nodes=2, adapter="eth1", order="cyclic"), normal(2, 30, 0.03)),
    ]
    assert factors_of(run_of(cells)) is None or not factors_of(run_of(cells)).comparisons


def test_several_levels_are_listed_from_least_to_most():
    cells = [
        (npb("ft", nodes=2, node_set=k), normal(50 + k, 60, cov))
        for k, cov in enumerate((0.005, 0.006, 0.03))
    ]
    found = compared(cells)["FT, node set"]
    words = sentence(found)
    assert "variation differs by node set (p < 0.001), from CoV 0." in words
    assert "(node set 2)" in words


def test_hosts_and_sessions_are_factors_of_results():
    values = normal(3, 80, 0.002) * np.where(np.arange(80) % 2 == 0, 1.0, 1.02)
    found = compared([(npb("ep"), values)], hosts=("n1", "n2"))
    hosts = found["EP, hosts"]
    assert hosts.location.verdict == "differs"
    assert "n2 raises EP's median by 2" in sentence(hosts) or (
        "n2 raises EP's median by 1.9" in sentence(hosts)
    )


def test_sessions_are_separated_by_pauses():
    first = run_of([(npb("ep"), normal(1, 30, 0.002))], name="a-box-quick")
    later = run_of(
        [(npb("ep"), 1.03 * normal(2, 30, 0.002))], began=1.79e9 + 9e4, name="b-box-quick"
    )
    found = {each.name: each for each in factors_of(first, [later]).comparisons}
    assert found["EP, session"].location.verdict == "differs"


def test_the_answer_and_the_tables_have_the_tests():
    run = run_of(two_adapters("ft", 10, 0.005, 0.02, n=100))
    reply = reply_to("steadiness", [], run)
    answer = reply.answer
    assert "Two adapters raise FT's variation (p < 0.001, CoV" in answer.verdict
    tables = {table.id: table for table in reply.tables()}
    (row,) = tables["variation-factors"].rows
    assert row[2].tone == "warn" and "two adapters raise" in row[4].text
    (note,) = tables["variation-factors"].notes
    assert "Shapiro–Wilk" in note
    assert tables["variation-anova"].rows
    (figure,) = TOPIC.figures(reply.findings.factors)
    assert [row["runs"] for row in figure.rows] == [100, 100]
    assert figure.rows[0]["cov"] < figure.rows[1]["low"]


@pytest.mark.long
def test_runs_without_effects_rarely_show_one():
    trials, claims = 60, 0
    for seed in range(trials):
        found = compared(two_adapters("ft", 1000 + 2 * seed, 0.01, 0.01, n=30))
        claims += any(each.differs for each in found.values())
    # Two families (spread, median) at 5% each: of Binomial(60, 0.1) more than 13 has p = 0.003.
    assert claims <= 13


def test_levels_as_subjects():
    assert level_words("adapter", "eth0,eth1", "eth0") == ("two adapters", True)
    assert level_words("adapter", "eth1", "eth0") == ("adapter eth1", False)
    assert level_words("order", "cyclic", "block") == ("cyclic order", False)
    assert level_words("ppn", "4 per node", "1 per node") == ("4 ranks per node", True)
    assert level_words("ppn", "1 per node", "4 per node") == ("1 rank per node", False)
    assert level_words("beside", "memory.stream, npb.lu", "alone") == (
        "concurrent memory.stream, LU", True,
    )  # fmt: skip
    assert level_words("beside", "alone", "npb.lu") == ("running alone", False)
    assert level_words("CPUs", "cpu[0-3]", "cpu[4-7]") == ("cpu[0-3]", True)
    assert level_words("toolchain", "site", "embedded") == ("toolchain site", False)
    assert [p_text(p) for p in (1e-9, 0.0031, 0.047, 0.2)] == [
        "p < 0.001", "p = 0.0031", "p = 0.047", "p = 0.2",
    ]  # fmt: skip
