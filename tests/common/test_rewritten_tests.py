"""Test modules that are compiled beforehand are those that pytest would compile."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rewritten_tests import rewritten

pytest_plugins = ["pytester"]
MODULE = "def test_it():\n    assert [1, 2] == [1, 3]\n"


def test_pytest_loads_them_without_compiling(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(test_it=MODULE)
    (compiled,) = rewritten([Path(path)])
    before = compiled.stat()
    done = pytester.runpytest_subprocess("-p", "no:xdist")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*At index 1 diff: 2 != 3*"])
    after = compiled.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    # Where there is no compiled module, pytest writes the same.
    content = compiled.read_bytes()
    shutil.rmtree(compiled.parent)
    pytester.runpytest_subprocess("-p", "no:xdist")
    assert compiled.read_bytes() == content
