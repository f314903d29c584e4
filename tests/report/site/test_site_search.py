"""A site in a browser: from files, in both colour schemes, on narrow windows, by keyboard."""

from __future__ import annotations

import pytest

from accessibility import violations
from sites import built, two_stores

TYPE = """
const box = document.getElementById("search");
box.value = %r;
box.dispatchEvent(new Event("input", { bubbles: true }));
await window.assayReady;
return [...document.querySelectorAll("#found li")].map((item) => item.innerText);
"""
PRESS = """
const target = document.activeElement || document.body;
target.dispatchEvent(new KeyboardEvent("keydown", { key: %r, bubbles: true, cancelable: true }));
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root = tmp_path_factory.mktemp("search")
    two_stores(root / "stores")
    built(root / "stores", root / "site")
    return root / "site"


@pytest.mark.parametrize("page", ["index.html", "machines/alpha/index.html"])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_and_are_accessible(site, browser, page, dark):
    for width in (400, 1200):
        browser.open(site / page, width=width, dark=dark)
        assert browser.ask("return document.documentElement.scrollWidth <= innerWidth")
        assert violations(browser)["wrong"] == []
        assert browser.errors() == []
    shade = browser.ask("return getComputedStyle(document.body).backgroundColor")
    assert shade == ("rgb(15, 18, 22)" if dark else "rgb(246, 247, 249)")


def test_the_search_finds_machines_cells_and_runs_by_keyboard(site, browser):
    browser.open(site / "index.html")
    browser.ask(PRESS % "/")
    assert browser.ask("return document.activeElement.id") == "search"
    assert browser.ask(TYPE % "alpha")[0].startswith("alpha")
    assert any("network.barrier" in each for each in browser.ask(TYPE % "barrier"))
    found = browser.ask(TYPE % "2023-11-15 beta")
    assert len(found) == 4 and all("20231115" in each for each in found)
    assert browser.ask("return document.getElementById('said').textContent") == "4 found."
    for _ in range(2):
        browser.ask(PRESS % "ArrowDown")
    chosen = browser.ask(
        "return document.querySelector('#found [aria-selected=true] a').getAttribute('href')"
    )
    assert chosen == "machines/beta/runs-2023-11.html"
    active = browser.ask(
        "return document.getElementById('search').getAttribute('aria-activedescendant')"
    )
    assert active == "found-1"
    browser.ask(PRESS % "Escape")
    assert browser.ask("return document.getElementById('found').hidden")
    assert browser.ask(TYPE % "nothing of this kind") == []
    assert browser.ask("return document.getElementById('said').textContent") == "Nothing found."
    assert browser.errors() == []


def test_a_page_of_a_machine_finds_other_machines(site, browser):
    browser.open(site / "machines/alpha/runs-2023-11.html")
    browser.ask("document.getElementById('search').focus()")
    browser.ask(TYPE % "beta")
    browser.ask("window.went = document.querySelector('#found a').href;")
    assert browser.ask("return window.went").endswith("/site/machines/beta/index.html")
    assert browser.errors() == []
