"""The number of devices that the kernels would find."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.model.plan import UsableDevices
from assay.system.devices.usable import usable_devices
from devices import build_fake_cuda, cuda_in, needs_opencl
from opencl_probe import working_platforms

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_cuda(tmp_path_factory.mktemp("cuda"))


@pytest.mark.parametrize("devices", [1, 3])
def test_devices_of_cuda_come_first(cuda: Path, monkeypatch: pytest.MonkeyPatch, devices: int):
    with cuda_in(cuda, monkeypatch, f"devices:{devices}"):
        assert usable_devices() == UsableDevices("cuda", devices, "Fake device 0")


def test_devices_of_hip_come_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    build_fake_cuda(tmp_path)
    for name in ("libamdhip64.so.6", "libhiprtc.so.6"):
        (tmp_path / name).unlink()
    (tmp_path / "libcuda.so.1").rename(tmp_path / "libamdhip64.so.6")
    with cuda_in(tmp_path, monkeypatch, "devices:2"):
        found = usable_devices()
    assert (found.backend, found.count) == ("hip", 2)


@needs_opencl
def test_devices_of_opencl_count_without_cuda():
    found = usable_devices()
    assert found.backend == "opencl" and found.count >= working_platforms()[0] >= 1


def test_a_library_that_is_none_counts_as_no_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("libcuda.so.1", "libamdhip64.so.6", "libOpenCL.so.1"):
        (tmp_path / name).write_text("not a library")
    with cuda_in(tmp_path, monkeypatch):
        assert usable_devices().count == 0


def test_a_driver_that_crashes_leaves_the_number_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(tmp_path / "libcuda.so.1")],
        input="#include <stdlib.h>\nint cuInit(unsigned flags) { abort(); }\n",
        text=True,
        check=True,
    )
    with cuda_in(tmp_path, monkeypatch):
        assert usable_devices() is None
