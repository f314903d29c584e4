"""Speed of devices: shares of their models' limits, and one device against all."""

from __future__ import annotations

import pytest

from asking import figures_of, reply_to
from assay.questions.common.answer import Answer, Evidence
from assay.reference.accelerators import identify, pcie_bandwidth
from device_runs import PROCESSOR, Planted, device_run, planted, product, stream, transfer

MODEL = identify("NVIDIA A100-SXM4-40GB")
LINK = pcie_bandwidth(4, 16)


def answered(cells: list[Planted], **more) -> Answer:
    return reply_to("speed", *device_run(cells, **more)).answer


def row(answer: Answer, label: str) -> Evidence:
    (found,) = (each for each in answer.evidence if each.label.startswith(label))
    return found


def test_the_bandwidth_is_a_share_of_the_models_bus():
    answer = answered([stream(1.4e12), stream(1.2e12, "copy"), stream(3e12, elements=1 << 14)])
    found = row(answer, "Device memory, STREAM triad")
    assert found.value == 1.4e12 and found.limit == 1555e9
    assert found.share == pytest.approx(1.4e12 / 1555e9)
    assert found.bound == "computed" and "bus of 5120 bits at 2.43 Gbit/s" in found.limit_source
    assert "90% of its limit" in answer.verdict and "A100" in answer.verdict
    # Arrays in a cache are faster than the memory, and no result of it.
    assert not answer.impossible


def test_a_device_without_an_entry_has_rates_and_no_shares():
    answer = answered([stream(6e9), product(4e9, "fp64")], device=PROCESSOR)
    assert row(answer, "Device memory").share is None
    assert row(answer, "Matrix product, fp64").share is None
    assert answer.limits == ["No limit is known for this model: cpu-haswell-AMD EPYC."]
    assert "%" not in answer.verdict


def test_records_that_name_no_device_have_rates():
    answer = answered([stream(6e9), product(4e9, "fp64")], device={})
    assert answer.verdict.startswith("A device sustains 6.00 GB/s")


def test_a_rate_above_the_bus_is_impossible():
    answer = answered([stream(2e12)])
    assert [one.kind for one in answer.impossible] == ["above"]


@pytest.mark.parametrize(
    ("clock", "limit", "words"),
    [
        (None, MODEL.peak("fp16"), "its greatest clock"),
        (1.2e9, 108 * 2048 * 1.2e9, "the measured clock"),
        # A clock of an idle device, read beside the products.
        (0.3e9, MODEL.peak("fp16"), "its greatest clock"),
    ],
)
def test_the_peak_scales_with_the_clock_that_was_measured(clock, limit, words):
    covariates = {} if clock is None else {"device_clock": clock}
    answer = answered([product(240e12, "fp16", covariates=covariates)])
    found = row(answer, "Matrix product, fp16")
    assert found.limit == pytest.approx(limit)
    assert words in found.limit_source and "by cuBLAS 12.4" in found.note
    assert found.share == pytest.approx(240e12 / limit)


def test_slow_products_by_the_own_kernel_are_no_fault_of_the_device():
    own = answered([product(30e12, "fp16", "own")])
    assert any("vendor's library" in sentence for sentence in own.advice)
    by_vendor = answered([product(30e12, "fp16")])
    assert any("power limit" in sentence for sentence in by_vendor.advice)
    fast = answered([product(280e12, "fp16")])
    assert not any("reach only" in sentence for sentence in fast.advice)


def test_the_link_to_the_host_is_the_machines_own_if_it_is_known():
    device = {"name": "NVIDIA A100-SXM4-40GB", "address": "0000:3b:00.0"}
    degraded = {**device, "link_generation_most": 4, "link_width": 8, "link_width_most": 16}
    cells = [transfer(13e9), transfer(24e9, "both")]
    answer = answered(cells, system={"devices": [degraded]})
    assert row(answer, "Transfer, to device").limit == pytest.approx(LINK / 2)
    assert row(answer, "Transfer, both").limit == pytest.approx(LINK)
    assert not [one for one in answer.advice if "lanes" in one]
    model = answered(cells)
    assert row(model, "Transfer, to device").limit == pytest.approx(LINK)
    assert any("check its generation and lanes" in one for one in model.advice)


