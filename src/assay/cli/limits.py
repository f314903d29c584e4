"""Shell limits that are too low for a command, checked before it begins."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import threading
from collections.abc import Mapping, Sequence

# Bytes of address space below which numerical libraries abort, or wait for memory forever. A
# history of twelve cells and 2,000 runs needs 560 MiB with the settings below.
_LEAST_MEMORY = 640 << 20
# Below this number of bytes, libraries are set to reserve less. What they reserve for each thread
# grows with the number of CPUs: on two, Polars aborted below 1.2 GiB, without a message. Other
# programs don't read these variables.
_AMPLE_MEMORY = 16 << 30
_FRUGAL: Mapping[str, str] = {
    "POLARS_MAX_THREADS": "1",
    # Read by jemalloc, the allocator inside Polars.
    "_RJEM_MALLOC_CONF": "background_thread:false,narenas:1",
}
# Measured programs read OpenBLAS's variable, too, so it is set only while OpenBLAS is loaded.
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_M_ARENA_MAX = -8  # of glibc's mallopt
# Commands that load these libraries only with one of the named options.
_WITHOUT_LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "runs": ("--follow", "--clean"),
    "doctor": ("--cluster",),
    "check": ("--learn", "--report"),
    "system": (),
    "kernels": (),
    "references": (),
}
# Open files that numerical libraries, the tables of runs and a launch need together.
_LEAST_FILES, _WANTED_FILES = 64, 1024
# A limit on processes of this many or more is enough for the libraries' threads on any machine.
_ENOUGH_PROCESSES = 8192
_OTHER_THREADS = 8  # in addition to a pool per hardware thread


def check_limits(given: Sequence[str], commands: Sequence[str]) -> None:
    """Raise the limit on open files; raises AssayError if a limit is too low for the command.

    ``commands``: the names of all commands.
    """
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        # Python would leave truncated .pyc files in the installation, which can't be imported.
        sys.dont_write_bytecode = True
    command, *words = given or [""]
    if command not in commands or {"--help", "-h"} & set(words):
        return
    _raise_files()
    options = _WITHOUT_LIBRARIES.get(command)
    if options is not None and not any(word.startswith(options) for word in words):
        return
    _check_memory()
    _check_files()
    _check_processes()


def _check_memory() -> None:
    from assay.errors import AssayError

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit < 0:
        return
    if limit >= _LEAST_MEMORY:
        if limit < _AMPLE_MEMORY:
            _save_addresses()
        return
    raise AssayError(
        f"The address space is limited to {limit >> 20} MiB, and this command needs "
        f"{_LEAST_MEMORY >> 20} MiB at least.",
        where="ulimit -v",
        fix="Raise the limit: ulimit -v unlimited.",
    )


def _save_addresses() -> None:
    """Let the libraries reserve few addresses for stacks and buffers of threads and for arenas."""
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    for name, value in _FRUGAL.items():
        os.environ.setdefault(name, value)
    if _BLAS_THREADS in os.environ:
        return
    os.environ[_BLAS_THREADS] = "1"
    try:
        import scipy.linalg  # noqa: F401 - loads NumPy's and SciPy's OpenBLAS
    finally:
        del os.environ[_BLAS_THREADS]


def _raise_files() -> None:
    """Raise the soft limit on open files as far as the hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _check_files() -> None:
    from assay.errors import AssayError

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY or limit >= _LEAST_FILES:
        return
    raise AssayError(
        f"This command may open {limit} files, and needs {_LEAST_FILES} at least.",
        where="ulimit -n",
        fix="Raise the limit: ulimit -n 1024.",
    )


def _check_processes() -> None:
    """Start as many threads as the libraries will, because they abort if they can't."""
    from assay.errors import AssayError

    limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if limit == resource.RLIM_INFINITY or limit >= _ENOUGH_PROCESSES or os.geteuid() == 0:
        return
    wanted = _OTHER_THREADS + 2 * (os.cpu_count() or 1)
    over = threading.Event()
    threads = [threading.Thread(target=over.wait, daemon=True) for _ in range(wanted)]
    started = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
    except RuntimeError:
        raise AssayError(
            f"You may have {limit} processes and threads, and too few of them are left.",
            where="ulimit -u",
            fix="Raise the limit (`ulimit -u 4096`), or end some of your processes.",
        ) from None
    finally:
        over.set()
        for thread in started:
            thread.join()
