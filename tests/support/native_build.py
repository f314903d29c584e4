"""Builds the native kernels for tests: once per content and options, for all processes.

As a program, it also builds the profiling library. Workers that need it at the same time would each
build it.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

NATIVE = Path(__file__).resolve().parents[2] / "native"
TOOLS = Path(sys.prefix) / "bin"
# Folders that are built separately: libraries for other programs, and programs that count messages.
APART = {"check", "heartbeat", "profile", "scheduler", "trace"}
# Builds with what tests need in addition to what is shipped: the kernels ``test.*``, faults that
# can be planted before a check (the parameter ``fault``), and warnings as errors. The first is for
# all tests, the second for those marked ``sanitized``. These run in ``make test-sanitized`` only:
# the build takes longer than they do. It sets ``ASSAY_TEST_SANITIZED``: then tests marked
# ``sanitizable`` run under the sanitizers too, which then also check every access.
OPTIMISED = {
    "ASSAY_WERROR": "ON",
    "ASSAY_UNITY": "ON",
    "ASSAY_CXX_FLAGS": "-O1 -march=native -fopenmp",
}
_EVERYTHING = bool(os.environ.get("ASSAY_TEST_SANITIZED"))
_QUICK = "signed-integer-overflow;shift;integer-divide-by-zero;bounds;float-cast-overflow;bool;enum"
SANITIZED = {
    "ASSAY_WERROR": "ON",
    "ASSAY_SANITIZE": f"address;{'undefined' if _EVERYTHING else _QUICK}",
    "ASSAY_CXX_FLAGS": "-O0 -march=native -fopenmp",
}
FOR_TESTS = SANITIZED if _EVERYTHING else OPTIMISED
INSIDE = "libassay-inside.a"
KEPT = 12  # executables of earlier contents that stay in the cache


def _blas() -> dict[str, str]:
    import scipy_openblas32 as blas

    library = Path(blas.get_lib_dir()) / f"lib{blas.get_library()}.so"
    return {
        "ASSAY_BLAS_LIBRARIES": str(library),
        "ASSAY_BLAS_INCLUDE_DIR": blas.get_include_dir(),
        "ASSAY_BLAS_PREFIX": "scipy_",
        "ASSAY_BLAS_NAME": "OpenBLAS (scipy-openblas32)",
    }


def _options(extra: dict[str, str]) -> dict[str, str]:
    return {
        "CMAKE_CXX_COMPILER": str(TOOLS / "mpicxx"),
        "CMAKE_MAKE_PROGRAM": str(TOOLS / "ninja"),
        "ASSAY_TEST_KERNELS": "ON",
        **_blas(),
        **extra,
    }


def digest(*parts: bytes) -> str:
    """A digest of all parts and their boundaries, in 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:16]


def content() -> bytes:
    """The inputs of the build: paths and bytes of all native sources."""
    files = [NATIVE / name for name in source_names(NATIVE)]
    return digest(*(part for p in files for part in (os.fsencode(p), p.read_bytes()))).encode()


def source_names(native: Path) -> list[Path]:
    """The files of that folder that are built together, relative to it, in order.

    The folder itself may lie in one that is named as one of those built apart.
    """
    files = sorted(p.relative_to(native) for p in native.rglob("*") if p.is_file())
    return [name for name in files if APART.isdisjoint(name.parts)]


def _run(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")


def build_kernels(extra_cmake: dict[str, str] | None = None) -> Path:
    """The executable ``assay-kernels`` with the test kernels; the unit tests' executable is in the
    same folder.

    ``extra_cmake``: cache variables in addition to the defaults (the environment's own MPI and
    BLAS). The tree is compiled in one folder per set of options, so that only changed files are
    recompiled, and the result is kept under the digest of the sources. Raises RuntimeError with the
    compiler's output.
    """
    options = json.dumps(_options(extra_cmake or {}), sort_keys=True).encode()

    def compile_to(folder: Path) -> None:
        _compile(folder.parents[1] / "build", json.loads(options), folder)

    name = digest(os.fsencode(NATIVE), options)
    return kept_in_cache(name, content().decode(), compile_to) / "assay-kernels"


@contextlib.contextmanager
def by_one_at_a_time(what: str) -> Iterator[Path]:
    """The folder for this target, for one process at a time."""
    folder = Path(tempfile.gettempdir()) / f"assay-tests-{getpass.getuser()}" / what
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the process ends, in any way
        yield folder


def kept_in_cache(what: str, version: str, make: Callable[[Path], None]) -> Path:
    """The folder with that version of a target, created if it doesn't exist.

    ``make`` fills the given folder; only one process makes the same target at a time. The versions
    used last are kept.
    """
    with by_one_at_a_time(what) as folder:
        kept = folder / "kept" / version
        if not kept.exists():
            new = kept.with_name(f"{kept.name}.{os.getpid()}")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            make(new)
            new.rename(kept)
            for old in sorted(kept.parent.iterdir(), key=lambda p: p.stat().st_mtime)[:-KEPT]:
                shutil.rmtree(old)
        return kept


def _compile(build: Path, options: dict[str, str], new: Path) -> None:
    _run(
        *(TOOLS / "cmake", "-G", "Ninja", "-S", NATIVE, "-B", build),
        *(f"-D{name}={value}" for name, value in options.items()),
    )
    # Unit tests and check programs use one build: under the sanitizers only if all tests do.
    kernels_alone = options.get("ASSAY_SANITIZE") and not _EVERYTHING
    _run(TOOLS / "cmake", "--build", build, *(["--target", "assay-kernels"] * bool(kernels_alone)))
    for name in ("assay-kernels", "libassay-blas.so", "assay-unit-tests", INSIDE):
        if (build / name).exists():
            shutil.copy2(build / name, new / name)


if __name__ == "__main__":
    from assay.kernels.builds.trace import build_trace

    build_kernels(FOR_TESTS)
    if not _EVERYTHING:
        build_trace(str(TOOLS / "mpicxx"))
        from check_programs import faulty, plain

        plain()
        faulty()
