"""Nouns and verbs of finished texts agree with their numbers: "1 rank repeats", "2 nodes are"."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from language import wrong_numbers
from report_gallery import OTHERS, SUITES, report_of

QUICK = ("quick", "profile", "simulate")


def texts(value: object) -> Iterator[str]:
    """All strings of a decoded document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


@pytest.mark.parametrize(
    "name",
    [
        *QUICK,
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in (*SUITES, *OTHERS)
            if name not in QUICK
        ),
    ],
)
def test_numbers_agree_in_reports(tmp_path: Path, name: str) -> None:
    document = msgspec.to_builtins(report_of(tmp_path, name))
    found = {wrong for text in texts(document) for wrong in wrong_numbers(text)}
    assert not found, "\n".join(sorted(found))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("1 rank repeat their calls", 1),
        ("1 rank are late", 1),
        ("1 rank have no profile", 1),
        ("only 1 nodes failed", 1),
        ("1 launches", 1),
        ("2 nodes is late", 1),
        ("0 cells has a result", 1),
        ("1 node is late, 2 are not", 0),
        ("1 rank per node", 0),
        ("1 of 2 cells has regressed", 0),
        ("in 1 s, 1 process of 1 class was busy", 0),
        ("0.1 launches per second, 2.1 runs, 1,001 nodes", 0),
        ("1 s and 1 ms", 0),
        ("1/1 runs, window=1 buffers=one", 0),
    ],
)
def test_disagreement_is_found(text: str, wrong: int) -> None:
    assert len(wrong_numbers(text)) == wrong
