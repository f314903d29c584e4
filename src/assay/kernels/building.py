"""Building ``assay-kernels``: once per toolchain, kept in a cache under the hash of its content.

A build for a plan holds the kernels that the plan measures and those that earlier builds compiled.
Compiled files are kept until a build holds all kernels.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from assay.cache import cache_folder
from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.kernels.builds.compiling import header_packages, lacks_header
from assay.kernels.builds.identity import cpu_identity, cpu_kind, source_digest
from assay.kernels.builds.origin import EXECUTABLE, ORIGIN, origin_of
from assay.kernels.builds.partial import About, PartialBuild
from assay.kernels.builds.sealed import (
    BUILD_LOG,
    CONTENT,
    PARTIAL,
    building_alone,
    install,
    is_intact,
    key_of,
    working_folder,
)
from assay.kernels.builds.shared import shared_build
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.builds.units import all_units, units_in, units_of
from assay.kernels.sources import native_sources
from assay.units import listed
from assay.version import VERSION

# The folder in which CMake puts the objects of kernels.
_OBJECTS = f"CMakeFiles/{EXECUTABLE}.dir"
# The library that the executable loads from its own folder, if there is a BLAS.
_BLAS = "libassay-blas.so"
# Fields of a toolchain that don't affect the executable.
_WITHOUT_EFFECT = (
    "name",
    "kind",
    "mpirun",
    "launcher",
    "launch_flags",
    "problem",
    "fix",
    "built",
    "loaded",
)
# Output of tools that were killed, or that ran out of memory or disk space.
_ENDED = re.compile(
    r"ninja: build stopped: interrupted|\bKilled\b|Terminated signal|No space left on device"
    r"|Disk quota exceeded|[Cc]annot allocate memory|virtual memory exhausted"
)
# Seconds after the end of a compiler within which this process may also get a signal to end.
_GRACE = 2.0
# Environment variables that would change the build without changing its key.
_UNWANTED = ("CXX", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "CMAKE_TOOLCHAIN_FILE")


@dataclass(frozen=True)
class BuildProgress:
    """Progress of a build: ``done`` of ``total`` steps; ``step`` is the last one done.

    While another process builds, the phase is "wait", and ``step`` names that process and its host.
    """

    toolchain: str
    phase: Literal["wait", "configure", "compile", "ready"]
    done: int
    total: int
    step: str


Watcher = Callable[[BuildProgress], None]


def build_kernels(
    toolchain: Toolchain,
    progress: Watcher | None = None,
    *,
    sources: Path | None = None,
    kernels: Collection[str] | None = None,
) -> Path:
    """The executable for a toolchain: from the cache if it is there, else built now.

    ``kernels``: the kernels that it must hold; None: all. A build with more kernels is also used.

    Raises AssayError if the toolchain can't build, with the compiler's output in ``detail``; if the
    cache can't be written; and if other users may write to it. The site's builds are looked up
    first (``builds/shared.py``). A cached build is compared with the digests in its seal, and
    replaced if it differs. If several processes, on any nodes that share the cache, need the same
    build, one builds and the others wait. A killed build leaves nothing at the final path. Its
    compiled files are kept, and the next builder continues it.
    """
    if toolchain.problem:
        raise AssayError(toolchain.problem, fix=toolchain.fix)
    sources = sources or native_sources()
    needed = units_of(sources, kernels)
    if toolchain.built:
        return _adopted(toolchain, needed, kernels)
    watch = progress or (lambda _: None)
    key = build_key(toolchain, sources)
    if (shared := shared_build(key, EXECUTABLE)) is not None:
        return shared
    builds = cache_folder("builds")
    if (finished := _finished(builds, key, needed)) is not None:
        return finished

    def wait(other: str) -> None:
        watch(BuildProgress(toolchain.name, "wait", 0, 1, other))

    with building_alone(key, wait) as lock, working_folder(builds) as folder:
        # The new folder makes an NFS client reread the list of builds, which it otherwise caches
        # for a minute (acdirmax in nfs(5)): another node may have put this build there in the
        # meantime.
        if (finished := _finished(builds, key, needed)) is not None:
            return finished
        used = _cpu_of_children()
        # A folder that two processes might use at once is not continued by any process.
        place = folder / "build" if lock is None else builds / f"{PARTIAL}{key}"
        # A copy is built, since sources edited during the build would be kept under a wrong key.
        partial = PartialBuild(place, _about(toolchain, sources), sources, lock)
        continued = partial.kept > 0
        built, units = _build_in(partial, toolchain, sources, needed, watch)
        content = _content(toolchain, partial.sources)
        name = key_of(content)
        if units is not None:
            content["units"] = sorted(units)
            name += f"-{key_of(content)[:8]}"
        executable = builds / name / EXECUTABLE
        cpu = None if continued else _cpu_of_children() - used
        origin = origin_of(toolchain, partial.seconds, cpu)
        built.with_name(ORIGIN).write_bytes(msgspec.json.format(msgspec.json.encode(origin)))
        files = (built, *(built.with_name(name) for name in (_BLAS, BUILD_LOG, ORIGIN)))
        install(files, content, folder / "ready", executable.parent)
        if units is None or lock is None:
            partial.remove()
        else:
            partial.set_aside(folder)
    watch(BuildProgress(toolchain.name, "ready", 1, 1, str(executable)))
    return executable


def _finished(builds: Path, key: str, needed: frozenset[str] | None) -> Path | None:
    """The executable of a finished build that holds the needed units, or all kernels."""
    if is_intact(builds / key, EXECUTABLE):
        return builds / key / EXECUTABLE
    if needed is None:
        return None
    for folder in sorted(builds.glob(f"{key}-*")):
        units = _stored_units(folder)
        if units is not None and needed <= units and is_intact(folder, EXECUTABLE):
            return folder / EXECUTABLE
    return None


def _stored_units(folder: Path) -> frozenset[str] | None:
    """The units of a stored build; None if it has all, or can't be read."""
    try:
        return units_in(msgspec.json.decode((folder / CONTENT).read_bytes(), type=dict))
    except (OSError, *UNREADABLE):
        return None


