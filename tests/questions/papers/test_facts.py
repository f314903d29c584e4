"""Properties of the machine: peak at the clock rate that was measured, rates of adapters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.papers.facts import fact_of
from assay.system.model import Adapter, Frequency, Processor, System


def run_of(*clocks: tuple[str, int, float | None]) -> Any:
    """A run on two cores of a Zen 4 whose /proc/cpuinfo shows 2.6 GHz; a cell per clock rate."""
    processor = Processor(
        vendor="AuthenticAMD", family=25, model=17, name="AMD EPYC", cores=2, vector_bits=512,
        fma=True, frequency=Frequency(current=2.6e9),
    )  # fmt: skip
    cells = [
        Cell(kernel=kernel, parameters={}, placement=Placement(threads=threads), toolchain="t")
        for kernel, threads, _ in clocks
    ]
    measurements = [
        SimpleNamespace(
            cell=cell, record=SimpleNamespace(covariates={} if hz is None else {"clock_rate": hz})
        )
        for cell, (_, _, hz) in zip(cells, clocks, strict=True)
    ]
    manifest = SimpleNamespace(
        system=System(processor=processor).to_dict(), plan=SimpleNamespace(cells=cells)
    )
    return SimpleNamespace(manifest=manifest, measurements=measurements)


@pytest.mark.parametrize(
    ("clocks", "hertz"),
    [
        ([], 2.6e9),
        ([("memory.stream", 2, 3.9e9)], 2.6e9),  # waits for memory
        ([("compute.peak", 1, 3.9e9), ("compute.peak", 2, 3.7e9)], 3.7e9),  # all cores
        ([("compute.peak", 2, None), ("compute.dgemm", 2, 3.6e9)], 3.6e9),
    ],
)
def test_the_peak_is_at_the_measured_clock(
    clocks: list[tuple[str, int, float | None]], hertz: float
) -> None:
    run = run_of(*clocks)
    assert fact_of(run, "peak") == pytest.approx(2 * 16 * hertz)
    # /proc/cpuinfo's clock is that at the start, no nominal one.
    assert fact_of(run, "clock") == (None if hertz == 2.6e9 else hertz)


def test_a_message_may_go_over_all_adapters() -> None:
    """Those of a torus: the kernel calls them virtual; one without a rate counts nothing."""
    adapters = (
        *(Adapter(name=f"eth{n}", kind="virtual", speed=12.5e6, physical=False) for n in range(4)),
        Adapter(name="lo", kind="loopback", speed=1e9, physical=False),
        Adapter(name="br0", kind="virtual", physical=False),
    )
    run = run_of()
    run.manifest.system = System(adapters=adapters).to_dict()
    assert fact_of(run, "adapter_rate") == 12.5e6
    assert fact_of(run, "adapter_rates") == 50e6
