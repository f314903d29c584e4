"""BLAS is limited to one thread while assay computes."""

from __future__ import annotations

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
