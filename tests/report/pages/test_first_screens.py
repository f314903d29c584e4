"""Every state of the first screen can be read in every window."""

from __future__ import annotations

import sys

import pytest

import prepared_assay
from assay.report.html import to_html
from assay.report.overview.impossible import MOST_IMPOSSIBLE, impossible_sentences
from first_screens import QUICK, STATES, WIDTHS, cannot, first_screen, said
from geometry import wide
from text_geometry import text_defects

# Several cores are thousands of times slower than one: a sentence for each of their cells.
COLLAPSED = """\
schema = 1
seed = 7
cores = 4
[[kernel]]
match = "memory.stream"
time = "1e-2 * (1 + 5e3 * (ranks > 1))"
resolved = { elements = 40000000 }
[[kernel]]
match = "npb.*"
time = "1e-2 * (1 + 5e3 * (ranks > 1))"
[[kernel]]
match = "*"
time = "1e-5"
"""


def defects_of(browser, page: str, widths=WIDTHS) -> list[str]:
    first, *others = widths
    browser.open_text(page, width=first)
    found = []
    for width in (first, *others):
        if width != first:
            browser.resize(width)
        found += [f"{width} px: {each}" for each in text_defects(browser)]
        if overflow := wide(browser):
            found.append(f"{width} px: {overflow} px wider than the window")
    children = browser.ask(
        "return [...document.querySelectorAll('.questions li')].map((e) => e.children.length)"
    )
    # No layout depends on the number of sentences: a place in the grid for each of three parts.
    found += [f"{count} children of a question" for count in children if count != 3]
    return [*found, *browser.errors()]


@pytest.mark.slow
@pytest.mark.parametrize("state", QUICK)
def test_the_first_screen_can_be_read(browser, state):
    assert defects_of(browser, to_html(first_screen(state))) == []


@pytest.mark.long
@pytest.mark.parametrize("state", [each for each in STATES if each not in QUICK])
def test_every_first_screen_can_be_read(browser, state):
    assert defects_of(browser, to_html(first_screen(state))) == []


@pytest.mark.slow
def test_the_page_of_a_run_with_impossible_values_can_be_read(browser, tmp_path):
    (tmp_path / "machine.toml").write_text(COLLAPSED)
    words = ("run", "quick", "--fake", "machine.toml", "--seed", "1", "--budget", "2 s", "--whole")
    ended = prepared_assay.run(
        [sys.executable, "-P", "-m", "assay", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert "more numbers are impossible; see the caveats of this question." in ended.stdout, (
        ended.stderr
    )
    (page,) = tmp_path.glob("runs/*/report.html")
    text = page.read_text(encoding="utf-8")
    assert text.count('class="impossible"') == MOST_IMPOSSIBLE + 1
    assert defects_of(browser, text) == []


def test_of_many_impossible_numbers_the_first_screen_has_two_and_their_number():
    section = said("speed", impossible=cannot(5))
    assert impossible_sentences(section) == [
        *cannot(5)[:2], "3 more numbers are impossible; see the caveats of this question.",
    ]  # fmt: skip
    # What stands above all verdicts is not repeated, though it says how many more there are.
    stated = f"{cannot(1)[0]} (4 more below)"
    assert impossible_sentences(section, [stated])[0] == cannot(2)[1]
    assert impossible_sentences(said("speed", impossible=cannot(2)), [stated]) == cannot(2)[1:]
