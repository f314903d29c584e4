"""Predicted intervals stay within what the nodes can do together. One node comes closest to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.subjects.design.findings import find
from design_specs import PARTS, SPEC, read


@pytest.mark.parametrize("uncertain", ["", 'kind = "assumed"\n', 'kind = "measured"\n'])
def test_linpack_stays_below_peak_and_dgemm(tmp_path: Path, uncertain: str) -> None:
    parts = PARTS.replace('kind = "quoted"\n', uncertain)
    spec = SPEC.replace("integer = 1", "linpack = 1").replace("[1, 40]", "[1, 1]")
    for cluster in find(read(tmp_path, spec, parts)).best:
        (rate,) = cluster.rates
        peak, dgemm = (2e11, 1.6e11) if cluster.name.startswith("large") else (1e11, 8e10)
        low, high = rate.interval
        assert low < rate.rate < high <= cluster.nodes * peak
        if "measured" in uncertain:
            # A measured DGEMM rate has an interval of 2%.
            assert high <= 1.02 * cluster.nodes * dgemm
            assert high > 0.97 * cluster.nodes * dgemm


def test_the_limit_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.design.decision.most_rate", lambda *_: float("inf"))
    spec = SPEC.replace("integer = 1", "linpack = 1").replace("[1, 40]", "[1, 1]")
    best = find(read(tmp_path, spec, PARTS.replace('"quoted"', '"assumed"'))).best
    peaks = [2e11 if one.name.startswith("large") else 1e11 for one in best]
    assert any(
        one.rates[0].interval[1] > one.nodes * peak for one, peak in zip(best, peaks, strict=True)
    )
