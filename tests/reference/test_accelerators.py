"""Limits of accelerators: each entry agrees with itself, and devices are found by their names."""

from __future__ import annotations

import re

import pytest

from assay.reference.accelerators import AcceleratorModel, accelerators, identify, pcie_bandwidth

ENTRIES = accelerators()
# Sheets round to two digits (34 of 33.45 Tflop/s), and L40S's prints 362.05 of 366.4.
ROUNDING = 0.02
# Names as the interfaces report them, the units and the memory of the devices, and the entry.
NAMES = [
    ("Tesla V100-SXM2-16GB", 80, 16 << 30, "NVIDIA V100 SXM2"),
    ("Tesla V100-PCIE-32GB", 80, 32 << 30, "NVIDIA V100 PCIe"),
    ("Tesla T4", 40, 15 << 30, "NVIDIA T4"),
    ("NVIDIA A100-SXM4-40GB", 108, 40 << 30, "NVIDIA A100 SXM4 40 GB"),
    ("A100-SXM4-80GB", 108, 80 << 30, "NVIDIA A100 SXM4 80 GB"),
    ("NVIDIA A100-PCIE-40GB", 108, 40 << 30, "NVIDIA A100 PCIe 40 GB"),
    ("NVIDIA A100 80GB PCIe", 108, 80 << 30, "NVIDIA A100 PCIe 80 GB"),
    ("NVIDIA A40", 84, 48 << 30, "NVIDIA A40"),
    ("NVIDIA A30", 56, 24 << 30, "NVIDIA A30"),
    ("NVIDIA L40S", 142, 48 << 30, "NVIDIA L40S"),
    ("NVIDIA H100 80GB HBM3", 132, 80 << 30, "NVIDIA H100 SXM5"),
    ("NVIDIA H100 PCIe", 114, 80 << 30, "NVIDIA H100 PCIe"),
    ("NVIDIA H100 NVL", 132, 94 << 30, "NVIDIA H100 NVL"),
    ("NVIDIA H200", 132, 141 << 30, "NVIDIA H200"),
    ("NVIDIA GH200 480GB", 132, 95 << 30, "NVIDIA GH200"),
    ("NVIDIA B200", 148, 179 << 30, "NVIDIA B200"),
    ("AMD Instinct MI250X", 110, 64 << 30, "AMD Instinct MI250X, one die"),
    ("gfx908:sramecc+:xnack-", 120, 32 << 30, "AMD Instinct MI100"),
    ("gfx90a:sramecc+:xnack-", 110, 64 << 30, "AMD Instinct MI250X, one die"),
    ("gfx942:sramecc+:xnack-", 228, 128 << 30, "AMD Instinct MI300A"),
    ("gfx942:sramecc+:xnack-", 304, 192 << 30, "AMD Instinct MI300X"),
    ("gfx942:sramecc+:xnack-", 304, 256 << 30, "AMD Instinct MI325X"),
    ("Intel(R) Data Center GPU Max 1550", 1024, 128 << 30, "Intel Data Center GPU Max 1550"),
]
# Parts of models and other models with similar names.
OTHERS = [
    ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 14, 5 << 30),
    ("NVIDIA A100-SXM4-40GB", 42, 40 << 30),
    ("NVIDIA H200 NVL", 132, 141 << 30),
    ("NVIDIA L40", 142, 48 << 30),
    ("Tesla V100S-PCIE-32GB", 80, 32 << 30),
    ("gfx90a:sramecc+:xnack-", 104, 64 << 30),
    ("gfx942:sramecc+:xnack-", 38, 192 << 30),
    ("gfx942:sramecc+:xnack-", 304, None),
    ("Intel(R) Data Center GPU Max 1550", 512, 64 << 30),
    ("pthread-Intel(R) Xeon(R) Processor", 2, 8 << 30),
    ("", None, None),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_numbers_of_an_entry_agree(entry: AcceleratorModel):
    for kind, stated in entry.stated.items():
        peak = entry.peak(kind)
        assert peak == pytest.approx(stated, rel=ROUNDING), kind
        if kind in entry.ops:
            clock = entry.greatest_clock(kind)
            assert peak == entry.units * clock * entry.ops[kind], kind
    if entry.data_rate:
        assert entry.bus * entry.data_rate / 8 == pytest.approx(entry.bandwidth, rel=ROUNDING)
    assert not entry.ops or (entry.units and entry.clock)
    assert re.search(r"(19|20)\d\d|PB-\d+", entry.source)  # a document that can be found


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_numbers_of_an_entry_have_the_magnitudes_of_their_units(entry: AcceleratorModel):
    assert 3e11 <= entry.bandwidth <= 1e13
    assert all(1e10 <= size <= 3e11 for size in entry.memory)
    assert all(1e12 <= rate <= 1e16 for rate in entry.stated.values())
    assert entry.clock is None or 1e9 <= entry.clock <= 3e9
    assert entry.link is None or (entry.link_name and 1e11 <= entry.link <= 2e12)
    assert entry.power is None or 50 <= entry.power <= 1500
    # Each wider type is slower, and matrix units are at least as fast as vector units.
    rates = {kind: entry.peak(kind) or 0.0 for kind in {*entry.ops, *entry.stated}}
    order = [rates[kind] for kind in ("fp64", "fp32", "tf32", "fp16", "fp8") if kind in rates]
    assert order == sorted(order)
    assert rates["fp64"] >= rates.get("fp64_vector", 0.0)
    assert rates["fp32"] >= rates.get("fp32_vector", 0.0)


@pytest.mark.parametrize(("name", "units", "memory", "model"), NAMES)
def test_a_device_is_found_by_its_name(name, units, memory, model):
    found = identify(name, units, memory)
    assert found is not None
    assert found.name == model


@pytest.mark.parametrize(("name", "units", "memory"), OTHERS)
def test_another_device_has_no_limit(name, units, memory):
    assert identify(name, units, memory) is None


def test_all_entries_are_tried_by_a_name():
    covered = {model for *_, model in NAMES}
    names = {"NVIDIA GH200 144 GB", "AMD Instinct MI210"}
    assert covered | names == {entry.name for entry in ENTRIES}
    assert identify("NVIDIA GH200 144G HBM3e").name == "NVIDIA GH200 144 GB"
    assert identify("AMD Instinct MI210").name == "AMD Instinct MI210"


def test_a_peak_scales_with_the_measured_clock():
    a100 = identify("NVIDIA A100-SXM4-40GB")
    assert a100.peak("fp16", 1.095e9) == pytest.approx(108 * 2048 * 1.095e9)
    assert a100.peak("fp16") == pytest.approx(311.9e12, rel=1e-3)
    # The clock of stated peaks is unknown.
    b200 = identify("NVIDIA B200")
    assert b200.peak("fp16", 1e9) == b200.peak("fp16") == 2250e12
    assert a100.peak("fp8") is None


@pytest.mark.parametrize(("generation", "rate"), [(3, 15.754e9), (4, 31.508e9), (5, 63.015e9)])
def test_a_pcie_link_of_sixteen_lanes(generation, rate):
    assert pcie_bandwidth(generation, 16) == pytest.approx(rate, rel=1e-4)
    assert pcie_bandwidth(generation, 8) == pytest.approx(rate / 2, rel=1e-4)
    assert pcie_bandwidth(7, 16) is None
