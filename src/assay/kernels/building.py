"""Building ``assay-kernels``: once per toolchain, kept in a cache under the hash of its content."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

import assay
from assay.cache import cache_folder
from assay.errors import AssayError
from assay.kernels.builds.compiling import header_packages, lacks_header
from assay.kernels.builds.identity import cpu_identity, cpu_kind, source_digest
from assay.kernels.builds.origin import EXECUTABLE, ORIGIN, origin_of
from assay.kernels.builds.partial import About, PartialBuild
from assay.kernels.builds.sealed import (
    BUILD_LOG,
    PARTIAL,
    building_alone,
    install,
    is_intact,
    key_of,
    working_folder,
)
from assay.kernels.builds.shared import shared_build
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.sources import native_sources

# The library that it loads from its own folder, if there is a BLAS.
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
# Environment variables that would change the build without changing its key.
# Output of tools that were killed, or that ran out of memory or disk space.
_ENDED = re.compile(
    r"ninja: build stopped: interrupted|\bKilled\b|Terminated signal|No space left on device"
    r"|Disk quota exceeded|[Cc]annot allocate memory|virtual memory exhausted"
)
# Seconds after the end of a compiler in which this process may get a signal to end, too.
_GRACE = 2.0
_UNWANTED = ("CXX", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "CMAKE_TOOLCHAIN_FILE")


@dataclass(frozen=True)
class BuildProgress:
    """Progress of a build: ``done`` of ``total`` steps; ``step`` is the last one done.

    While another process builds, the phase is "wait", and ``step`` that process and its host.
    """

    toolchain: str
    phase: Literal["wait", "configure", "compile", "ready"]
    done: int
    total: int
    step: str


Watcher = Callable[[BuildProgress], None]


def build_kernels(
    toolchain: Toolchain, progress: Watcher | None = None, *, sources: Path | None = None
) -> Path:
    """The executable for a toolchain: from the cache if it is there, else built now.

    Raises AssayError if the toolchain can't build, with the compiler's output in ``detail``; if the
    cache can't be written; and if other users may write to it. The site's builds are looked up
    first (``builds/shared.py``). A cached build is compared with the digests in its seal, and
    replaced if it differs. Of concurrent processes one builds, and the others wait for it, on all
    nodes that share the cache. A killed build leaves nothing at the final path; what it had
    compiled is kept, and the next builder continues it.
    """
    if toolchain.problem:
        raise AssayError(toolchain.problem, fix=toolchain.fix)
    if toolchain.built:
        return Path(toolchain.built) / EXECUTABLE
    sources = sources or native_sources()
    watch = progress or (lambda _: None)
    key = build_key(toolchain, sources)
    if (shared := shared_build(key, EXECUTABLE)) is not None:
        return shared
    builds = cache_folder("builds")
    executable = builds / key / EXECUTABLE
    if is_intact(executable.parent, EXECUTABLE):
        return executable

    def wait(other: str) -> None:
        watch(BuildProgress(toolchain.name, "wait", 0, 1, other))

    with building_alone(key, wait) as lock, working_folder(builds) as folder:
        # The new folder makes an NFS client read the list of builds again, which it else keeps for
        # a minute (acdirmax in nfs(5)): another node may have put this build there meanwhile.
        if is_intact(executable.parent, EXECUTABLE):
            return executable
        used = _cpu_of_children()
        # A folder that two processes might use at once is not continued by any process.
        place = folder / "build" if lock is None else builds / f"{PARTIAL}{key}"
        # A copy is built, since sources edited during the build would be kept under a wrong key.
        partial = PartialBuild(place, _about(toolchain, sources), sources, lock)
        continued = partial.kept > 0
        built = _build_in(partial, toolchain, sources, watch)
        content = _content(toolchain, partial.sources)
        executable = builds / key_of(content) / EXECUTABLE
        cpu = None if continued else _cpu_of_children() - used
        origin = origin_of(toolchain, partial.seconds, cpu)
        built.with_name(ORIGIN).write_bytes(msgspec.json.format(msgspec.json.encode(origin)))
        files = (built, *(built.with_name(name) for name in (_BLAS, BUILD_LOG, ORIGIN)))
        install(files, content, folder / "ready", executable.parent)
        partial.remove()
    watch(BuildProgress(toolchain.name, "ready", 1, 1, str(executable)))
    return executable


def build_key(toolchain: Toolchain, sources: Path | None = None) -> str:
    """The key of a toolchain's build on this machine."""
    return key_of(_content(toolchain, sources or native_sources()))


