"""Sites of generated runs, and what their pages link to."""

from __future__ import annotations

import os
import urllib.parse
from pathlib import Path

from assay.report.site.build import build_site
from many_runs import ManyRuns
from report_pages import Page

WORSE = 1.2


def two_stores(root: Path) -> tuple[ManyRuns, ManyRuns]:
    """A machine whose first cell became slower in the middle of its runs, and a steady one."""
    first = ManyRuns(
        root / "a", "alpha", cells=3, factor=lambda c, r: WORSE if c == 0 and r >= 15 else 1.0
    )
    second = ManyRuns(root / "b", "beta", cells=2, seed=2)
    first.write(30)
    second.write(24)
    return first, second


def built(root: Path, output: Path, **more: bool):
    """The site of all stores below a folder."""
    return build_site(sorted(path for path in root.iterdir() if path.is_dir()), output, **more)


def pages_of(site: Path) -> dict[str, str]:
    """Each file of a site but its data, as text."""
    return {
        str(path.relative_to(site)): path.read_text("utf-8")
        for path in sorted(site.rglob("*"))
        if path.is_file() and not path.relative_to(site).parts[0].startswith(".")
    }


def check_links(site: Path) -> int:
    """Every link of every page leads to a file; returns the number of links."""
    links = 0
    for name, text in pages_of(site).items():
        if not name.endswith(".html"):
            continue
        page = Page(text)
        found = [each["href"] for each in page.all("a")] + [
            each["src"] for each in page.all("script")
        ]
        found += [each["href"] for each in page.all("link") if each["rel"] == "stylesheet"]
        for target in found:
            assert target is not None
            path = urllib.parse.unquote_to_bytes(target.partition("#")[0])
            place = (site / name).parent if path else site / name
            assert Path(place, os.fsdecode(path)).exists(), (name, target)
            links += 1
    return links
