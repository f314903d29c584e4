"""A run whose cells vary in every way, with planted noise, for tests of steadiness and reports."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from assay.records.model import Measurement, RunData
from assay.records.schema import SampleSeries
from noise_traces import interrupted_quanta
from report_builder import make_cell, make_measurement
from variation_builder import normal, npb, run_of, tailed, two_speeds

EP, LU = npb("ep"), npb("lu")
FT = [npb("ft", nodes=2, adapter=adapter) for adapter in ("eth0", "eth0,eth1")]
COUNT, STEP, PERIOD, LENGTH = 4000, 1e-4, 4e-3, 20e-6


def _noise(replicate: int) -> Measurement:
    """Two ranks, of which the second loses LENGTH every PERIOD."""
    rng = np.random.default_rng(replicate)
    cell = make_cell("noise.fwq", ppn=2, quantum=STEP, count=COUNT)
    traces = [
        STEP + np.abs(rng.normal(0.0, 2e-8, COUNT)),
        interrupted_quanta(rng, COUNT, 2e-8, PERIOD, LENGTH, once=2000),
    ]
    measurement = make_measurement(cell, [0.4 + 0.01 * replicate], replicate)
    series = [
        *measurement.record.series,
        SampleSeries("noise", "1", None, None, [], [0.0025]),
        *(SampleSeries("quantum", "s", r, None, [], t.tolist()) for r, t in enumerate(traces)),
    ]
    return replace(
        measurement,
        launch=f"noise-{replicate}",
        record=msgspec.structs.replace(measurement.record, series=series, facts={}),
    )


def unsteady_run() -> RunData:
    """Cells that vary in every way, with two levels of a factor, and noise kernels in addition."""
    cells = run_of(
        [
            (EP, two_speeds(3, 100, 0.01, 0.3, 1.4)),
            (LU, tailed(2, 100, 0.005, 0.08, 0.3)),
            (FT[0], normal(10, 100, 0.005)),
            (FT[1], normal(11, 100, 0.02)),
        ]
    )
    measured = tuple(_noise(replicate) for replicate in range(6))
    plan = cells.manifest.plan
    plan = msgspec.structs.replace(plan, cells=(*plan.cells, measured[0].cell))
    return replace(
        cells,
        measurements=(*cells.measurements, *measured),
        manifest=msgspec.structs.replace(cells.manifest, plan=plan),
    )
