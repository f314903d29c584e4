"""Devices for tests: OpenCL's where a driver is installed; a CUDA and a HIP without a device."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from native_build import by_one_at_a_time, digest, kept_in_cache
from opencl_probe import working_platforms

FAKES = Path(__file__).parent / "fake_cuda"

needs_opencl = pytest.mark.skipif(
    working_platforms()[0] == 0, reason=working_platforms()[1] or "OpenCL works."
)


def build_fake_cuda(folder: Path, without: Sequence[str] = ()) -> Path:
    """A folder with the libraries of CUDA and HIP; they run kernels on the processor.

    ``without``: functions of CUDA that they lack.
    """
    library = folder / "libcuda.so.1"
    with by_one_at_a_time("fake-cuda-programs") as programs:
        words = [f'-DKEPT_PROGRAMS="{programs}"', *(f"-D{name}=absent_{name}" for name in without)]
    _build(library, ["fake_cuda.cpp", "fake_hip.cpp"], *words, "-ldl")
    for name in ("libnvrtc.so.12", "libamdhip64.so.6", "libhiprtc.so.6"):
        (folder / name).symlink_to(library.name)
    return folder


def build_fake_nccl(folder: Path) -> Path:
    """Adds the libraries of NCCL and RCCL, which move data between processes."""
    library = folder / "libnccl.so.2"
    _build(library, ["fake_nccl.cpp"], "-ldl", "-lrt", "-pthread")
    (folder / "librccl.so.1").symlink_to(library.name)
    return folder


def build_fake_cublaslt(folder: Path) -> Path:
    """The library libcublasLt.so.12 in a folder, which multiplies on the processor."""
    return _build(folder / "libcublasLt.so.12", ["fake_cublaslt.cpp"])


def build_fake_hipblaslt(folder: Path) -> Path:
    """The library libhipblaslt.so.0 in a folder, which multiplies on the processor."""
    return _build(folder / "libhipblaslt.so.0", ["fake_cublaslt.cpp"], "-DFAKE_HIP")


def build_aware_mpi(folder: Path) -> Path:
    """A library to preload, by which any MPI says that it takes addresses of devices."""
    return _build(folder / "aware_mpi.so", ["aware_mpi.c"])


def _build(library: Path, sources: Sequence[str], *options: str) -> Path:
    """Compile a library once for all tests, and copy it to its place."""
    files = [FAKES / name for name in sources]
    c = files[0].suffix == ".c"
    words = ["cc"] if c else ["c++", "-std=c++20"]
    words += ["-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    command = [*words, *map(str, files), *options]

    def compile_to(folder: Path) -> None:
        subprocess.run([*command, "-o", str(folder / "library")], check=True)

    version = digest(*(path.read_bytes() for path in files), *map(os.fsencode, command))
    shutil.copy2(kept_in_cache(files[0].stem, version, compile_to) / "library", library)
    return library


@contextlib.contextmanager
def cuda_in(folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str = "") -> Iterator[None]:
    """Launches inside use the libraries of this folder, with a planted fault."""
    with monkeypatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", str(folder))
        patch.setenv("TMPDIR", str(folder))
        patch.setenv("FAKE_CUDA", fault)
        yield
