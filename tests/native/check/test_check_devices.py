"""The measuring program's devices: OpenCL's where a driver is installed, and planted faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.check.components import OF_DEVICES
from check_programs import answers, faulty
from devices import build_fake_cuda, cuda_in, needs_opencl

pytestmark = pytest.mark.slow
ORDERS = [f"measure {name} 0.05" for name in OF_DEVICES]


def of_devices(backend: str, *orders: str) -> list[dict[str, Any]]:
    return answers(
        faulty(),
        *orders,
        options=("--devices", backend, "--ready", "200", "--patience", "200"),
    )


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_cuda(tmp_path_factory.mktemp("cuda"))


@needs_opencl
def test_devices_of_opencl_are_measured_and_verified() -> None:
    for answer in of_devices("opencl", *ORDERS):
        assert answer["verified"] and not answer["failed"], answer
        assert answer["cpus"] == list(range(len(answer["values"])))
        assert all(value > 0.0 for value in answer["values"])


def test_each_device_has_its_value_and_a_wrong_result_is_found(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cuda_in(cuda, monkeypatch, "devices:2"):
        right, wrong, again, unknown = of_devices(
            "auto", ORDERS[1], f"{ORDERS[1]} value", ORDERS[1], "measure core 0.1"
        )
    assert right["verified"] and right["cpus"] == [0, 1] and len(right["values"]) == 2
    assert not wrong["verified"] and not wrong["failed"]
    assert again["verified"]
    assert unknown == {"problem": "there is no component 'core'"}