def test_pageable_memory_and_far_nodes_are_advised_against():
    cells = [
        transfer(24e9),
        transfer(8e9, memory="pageable"),
        transfer(24e9, binding="numa:0"),
        transfer(16e9, binding="numa:1"),
    ]
    answer = answered(cells)
    assert row(answer, "Transfer, to device: pinned over pageable").value == pytest.approx(3.0)
    assert row(answer, "Transfer, to device: from NUMA node 0").value == pytest.approx(1.5)
    assert any("pinned memory (to device)" in one and "3.00 times" in one for one in answer.advice)
    assert any("on NUMA node 0" in one for one in answer.advice)


def test_all_devices_against_one():
    cells = [
        stream(1.4e12),
        stream(5.5e12, ppn=4),
        planted("gpu.all", {"share": ("1", 0.86)}, ppn=4, op="gemm"),
        planted("gpu.all", {"share": ("1", 0.5)}, ppn=4, op="to host"),
        planted("gpu.all", {"share": ("1", 0.99)}, ppn=4, op="stream"),
    ]
    answer = answered(cells)
    assert row(answer, "STREAM triad, 1 → 4 devices").share == pytest.approx(5.5 / 5.6)
    assert row(answer, "Device memory, STREAM triad, 4 devices").limit == 4 * 1555e9
    assert "with 4 devices at once each has 86% of its single speed in matrix" in answer.verdict
    advice = [one for one in answer.advice if "at once" in one]
    assert len(advice) == 2 and "power" in advice[0] and "links to the host" in advice[1]


def test_a_slow_device_of_a_node_is_named():
    rates = (1.40e12, 1.41e12, 1.1e12, 1.40e12)
    cells = [stream(rate, device=number) for number, rate in enumerate(rates)]
    answer = answered(cells)
    found = row(answer, "Slowest over fastest device, bandwidth of the memory")
    assert found.value == pytest.approx(1.1 / 1.41) and "device 2 over device 1" in found.note
    assert any(one.startswith("Device 2 reaches 78% of device 1") for one in answer.advice)
    even = answered([stream(1.4e12, device=number) for number in range(4)])
    assert not any(one.startswith("Device") for one in even.advice)


def test_errors_of_a_device_are_said_first():
    answer = answered([stream(1.1e12, covariates={"device_ecc_uncorrected": 1.0})])
    assert any("uncorrectable memory errors" in one for one in answer.urgent)
    assert not answered([stream(1.1e12, covariates={"device_ecc_uncorrected": 0.0})]).urgent


def test_launches_and_latency_are_told():
    cells = [
        planted("gpu.launch", {"time": ("s", 5e-6)}, mode="single"),
        planted("gpu.launch", {"time": ("s", 2e-6)}, mode="row"),
        planted("gpu.latency", {"time": ("s", 500e-9)}, bytes=0),
        planted("gpu.latency", {"time": ("s", 90e-9)}, bytes=1 << 18),
    ]
    answer = answered(cells)
    assert row(answer, "Launch: waiting for each over many in a row").value == pytest.approx(2.5)
    assert row(answer, "Load on the device, its memory").value == 500e-9
    assert row(answer, "Load on the device, working set of 256 KiB").value == 90e-9


def test_figures_over_size_by_type_and_of_transfers():
    cells = [
        *(stream(1e12 + size, elements=size) for size in (1 << 14, 1 << 18, 1 << 22)),
        stream(1.4e12),
        product(18e12, "fp64"),
        product(280e12, "fp16"),
        product(500e12, "fp8"),  # which the A100 has no peak of
        transfer(24e9),
        transfer(24e9, "to host"),
    ]
    found = {figure.id: figure for figure in figures_of("speed", *device_run(cells))}
    assert {"device-bandwidth", "device-products", "device-transfers"} <= found.keys()
    sizes = {row["bytes"] for row in found["device-bandwidth"].rows}
    assert sizes == {8 << 14, 8 << 18, 8 << 22, 8 << 25}
    peaks = {row["type"]: row["peak"] for row in found["device-products"].rows}
    assert peaks == {"fp64": MODEL.peak("fp64"), "fp16": MODEL.peak("fp16"), "fp8": None}
    few = {figure.id for figure in figures_of("speed", *device_run([stream(1.4e12)]))}
    assert not few & found.keys()
