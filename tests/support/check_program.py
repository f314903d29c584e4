"""Small programs that give tests access to internals of native code: built once, line by line."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from native_build import (
    FOR_TESTS,
    INSIDE,
    NATIVE,
    TOOLS,
    build_kernels,
    content,
    digest,
    kept_in_cache,
)
from patient_ranks import patient

HERE = Path(__file__).parent
# Sources that nearly every kernel uses.
HARNESS = (
    *("memory/pages.cpp", "memory/numa.cpp", "harness/kernel.cpp", "harness/clock.cpp"),
    *("harness/phases.cpp", "harness/text_file.cpp", "harness/proc_text.cpp"),
)
OPTIMISED = ("-O1", "-march=native")
_SANITIZED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Under the sanitizers if ``make test-all`` requests them.
SANITIZABLE = _SANITIZED if os.environ.get("ASSAY_TEST_SANITIZED") else OPTIMISED
_ALWAYS = ("-std=c++20", "-fopenmp", "-Wall", "-Wextra", "-Werror", "-Wno-restrict")


@dataclass(frozen=True)
class CheckProgram:
    """``main``: its file in tests/, which ends in ``answer_all`` of check_questions.hpp;
    ``sources``: files of native/ that are compiled with it.
    """

    main: str
    sources: tuple[str, ...]
    flags: tuple[str, ...] = OPTIMISED

    def ask(
        self,
        *questions: str,
        ranks: int = 1,
        threads: int | None = None,
        flags: tuple[str, ...] | None = None,
        launched: bool = False,
    ) -> list[list[str]]:
        """The answers, as lists of words, line by line. ``flags``: replace the program's own.

        ``launched``: started by mpirun, even for a single rank. Otherwise a single rank is a child
        of this process and starts with the peak memory of this process.
        """
        launcher = [str(TOOLS / "mpirun"), "-n", str(ranks)] if ranks > 1 or launched else []
        environment = {
            "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
            "OMP_WAIT_POLICY": "passive",
        }
        if threads is not None:
            environment["OMP_NUM_THREADS"] = str(threads)
        done = subprocess.run(
            [*launcher, str(_built(self.main, self.sources, flags or self.flags))],
            input="".join(f"{question}\n" for question in questions),
            capture_output=True,
            text=True,
            env=patient({**os.environ, **environment}),
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [line.split() for line in done.stdout.splitlines()]


@cache
def _built(main: str, sources: tuple[str, ...], flags: tuple[str, ...]) -> Path:
    """The program, from the cache if it was built before with the same content."""
    files = [HERE / main, *(NATIVE / source for source in sources)]
    version = _version(flags, *files)

    def link_to(folder: Path) -> None:
        if flags == SANITIZABLE:  # as the kernels built for tests, which have all sources
            inside = build_kernels(FOR_TESTS).with_name(INSIDE)
            places = [f"-I{NATIVE}", f"-I{HERE}", "-DASSAY_TEST_FAULTS", "-no-pie", "-ldl"]
            _compile(flags, files[0], inside, *places, "-o", folder / "check")
        else:
            _compile(flags, *(_object(file, flags) for file in files), "-o", folder / "check")

    return kept_in_cache(f"check-{Path(main).stem}", version, link_to) / "check"


def _object(source: Path, flags: tuple[str, ...]) -> Path:
    """The object file of one source: several programs share most of theirs."""

    def compile_to(folder: Path) -> None:
        places = [f"-I{NATIVE}", f"-I{HERE}"]
        _compile(flags, *places, "-c", source, "-o", folder / "object.o")

    name = "-".join((source.parent.name, source.stem))  # several folders have a solver.cpp
    folder = kept_in_cache(f"object-{name}", _version(flags, source), compile_to)
    return folder / "object.o"


def _version(flags: tuple[str, ...], *files: Path) -> str:
    words = repr((_ALWAYS, flags, files, TOOLS)).encode()
    own = [path.read_bytes() for path in (*files, HERE / "check_questions.hpp")]
    return digest(_native(), words, *own)


@cache
def _native() -> bytes:
    return content()


def _compile(flags: tuple[str, ...], *words: str | Path) -> None:
    command = [TOOLS / "mpicxx", *_ALWAYS, *flags, *words]
    subprocess.run([*map(str, command)], check=True)
