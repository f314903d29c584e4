"""PDF by the programs on PATH: one that prints, none, one that fails and one that hangs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.report import build_report, write_asked
from assay.report.destination import Destination
from assay.report.paper import pdf
from assay.report.paper.size import paper_size
from browser import CHROMIUM
from report_builder import make_run, quick_cells
from waiting import wait_for


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder that is the whole PATH; returns what adds a program, a shell script, to it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name: str, script: str) -> None:
        path = folder / name
        path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        path.chmod(0o755)

    return add


# The last argument but one, or the one behind --print-to-pdf=, is the target.
_PRINTS = """
for word; do case $word in --print-to-pdf=*) target=${word#*=};; esac; done
printf '%%PDF-1.4 by %s' "$(basename "$0")" > "${target:-$2}"
"""


def test_without_a_program_a_sentence_names_what_to_install(programs):
    with pytest.raises(AssayError) as error:
        pdf.printed("<p>page</p>")
    assert error.value.what == "Nothing on this machine prints PDF."
    assert "chromium" in error.value.fix and "weasyprint" in error.value.fix


def test_the_browser_is_taken_first_and_weasyprint_otherwise(programs):
    programs("weasyprint", _PRINTS)
    assert pdf.printed("<p>page</p>") == b"%PDF-1.4 by weasyprint"
    programs("google-chrome", _PRINTS)
    assert pdf.printed("<p>page</p>") == b"%PDF-1.4 by google-chrome"


def test_weasyprint_prints_where_the_browser_fails(programs):
    programs("chromium", "echo crashed >&2; exit 3")
    programs("weasyprint", _PRINTS)
    assert pdf.printed("<p>page</p>") == b"%PDF-1.4 by weasyprint"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo no display >&2; exit 3", "chromium failed with status 3 (no display)."),
        ("kill -SEGV $$", "chromium was ended by signal 11 (it says nothing)."),
        ("exit 0", "chromium wrote no PDF."),
        ("exec printf half > ${0%/*}/x", "chromium wrote no PDF."),
    ],
)
def test_a_failure_of_the_browser_is_one_sentence(programs, script, sentence):
    programs("chromium", script)
    with pytest.raises(AssayError) as error:
        pdf.printed("<p>page</p>")
    assert error.value.what == sentence and "--html" in error.value.fix


def test_a_browser_that_hangs_is_ended_with_its_processes(programs, tmp_path, monkeypatch):
    pids = tmp_path / "pids"
    programs("chromium", f"sleep 600 & echo $! $$ > {pids}; wait")
    monkeypatch.setattr(pdf, "PATIENCE", 2.0)
    with pytest.raises(AssayError, match="chromium printed nothing within 2 s"):
        pdf.printed("<p>page</p>")
    for pid in map(int, pids.read_text().split()):
        wait_for(lambda pid=pid: not _runs(pid))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_nothing_is_written_where_printing_fails(programs, tmp_path):
    cells = quick_cells()
    report = build_report(make_run(cells), cells)
    target = tmp_path / "report.pdf"
    with pytest.raises(AssayError):
        write_asked(report, None, Destination("pdf", target, page=True))
    assert not target.exists()


@pytest.mark.parametrize(
    ("stated", "paper"), [("letter", "letter"), ("na_letter", "letter"), ("a4", "A4"), ("x", "A4")]
)
def test_the_paper_is_the_systems(monkeypatch, stated, paper):
    monkeypatch.setenv("PAPERSIZE", stated)
    assert paper_size() == paper


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="There is no Chromium on this machine.")
@pytest.mark.parametrize(("paper", "size"), [("a4", (595, 842)), ("letter", (612, 792))])
def test_the_page_is_printed_by_a_real_browser(tmp_path, monkeypatch, paper, size):
    monkeypatch.setenv("PAPERSIZE", paper)
    cells = quick_cells()
    report = build_report(make_run(cells), cells)
    target = tmp_path / "page.pdf"
    write_asked(report, None, Destination("pdf", target, page=True))
    content = target.read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b", content)) == 1
    (box,) = re.findall(rb"/MediaBox\s*\[([^\]]*)\]", content)
    width, height = (float(each) for each in box.split()[2:])
    assert (width, height) == pytest.approx(size, abs=1)
    assert [each.name for each in tmp_path.iterdir()] == ["page.pdf"]
