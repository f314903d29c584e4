"""Records results of SciPy and statsmodels as references for tests: writes python.json.

python tests/data/statistics/record.py    # where both are installed; assay isn't needed
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy
import statsmodels
import statsmodels.api as sm
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.stattools import medcouple

SCIPY = f"SciPy {scipy.__version__}"
STATSMODELS = f"statsmodels {statsmodels.__version__}"


def inputs() -> dict[str, list[float]]:
    """Series of times, skewed, tied and wide, rounded so that the file holds them exactly."""
    rng = np.random.default_rng(2003)
    results = {
        "one": 100.0 + rng.standard_normal(24),
        "two": 101.0 + 2.0 * rng.standard_normal(31),
        "skewed": 100.0 + rng.lognormal(0.0, 0.8, 40),
        "coarse": np.round(100.0 + rng.standard_normal(37), 0),
        "long": 100.0 + rng.standard_t(3, 301),
    }
    return {name: [round(float(x), 6) for x in values] for name, values in results.items()}


def design() -> dict[str, list]:
    """Two factors, combined with unequal frequency."""
    rng = np.random.default_rng(2004)
    adapters = [str(x) for x in rng.integers(1, 3, 47)]
    order = [str(x) for x in rng.choice(["block", "cyclic", "reversed"], 47)]
    host = [str(x) for x in rng.choice(["a", "b"], 47)]
    value = [
        round(float(100 + 2 * (a == "2") + 3 * (a == "2") * (o == "cyclic") + e), 6)
        for a, o, e in zip(adapters, order, rng.standard_normal(47), strict=True)
    ]
    return {"adapters": adapters, "order": order, "host": host, "value": value}


def main() -> None:
    import pandas as pd

    x = inputs()
    y = design()
    found: list[dict] = []

    def record(program: str, call: str, result: object) -> None:
        found.append({"program": program, "call": call, "result": result})

    one, two, skewed, coarse, long = (np.array(x[k]) for k in x)
    for name, values in x.items():
        record(SCIPY, f"skew({name}, bias=False)", float(stats.skew(values, bias=False)))
        record(STATSMODELS, f"medcouple({name})", float(medcouple(values)))
        record(SCIPY, f"shapiro({name})", float(stats.shapiro(values).pvalue))
    bf = stats.levene(one, two, skewed, center="median")
    record(SCIPY, "levene(one, two, skewed, center='median')", [bf.statistic, bf.pvalue])
    bm = stats.brunnermunzel(one, skewed)
    record(SCIPY, "brunnermunzel(one, skewed)", [bm.statistic, bm.pvalue])
    welch = stats.ttest_ind(two, one, equal_var=False)
    record(SCIPY, "ttest_ind(two, one, equal_var=False)", [welch.statistic, welch.pvalue])
    sen = stats.theilslopes(long[:60], np.arange(60.0))
    record(SCIPY, "theilslopes(long[:60], arange(60))", [sen.slope, sen.low_slope, sen.high_slope])
    tau = stats.kendalltau(np.arange(37.0), coarse, method="asymptotic")
    record(SCIPY, "kendalltau(arange(37), coarse, method='asymptotic')", float(tau.pvalue))
    p = [0.01, 0.04, 0.03, 0.005, 0.6, 0.04, 0.9]
    for method in ("holm", "fdr_bh"):
        adjusted = multipletests(p, method=method)[1]
        record(STATSMODELS, f"multipletests({p}, method='{method}')", [float(v) for v in adjusted])
    frame = pd.DataFrame(y)
    for formula in (
        "value ~ C(adapters) * C(order)",
        "value ~ (C(adapters) + C(order) + C(host)) ** 2",
    ):
        table = sm.stats.anova_lm(ols(formula, data=frame).fit(), typ=2)
        record(
            STATSMODELS,
            f"anova_lm(ols('{formula}', design).fit(), typ=2)",
            {
                str(row): {
                    "sum_sq": float(table.loc[row, "sum_sq"]),
                    "df": float(table.loc[row, "df"]),
                    "F": None if np.isnan(table.loc[row, "F"]) else float(table.loc[row, "F"]),
                    "p": None
                    if np.isnan(table.loc[row, "PR(>F)"])
                    else float(table.loc[row, "PR(>F)"]),
                }
                for row in table.index
            },
        )
    # A balanced design, for which REML and the method of moments give the same result.
    rng = np.random.default_rng(2005)
    groups = np.repeat(np.arange(8), 6)
    nested = np.round(100 + 1.5 * rng.standard_normal(8)[groups] + rng.standard_normal(48), 6)
    fit = MixedLM(nested, np.ones((48, 1)), groups).fit(reml=True)
    record(
        STATSMODELS,
        "MixedLM(nested, ones, groups).fit(reml=True): variance of groups, residual",
        [float(np.asarray(fit.cov_re)[0, 0]), float(fit.scale)],
    )
    content = {
        "inputs": x,
        "design": y,
        "nested": {"values": nested.tolist(), "groups": groups.tolist()},
        "results": found,
    }
    path = Path(__file__).parent / "python.json"
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
