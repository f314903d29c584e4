"""Compiles all test modules as pytest does, with their assertions rewritten: once for all workers.

In a new checkout each worker of pytest-xdist would do this for itself, which takes 8 s of CPU time.
pytest has no command for it, so this calls the functions behind its import hook.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from _pytest.assertion import rewrite
from _pytest.config import _prepareconfig

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


if __name__ == "__main__":
    rewritten(sorted({*TESTS.rglob("test_*.py"), *TESTS.rglob("conftest.py")}))
