"""Results of several processes are those of a loop, whatever happens to a process."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from assay.stats.changes import parallel
from assay.stats.changes.parallel import in_parallel


def children() -> set[int]:
    """The process numbers, also of those that ended and were not waited for."""
    return {one.pid for one in psutil.Process().children()}


@pytest.fixture(autouse=True)
def cpus(monkeypatch):
    monkeypatch.setattr(parallel, "available_cpus", lambda: 3)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 30])
def test_results_keep_their_order(count):
    found = in_parallel(lambda each: (each * each, os.getpid()), range(count), least=1)
    assert [value for value, _ in found] == [each * each for each in range(count)]
    assert len({process for _, process in found}) == min(count, 3)


def test_few_items_stay_in_this_process():
    assert in_parallel(lambda _: os.getpid(), range(9), least=5) == [os.getpid()] * 9


def test_a_process_that_ends_early_is_replaced():
    own = os.getpid()

    def ending(item: int) -> int:
        if os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    before = children()
    assert in_parallel(ending, range(9), least=1) == list(range(9))
    assert children() == before


@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_is_raised_and_no_process_is_left(bad):
    def failing(item: int) -> int:
        if item == bad:
            raise ValueError(item)
        return item

    before = children()
    with pytest.raises(ValueError, match=str(bad)):
        in_parallel(failing, range(6), least=1)
    assert children() == before
