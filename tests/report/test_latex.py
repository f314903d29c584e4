"""Reports in LaTeX: structure, escapes, numbers, references; compiled where there is a LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from assay.questions.common.tables import Column, Entry, Table
from assay.report import build_report, write_asked
from assay.report.destination import Destination
from assay.report.latex.bibliography import bibtex
from assay.report.latex.escape import escaped
from assay.report.latex.tables import booktabs
from report_builder import make_run, quick_cells

HOSTILE = r'n_1 & 50% of #3 $x^2$ ~/a\b {c} <d> "e" | [f] * --budget µs × é Å 測 `--code_x`'


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The report of a planted run, whose system has a hostile name."""
    folder = tmp_path_factory.mktemp("latex")
    cells = quick_cells()
    report = build_report(make_run(cells), cells)
    report = report.__class__(**{
        **{name: getattr(report, name) for name in report.__struct_fields__}, "title": HOSTILE
    })  # fmt: skip
    write_asked(report, None, Destination("latex", folder / "my report_1.tex"))
    return folder


def parts_of(folder):
    (parts,) = (each for each in folder.iterdir() if each.is_dir())
    return parts


def check_structure(text: str) -> None:
    """Environments are closed in order, braces balance, and no special character is bare."""
    plain = re.sub(r"(?<!\\)%.*", "", text)
    open_ones = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", plain):
        if kind == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert open_ones == []
    depth = 0
    for each in re.sub(r"\\[{}\\]", "", plain):
        depth += (each == "{") - (each == "}")
        assert depth >= 0
    assert depth == 0
    bare = re.sub(
        r"\\(?:input|includegraphics\[[^]]*\]|bibliography|label|cite)\{[^}]*\}", "", plain
    )
    bare = re.sub(r"\$[^$]*\$", "", re.sub(r"\\.", "", bare))
    assert not re.search(r"[#$_^]", bare), re.findall(r".{20}[#$_^].{20}", bare)
    assert plain.isascii()


def test_every_file_is_well_formed(written):
    files = [*written.glob("*.tex"), *parts_of(written).glob("*.tex")]
    assert len(files) >= 4
    for path in files:
        check_structure(path.read_text())


def test_everything_that_is_included_exists(written):
    (main,) = written.glob("*.tex")
    text = main.read_text()
    assert re.fullmatch(r"[A-Za-z0-9.-]+", parts_of(written).name)
    inputs = re.findall(r"\\input\{([^}]*)\}", text)
    assert f"{parts_of(written).name}/methods" in inputs
    assert all((written / f"{name}.tex").is_file() for name in inputs)
    figures = re.findall(r"\\includegraphics\[[^]]*\]\{([^}]*)\}", text)
    assert len(figures) >= 4
    for name in figures:
        assert (written / f"{name}.pdf").read_bytes().startswith(b"%PDF-")
        root = ET.fromstring((written / f"{name}.svg").read_text())
        assert root.get("width") in ("88mm", "178mm")


def test_the_table_has_the_planted_medians_intervals_and_numbers(written):
    text = (parts_of(written) / "results.tex").read_text()
    (row,) = re.findall(r"memory.stream op=triad & 2 ranks & (.*) \\\\", text)
    metric, median, interval, n = row.split(" & ")
    assert (metric, median) == ("bandwidth", "35.1 GB/s")
    assert re.fullmatch(r"\{\[\}3[45]\.\d+, 35\.\d+\{\]\}", interval) and int(n) >= 6
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(rule) == text.count(r"\begin{tabular}")


def test_the_methods_state_what_the_rules_ask_for(written):
    text = (parts_of(written) / "methods.tex").read_text()
    for stated in (
        "seed ",
        "launch",
        "random order",
        "95\\% interval",
        "Toolchain",
        "slowest rank",
    ):
        assert stated in text
    cited = {key for keys in re.findall(r"\\cite\{([^}]*)\}", text) for key in keys.split(",")}
    entries = (parts_of(written) / "references.bib").read_text()
    assert {"assay", "hoefler2015", "mccalpin1995", "bailey1994"} <= cited
    assert {*re.findall(r"@\w+\{(\w+),", entries)} == cited


def test_hostile_text_is_printed_as_it_is():
    assert escaped(HOSTILE) == (
        r"n\_1 \& 50\% of \#3 \char36{}x\textasciicircum{}2\char36{} "
        r"\textasciitilde{}/a\textbackslash{}b "
        r"\{c\} \textless{}d\textgreater{} ''e'' \textbar{} {[}f{]} {*} -{}-budget $\mu$s "
        r"$\times$ \'{e} \r{A} \texttt{U+6E2C} \texttt{-{}-code\_x}"
    )


def test_long_tables_are_continued():
    rows = [[Entry(f"n_{number}"), Entry(str(number))] for number in range(80)]
    table = Table("t", "Nodes", [Column("a", "Node"), Column("b", "n", numeric=True)], rows)
    text = booktabs(table)
    check_structure(text)
    assert text.count(r"\begin{table}") == 3 and text.count("(continued)") == 2
    assert re.findall(r"n\\_(\d+) & (\d+)", text) == [(str(n), str(n)) for n in range(80)]


def test_unknown_works_are_an_error():
    with pytest.raises(KeyError):
        bibtex(["nobody2000"])


@pytest.mark.long
@pytest.mark.skipif(
    not (shutil.which("pdflatex") or shutil.which("tectonic")), reason="There is no LaTeX here."
)
def test_a_latex_compiles_it(written):
    (main,) = written.glob("*.tex")
    command = (
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", main.name]
        if shutil.which("pdflatex")
        else ["tectonic", main.name]
    )
    done = subprocess.run(command, cwd=written, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert main.with_suffix(".pdf").is_file()
