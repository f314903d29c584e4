"""BLAS is limited to one thread while assay computes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from assay.stats.core.one_thread import one_thread


def threads() -> set[int]:
    return {int(one["num_threads"]) for one in threadpool_info() if one["user_api"] == "blas"}


def test_it_is_limited_meanwhile_and_as_it_was_afterwards() -> None:
    import scipy.linalg  # noqa: F401

    @one_thread
    def seen(word: str, *, fail: bool = False) -> tuple[str, set[int]]:
        """What it is for."""
        if fail:
            raise ValueError(word)
        return word, threads()

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        assert seen("a") == ("a", {1})
        assert threads() == before
        with pytest.raises(ValueError, match="b"):
            seen("b", fail=True)
        assert threads() == before
    assert seen.__doc__ == "What it is for."


NEW = """
import sys
from threadpoolctl import threadpool_info
from assay.stats.core.one_thread import one_thread


@one_thread
def seen():
    before = {one["filepath"] for one in threadpool_info() if one["user_api"] == "blas"}
    import scipy.linalg
    blas = [one for one in threadpool_info() if one["user_api"] == "blas"]
    assert {one["filepath"] for one in blas} == before, (before, blas)
    assert {one["num_threads"] for one in blas} == {1}, blas


one_thread(lambda: None)()
assert "scipy.linalg" not in sys.modules
seen()
"""


def test_a_new_process_limits_what_is_imported_later() -> None:
    """SciPy's BLAS is loaded before its modules are, which not every report needs."""
    done = subprocess.run([sys.executable, "-c", NEW], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
