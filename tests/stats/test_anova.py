"""Several factors: against statsmodels and R, planted effects, and designs with holes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from assay.errors import AssayError
from assay.stats.compare.anova import _wald, anova
from recorded_statistics import DESIGN, recorded

FACTORS = {name: DESIGN[name] for name in ("adapters", "order", "host")}


def test_sums_of_squares_and_f_are_statsmodels_and_rs() -> None:
    two = {name: FACTORS[name] for name in ("adapters", "order")}
    found = anova(DESIGN["value"], two, log=False)
    table = recorded("anova_lm(ols('value ~ C(adapters) * C(order)'")
    by_r = recorded("lm(value ~ adapters * order, design)")
    names = {
        ("adapters",): "C(adapters)",
        ("order",): "C(order)",
        ("adapters", "order"): "C(adapters):C(order)",
    }
    for place, effect in enumerate(found.effects):
        row = table[names[effect.factors]]
        assert effect.squares == pytest.approx(row["sum_sq"], rel=1e-8)
        assert (effect.freedom, effect.f) == pytest.approx((row["df"], row["F"]), rel=1e-8)
        assert effect.squares == pytest.approx(by_r["squares"][place], rel=1e-8)
        assert effect.f == pytest.approx(by_r["F"][place], rel=1e-8)
        assert effect.p == pytest.approx(row["p"], abs=0.05)
    assert found.residual == pytest.approx(table["Residual"]["sum_sq"], rel=1e-8)
    assert found.freedom == table["Residual"]["df"]
    # In these residuals equal spread is doubtful, so that p isn't that of F.
    assert found.test == "random signs of residuals"
    assert "equal spread doubtful" in found.why
    assert found.missing == []


def test_three_factors_with_all_pairs_are_statsmodels() -> None:
    found = anova(DESIGN["value"], FACTORS, log=False)
    table = recorded("anova_lm(ols('value ~ (C(adapters) + C(order) + C(host)) ** 2'")
    for effect in found.effects:
        row = table[":".join(f"C({name})" for name in effect.factors)]
        assert (effect.squares, effect.f) == pytest.approx((row["sum_sq"], row["F"]), rel=1e-8)
    assert len(found.effects) == 6


def test_one_factor_is_the_usual_analysis() -> None:
    normal = [ndtri((np.arange(n) + 0.5) / n) for n in (9, 14, 6)]
    groups = [m + g / g.std() for m, g in zip((100.0, 101.0, 100.5), normal, strict=True)]
    levels = [str(k) for k, g in enumerate(groups) for _ in g]
    (effect,) = anova(np.concatenate(groups), {"x": levels}, log=False).effects
    expected = stats.f_oneway(*groups)
    assert (effect.f, effect.p) == pytest.approx((expected.statistic, expected.pvalue))
    share = 2 * (effect.f - 1) / (2 * (effect.f - 1) + 29)
    assert effect.omega2 == pytest.approx(max(share, 0.0))


def planted(rng: np.random.Generator, noise: np.ndarray) -> tuple[np.ndarray, dict]:
    a = rng.integers(0, 2, noise.size)
    b = rng.integers(0, 3, noise.size)
    values = 50.0 * 1.10**a * np.array([1.0, 0.95, 1.2])[b] * np.exp(noise)
    return values, {"a": [f"a{x}" for x in a], "b": [f"b{x}" for x in b]}


def test_effects_come_back_as_ratios_whatever_the_numbers() -> None:
    rng = np.random.default_rng(2)
    values, factors = planted(rng, 0.01 * rng.standard_normal(300))
    found = anova(values, factors)
    by_name = {effect.factors: effect for effect in found.effects}
    first = factors["a"][0]
    other = "a1" if first == "a0" else "a0"
    ratio = by_name[("a",)].levels[other]
    assert ratio == pytest.approx(1.10 if other == "a1" else 1 / 1.10, rel=0.005)
    b = by_name[("b",)].levels
    assert b["b2"] / b["b0"] == pytest.approx(1.2, rel=0.005)
    assert by_name[("a",)].p_corrected < 1e-9
    assert by_name[("a", "b")].p > 0.01
    assert by_name[("a", "b")].levels == {}
    assert found.r2 > 0.95


def test_where_residuals_are_not_normal_permutations_decide() -> None:
    rng = np.random.default_rng(3)
    values, factors = planted(rng, 0.02 * rng.standard_t(2, 120))
    found = anova(values, factors)
    assert found.test == "permutation of residuals"
    assert "normal rejected" in found.why
    by_name = {effect.factors: effect for effect in found.effects}
    assert by_name[("a",)].p == pytest.approx(1 / 10_000)
    assert by_name[("a", "b")].p > 0.01
    assert anova(values, factors) == found


def test_permutations_agree_with_f_where_both_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    factors = {"a": ["x", "y"] * 20, "b": ["u"] * 36 + ["v"] * 4}
    values = 100.0 + rng.standard_normal(40) + 0.5 * (np.arange(40) % 2)
    # What one factor does is no chance that permutations could deal out anew.
    values[36:] += 1000.0
    by_f = anova(values, factors, log=False)
    assert by_f.test == "F"
    monkeypatch.setattr("assay.stats.compare.group_tests.LEVEL", 1.1)
    by_chance = anova(values, factors, log=False)
    assert by_chance.test == "permutation of residuals"
    for one, other in zip(by_f.effects, by_chance.effects, strict=True):
        # Three standard errors of a share of 1,999 permutations, and two of them.
        assert abs(one.p - other.p) < 3 * np.sqrt(one.p * (1 - one.p) / 1999) + 2 / 2000


def test_if_spreads_differ_each_value_has_its_own_variance() -> None:
    rng = np.random.default_rng(8)
    wide, narrow = rng.normal(100.0, 6.0, 12), rng.normal(102.0, 1.0, 24)
    values, levels = np.concatenate([wide, narrow]), ["w"] * 12 + ["n"] * 24
    found = anova(values, {"a": levels}, log=False)
    assert found.test == "random signs of residuals"
    assert "equal spread rejected" in found.why
    # The squared difference of means over its variance, residuals over one less their leverage.
    parts = [
        ((g - g.mean()) ** 2).sum() / (1 - 1 / g.size) ** 2 / g.size**2 for g in (wide, narrow)
    ]
    expected = (wide.mean() - narrow.mean()) ** 2 / sum(parts)
    codes = np.array([0] * 12 + [1] * 24)
    both = np.eye(2)[codes] / np.sqrt(np.bincount(codes))
    y = (values - values.mean())[:, None]
    one = np.full((36, 1), 1 / 6)
    assert _wald(y, one, both, both)[0] == pytest.approx(expected)
    # Welch's t, which allows for the same, has nearly the same p; F, which doesn't, another.
    (effect,) = found.effects
    welch = stats.ttest_ind(wide, narrow, equal_var=False).pvalue
    assert effect.p == pytest.approx(welch, abs=0.05)
    assert effect.f == pytest.approx(stats.f_oneway(wide, narrow).statistic)


def test_holes_in_the_design_are_reported() -> None:
    rng = np.random.default_rng(5)
    factors = {"a": ["1", "1", "2", "2"] * 6, "b": ["x", "y", "x", "z"] * 6, "c": ["only"] * 24}
    found = anova(100.0 + rng.standard_normal(24), factors)
    assert "c has one level: its effect can't be estimated." in found.missing
    assert any("2 of 6 combinations of a and b were not measured" in s for s in found.missing)
    assert any("The interaction of a and b can't be separated" in s for s in found.missing)
    assert {effect.factors for effect in found.effects} == {("a",), ("b",)}
    assert found.effects[1].freedom == 2


def test_a_confounded_factor_is_not_credited() -> None:
    rng = np.random.default_rng(6)
    a = ["1", "2"] * 10
    found = anova(
        100.0 + rng.standard_normal(20), {"a": a, "same": a, "b": ["x", "x", "y", "y"] * 5}
    )
    assert [effect.factors for effect in found.effects if len(effect.factors) == 1] == [("b",)]
    assert (
        sum("is confounded with the other factors" in sentence for sentence in found.missing) == 2
    )


def test_without_repeats_interactions_are_left_out() -> None:
    found = anova([1.0, 2.0, 2.5, 3.4, 3.0, 4.6], {"a": list("xxyyzz"), "b": list("uvuvuv")})
    assert {effect.factors for effect in found.effects} == {("a",), ("b",)}
    assert any("Too few values to estimate the interaction of a and b" in s for s in found.missing)
    nothing = anova([1.0, 2.0], {"a": ["x", "y"]})
    assert nothing.effects == []
    assert nothing.missing


def test_invalid_tables_are_refused() -> None:
    with pytest.raises(AssayError, match="one level per value"):
        anova([1.0, 2.0, 3.0], {"a": ["x", "y"]})
    with pytest.raises(AssayError, match="need positive values"):
        anova([0.0, 1.0, 2.0], {"a": ["x", "y", "x"]}, log=True)


def test_the_order_of_measurements_does_not_matter() -> None:
    order = np.random.default_rng(7).permutation(len(DESIGN["value"]))
    one = anova(DESIGN["value"], FACTORS)
    other = anova(
        np.array(DESIGN["value"])[order],
        {name: [levels[i] for i in order] for name, levels in FACTORS.items()},
    )
    for a, b in zip(one.effects, other.effects, strict=True):
        assert (a.factors, a.freedom) == (b.factors, b.freedom)
        assert (a.squares, a.f) == pytest.approx((b.squares, b.f))
