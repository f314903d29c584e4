"""The kernels of devices, built by a C++ compiler and MPICH's wheel. Only the standard library."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
NATIVE = ROOT / "native"
FLAGS = ("-std=c++20", "-O3", "-march=native", "-fopenmp", '-DASSAY_VERSION="benchmark"')
# The check of the processor is compiled for any processor.
PLAIN = ("-std=c++20", "-O1")
# The harness does nothing while a kernel is timed.
OUTSIDE = (*FLAGS, "-Os")


class BuildError(Exception):
    """The kernels can't be built; the message says why."""


def mpich_prefix(given: Path | None, folders: list[Path], to: Path) -> Path:
    """The folder with ``bin/mpicxx``: a given one, a wheel's content, or this environment's.

    A wheel is unpacked into ``to``. Raises BuildError if there is neither.
    """
    wheels = [path for folder in folders for path in sorted(folder.glob("mpich-*.whl"))]
    for path in [given] if given else [*wheels, Path(sys.prefix), ROOT / ".venv"]:
        if path.suffix == ".whl":
            return _unpacked(path, to)
        if (path / "bin" / "mpicxx").exists():
            return path
    raise BuildError("MPICH is missing: put its wheel (mpich-*.whl) into the peers' folder.")


def _unpacked(wheel: Path, to: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(to)
    (prefix,) = to.glob("mpich-*.data/data")
    for program in (prefix / "bin").iterdir():
        program.chmod(0o755)
    return prefix


def build(prefix: Path, to: Path, kernels: list[str], seconds: float) -> Path:
    """The executable with these kernels. Raises BuildError with the compiler's words."""
    compiler = str(prefix / "bin" / "mpicxx")
    deadline = time.monotonic() + seconds
    units = _units().units_of(NATIVE, kernels)
    assert units is not None
    harness = NATIVE / "harness"
    jobs = [(path, OUTSIDE) for path in _harness_pieces(to)]
    jobs += [(harness / "stop_rule.cpp", FLAGS), (harness / "main.cpp", OUTSIDE)]
    jobs += [(NATIVE / "processor" / "check.cpp", PLAIN)]
    jobs += [(NATIVE / "processor" / "built_for.cpp", FLAGS)]
    jobs += [(NATIVE / name, FLAGS) for name in sorted(units)]

    def compiled(job: tuple[Path, tuple[str, ...]]) -> str:
        source, flags = job
        found = to / f"{source.parent.name}-{source.stem}.o"
        words = [compiler, *flags, f"-I{NATIVE}", "-c", str(source), "-o", str(found)]
        _run(words, deadline - time.monotonic())
        return str(found)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, jobs))
    program = to / "assay-kernels"
    _run([compiler, *FLAGS, *objects, "-ldl", "-o", str(program)], deadline - time.monotonic())
    return program


def _harness_pieces(to: Path) -> list[Path]:
    """The sources of the harness in pieces, one per core: most time is spent on common headers."""
    alone = ("main.cpp", "stop_rule.cpp")
    names = sorted(p.name for p in (NATIVE / "harness").glob("*.cpp") if p.name not in alone)
    count = min(os.cpu_count() or 1, len(names))
    pieces = [to / f"harness-{index}.cpp" for index in range(count)]
    for index, piece in enumerate(pieces):
        piece.write_text("".join(f'#include "harness/{n}"\n' for n in names[index::count]))
    return pieces


def _units() -> ModuleType:
    """``assay.kernels.builds.units``, without the packages above it and what they import."""
    path = ROOT / "src" / "assay" / "kernels" / "builds" / "units.py"
    specification = importlib.util.spec_from_file_location("units", path)
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def registered_kernels() -> set[str]:
    """The kernels of devices that these sources have."""
    texts = [path.read_text() for path in (NATIVE / "gpu").rglob("*.cpp")]
    return {name for text in texts for name in _units()._REGISTERED.findall(text)}


def _run(words: list[str], seconds: float) -> None:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=max(seconds, 0.01), check=False
        )
    except subprocess.TimeoutExpired:
        raise BuildError("Building the kernels reached its limit of time.") from None
    if done.returncode:
        raise BuildError(f"{' '.join(words)}:\n{done.stderr}")
