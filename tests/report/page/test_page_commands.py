"""`--page` of every command that reports, as a user types it."""

from __future__ import annotations

import re
import sys

import pytest

import prepared_assay
from assay.design.example import EXAMPLE
from assay.report.page.html import to_page
from report_gallery import OTHERS, report_of
from terms_check import without_marks
from usage_logs import SWF

MACHINE = """
schema = 1
cores = 4
launch_time = "1 ms"
[[kernel]]
time = 0.001
noise = { sigma = 0.02, launch_sigma = 0.01 }
"""
PLAN = """
schema = 1
title = "Gradients and messages"
[[measure]]
kernel = "npb.cg"
class = "A"
ppn = [1, 4]
[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = [8, 4096]
"""
CONTRACT = """
schema = 1
title = "Gradients"
[[commitment]]
cells = "npb.cg class=A"
metric = "rate"
at_least = "1 Mop/s"
margin = "5%"
"""
_CARDS = ("What it is and does", "What it costs", "How sure it is", "To decide")
A4, LETTER = (8.27, 11.69), (8.5, 11.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two runs, a specification, a log and a contract."""
    place = tmp_path_factory.mktemp("place")
    (place / "machine.toml").write_text(MACHINE)
    (place / "plan.toml").write_text(PLAN)
    (place / "cluster.toml").write_text(EXAMPLE)
    (place / "log.swf").write_text(SWF)
    (place / "contract.toml").write_text(CONTRACT)
    for _ in range(2):
        done = assay(
            *("run", "plan.toml", "--fake", "machine.toml", "--no-report", "--launches", "6"),
            *("--fail-on", "never"),
            cwd=place,
        )
        assert done.returncode == 0, done.stderr
    return place


def assay(*words, cwd):
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words], cwd=cwd, capture_output=True, text=True
    )


def runs_of(folder):
    return sorted(each.name for each in (folder / "runs").iterdir())


@pytest.mark.parametrize(
    ("words", "name", "said"),
    [
        (["report"], "runs/{new}/report-page.html", "Simulated, "),
        (["compare", "{old}", "{new}"], "comparison-page.html", "of .* comparisons"),
        (["design", "cluster.toml"], "design-page.html", r"\d nodes?</strong>"),
        (["usage", "log.swf"], "usage-page.html", "in use</strong>"),
        (["history"], "history-page.html", "Findings"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_a_command_writes_its_page(folder, words, name, said):
    old, new = runs_of(folder)
    words = [word.format(old=old, new=new) for word in words]
    path = folder / name.format(new=new)
    done = assay(*words, "--page", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"page: {path.name}" in done.stdout or str(path.name) in done.stdout
    page = path.read_text()
    for heading in _CARDS[1:]:
        assert f"<h3>{heading}</h3>" in page
    assert re.search(said, page)
    assert page.count("<li>") >= 3


def test_the_page_of_an_acceptance_has_the_board_of_its_report(folder):
    (_, new) = runs_of(folder)
    done = assay("accept", "contract.toml", "--run", new, "--page", "-o", "b.html", cwd=folder)
    assert done.returncode in (0, 1, 3), done.stderr
    whole = assay("accept", "contract.toml", "--run", new, "-o", "w.html", cwd=folder)
    assert whole.returncode == done.returncode
    page, report = (folder / "b.html").read_text(), without_marks((folder / "w.html").read_text())
    (verdict,) = re.findall(r"<strong>(Accepted|Rejected|Undecided)</strong>", page)
    assert f"<strong>{verdict}</strong>" in report
    assert "The contract states no amounts." in page
    for decision in re.findall(r"<h3>To decide</h3>\s*<ul>\s*<li>(.*?)</li>", page, re.DOTALL):
        assert decision in report


def test_the_anonymous_page_has_no_names(folder):
    (_, new) = runs_of(folder)
    done = assay("report", "--page", "--anonymize", "-o", "anonymous.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "anonymous.html").read_text()
    assert "To decide" in page and new not in page and str(folder) not in page


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--page", "--format", "markdown"], "has the format html or pdf, not markdown"),
        (["--page", "--lines"], "has the format html or pdf, not lines"),
        (["--page", "--output", "x.md"], "has the format html or pdf, not markdown"),
        (["--page", "--format", "pdf", "--output", "x.html"], "The suffix means the format html"),
    ],
)
def test_other_formats_of_a_page_are_refused(folder, words, what):
    done = assay("report", *words, cwd=folder)
    assert done.returncode == 2 and what in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", ["npb", "network", "placement", *OTHERS])
def test_the_page_of_every_report_is_one_sheet(browser, tmp_path, name):
    browser.open_text(to_page(report_of(tmp_path, name)))
    assert browser.errors() == []
    for paper in (A4, LETTER):
        assert len(re.findall(rb"/Type\s*/Page\b", browser.printed(paper))) == 1
    for width in (703, 725):
        browser.paper(width=width)
        assert (
            browser.ask("""
          const main = document.querySelector("main");
          return main.scrollHeight - main.clientHeight;
        """)
            <= 0
        )
