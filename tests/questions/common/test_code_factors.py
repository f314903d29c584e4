"""Code factors of a run: planted ones are found, for the cells that correspond to each other."""

from __future__ import annotations

import numpy as np
import pytest

from assay.kernels import find_kernel
from assay.model.cell import OWN_TOOLCHAIN, Cell
from assay.model.placement import Placement
from assay.questions.common.code_factors import factor_of, factors_of, same_program
from site_programs import as_printed, beside
from variation_builder import npb, run_of


def times(seed: int, median: float, n: int = 8) -> np.ndarray:
    return median * np.random.default_rng(seed).lognormal(0.0, 0.01, n)


def test_a_planted_factor_is_found_with_both_rates() -> None:
    own = npb("lu", size="A")
    site = beside(own)
    run = run_of([(own, times(1, 0.5)), (site, times(2, 2.0)), (npb("cg"), times(3, 1.0))])
    (found,) = factors_of(run)
    assert found.kernel == "npb.lu" and found.program == "lu.A.x"
    assert found.factor.value == pytest.approx(4.0, rel=0.01)
    assert found.factor.interval is not None
    assert found.factor.interval[0] < 4.0 < found.factor.interval[1]
    assert found.factor.launches == (8, 8)
    work = find_kernel("npb.lu").work({"class": "A"}, 1, 1)["operations"]
    assert found.own.median == pytest.approx(work / 0.5, rel=0.01)
    assert found.site.median == pytest.approx(work / 2.0, rel=0.01)
    assert (found.unit, found.better) == ("op/s", "more")
    assert factors_of(run, without={own.id}) == []


def test_only_cells_that_correspond_have_a_factor() -> None:
    own = npb("lu", size="A")
    others = [
        npb("lu", size="B"),
        npb("sp", size="A"),
        npb("lu", size="A", ppn=4),
        npb("lu", size="A", binding="spread"),
    ]
    run = run_of([(beside(own), times(1, 1.0)), *((cell, times(2, 1.0)) for cell in others)])
    assert factors_of(run) == []
    assert factors_of(run_of([(own, times(1, 1.0))])) == []


def test_each_toolchain_has_its_factor() -> None:
    gcc, clang = (npb("ep", size="A", toolchain=name) for name in ("gcc", "clang"))
    run = run_of([(gcc, times(1, 1.0)), (clang, times(2, 0.5)), (beside(gcc), times(3, 2.0))])
    found = {each.toolchain: each.factor.value for each in factors_of(run)}
    assert found == {"gcc": pytest.approx(2.0, rel=0.02), "clang": pytest.approx(4.0, rel=0.02)}


def test_a_latency_is_a_time_and_a_message_rate_stands_beside_a_bandwidth() -> None:
    def cells(kernel: str, own: str, program: str, at: str, size: int) -> tuple[Cell, Cell]:
        given = {p.name: p.default for p in find_kernel(own).parameters} | {"bytes": size}
        site = {p.name: p.default for p in find_kernel(kernel).parameters}
        site |= {"program": f"/x/{program}", "of": own, "at": at, "work": float(size)}
        return Cell(own, given, Placement(ppn=2), "gcc"), Cell(
            kernel, site, Placement(ppn=2), OWN_TOOLCHAIN
        )

    own, site = cells("beside.osu", "network.pingpong", "osu_latency", "bytes=8 mode=blocking", 8)
    (found,) = factors_of(run_of([(own, times(1, 2e-6)), (site, times(2, 3e-6))]))
    assert found.better == "less"
    assert found.factor.value == pytest.approx(1.5, rel=0.02)
    own, site = cells("beside.osu_bw", "network.stream", "osu_bw", "bytes=1024", 1024)
    (found,) = factors_of(run_of([(own, times(1, 2e-6)), (site, times(2, 1e-6))]))
    assert found.factor.value == pytest.approx(0.5, rel=0.02)
    assert found.own.median == pytest.approx(1024 / 2e-6, rel=0.02)


