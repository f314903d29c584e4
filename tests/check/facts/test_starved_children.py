"""A child that gets no processor time is not a hung file system."""

from __future__ import annotations

import time
from collections.abc import Iterator

from assay.check.facts.children import LATE, STARVED, ask_children
from assay.check.model import Fact


def spins() -> Iterator[Fact]:
    until = time.monotonic() + 5.0
    while time.monotonic() < until:
        pass
    yield Fact(name="late", value=1)


def waits() -> Iterator[Fact]:
    time.sleep(5.0)
    yield Fact(name="late", value=1)


def answers() -> Iterator[Fact]:
    yield Fact(name="here", value=1)


def test_what_waits_is_late_and_what_computes_is_starved() -> None:
    questions = {"spins": spins, "waits": waits, "answers": answers}
    # Long enough to begin, on a busy machine too.
    found = ask_children(questions, time.monotonic() + 2.0).answers
    assert found["spins"].failed == STARVED
    assert found["waits"].failed == LATE
    assert found["answers"].whole and found["answers"].facts == [Fact(name="here", value=1)]


def test_children_that_had_no_time_to_begin_are_starved() -> None:
    questions = {f"mount.{number}": answers for number in range(20)}
    found = ask_children(questions, time.monotonic() - 1.0, frozenset(questions)).answers
    late = [name for name, answer in found.items() if answer.failed == LATE]
    assert late == []
