"""The site of the documents: every page is in its menu, and it is built without a warning."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "site-env" / "bin" / "mkdocs"
MKDOCS = os.environ.get("ASSAY_TEST_MKDOCS") or (str(BUILT) if BUILT.exists() else None)
MKDOCS = MKDOCS or shutil.which("mkdocs")


def test_the_menu_has_every_page_once():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", text, re.MULTILINE)
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize(
    ("reader", "steps"), [("buyer", 4), ("administrator", 5), ("developer", 4), ("researcher", 4)]
)
def test_each_reader_has_a_guide(reader, steps):
    text = (ROOT / "docs" / "guides" / f"{reader}.md").read_text("utf-8")
    assert len(re.findall(r"^\d\. ", text, re.MULTILINE)) == steps
    assert f"guides/{reader}.md" in (ROOT / "docs" / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if MKDOCS is None:
        pytest.skip("There is no MkDocs: `make site` installs it.")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [MKDOCS, "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.long
def test_the_site_loads_nothing_from_outside(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="([^"]*)"',
                            page.read_text("utf-8"))  # fmt: skip
        assert not [each for each in loaded if each.startswith(("http:", "https:", "//"))], page


@pytest.mark.long
@pytest.mark.parametrize("page", ["index.html", "methods/network.html"])
def test_the_search_works_in_files(browser, site, page):
    browser.open(site / page)
    found = browser.ask("""
      const query = document.querySelector("input[data-md-component=search-query]");
      query.focus();
      query.value = "bisection";
      query.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
      const links = () => [...document.querySelectorAll(".md-search-result__link")];
      while (!links().length) await new Promise((done) => setTimeout(done, 20));
      return links().map((link) => link.href);
    """)
    assert len(found) > 3
    for address in found:
        path = re.split("[?#]", address.removeprefix(f"{site.as_uri()}/"))[0]
        assert (site / path).is_file()
    assert browser.errors() == []
