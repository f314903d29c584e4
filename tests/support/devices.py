"""Devices for tests: OpenCL's where a driver is installed; a CUDA and a HIP without a device."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from opencl_probe import working_platforms

FAKES = Path(__file__).parent / "fake_cuda"
_SOURCES = [str(FAKES / name) for name in ("fake_cuda.cpp", "fake_hip.cpp")]
AWARE_MPI = FAKES / "aware_mpi.c"


needs_opencl = pytest.mark.skipif(
    working_platforms()[0] == 0, reason=working_platforms()[1] or "OpenCL works."
)


def build_fake_cuda(folder: Path, without: Sequence[str] = ()) -> Path:
    """A folder with the libraries of CUDA and HIP; they run kernels on the processor.

    ``without``: functions of CUDA that they lack.
    """
    library = folder / "libcuda.so.1"
    words = ["c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    words += [f"-D{name}=absent_{name}" for name in without]
    subprocess.run([*words, *_SOURCES, "-o", str(library), "-ldl"], check=True)
    for name in ("libnvrtc.so.12", "libamdhip64.so.6", "libhiprtc.so.6"):
        (folder / name).symlink_to(library.name)
    return folder


def build_fake_nccl(folder: Path) -> Path:
    """Adds the libraries of NCCL and RCCL, which move data between processes."""
    words = ["c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    library = folder / "libnccl.so.2"
    command = [*words, str(FAKES / "fake_nccl.cpp"), "-o", str(library), "-ldl", "-lrt", "-pthread"]
    subprocess.run(command, check=True)
    (folder / "librccl.so.1").symlink_to(library.name)
    return folder


def build_aware_mpi(folder: Path) -> Path:
    """A library to preload, by which any MPI says that it takes addresses of devices."""
    library = folder / "aware_mpi.so"
    command = ["cc", "-Wall", "-Werror", "-fPIC", "-shared", str(AWARE_MPI), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


@contextlib.contextmanager
def cuda_in(folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str = "") -> Iterator[None]:
    """Launches inside use the libraries of this folder, with a planted fault."""
    with monkeypatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", str(folder))
        patch.setenv("TMPDIR", str(folder))
        patch.setenv("FAKE_CUDA", fault)
        yield


def build_fake_cublaslt(folder: Path) -> Path:
    """The library libcublasLt.so.12 in a folder, which multiplies on the processor."""
    return _build_fake_library(folder / "libcublasLt.so.12")


def build_fake_hipblaslt(folder: Path) -> Path:
    """The library libhipblaslt.so.0 in a folder, which multiplies on the processor."""
    return _build_fake_library(folder / "libhipblaslt.so.0", "-DFAKE_HIP")


def _build_fake_library(library: Path, *options: str) -> Path:
    words = ["c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    source = FAKES / "fake_cublaslt.cpp"
    subprocess.run([*words, *options, str(source), "-o", str(library)], check=True)
    return library