def _adopted(
    toolchain: Toolchain, needed: frozenset[str] | None, kernels: Collection[str] | None
) -> Path:
    """The executable of a build that was made elsewhere. Raises AssayError if it lacks kernels."""
    folder = Path(toolchain.built)
    units = _stored_units(folder)
    if units is not None and (needed is None or not needed <= units):
        lacking = listed(sorted(kernels)) if kernels is not None else "all kernels"
        raise AssayError(
            f"The stored build of the toolchain '{toolchain.name}' doesn't have "
            f"{lacking}, and there is no compiler on '{os.uname().nodename}'.",
            where=str(folder),
            fix="Build all kernels where there is a compiler, with the same cache: assay kernels "
            "--build.",
        )
    return folder / EXECUTABLE


def build_key(toolchain: Toolchain, sources: Path | None = None) -> str:
    """The key of a toolchain's build of all kernels on this machine."""
    return key_of(_content(toolchain, sources or native_sources()))


def _about(toolchain: Toolchain, sources: Path) -> About:
    identity = cpu_kind() if "native" in toolchain.flags else None
    return About(toolchain.name, identity, source_digest(sources))


def _build_in(
    partial: PartialBuild,
    toolchain: Toolchain,
    sources: Path,
    needed: frozenset[str] | None,
    watch: Watcher,
) -> tuple[Path, frozenset[str] | None]:
    """Compile the files that a folder lacks; returns the executable and its units (None: all).

    Units that were compiled earlier are added to the units ``needed``. Raises AssayError if
    it can't be built.

    Compiled files are kept if this process or the compiler gets a signal to end, or runs out of
    memory or disk space. After any other failure, a continued build starts over.
    """
    while True:
        try:
            units = _with_compiled(needed, partial)
            return _build(toolchain, partial, units, watch), units
        except AssayError as error:
            error.detail = error.detail.replace(str(partial.sources), str(sources))
            if _ENDED.search(error.detail):
                time.sleep(_GRACE)  # the signal that ended the compiler ends this process, too
                raise
            if not partial.kept:
                partial.remove()
                raise
            partial.restart()


def _with_compiled(needed: frozenset[str] | None, partial: PartialBuild) -> frozenset[str] | None:
    """The needed units and the compiled units; None if they are all units."""
    if needed is None:
        return None
    present = all_units(partial.sources)
    compiled = {unit for unit in present if f"{_OBJECTS}/{unit}.o" in partial.files}
    units = needed | compiled
    return None if units == present else units


def _cpu_of_children() -> float:
    """CPU time of the ended child processes of this process, s."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _content(toolchain: Toolchain, sources: Path) -> dict[str, object]:
    """Everything that the executable depends on, as JSON."""
    described = msgspec.to_builtins(toolchain)
    for name in _WITHOUT_EFFECT:
        described.pop(name)
    libraries = toolchain.blas.libraries if toolchain.blas else ()
    if "-O3" not in toolchain.flags:  # a new key: older builds had the -O3 that CMake added
        described["release"] = "-DNDEBUG"
    return {
        "assay": VERSION,
        "sealed": True,  # a new key: older builds have no seal
        "origin": True,  # and none of their toolchain
        "sources": source_digest(sources),
        "toolchain": described,
        "compiler": shutil.which(toolchain.cxx) if toolchain.cxx else None,
        "blas": [_file_state(Path(library)) for library in libraries],
        "cpu": cpu_identity() if "native" in toolchain.flags else os.uname().machine,
    }


def _file_state(path: Path) -> list[object]:
    """A library's resolved path, size and modification time; a name without a path is kept."""
    if not path.is_absolute() or not path.exists():
        return [str(path)]
    state = path.stat()
    return [str(path.resolve()), state.st_size, state.st_mtime_ns]


