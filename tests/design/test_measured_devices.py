"""A measured device as an accelerator of a catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.design.parts.measured import MeasuredRun, catalogue_of_runs
from assay.design.parts.reading import read_parts
from assay.reference.accelerators import identify
from device_runs import PROCESSOR, device_run, product, stream, transfer
from report_builder import quick_cells

RATES = [
    stream(1.4e12),
    stream(4e12, elements=1 << 14),  # in a cache
    product(18e12, "fp64"),
    product(250e12, "bf16"),
    transfer(24e9),
    transfer(8e9, memory="pageable"),
]


def catalogue(tmp_path: Path, cells, **more) -> tuple[str, dict]:
    summaries, run = device_run(cells, **more)
    text = catalogue_of_runs([MeasuredRun(run, summaries, "2026-11-29")])
    path = tmp_path / "parts.toml"
    # What a user fills in.
    path.write_text(
        re.sub(r"^# ((price|power|peak|link|dgemm|memory) = )", r"\1", text, flags=re.M)
    )
    return text, read_parts(path, {"measured": 0.02, "quoted": 0.1, "assumed": 0.3}).parts


def accelerator(parts):
    (found,) = (part for kind in parts.values() for part in kind.values() if hasattr(part, "link"))
    return found


def test_a_device_is_an_accelerator_with_its_measured_rates(tmp_path: Path):
    _, parts = catalogue(tmp_path, RATES)
    found = accelerator(parts)
    assert found.name == "NVIDIA A100-SXM4-40GB, measured"
    assert found.bandwidth.value == 1.4e12 and found.dgemm.value == 18e12
    assert found.link.value == 24e9 and found.memory.value == 40 << 30
    peak = identify("NVIDIA A100-SXM4-40GB").peak("fp64")
    assert found.peak.value == pytest.approx(peak, rel=1e-4)
    assert found.rates["bf16"].value == 250e12 and found.power.value == 400


def test_an_unknown_device_has_its_own_rate_as_peak(tmp_path: Path):
    text, parts = catalogue(tmp_path, RATES, device=PROCESSOR)
    assert accelerator(parts).peak.value == 18e12
    assert "# power" in text and "[[node]]" not in text


def test_a_run_of_node_and_device_has_both(tmp_path: Path):
    summaries, run = device_run(RATES)
    both = [*quick_cells(), *summaries]
    text = catalogue_of_runs([MeasuredRun(run, both, "2026-11-29")])
    assert text.index("[[node]]") < text.index("[[accelerator]]")
