"""The PCI Express links of adapters: rates after the encoding of the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.system.adapters import detect_adapters
from assay.system.files import Tree
from assay.system.pci import PciLink, pci_link

DEVICE = "/sys/class/net/eth0/device"


def link(path: Path, speed: str, width: str) -> PciLink | None:
    folder = path / DEVICE.lstrip("/")
    folder.mkdir(parents=True)
    (folder / "current_link_speed").write_text(speed)
    (folder / "current_link_width").write_text(width)
    return pci_link(Tree(path), DEVICE)


@pytest.mark.parametrize(
    ("speed", "width", "bandwidth"),
    [
        ("2.5 GT/s PCIe\n", "1\n", 250e6),  # the specification's 250 MB/s per lane
        ("5.0 GT/s PCIe\n", "8\n", 4e9),
        ("8.0 GT/s PCIe\n", "16\n", 15.754e9),
        ("16.0 GT/s PCIe\n", "16\n", 31.508e9),
        ("32.0 GT/s PCIe\n", "16\n", 63.015e9),
        ("64.0 GT/s PCIe\n", "16\n", 121.0e9),
    ],
)
def test_the_bandwidth_of_each_generation(
    tmp_path: Path, speed: str, width: str, bandwidth: float
) -> None:
    found = link(tmp_path, speed, width)
    assert found is not None
    assert found.bandwidth == pytest.approx(bandwidth, rel=1e-4)


@pytest.mark.parametrize(
    ("speed", "width"), [("Unknown\n", "0\n"), ("8.0 GT/s PCIe\n", "255\n"), ("", ""), ("x", "8")]
)
def test_a_link_that_is_not_there(tmp_path: Path, speed: str, width: str) -> None:
    assert link(tmp_path, speed, width) is None


def test_an_adapter_has_the_link_of_its_device(tmp_path: Path) -> None:
    assert link(tmp_path, "8.0 GT/s PCIe\n", "8\n") is not None
    (adapter,) = detect_adapters(Tree(tmp_path))
    assert (adapter.bus_width, adapter.bus_rate) == (8, 8e9)
    assert adapter.bus == pytest.approx(7.877e9, rel=1e-4)