def _build(
    toolchain: Toolchain, partial: PartialBuild, units: frozenset[str] | None, watch: Watcher
) -> Path:
    """Configure and compile in a folder; returns the path of the executable."""
    sources, work, kept = partial.sources, partial.work, partial.kept

    def note(progress: BuildProgress) -> None:
        """Files that were compiled earlier count, too."""
        if progress.phase == "compile":
            done, total = progress.done + kept, progress.total + kept
            partial.compiled(progress.step, done, total)
            progress = replace(progress, done=done, total=total)
        watch(progress)

    environment = {k: v for k, v in os.environ.items() if k not in _UNWANTED}
    environment |= toolchain.wrapper_environment
    environment |= {"NINJA_STATUS": "[%f/%t] ", "LC_ALL": "C"}
    watch(BuildProgress(toolchain.name, "configure", 0, 1, "cmake"))
    configure = configure_command(toolchain, sources, work, units)
    _run(toolchain, "configure", configure, environment, watch)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(len(os.sched_getaffinity(0)))
    compile_all = [_tool("ninja"), "-C", str(work), "-j", jobs, EXECUTABLE]
    log = _run(
        toolchain=toolchain,
        phase="compile",
        command=compile_all,
        environment=environment,
        watch=note,
        lock=partial.lock,
    )
    (work / BUILD_LOG).write_text(log, "utf-8")
    return work / EXECUTABLE


def configure_command(
    toolchain: Toolchain, sources: Path, work: Path, units: Collection[str] | None = None
) -> list[str]:
    """The cmake line that ``native/CMakeLists.txt`` expects. ``units``: of kernels; None: all."""
    blas = toolchain.blas
    openmp = "" if re.search(r"openmp|-mp\b", toolchain.flags) else " -fopenmp"
    settings = {
        "CMAKE_CXX_COMPILER": shutil.which(toolchain.mpicxx) or toolchain.mpicxx,
        "CMAKE_MAKE_PROGRAM": _tool("ninja"),
        "CMAKE_BUILD_TYPE": "Release",
        # CMake's default puts -O3 after the toolchain's flags and so overrides their -O level.
        "CMAKE_CXX_FLAGS_RELEASE": "-DNDEBUG",
        "ASSAY_VERSION": VERSION,
        "ASSAY_CXX_FLAGS": toolchain.flags + openmp,
    }
    if blas:
        settings |= {
            "ASSAY_BLAS_LIBRARIES": ";".join(blas.libraries),
            "ASSAY_BLAS_INCLUDE_DIR": blas.include or "",
            "ASSAY_BLAS_PREFIX": blas.prefix,
            "ASSAY_BLAS_SUFFIX": blas.suffix,
            "ASSAY_BLAS_INT64": "ON" if blas.int64 else "OFF",
            "ASSAY_BLAS_NAME": f"{blas.name} {blas.version}" if blas.version else blas.name,
        }
    if units is not None:
        settings["ASSAY_KERNEL_UNITS"] = ";".join(sorted(units))
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    return [_tool("cmake"), "-S", str(sources), "-B", str(work), "-G", "Ninja", *defined]


def _tool(name: str) -> str:
    """``cmake`` or ``ninja``: from this interpreter's prefix, else from PATH."""
    own = shutil.which(name, path=str(Path(sys.prefix) / "bin"))
    found = own or shutil.which(name)
    if found is None:
        raise AssayError(f"There is no '{name}'.", fix=f"Install it: pip install {name}.")
    return found


def _fix(output: str) -> str:
    if lacks_header(output):
        return f"Install the MPI's header ({header_packages('other')}). The output follows."
    return "The output of the tools follows."


def _run(
    toolchain: Toolchain,
    phase: Literal["configure", "compile"],
    command: list[str],
    environment: Mapping[str, str],
    watch: Watcher,
    lock: int | None = None,
) -> str:
    """Run one tool and report its progress; returns its output, which errors have as ``detail``."""
    output: deque[str] = deque()
    tool = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        encoding="utf-8",
        errors="replace",
        pass_fds=() if lock is None else (lock,),
    )
    try:
        assert tool.stdout is not None
        for line in tool.stdout:
            step = re.match(r"\[(\d+)/(\d+)\] (.*)", line)
            # Before compiling ninja may regenerate its files; these steps are numbered 0.
            if step and phase == "compile" and step[1] != "0":
                done, total = int(step[1]), int(step[2])
                watch(BuildProgress(toolchain.name, phase, done, total, step[3]))
            output.append(line)
        status = tool.wait()
    finally:
        if tool.poll() is None:  # interrupted; on SIGTERM ninja ends its compilers
            tool.terminate()
            try:
                tool.wait(10)
            except subprocess.TimeoutExpired:
                tool.kill()
                tool.wait()
    if status:
        verb = "configured" if phase == "configure" else "compiled"
        raise AssayError(
            f"The kernels can't be {verb} with the toolchain '{toolchain.name}' "
            f"({toolchain.cxx_version or toolchain.mpicxx}).",
            fix=_fix("".join(output)),
            detail="".join(output),
        )
    return "".join(output)
