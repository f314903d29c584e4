"""Small programs that show tests the insides of native code: built once, asked line by line."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from native_build import NATIVE, TOOLS, content, digest, kept_in_cache

HERE = Path(__file__).parent
# What nearly every kernel's sources call.
HARNESS = ("memory/pages.cpp", "memory/numa.cpp", "harness/kernel.cpp", "harness/clock.cpp")
OPTIMISED = ("-O1", "-march=native")
SANITIZED = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
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
        environment = {"ASAN_OPTIONS": "detect_leaks=0", "OMP_WAIT_POLICY": "passive"}
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
    own = [HERE / main, HERE / "check_questions.hpp"]
    words = "\n".join((*_ALWAYS, *flags, *sources, str(TOOLS)))
    name = digest(content(), words.encode(), *(path.read_bytes() for path in own))

    def compile_to(folder: Path) -> None:
        files = [HERE / main, *(NATIVE / source for source in sources)]
        places = [f"-I{NATIVE}", f"-I{HERE}"]
        command = [TOOLS / "mpicxx", *_ALWAYS, *flags, *places, *files, "-o", folder / "check"]
        subprocess.run([*map(str, command)], check=True)

    return kept_in_cache(f"check-{Path(main).stem}", name, compile_to) / "check"
