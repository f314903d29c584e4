"""The compilers of devices' kernels that are on this machine, and the texts to compile.

None of them needs a device. The texts are recorded by the fake compiler while the kernels run, so
that they are those that the native code builds.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from assay.kernels.catalogue import Kernel
from assay.kernels.gpu import KERNELS
from assay.model.placement import Value
from devices import build_fake_cuda, cuda_in
from kernel_runs import faulty, measure
from native_build import NATIVE

FUNCTION = re.compile(r"\bFUNCTION\s+(\w+)\s*\(")
# Sizes at which the processor runs a kernel in no time. Other numbers are the kernels' defaults.
SMALL: dict[str, Value] = {"elements": 1000, "bytes": 4096, "n": 32}


@dataclass(frozen=True)
class Text:
    """A text as a backend hands it to its compiler. ``macros``: such as REAL=double."""

    text: str
    macros: tuple[str, ...]

    @property
    def functions(self) -> list[str]:
        """The functions that a device can be told to run."""
        return FUNCTION.findall(self.text)


def every_choice(kernel: Kernel) -> Iterator[dict[str, Value]]:
    """Parameters of small measurements: all combinations of what a kernel lets choose."""
    chosen = [p for p in kernel.parameters if p.choices and p.name != "backend"]
    sizes = {p.name: SMALL[p.name] for p in kernel.parameters if p.name in SMALL}
    for values in product(*(p.choices for p in chosen)):
        yield {**sizes, **{p.name: v for p, v in zip(chosen, values, strict=True)}}


def recorded_texts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    """The texts of all kernels of devices, with every set of macros that they use."""
    texts = folder / "texts"
    texts.mkdir()
    with cuda_in(build_fake_cuda(folder), monkeypatch, "devices:2"):
        monkeypatch.setenv("FAKE_CUDA_TEXTS", str(texts))
        for kernel in KERNELS:
            orders = [(kernel.name, {**given, "backend": "cuda"}) for given in every_choice(kernel)]
            measure(faulty(), *orders, ranks=kernel.min_ranks, samples=(1, 1))
    found = []
    for path in sorted(texts.glob("*.cu")):
        options = path.with_suffix(".options").read_text().splitlines()
        macros = tuple(option[2:] for option in options if option.startswith("-D"))
        found.append(Text(path.read_text(), macros))
    return found


def written_functions() -> set[str]:
    """The functions in the sources of all kernels of devices."""
    names: set[str] = set()
    for path in sorted((NATIVE / "gpu").rglob("*.?pp")):
        names.update(FUNCTION.findall(path.read_text()))
    return names


class RuntimeCompiler:
    """NVRTC or HIPRTC, a library that compiles a text while a program runs."""

    def __init__(self, library: str, prefix: str, code: str) -> None:
        self.order = {"library": library, "prefix": prefix, "code": code}

    def _ask(self, **more: Any) -> bytes:
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("runtime_compiler.py")],
            input=json.dumps({**self.order, **more}).encode(),
            capture_output=True,
            check=False,
        )
        assert not done.returncode, done.stderr.decode() or f"it ended with {done.returncode}"
        return done.stdout

    @cached_property
    def version(self) -> str:
        """Of the library."""
        return f"{self.order['prefix'].upper()} {self._ask().decode().strip()}"

    def compile(self, text: Text, target: str) -> bytes:
        """The code for a target. Raises AssertionError with what the compiler says."""
        options = [f"--gpu-architecture={target}", "-std=c++17", *(f"-D{m}" for m in text.macros)]
        return self._ask(text=text.text, options=options)


def library(variable: str, *names: str) -> str | None:
    """The library that the variable names, or else the first one of a wheel or the system."""
    if named := os.environ.get(variable):
        return named
    for name in names:
        with_path = [*Path(sysconfig.get_path("purelib")).glob(f"nvidia/*/lib/{name}"), Path(name)]
        for path in with_path:
            try:
                ctypes.CDLL(str(path))
            except OSError:
                continue
            return str(path)
    return None


def nvrtc() -> RuntimeCompiler | None:
    """NVIDIA's compiler; its path may be given as ASSAY_TEST_NVRTC."""
    path = library("ASSAY_TEST_NVRTC", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
    return RuntimeCompiler(path, "nvrtc", "CUBIN") if path else None


def hiprtc() -> RuntimeCompiler | None:
    """AMD's compiler; its path may be given as ASSAY_TEST_HIPRTC."""
    names = ("libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libamdhip64.so.5")
    path = library("ASSAY_TEST_HIPRTC", *names)
    return RuntimeCompiler(path, "hiprtc", "Code") if path else None


# What the vendors' headers define, so that Clang alone compiles a text.
_WORDS = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
struct Place { unsigned x; };
static __device__ inline float __uint_as_float(unsigned bits) {
  return __builtin_bit_cast(float, bits);
}
"""
_PRELUDES = {
    "hip": _WORDS
    + """
#define threadIdx Place{__builtin_amdgcn_workitem_id_x()}
#define blockIdx Place{__builtin_amdgcn_workgroup_id_x()}
#define blockDim Place{__builtin_amdgcn_workgroup_size_x()}
#define gridDim Place{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()}
#define __syncthreads __builtin_amdgcn_s_barrier
""",
    "cuda": _WORDS
    + """
#define threadIdx Place{(unsigned)__nvvm_read_ptx_sreg_tid_x()}
#define blockIdx Place{(unsigned)__nvvm_read_ptx_sreg_ctaid_x()}
#define blockDim Place{(unsigned)__nvvm_read_ptx_sreg_ntid_x()}
#define gridDim Place{(unsigned)__nvvm_read_ptx_sreg_nctaid_x()}
""",
}


class Clang:
    """Clang without any vendor's files; it emits the device's assembly text."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.version = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]

    def compile(self, text: Text, target: str) -> bytes:
        """Assembly text for a target. Raises AssertionError with what the compiler says."""
        language = "hip" if target.startswith("gfx") else "cuda"
        words = ["-x", language, "--cuda-device-only", "-nogpulib", "-nogpuinc", "-O2", "-Wall"]
        words += [f"--offload-arch={target}", "-std=c++17", "-S", "-o", "-", "-"]
        words += ["-Wno-unknown-cuda-version", "-Wno-unused-parameter"]
        done = subprocess.run(
            [self.path, *words, *(f"-D{macro}" for macro in text.macros)],
            input=(_PRELUDES[language] + text.text).encode(),
            capture_output=True,
            check=False,
        )
        assert not done.returncode, f"{target} {text.macros}: {done.stderr.decode()}"
        return done.stdout


def knows(compiler: RuntimeCompiler | Clang, target: str) -> bool:
    """Whether it compiles for a target; older ones don't know the newest devices."""
    try:
        compiler.compile(Text('extern "C" __global__ void nothing() {}', ()), target)
    except AssertionError:
        return False
    return True


def clang() -> Clang | None:
    """A Clang for devices; its path may be given as ASSAY_TEST_DEVICE_CLANG."""
    names: Iterable[str] = ("clang", *(f"clang-{version}" for version in range(22, 14, -1)))
    path = os.environ.get("ASSAY_TEST_DEVICE_CLANG")
    path = path or next((found for name in names if (found := shutil.which(name))), None)
    return Clang(path) if path else None
