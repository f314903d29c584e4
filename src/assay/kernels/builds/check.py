"""Building the measuring program of ``assay check``: one sealed native program without MPI."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.kernels.builds.compiling import compiled
from assay.kernels.builds.identity import cpu_kind
from assay.kernels.builds.single import SingleBuild, single_build
from assay.kernels.sources import native_sources
from assay.version import VERSION

PROGRAM = "assay-check"
_DEVICES = (
    *(f"device/{name}.cpp" for name in ("backends", "cuda", "driver_device", "driver_queue")),
    *(f"device/{name}.cpp" for name in ("hip", "kfd", "library", "opencl", "opencl_errors")),
    "gpu/stream_work.cpp",
    "gpu/transfer_work.cpp",
)
_HARNESS = (
    "harness/json_writer.cpp",
    "harness/proc_text.cpp",
    "harness/quota.cpp",
    "harness/text_file.cpp",
    "harness/topology.cpp",
    "harness/utf8.cpp",
    "storage/descriptor.cpp",
)
_BUILT_FOR = "processor/built_for.cpp"
#: The files, relative to the native sources, and all of their headers' folders.
SHARED = (*_DEVICES, *_HARNESS, _BUILT_FOR)
#: Files that are compiled as one, in less than half of the time: most of it goes to headers.
_TOGETHER = {"devices_as_one.cpp": _DEVICES, "harness_as_one.cpp": _HARNESS}
FOLDERS = ("check", "compute", "device", "gpu", "harness", "memory", "processor", "storage")
#: Products and sums may be contracted, as the rate of a core's units is the question.
FLAGS = (
    *("-std=c++20", "-O3", "-march=native", "-ffp-contract=fast", "-fno-omit-frame-pointer"),
    *("-DNDEBUG", f'-DASSAY_VERSION="{VERSION}"'),
)
#: The check of the processor, which must run on all processors of the architecture.
_FIRST = "processor/check.cpp"
_BASELINE = {"x86_64": ("-march=x86-64",), "aarch64": ("-march=armv8-a",)}
_FIRST_FLAGS = ("-std=c++20", "-O1", "-fPIC", f'-DASSAY_PROGRAM="{PROGRAM}"')
#: Tried first: a program that needs no C++ library on the nodes.
_SEALED = ("-static-libstdc++", "-static-libgcc")
_WHAT = "The measuring program"


def build_check(
    progress: Callable[[str], None] | None = None,
    *,
    sources: Path | None = None,
    flags: tuple[str, ...] = (),
) -> Path:
    """The measuring program for this processor: from the cache if it is there, else built now.

    ``progress`` is called with a sentence before the build, which takes some seconds. ``flags``:
    further compiler flags. Raises AssayError as ``single_build`` does.
    """
    return single_build(
        SingleBuild(
            file=PROGRAM,
            name="the measuring program",
            folders=FOLDERS,
            flags=(*FLAGS, *flags, *_SEALED, f"for {cpu_kind()}"),
            compile=lambda compiler, folder: _compile(compiler, folder, flags),
        ),
        sources or native_sources(),
        progress,
    )


def _compile(compiler: str, folder: Path, more: tuple[str, ...]) -> str:
    """Compile and link the files; returns the compiler's output."""
    own = [f"check/{path.name}" for path in sorted((folder / "check").glob("*.cpp"))]
    for name, parts in _TOGETHER.items():
        (folder / name).write_text("".join(f'#include "{part}"\n' for part in parts))
    files = (*_TOGETHER, *own, _BUILT_FOR, _FIRST)
    objects = [f"{file.replace('/', '_')}.o" for file in files]

    def run(command: list[str]) -> str:
        return "".join(compiled(_WHAT, command, folder=folder))

    def compile_file(file: str, target: str) -> str:
        flags = [*FLAGS, "-pthread"]
        if file == _FIRST:
            flags = [*_FIRST_FLAGS, *_BASELINE.get(os.uname().machine, ())]
        return run([compiler, *flags, *more, "-I.", "-c", file, "-o", target])

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        output = list(pool.map(compile_file, files, objects))
    # Devices' libraries are loaded at run time; older C libraries have dlopen(3) apart.
    link = [compiler, *more, "-pthread", *objects, "-ldl", "-o", PROGRAM]
    sealed = [*link, *_SEALED]
    can_seal = subprocess.run(sealed, cwd=folder, capture_output=True, check=False).returncode == 0
    return "".join((*output, run(sealed if can_seal else link)))
