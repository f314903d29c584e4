"""Devices of a node: copies between them, what connects them, and their collectives."""

from __future__ import annotations

from itertools import permutations

import pytest

from asking import figures_of, reply_to
from assay.questions.common.answer import Answer, Evidence
from assay.reference.accelerators import pcie_bandwidth
from device_runs import Planted, collective, device_run, peers, stream

NVLINK = 300e9  # of an A100 SXM4, one direction


def answered(cells: list[Planted], **more) -> Answer:
    return reply_to("network", *device_run(cells, **more)).answer


def row(answer: Answer, label: str) -> Evidence:
    (found,) = (each for each in answer.evidence if each.label.startswith(label))
    return found


def even(devices: int, rate: float = 240e9) -> dict[tuple[int, int], float]:
    return dict.fromkeys(permutations(range(devices), 2), rate)


def in_islands(devices: int, size: int, near: float, far: float) -> dict[tuple[int, int], float]:
    return {
        (one, other): near if one // size == other // size else far
        for one, other in permutations(range(devices), 2)
    }


def test_even_pairs_are_a_share_of_the_links():
    answer = answered([peers(even(4))])
    found = row(answer, "Copies between devices, slowest pair")
    assert found.value == 240e9 and found.limit == NVLINK and found.share == pytest.approx(0.8)
    assert "all NVLink links" in found.limit_source
    assert row(answer, "Copies between devices, 8 B, slowest pair").value == 2e-6
    assert "4 devices copy to each other at 240 GB/s" in answer.verdict
    assert not any("differ" in one or "through the host" in one for one in answer.advice)


def test_both_directions_count_both():
    pairs = {pair: 450e9 for pair in even(4) if pair[0] < pair[1]}
    found = row(
        answered([peers(pairs, direction="both")]),
        "Copies between devices, both directions, slowest",
    )
    assert found.limit == 2 * NVLINK and found.value == 450e9


def test_a_slow_pair_is_named():
    rates = even(4) | {(2, 3): 100e9}
    (advice,) = (one for one in answered([peers(rates)]).advice if "differ" in one)
    assert "2 to 3 reaches 42%" in advice


def test_pairs_without_access_are_named():
    by_host = [(0, 2), (2, 0)]
    rates = even(3) | dict.fromkeys(by_host, 12e9)
    answer = answered([peers(rates, by_host=by_host)])
    (advice,) = (one for one in answer.advice if "through the host" in one)
    assert "2 pairs of devices (0 to 2, 2 to 0)" in advice
    # The limit of the links is no limit of copies through the host.
    assert row(answer, "Copies between devices, slowest pair").limit is None


def test_direct_copies_against_copies_through_the_host():
    cells = [peers(even(2)), peers(even(2, 12e9), path="host")]
    answer = answered(cells)
    assert row(answer, "Copies between devices: direct over").value == pytest.approx(20.0)
    through = row(answer, "Copies between devices through the host, slowest pair")
    assert through.limit == pytest.approx(pcie_bandwidth(4, 16))


def test_islands_of_devices_are_found():
    answer = answered([peers(in_islands(8, 4, 240e9, 20e9))])
    (groups,) = (one for one in answer.limits if "2 groups" in one)
    assert "{0, 1, 2, 3} and {4, 5, 6, 7}" in groups and "12.00 times" in groups
    assert not any("groups" in one for one in answered([peers(even(8))]).limits)


def test_collectives_against_the_links():
    cells = [collective(1e9, size=1 << 10), collective(225e9), collective(200e9, "alltoall")]
    answer = answered(cells)
    found = row(answer, "Allreduce on 4 devices, bus bandwidth")
    assert found.value == 225e9 and found.share == pytest.approx(0.75)
    assert "NCCL 2.21.5" in found.note
    assert row(answer, "Allreduce of 1 KiB on 4 devices").value == 1e-5
    assert "225 GB/s (75.0% of the links)" in answer.verdict


def test_a_switch_that_reduces_may_exceed_the_links():
    answer = answered([collective(400e9)])
    assert not answer.impossible and row(answer, "Allreduce on").share > 1.3


def test_figures_of_pairs_and_collectives():
    sizes = (1 << 10, 1 << 16, 1 << 26)
    cells = [peers(even(4)), *(collective(1e9 + size, size=size) for size in sizes)]
    found = {figure.id: figure for figure in figures_of("network", *device_run(cells))}
    assert len(found["device-pairs-1"].rows) == 12
    assert {row["path"] for row in found["device-pairs-1"].rows} == {"direct"}
    assert [row["bytes"] for row in found["device-collectives"].rows] == list(sizes)


def test_kernels_of_one_device_are_no_network():
    assert answered([stream(1e12)]).status == "unmeasured"