def _about(toolchain: Toolchain, sources: Path) -> About:
    identity = cpu_kind() if "native" in toolchain.flags else None
    return About(toolchain.name, identity, source_digest(sources))


def _build_in(partial: PartialBuild, toolchain: Toolchain, sources: Path, watch: Watcher) -> Path:
    """Compile what a folder lacks; returns the executable. Raises AssayError if it can't be built.

    What was compiled is kept if this process, or the compiler, gets a signal to end, or runs
    out of memory or disk space. After another failure of a build that was continued, it starts
    over.
    """
    while True:
        try:
            return _build(toolchain, partial, watch)
        except AssayError as error:
            error.detail = error.detail.replace(str(partial.sources), str(sources))
            if _ENDED.search(error.detail):
                time.sleep(_GRACE)  # the signal that ended the compiler ends this process, too
                raise
            if not partial.kept:
                partial.remove()
                raise
            partial.restart()


def _cpu_of_children() -> float:
    """CPU time of the processes that this one has started and that have ended, s."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _content(toolchain: Toolchain, sources: Path) -> dict[str, object]:
    """All that the executable depends on, as JSON."""
    described = msgspec.to_builtins(toolchain)
    for name in _WITHOUT_EFFECT:
        described.pop(name)
    libraries = toolchain.blas.libraries if toolchain.blas else ()
    if "-O3" not in toolchain.flags:  # a new key: older builds had the -O3 that CMake added
        described["release"] = "-DNDEBUG"
    return {
        "assay": assay.__version__,
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


def _build(toolchain: Toolchain, partial: PartialBuild, watch: Watcher) -> Path:
    """Configure and compile in a folder; returns the path of the executable."""
    sources, work, kept = partial.sources, partial.work, partial.kept

    def note(progress: BuildProgress) -> None:
        """Count what was compiled before, too."""
        if progress.phase == "compile":
            done, total = progress.done + kept, progress.total + kept
            partial.compiled(progress.step, done, total)
            progress = replace(progress, done=done, total=total)
        watch(progress)

    environment = {k: v for k, v in os.environ.items() if k not in _UNWANTED}
    environment |= toolchain.wrapper_environment
    environment |= {"NINJA_STATUS": "[%f/%t] ", "LC_ALL": "C"}
    watch(BuildProgress(toolchain.name, "configure", 0, 1, "cmake"))
    configure = configure_command(toolchain, sources, work)
    _run(toolchain, "configure", configure, environment, watch)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(len(os.sched_getaffinity(0)))
    compile_all = [_tool("ninja"), "-C", str(work), "-j", jobs, EXECUTABLE]
    log = _run(toolchain, "compile", compile_all, environment, note, partial.lock)
    (work / BUILD_LOG).write_text(log, "utf-8")
    return work / EXECUTABLE


def configure_command(toolchain: Toolchain, sources: Path, work: Path) -> list[str]:
    """The cmake line that ``native/CMakeLists.txt`` expects."""
    blas = toolchain.blas
    openmp = "" if re.search(r"openmp|-mp\b", toolchain.flags) else " -fopenmp"
    settings = {
        "CMAKE_CXX_COMPILER": shutil.which(toolchain.mpicxx) or toolchain.mpicxx,
        "CMAKE_MAKE_PROGRAM": _tool("ninja"),
        "CMAKE_BUILD_TYPE": "Release",
        # CMake's default puts -O3 after the toolchain's flags and so overrides their -O level.
        "CMAKE_CXX_FLAGS_RELEASE": "-DNDEBUG",
        "ASSAY_VERSION": assay.__version__,
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
    """Run one tool and report its progress; returns its output. Errors have it as ``detail``."""
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
