"""Builds the native kernels for tests: once per content and options, in whatever process."""

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
# Folders that are built by themselves: libraries for other programs, and the counter of messages.
APART = {"heartbeat", "profile"}
# The builds with what tests need beside what is shipped: the kernels ``test.*``, faults that can be
# planted before a check (the parameter ``fault``), and every warning an error. The first serves all
# tests, the second those that look for what sanitizers find. ``make test-all`` sets
# ``ASSAY_TEST_SANITIZED``: then all are under the sanitizers, and these check every access too,
# which takes twice the time to compile.
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
    """Of all parts and their bounds, in 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:16]


def content() -> bytes:
    """What the build depends on: paths and bytes of all native sources."""
    files = sorted(p for p in NATIVE.rglob("*") if p.is_file() and APART.isdisjoint(p.parts))
    return digest(*(part for p in files for part in (os.fsencode(p), p.read_bytes()))).encode()


def _run(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")


def build_kernels(extra_cmake: dict[str, str] | None = None) -> Path:
    """The executable ``assay-kernels`` with the test kernels, the unit tests' one beside it.

    ``extra_cmake``: cache variables on top of the defaults (the environment's own MPI and BLAS).
    The tree is compiled in one folder per set of options, so that a changed file costs only itself,
    and what came out is kept under the digest of the sources. Raises RuntimeError with the
    compiler's words.
    """
    options = json.dumps(_options(extra_cmake or {}), sort_keys=True).encode()

    def compile_to(folder: Path) -> None:
        _compile(folder.parents[1] / "build", json.loads(options), folder)

    name = digest(os.fsencode(NATIVE), options)
    return kept_in_cache(name, content().decode(), compile_to) / "assay-kernels"


@contextlib.contextmanager
def by_one_at_a_time(what: str) -> Iterator[Path]:
    """The folder that is this thing's, for one process at a time."""
    folder = Path(tempfile.gettempdir()) / f"assay-tests-{getpass.getuser()}" / what
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # goes with the process, however that ends
        yield folder


def kept_in_cache(what: str, version: str, make: Callable[[Path], None]) -> Path:
    """The folder with that version of something, made if it isn't there.

    ``make`` fills the folder that it is given; nobody makes the same thing at the same time. The
    versions used last are kept.
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
    _run(TOOLS / "cmake", "--build", build)
    for name in ("assay-kernels", "libassay-blas.so", "assay-unit-tests"):
        if (build / name).exists():
            shutil.copy2(build / name, new / name)


if __name__ == "__main__":
    for each in (SANITIZED, FOR_TESTS):
        build_kernels(each)