def test_persistent_calls_are_not_compared_with_blocking_programs() -> None:
    usual = {"op": "allreduce", "bytes": 64, "root": 0, "timing": "appointed"}
    own = [
        Cell("network.collective", usual | more, Placement(ppn=2), "gcc")
        for more in ({}, {"call": "persistent"})
    ]
    sites = [
        Cell(
            "beside.osu",
            {p.name: p.default for p in find_kernel("beside.osu").parameters}
            | {"program": name, "of": "network.collective", "at": at, "work": 64.0},
            Placement(ppn=2),
            OWN_TOOLCHAIN,
        )
        for name, at in (
            ("/x/osu_allreduce", "op=allreduce bytes=64"),
            ("/x/osu_allreduce_persistent", "op=allreduce bytes=64 call=persistent"),
        )
    ]
    run = run_of([(cell, times(n, 1e-6)) for n, cell in enumerate((*own, *sites))])
    assert [(found.own.cell, found.program) for found in factors_of(run)] == [
        (own[0], "osu_allreduce"),
        (own[1], "osu_allreduce_persistent"),
    ]


def test_the_factor_to_divide_out_is_that_of_the_cell_or_of_the_most_cores() -> None:
    one, four = npb("lu", size="A", ppn=1), npb("lu", size="A", ppn=4)
    planted = [(one, 1.0), (beside(one), 2.0), (four, 1.0), (beside(four), 3.0)]
    run = run_of([(cell, times(n, t)) for n, (cell, t) in enumerate(planted)])
    found = factors_of(as_printed(run))
    at_one, at_four = found
    assert factor_of(found, one, "NPB") is at_one
    assert factor_of(found, npb("lu", size="C", ppn=1), "NASA's NPB 3.3.1") is at_four
    assert factor_of(found, npb("lu", size="A", ppn=8), "NPB2") is at_four
    for cell in (npb("cg", size="A"), npb("lu", size="A", toolchain="clang")):
        assert factor_of(found, cell, "NPB") is None
    assert factor_of(found, one, "NPB port to C++ 3.4") is None
    assert factor_of(found, one, "") is None


def test_the_same_parameters_come_before_more_cores() -> None:
    small, large = npb("lu", size="A", ppn=1), npb("lu", size="B", ppn=4)
    cells = [small, beside(small), large, beside(large)]
    found = factors_of(as_printed(run_of([(cell, times(n, 1.0)) for n, cell in enumerate(cells)])))
    chosen = factor_of(found, npb("lu", size="A", ppn=2), "NPB")
    assert chosen is not None and chosen.own.cell == small


def test_the_plain_code_has_a_factor_of_its_own() -> None:
    tuned = npb("is", size="A")
    plain = Cell("npb.is", {"class": "A", "code": "plain"}, tuned.placement, tuned.toolchain)
    run = run_of([(tuned, times(1, 1.0)), (plain, times(2, 2.0)), (beside(tuned), times(3, 3.0))])
    found = factors_of(as_printed(run))
    values = [factor_of(found, cell, "NPB") for cell in (tuned, plain)]
    assert [each and each.factor.value for each in values] == [
        pytest.approx(3.0, rel=0.02),
        pytest.approx(1.5, rel=0.02),
    ]
    without_plain = [each for each in found if each.own.cell == tuned]
    assert factor_of(without_plain, plain, "NPB") is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("NASA's NPB 3.4.2", "NPB2", True),
        ("HPL 2.3", "HPL, Atlas", True),
        ("STREAM 5.10", "STREAM", True),
        ("HPL 2.3", "HPL-MxP 2.0", False),
        ("HPL", "STREAM", False),
        ("NASA's NPB 3.4", "NASA's NPB in Java 3.0", False),
        ("", "", False),
    ],
)
def test_versions_of_a_program_are_that_program(one: str, other: str, same: bool) -> None:
    assert same_program(one, other) is same
