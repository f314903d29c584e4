"""The model's error: intervals of known widths, their bounds, and what ships."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from assay.models.calls.npb import NPB
from assay.simulation.calibration import ModelError, calibration, time_interval

ERROR = ModelError("planted runs", 10, 4, math.log(1.2), math.log(1.5), math.log(2.0), 0.91, 10)
LABS = Path(__file__).parents[2] / "benchmarks" / "results" / "lab_prediction"


def test_computing_has_the_error_of_computing_and_waiting_adds_its_own() -> None:
    low, high = time_interval(100.0, ERROR, simulated=True, computing=100.0)
    assert (low, high) == pytest.approx((100.0 / 1.2, 120.0))
    low, high = time_interval(100.0, ERROR, simulated=True, computing=50.0)
    assert high == pytest.approx(100.0 * 1.2 * math.sqrt(1.5))
    assert time_interval(100.0, ERROR, simulated=True, computing=None)[1] == pytest.approx(120.0)


def test_draws_and_model_err_independently() -> None:
    _, high = time_interval(100.0, ERROR, simulated=True, computing=100.0, spread=0.2)
    assert math.log(high / 100.0) == pytest.approx(math.hypot(math.log(1.2), 1.645 * 0.2), rel=1e-3)


def test_no_time_is_below_the_arithmetic() -> None:
    low, high = time_interval(100.0, ERROR, simulated=True, computing=95.0, least=95.0)
    assert low == 95.0
    # The closed form has its own error, and a kind without one has that of its simulation.
    assert time_interval(100.0, ERROR, simulated=False, computing=95.0)[1] == pytest.approx(200.0)
    none = ModelError("planted runs", 10, 4, math.log(1.2), 0.0, None, 0.91, 10)
    assert time_interval(100.0, none, simulated=False, computing=1.0)[1] == pytest.approx(120.0)
    assert high > 100.0


def test_every_kind_of_program_has_an_error_that_holds_for_90_percent() -> None:
    errors = calibration().errors
    kinds = {f"npb.{kernel}" for kernel in NPB} | {"linpack", "linpack.look-ahead", "trace"}
    assert set(errors) == kinds
    for kind, error in errors.items():
        assert error.held >= 0.90, kind
        assert 0.05 < error.simulated + error.waiting < 1.0, kind
        assert error.rows >= 9, kind
        assert (error.closed is None) == kind.startswith("linpack"), kind


def test_recorded_runs_are_inside_the_intervals_as_often_as_stated() -> None:
    """Every measured run on hosts with a CPU each, with the error that ships."""
    errors, inside = calibration().errors, []
    for file in LABS.glob("*.json"):
        data = json.loads(file.read_text())
        for row in data["rows"]:
            if row["hosts"] > data["measured"][row["rate"]]["cpus"]:
                continue
            name = row["program"]
            kind = {"CoMD": "trace", "HPCCG": "trace", "linpack": "linpack.look-ahead"}.get(
                name, f"npb.{name}"
            )
            low, high = time_interval(
                row["simulated"], errors[kind], simulated=True, computing=None
            )
            inside.append(low <= row["measured"] <= high)
    assert len(inside) == 99
    # Runs that the error comes from are inside more often than runs that were left out.
    assert 0.90 <= sum(inside) / len(inside) <= 0.98
