"""Power and rate per watt of an exhibit: of planted energies."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from assay.questions.common.question import Measured
from assay.questions.papers.model import Quantity
from assay.questions.papers.points import run_cells
from assay.questions.papers.quantities import PaperValue, value_of
from assay.records.model import RunData
from assay.stats.cells.summarise import summarise_cells
from placement_runs import cell, run_of

POWER = Quantity(
    name="power", title="power", kernel="npb.cg", metric="rate", where="ppn == 2", statistic="power"
)
PER_WATT = Quantity(name="per watt", title="per watt", of="rate", over=("power",), unit="flop/s/W")


def with_power(run: RunData, watts: list[float | None]) -> RunData:
    """The run, whose launches of two ranks consumed these powers over 4 s each."""
    left = iter(watts)
    measurements = []
    for each in run.measurements:
        power = next(left) if each.cell.placement.ppn == 2 else 7.0
        energy = {} if power is None else {"energy": 4.0 * power}
        more = {**each.record.covariates, "sampling_seconds": 4.0, **energy}
        record = msgspec.structs.replace(each.record, covariates=more)
        measurements.append(dataclasses.replace(each, record=record))
    return dataclasses.replace(run, measurements=tuple(measurements))


def found(run: RunData) -> PaperValue | None:
    return value_of(POWER, run_cells(Measured(run, summarise_cells(run))), {})


def a_run() -> tuple[RunData, int]:
    run = run_of(
        [cell("npb.cg", ppn=1), cell("npb.cg", ppn=2)], lambda one: 2.0 / one.placement.ppn
    )
    return run, sum(each.cell.placement.ppn == 2 for each in run.measurements)


def test_the_power_is_the_median_of_the_launches_with_its_interval() -> None:
    run, launches = a_run()
    watts = [100.0 + launch for launch in range(launches)]
    power = found(with_power(run, [*watts]))
    assert power is not None and power.unit == "W"
    assert power.value == pytest.approx(100.0 + (launches - 1) / 2)
    assert (power.ci95 is not None) == (launches >= 6)
    rate = PaperValue(3e9, None, "flop/s", "more")
    per_watt = value_of(PER_WATT, run_cells(Measured(run, summarise_cells(run))),
                        {"rate": rate, "power": power})  # fmt: skip
    assert per_watt is not None and per_watt.unit == "flop/s/W"
    assert per_watt.value == pytest.approx(3e9 / power.value)


def test_without_counters_there_is_no_power() -> None:
    run, launches = a_run()
    assert found(run) is None
    assert found(with_power(run, [None] * launches)) is None
    some = [*([None] * (launches - 1)), 50.0]
    power = found(with_power(run, some))
    assert power is not None and (power.value, power.ci95) == (50.0, None)
