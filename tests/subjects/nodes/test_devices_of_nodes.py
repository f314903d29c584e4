"""Devices of several nodes, each compared by itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.group import read_group
from assay.report.nodes.build import build_group
from assay.subjects.nodes.answer import answer
from assay.subjects.nodes.findings import NodesFindings, find
from assay.subjects.nodes.subject import lines
from fleet_builder import CELLS, Cost, make_group

HOSTS = [f"n{number:02d}" for number in range(8)]


def of_device(kernel: str, number: int, **given: int | str) -> Cell:
    return Cell(kernel, {**given, "backend": "auto", "device": number}, Placement(), "fake")


DEVICES = tuple(
    cell
    for number in range(4)
    for cell in (
        of_device("gpu.stream", number, op="triad", type="double", elements=1 << 20),
        of_device("gpu.launch", number, mode="single"),
    )
)


def costs(slow: dict[tuple[str, str, int], float]) -> Cost:
    def cost(host: str, cell: Cell, launch: int) -> float:
        digest = hashlib.sha256(f"{host} {cell.id} {launch}".encode()).digest()
        noise = 1.0 + 0.004 * (digest[0] / 255.0 - 0.5)
        number = int(cell.parameters.get("device", -1))
        return 1e-3 * noise * slow.get((host, cell.kernel, number), 1.0)

    return cost


def compared(folder: Path, slow: dict[tuple[str, str, int], float], *, cells=DEVICES):
    group = make_group(folder, HOSTS, costs(slow), cells=cells, launches=6)
    data = read_group(group.path)
    return data, find(data)


def test_a_slow_device_is_named_with_its_node(tmp_path: Path) -> None:
    _, found = compared(tmp_path, {("n05", "gpu.stream", 2): 1.15})
    assert found.devices == 32
    assert {len(cell.values) for cell in found.device_cells} == {32}
    assert [each.node for each in found.device_suspects] == ["n05 device 2"]
    assert "the device's memory" in found.device_suspects[0].suspicion
    judged = answer(found)
    assert "1 of 32 devices to check. n05 device 2" in judged.verdict
    assert any(one.startswith("Check n05 device 2") for one in judged.advice)
    assert "n05 device 2" in [line.where for line in lines(found)]


def test_equal_devices_are_not_accused(tmp_path: Path) -> None:
    data, found = compared(tmp_path, {})
    assert found.device_suspects == [] and "to check" not in answer(found).verdict
    model = build_group(data, found)
    tables = {table.id for section in model.sections for table in section.tables}
    assert "nodes-device-cells" in tables


def test_nodes_without_devices_have_none(tmp_path: Path) -> None:
    _, found = compared(tmp_path, {}, cells=CELLS)
    assert (found.devices, found.device_cells, found.device_suspects) == (0, [], [])
    assert isinstance(found, NodesFindings)
