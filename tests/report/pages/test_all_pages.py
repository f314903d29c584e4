"""Every page of every suite and command is drawn and can be read.

No figure has overlaps, cuts, crowded ticks and endless digits, and no page breaks a rule of
accessibility, in both themes. Nouns and verbs agree with their numbers.
"""

from __future__ import annotations

import pytest

from accessibility import violations
from assay.plans.suites import suites
from assay.report import html
from assay.report.timeline.annotate import annotate
from assay.report.timeline.write import write_timeline
from assay.trace.matching import match
from first_screens import WIDTHS
from geometry import complaints, defects, wide
from language import wrong_numbers_in
from report_gallery import MACHINES, OTHERS, SUITES, report_of
from terms_check import page_faults, printed_faults
from traces import stencil

# Pages without figures: the fake machine has no traces of noise (the page `unsteady` has them), and
# one number of each kind of ring.
WITHOUT = {"import", "noise", "ring", "simulate"}


def test_every_suite_is_drawn():
    assert sorted(SUITES) == sorted(suites())
    assert set(SUITES.values()) == set(MACHINES)


@pytest.mark.long
@pytest.mark.parametrize("name", [*SUITES, *OTHERS])
def test_a_page_can_be_read(browser, tmp_path, monkeypatch, name):
    # Pictures for paper take long, and are drawn from the same specification.
    picture = "<svg xmlns='http://www.w3.org/2000/svg'/>"
    monkeypatch.setattr(html, "drawn", lambda figures: [picture for _ in figures])
    model = report_of(tmp_path, name)
    assert wrong_numbers_in(model) == []
    assert any(section.figures for section in model.sections) == (name not in WITHOUT)
    page = html.to_html(model)
    assert page_faults(page) == []
    for width in (80, 120):
        assert printed_faults(model, width, verbose=True) == []
    assert defects(browser, page, WIDTHS) == []
    for dark in (False, True):
        browser.shade(dark=dark)
        found = violations(browser)
        assert found["wrong"] == []
        assert found["measured"] > 40
    assert complaints(browser) == []


@pytest.mark.long
def test_a_timeline_can_be_read(browser, tmp_path):
    trace = stencil(8, 10)
    path = tmp_path / "timeline.html"
    write_timeline(trace, path, annotate(match(trace)))
    for width in (400, 1200):
        browser.open(path, width=width)
        assert wide(browser) == 0
        for dark in (False, True):
            browser.shade(dark=dark)
            found = violations(browser)
            assert found["wrong"] == []
            assert found["measured"] > 100
    assert complaints(browser) == []
