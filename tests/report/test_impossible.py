"""Impossible numbers are on the first screen of every format, and in the JSON report."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from assay.report.build import build
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from assay.report.terminal import print_report
from report_builder import CLOCK, make_cell, make_run, make_summary
from terms_check import without_marks


def test_the_first_screen_states_what_cannot_be() -> None:
    cells = [
        make_summary(make_cell("compute.dgemm", n=2000, threads=threads), rate)
        for threads, rate in ((1, 0.93 * 32 * CLOCK), (2, 0.0008 * 32 * CLOCK))
    ]
    report = build(make_run(cells), cells)
    speed = report.sections[0]
    [found] = speed.impossible
    assert speed.confidence == "low" and found.value == 0.0008 * 32 * CLOCK
    plain = msgspec.json.decode(msgspec.json.encode(report))["sections"][0]["impossible"][0]
    assert plain["kind"] == "collapsed" and plain["cells"] == [cells[1].id]

    console = Console(file=io.StringIO(), width=2000)
    print_report(report, console, verbose=True)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert printed.count("This number is impossible: DGEMM") == 1  # not again among the caveats
    assert printed.index("This number is impossible") < printed.index(
        "How does its network behave?"
    )

    first, _, rest = to_markdown(report, "figures").partition("## How fast")
    assert "impossible: DGEMM" in first and "impossible: DGEMM" in rest
    page = without_marks(to_html(report))
    # It is what matters most, and so above the verdicts, and not at its question again.
    assert 'class="impossible"' not in page
    assert page.index("impossible: DGEMM") < page.index('class="verdict"')
    assert report.foremost == found.sentence
