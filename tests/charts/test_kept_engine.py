"""The engine that draws for all tests of a worker, and which forked commands share."""

from __future__ import annotations

import os
import signal

import pytest

from assay.charts import drawing_process
from one_drawing_engine import KEPT

POINT = {"mark": "point", "data": {"values": [{}]}}


def drawn(text: str) -> str:
    return drawing_process.svgs([{**POINT, "title": text}])[0]


def test_one_process_draws_all_figures_with_their_own_contents() -> None:
    first, process = drawn("one"), KEPT.start()
    second = drawn("another")
    assert ">one<" in first and ">another<" in second and ">one<" not in second
    assert KEPT.start() is process


def test_it_starts_again_after_its_end() -> None:
    drawn("one")
    process = KEPT.start()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert ">another<" in drawn("another")
    assert KEPT.start() is not process


def test_an_answer_that_was_not_read_does_not_reach_the_next_report() -> None:
    with pytest.raises(KeyboardInterrupt), drawing_process._engine() as engine:
        assert engine.stdin is not None
        engine.stdin.write('{"what": "svg", "spec": {"mark": "point", "title": "stray"}}\n')
        engine.stdin.flush()
        raise KeyboardInterrupt
    assert ">mine<" in drawn("mine")


def test_a_failed_figure_is_an_error_as_for_users() -> None:
    with pytest.raises(ValueError):
        drawing_process.svgs([{"mark": "nothing of the kind"}])
    assert ">mine<" in drawn("mine")
