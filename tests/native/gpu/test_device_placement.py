"""Ranks near their devices, by the command that a user types, on a node whose bus is made up."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from devices import build_fake_cuda
from fake_devices import NVIDIA, FakeNode, build_library, needs_mounts, pci_files

_CPUS = sorted(os.sched_getaffinity(0))
pytestmark = [
    pytest.mark.slow,
    needs_mounts,
    pytest.mark.skipif(len(_CPUS) < 2, reason="Two ranks on two places need two CPUs."),
]
_FEW = ("--launches", "1", "--samples", "5", "--budget", "20 s", "--fail-on", "never")
_KERNEL = ("gpu.stream", "elements=5001", "backend=cuda")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> FakeNode:
    """The first device is near the second CPU, the second device near the first CPU."""
    libraries = build_library("fake_nvml", build_fake_cuda(tmp_path_factory.mktemp("cuda")))
    first, second = NVIDIA
    files = pci_files(first, 0x10DE, "nvidia", cpus=str(_CPUS[1]))
    files |= pci_files(second, 0x10DE, "nvidia", cpus=str(_CPUS[0]))
    return FakeNode(tmp_path_factory.mktemp("node"), files, libraries)


def measured(
    node: FakeNode, folder: Path, *words: str, fault: str = ""
) -> tuple[subprocess.CompletedProcess[str], list[list[int]]]:
    """The command's result, and the CPUs of each rank of its launch."""
    runs = ("--keep", "--runs", str(folder))
    variables = {"FAKE_CUDA": "devices:2", "TMPDIR": str(folder)}
    done = node.run("measure", *_KERNEL, *words, *_FEW, *runs, fault=fault, **variables)
    records = [
        json.loads(line)
        for file in folder.glob("*/raw/*.jsonl")
        for line in file.read_text().splitlines()
    ]
    ranks: list[dict[str, Any]] = [each for each in records if each["record"] == "rank"]
    return done, [each["cpus"] for each in sorted(ranks, key=lambda each: each["rank"])]


def test_each_rank_is_bound_near_its_device(node: FakeNode, tmp_path: Path) -> None:
    done, cpus = measured(node, tmp_path, "--ppn", "2", "--binding", "near-device")
    assert done.returncode == 0, done.stderr
    assert cpus == [[_CPUS[1]], [_CPUS[0]]]
    text = " ".join(done.stdout.split())
    assert "near-device binding" in text and "aren't near the device" not in text


def test_a_report_names_ranks_far_from_their_device(node: FakeNode, tmp_path: Path) -> None:
    done, cpus = measured(node, tmp_path, "--ppn", "2", fault="throttle")
    assert done.returncode == 0, done.stderr
    assert cpus == [[_CPUS[0]], [_CPUS[1]]]
    text = " ".join(done.stdout.split())
    assert "The CPUs of ranks 0, 1 aren't near the device that they use" in text
    assert "A device was throttled during 100% of the measurement (power limit, temperature" in text
    assert "energy of devices per operation:" in text and "(their counters)" in text


def test_two_ranks_share_one_device(node: FakeNode, tmp_path: Path) -> None:
    words = ("--ppn", "2", "--devices", "1", "--json")
    done, _ = measured(node, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    cell = json.loads(done.stdout)
    assert cell["cell"]["placement"]["devices"] == 1
    assert cell["status"] == "ok" and cell["verified"]
    # The second rank's CPU is near the second device only.
    assert any("The CPUs of rank 0 aren't near" in caveat for caveat in cell["caveats"])


def test_devices_bring_their_ranks(node: FakeNode, tmp_path: Path) -> None:
    done, cpus = measured(node, tmp_path, "--devices", "all", "--json")
    assert done.returncode == 0, done.stderr
    placement = json.loads(done.stdout)["cell"]["placement"]
    assert (placement["devices"], placement["ppn"], len(cpus)) == (2, 2, 2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--devices", "3"), "devices = 3, but a node has 2 devices."),
        (("--devices", "2", "--ppn", "1"), "devices = 2, but there is 1 rank per node to use them"),
        (("--devices", "0"), "'devices' must be a whole number of at least 1, not 0."),
        (("--ppn", "3", "--oversubscribe"), "ppn = 3 needs 3 devices, but a node has 2."),
    ],
)
def test_what_a_node_lacks_is_refused(
    node: FakeNode, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    done, _ = measured(node, tmp_path, *words)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert not done.stdout


def test_a_node_without_devices_binds_none_near_them(tmp_path: Path) -> None:
    node = FakeNode(tmp_path / "node", pci_files(NVIDIA[0], 0x10DE, None), None)
    words = ("network.barrier", "--ppn", "2", "--binding", "near-device", *_FEW)
    done = node.run("measure", *words)
    said = " ".join((done.stdout + done.stderr).split())
    assert "near-device: this node shows no accelerator with a driver on its PCI bus" in said
