"""Small programs that show tests the insides of native code: built once, asked line by line."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.waiting import POLITE_WAITING
from native_build import NATIVE, TOOLS, content, digest, kept_in_cache

HERE = Path(__file__).parent
# What nearly every kernel's sources call.
HARNESS = (
    *("memory/pages.cpp", "memory/numa.cpp", "harness/kernel.cpp", "harness/clock.cpp"),
    *("harness/text_file.cpp", "harness/proc_text.cpp"),
)
OPTIMISED = ("-O1", "-march=native")
_SANITIZED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Under the sanitizers where ``make test-all`` asks for them.
SANITIZABLE = _SANITIZED if os.environ.get("ASSAY_TEST_SANITIZED") else OPTIMISED
_ALWAYS = ("-std=c++20", "-fopenmp", "-Wall", "-Wextra", "-Werror", "-Wno-restrict")


@dataclass(frozen=True)
class CheckProgram:
    """``main``: its file in tests/, which ends in ``answer_all`` of check_questions.hpp;
    ``sources``: of native/, what it is compiled with.
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
        """The answers, in words, line by line. ``flags``: in the place of the program's own.

        ``launched``: by mpirun, even a single rank, which else is this process's child and begins
        with the peak of its memory.
        """
        launcher = [str(TOOLS / "mpirun"), "-n", str(ranks)] if ranks > 1 or launched else []
        environment = {
            **POLITE_WAITING,
            "ASAN_OPTIONS": "detect_leaks=0",
            "OMP_WAIT_POLICY": "passive",
        }
        if threads is not None:
            environment["OMP_NUM_THREADS"] = str(threads)
        done = subprocess.run(
            [*launcher, str(_built(self.main, self.sources, flags or self.flags))],
            input="".join(f"{question}\n" for question in questions),
            capture_output=True,
            text=True,
            env=os.environ | environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [line.split() for line in done.stdout.splitlines()]


@cache
def _built(main: str, sources: tuple[str, ...], flags: tuple[str, ...]) -> Path:
    """The program, from the cache if its like was built before."""
    files = [HERE / main, *(NATIVE / source for source in sources)]
    version = _version(flags, *files)

    def link_to(folder: Path) -> None:
        _compile(flags, *(_object(file, flags) for file in files), "-o", folder / "check")

    return kept_in_cache(f"check-{Path(main).stem}", version, link_to) / "check"


def _object(source: Path, flags: tuple[str, ...]) -> Path:
    """What the compiler makes of one file: several programs have most of theirs in common."""

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
