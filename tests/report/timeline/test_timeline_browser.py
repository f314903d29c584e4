"""The timeline in a real browser: it decodes and draws, and keys, search and links work."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.report.timeline.annotate import annotate
from assay.report.timeline.write import write_timeline
from assay.trace.matching import match
from timeline_page import Page, noisy
from traces import repeated, stencil

pytestmark = pytest.mark.slow

STEPS = Path(__file__).parents[2] / "data" / "report" / "timeline_steps.js"


@pytest.fixture(scope="module")
def trace():
    return noisy(repeated(stencil(5, 10, hosts=["a", "a", "b", "b", "b"]), 4), length=3e-4)


@pytest.mark.parametrize(
    ("dark", "width"),
    [
        (False, 1200),
        pytest.param(True, 400, marks=pytest.mark.long),
        pytest.param(True, 1200, marks=pytest.mark.long),
        pytest.param(False, 400, marks=pytest.mark.long),
    ],
)
def test_a_timeline_is_drawn_and_obeys(browser, trace, tmp_path, dark, width) -> None:
    path = tmp_path / "timeline.html"
    write_timeline(trace, path, annotate(match(trace)))
    page = Page(path)
    browser.open(path, dark=dark, width=width)
    found = browser.ask(STEPS.read_text(encoding="utf-8"))
    assert found["errors"] == []
    _assert_contents(found, page)
    _assert_keys(found, page)
    assert not found["overflow"]
    # The other theme after a click; states of both levels of detail in the theme's colours.
    assert found["ground"] == ("rgb(246, 247, 249)" if dark else "rgb(15, 18, 22)")
    theme = page.head["colours"]["dark" if dark else "light"]
    expected = {int(theme["states"][s["colour"]][1:], 16) for s in page.head["states"]}
    assert {int(theme["computing"][1:], 16)} <= set(found["wholeColours"])
    assert len(expected & set(found["wholeColours"])) >= 2
    assert len(expected & set(found["detailColours"])) >= 2


def _assert_contents(found, page) -> None:
    head = page.head
    calls = [
        [row, begin, length, head["functions"][kind["function"]]["name"],
         head["sites"][kind["site"]], str(kind["peer"]) if kind["peer"] >= 0 else "",
         kind["tag"], kind["sent"], kind["received"]]
        for row, rank in enumerate(page.calls[0])
        for begin, length, kind in rank
    ]  # fmt: skip
    assert found["calls"] == calls
    offsets = [0]
    for rank in page.calls[0]:
        offsets.append(offsets[-1] + len(rank))
    assert found["arrows"] == [
        [offsets[s] + send, offsets[r] + receive, s, r] for _, s, send, r, receive in page.arrows()
    ]
    for rank, shares in zip(head["ranks"], found["shares"], strict=True):
        exact = [time / (head["end"] / 1e9) for time in rank["times"]]
        assert shares == pytest.approx(exact, abs=0.004)
    assert found["rows"] == len(head["ranks"])
    assert found["contained"].startswith(f"All {head['calls']:,} calls, and their")


def _assert_keys(found, page) -> None:
    head = page.head
    length = found["whole"][1] - found["whole"][0]
    assert found["zoomed"] == pytest.approx(0.7 * length)
    assert found["moved"] - found["back"] == pytest.approx(0.15 * found["zoomed"], rel=0.01)
    assert found["home"] == pytest.approx(found["whole"])
    wait = head["waits"][0]
    assert found["wait"][0] <= wait["begin"] < wait["end"] <= found["wait"][1]
    assert f"MPI_{wait['function']}" in found["wait"][2]
    assert found["second"] == found["first"] + 1
    assert found["link"] == 1
    assert found["matches"].startswith("200 calls, ")
    assert (found["match"]["name"], found["match"]["world"]) == ("Allreduce", 1)
    assert found["none"] == "no match"
    assert found["arrowsShown"] is False
    assert found["tip"]
    assert "calls in view" in found["wait"][3]
    assert "shares of the states per pixel" in found["status"]
