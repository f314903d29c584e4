"""The slowest of several nodes: closed forms against draws, and in a design's predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.design.architecture import architectures
from assay.design.candidates import Builder
from assay.design.slowest import slowest_factor
from assay.design.spec.reading import read_spec
from assay.design.workload import times
from assay.errors import AssayError
from assay.subjects.design.findings import find
from design_specs import PARTS, SPEC, write_files

RANDOM = np.random.default_rng(3)
VARYING = 'units = 1\nbetween_nodes = "4%"\nover_time = "1%"\n'


@pytest.mark.parametrize("nodes", [1, 2, 10, 100, 1000])
def test_the_median_of_the_slowest_node_and_its_draws(nodes: int) -> None:
    slowest = np.exp(0.05 * RANDOM.standard_normal((8_000, nodes)).max(axis=1))
    found = float(slowest_factor(np.array([nodes]), 0.05, 0.0)[0])
    assert found == pytest.approx(float(np.median(slowest)), rel=3e-3)
    drawn = slowest_factor(np.full(8_000, nodes), 0.05, 0.0, RANDOM.standard_normal(8_000))
    levels = [0.025, 0.25, 0.5, 0.75, 0.975]
    assert np.quantile(drawn, levels) == pytest.approx(np.quantile(slowest, levels), rel=6e-3)


@pytest.mark.parametrize("nodes", [1, 2, 10, 100, 1000])
def test_what_varies_from_step_to_step_costs_the_mean_of_the_maximum(nodes: int) -> None:
    steps = np.exp(0.03 * RANDOM.standard_normal((8_000, nodes)).max(axis=1)).mean()
    found = float(slowest_factor(np.array([nodes]), 0.0, 0.03)[0])
    assert found == pytest.approx(float(steps), rel=3e-3)


def compute(folder: Path, workload: str, parts: str = PARTS) -> np.ndarray:
    """The time of computing on 1, 10 and 100 nodes, by closed forms."""
    spec = SPEC.replace("integer = 1", f'"{workload}" = 1').replace("[1, 40]", "[1, 100]")
    parts = parts.replace('integer = "1 Gop/s"', '"npb.cg.C" = "1 Gop/s", integer = "1 Gop/s"')
    parts = parts.replace('integer = "2 Gop/s"', '"npb.cg.C" = "2 Gop/s", integer = "2 Gop/s"')
    read = read_spec(write_files(folder, spec, parts))
    builder, one = Builder(read), next(architectures(read))
    machines = builder.machines(one, np.array([1, 10, 100]), workload)
    return times(workload, replace(machines, listed=None)).compute


def test_computing_waits_for_the_slowest_node_where_nodes_wait(tmp_path: Path) -> None:
    varying = PARTS.replace("units = 1\n", VARYING, 1)
    factor = slowest_factor(np.array([1, 10, 100]), 0.04, 0.01)
    assert factor[0] == 1.0 and 1.05 < factor[1] < factor[2] < 1.15
    for workload in ("linpack", "npb.cg.C"):
        equal = compute(tmp_path, workload)
        assert compute(tmp_path, workload, varying) == pytest.approx(equal * factor)
    # Independent tasks do not wait.
    assert compute(tmp_path, "integer", varying) == pytest.approx(compute(tmp_path, "integer"))


def test_the_interval_of_a_prediction_has_the_luck_of_the_nodes(tmp_path: Path) -> None:
    exact = PARTS.replace('kind = "quoted"', 'kind = "measured"')
    spec = SPEC.replace("integer = 1", "linpack = 1") + (
        "[uncertainty]\nmeasured = 0\nquoted = 0\nassumed = 0\n[search]\ndraws = 4000\n"
    )
    found = {}
    for name, parts in (
        ("equal", exact),
        ("varying", exact.replace("units = 1\n", 'units = 1\nbetween_nodes = "20%"\n', 1)),
    ):
        design = find(read_spec(write_files(tmp_path, spec, parts)))
        best = next(one for one in design.best if one.name.startswith("small"))
        found[name] = best.rates[0]
    assert found["varying"].rate < found["equal"].rate
    ratio = [
        np.log(found[name].interval[1] / found[name].interval[0]) for name in ("equal", "varying")
    ]
    assert ratio[1] > ratio[0]


def test_a_wrong_variability_is_one_sentence(tmp_path: Path) -> None:
    parts = PARTS.replace("units = 1\n", 'units = 1\nbetween_nodes = "-4%"\n', 1)
    with pytest.raises(AssayError, match="'between_nodes' can't be -4%"):
        read_spec(write_files(tmp_path, SPEC, parts))
