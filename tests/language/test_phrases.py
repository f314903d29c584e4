"""Messages, help, docstrings, comments and documents are in plain technical English.

The phrases to avoid are data (``tests/data/language/phrases.toml``). Folders that are still to be
rewritten are listed in ``pending.toml``; a folder leaves the list with its last phrase.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from language import (
    ROOT,
    Phrase,
    disagreements,
    files,
    hits,
    is_below,
    passages,
    pending,
    phrases,
)


def test_no_text_has_a_phrase_to_avoid() -> None:
    found = [hit for path in files() if not is_below(path, pending()) for hit in hits(path)]
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("folder", pending())
def test_a_folder_leaves_the_list_with_its_last_phrase(folder: str) -> None:
    assert (ROOT / folder).exists(), f"{folder} is gone: remove it from pending.toml"
    assert any(hits(path) for path in files(folder)), f"remove {folder} from pending.toml"


@pytest.mark.parametrize("phrase", phrases(), ids=lambda phrase: phrase.example)
def test_a_phrase_is_found_in_its_example_and_not_in_what_replaces_it(phrase: Phrase) -> None:
    assert list(phrase.matches(phrase.example))
    assert not list(phrase.matches(phrase.instead))
    assert phrase.why


def test_an_exception_covers_its_own_context_only() -> None:
    phrase = Phrase(re.compile("alone"), "", "", "", (re.compile("runs alone"),))
    assert [found.start() for found in phrase.matches("runs alone, on it alone")] == [18]


def test_every_kind_of_text_is_read(tmp_path: Path) -> None:
    python = tmp_path / "one.py"
    python.write_text(
        '"""Docstring\nof a module."""\n\n# A comment\n# of two lines.\nNAME = f"{1} is"  # aside\n'
        'raise ValueError(\n    "a message "\n    "of two parts"\n)\n',
        "utf-8",
    )
    assert [(each.kind, each.lines, each.text) for each in passages(python)] == [
        ("docstring", (1, 2), "Docstring of a module."),
        ("comment", (4, 5), "A comment of two lines."),
        ("string", (6, 6), "… is"),
        ("comment", (6, 6), "aside"),
        ("string", (8, 9), "a message of two parts"),
    ]
    native = tmp_path / "one.cpp"
    native.write_text(
        "// A comment\n// of two lines.\n/* And\n * a block. */\n"
        'throw Error("a message "\n"of two");\n',
        "utf-8",
    )
    assert [(each.kind, each.text) for each in passages(native)] == [
        ("comment", "A comment of two lines."),
        ("comment", "And a block."),
        ("string", "a message of two"),
    ]
    page = tmp_path / "one.md"
    page.write_text(
        "# A heading\n\nA paragraph\nof two lines.\n```\ncode\n```\n- an entry\n- another\n\n"
        "| a | cell |\n",
        "utf-8",
    )
    assert [each.text for each in passages(page)] == [
        "A heading",
        "A paragraph of two lines.",
        "an entry",
        "another",
        "a",
        "cell",
    ]
    plan = tmp_path / "one.toml"
    plan.write_text('# A comment\ntitle = "A # title"  # of a plan\n', "utf-8")
    assert sorted(each.text for each in passages(plan)) == ["A # title", "A comment", "of a plan"]


def test_a_verb_in_a_fixed_form_after_a_count_is_found(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(
        "f\"{counted(n, 'rank')} repeat their calls\"\n"
        "f\"{counted(n, 'rank')} of the program are late\"\n"
        "f\"With {counted(n, 'rank')} are two nodes\"\n"
        "f\"{counted(2, 'rank')} repeat their calls\"\n"
        "f\"{counted(n, 'rank')} failed\"\n",
        "utf-8",
    )
    assert [(hit.passage.lines[0], hit.found) for hit in disagreements(path)] == [
        (1, "repeat"),
        (2, "are"),
    ]


def test_all_prose_is_read() -> None:
    """The scan sees what users see: messages in the sources, suites, documents, native code."""
    read = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {
        "src/assay/cli/measuring/run.py",
        "src/assay/plans/suites/quick.toml",
        "native/harness/kernel.hpp",
        "docs/architecture.md",
        "README.md",
    } <= read
    assert not any("third_party" in path for path in read)
