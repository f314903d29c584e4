"""Every page of every suite and command is drawn and can be read.

No figure has overlaps, cuts, crowded ticks and endless digits, and no page breaks a rule of
accessibility, in both themes.
"""

from __future__ import annotations

import pytest

from accessibility import violations
from assay.plans.suites import suites
from assay.report import html
from geometry import complaints, defects
from report_gallery import MACHINES, OTHERS, SUITES, report_of

# Pages without figures: the fake machine has no traces of noise (the page `unsteady` has them).
WITHOUT = {"import", "noise"}


def test_every_suite_is_drawn():
    assert sorted(SUITES) == sorted(suites())
    assert set(SUITES.values()) == set(MACHINES)


@pytest.mark.long
@pytest.mark.parametrize("name", [*SUITES, *OTHERS])
def test_a_page_can_be_read(browser, tmp_path, monkeypatch, name):
    # Pictures for paper take long, and are drawn from the same specification.
    monkeypatch.setattr(html, "svg", lambda _: "<svg xmlns='http://www.w3.org/2000/svg'/>")
    model = report_of(tmp_path, name)
    assert any(section.figures for section in model.sections) == (name not in WITHOUT)
    assert defects(browser, html.to_html(model), (400, 1200)) == []
    for dark in (False, True):
        browser.shade(dark=dark)
        found = violations(browser)
        assert found["wrong"] == []
        assert found["measured"] > 100
    assert complaints(browser) == []
