"""Kernels of processors load no library of devices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devices import build_fake_cuda, cuda_in
from kernel_runs import assert_verified, faulty, measure

pytestmark = [pytest.mark.slow]
LIBRARIES = re.compile(
    r"lib(cuda|nvrtc|cublas|nccl|nvidia-ml|amdhip|hiprtc|hipblas|rccl|rocm_smi|OpenCL)\w*\.so"
)


def loaded(folder: Path) -> set[str]:
    """Names of devices' libraries that the dynamic loader was asked for."""
    texts = [path.read_text(errors="replace") for path in folder.glob("loader.*")]
    assert texts and all("calling init" in text for text in texts)
    return {found[0] for text in texts for found in LIBRARIES.finditer(text)}


def test_only_kernels_of_devices_load_their_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, own = tmp_path / "other", tmp_path / "own"
    other.mkdir()
    own.mkdir()
    with cuda_in(build_fake_cuda(tmp_path), monkeypatch):
        monkeypatch.setenv("LD_DEBUG", "files")
        monkeypatch.setenv("LD_DEBUG_OUTPUT", str(other / "loader"))
        [record] = measure(faulty(), ("memory.stream", {"elements": 1000}))
        assert_verified(record)
        assert loaded(other) == set()
        monkeypatch.setenv("LD_DEBUG_OUTPUT", str(own / "loader"))
        [record] = measure(faulty(), ("gpu.launch", {"backend": "cuda"}))
        assert_verified(record)
        assert loaded(own) >= {"libcuda.so", "libnvrtc.so"}
