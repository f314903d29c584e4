"""What each worker of pytest-xdist would do for itself in a new checkout, done once for all.

All test modules are compiled as pytest does, with their assertions rewritten, which takes 8 s of
CPU time. Hypothesis's constants, which it draws beside other values, are read from the modules of
assay, which takes 4 s. Neither has a command for it, so this calls the functions behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from _pytest.assertion import rewrite
from _pytest.config import _prepareconfig
from hypothesis.internal.constants_ast import constants_from_module

import assay

TESTS = Path(__file__).resolve().parents[1]


def rewritten(paths: Iterable[Path]) -> list[Path]:
    """The files with the compiled modules, which are written where they are missing or outdated."""
    config = _prepareconfig(["--noconftest", "-p", "no:cacheprovider"])
    state = config.stash[rewrite.assertstate_key]
    written = []
    for path in paths:
        folder = rewrite.get_cache_dir(path)
        target = folder / f"{path.name[:-3]}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(path, target) is None and rewrite.try_makedirs(folder):
            source, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, source, target)
        written.append(target)
    return written


def read_constants(paths: Iterable[Path]) -> None:
    """Keep the constants of these modules in Hypothesis's folder, below the current one."""
    for path in paths:
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        constants_from_module(module)


if __name__ == "__main__":
    read_constants(Path(assay.__file__).parent.rglob("*.py"))
    rewritten(sorted({*TESTS.rglob("test_*.py"), *TESTS.rglob("conftest.py")}))
