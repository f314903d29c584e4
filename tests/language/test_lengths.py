"""Sentences of documents and of commands' help are short."""

from __future__ import annotations

from pathlib import Path

import pytest

from language import ROOT, lengths, long_sentences, prose_files, sentences

WORDS, ALLOWED = lengths()


@pytest.mark.parametrize("path", prose_files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_sentences_are_short(path: Path) -> None:
    found = long_sentences(path, WORDS)
    name = path.relative_to(ROOT).as_posix()
    allowed = ALLOWED.get(name, 0)
    listing = "\n".join(f"{name}:{line}: {count} words: {text}" for line, count, text in found)
    assert len(found) <= allowed, f"more than {WORDS} words:\n{listing}"
    assert len(found) == allowed, (
        f"write {len(found)} for {name} in tests/data/language/lengths.toml, or run\n"
        "python tests/support/language.py --allow"
    )


def test_every_allowance_has_its_file() -> None:
    assert ALLOWED.keys() <= {path.relative_to(ROOT).as_posix() for path in prose_files()}


def test_a_long_sentence_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Short. " + "word " * WORDS + "`code of many words`. Short again.\n", "utf-8")
    found = long_sentences(page, WORDS)
    assert [(line, count, text[-5:]) for line, count, text in found] == [(1, WORDS + 2, "code.")]


def test_sentences_end_at_full_stops_and_not_within_code() -> None:
    text = "See `a. B`. It is [here](x. Y). (Or there.) Then “so”."
    assert sentences(text) == ["See code.", "It is here.", "(Or there.", "Then “so”."]
