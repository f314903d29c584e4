"""The timeline beside a profile's report, with a link from it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from assay.report.destination import destination
from assay.report.profile.write import build_profile, present
from assay.subjects.profile.findings import find
from assay.subjects.profile.traced.findings import find_trace
from assay.trace.matching import match
from assay.trace.reading import read_profile
from profiles import header, write_profile
from timeline_page import Page
from traces import late_sender


@pytest.fixture
def found(tmp_path):
    ranks = {"0": [header(0)], "1": [header(1)]}
    return find(read_profile(write_profile(tmp_path / "app.profile", ranks)))


def shown(found, output, form=None):
    trace = late_sender()
    screen = io.StringIO()
    present(
        build_profile(found, find_trace(trace)), Console(file=screen, width=200),
        destination(form, output, Path("profile.html")), match(trace),
    )  # fmt: skip
    return trace, screen.getvalue()


@pytest.mark.parametrize(("name", "link"), [("a b.html", 'href="a%20b'), ("a b.md", "](a%20b")])
def test_a_report_has_a_link_to_its_timeline(found, tmp_path, name, link) -> None:
    output = tmp_path / "new folder" / name
    trace, screen = shown(found, output)
    timeline = output.with_name("a b-timeline.html")
    assert Page(timeline).head["calls"] == len(trace)
    assert f"timeline: {timeline}" in screen
    assert f"{link}-timeline.html" in output.read_text(encoding="utf-8")


def test_json_and_terminal_have_none(found, tmp_path) -> None:
    output = tmp_path / "new" / "report.json"
    _, screen = shown(found, output)
    assert json.loads(output.read_text())["files"] == []
    assert [path.name for path in output.parent.iterdir()] == ["report.json"]
    assert "timeline:" not in screen
    _, screen = shown(found, None, "terminal")
    assert "timeline:" not in screen
