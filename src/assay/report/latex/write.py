"""Writes a report in LaTeX: a document to compile, and its parts to copy into a paper.

``report.tex`` includes the parts in the folder ``report-latex``: ``methods.tex``, a file for each
table, figures as PDF and SVG, and ``references.bib``.
"""

from __future__ import annotations

import re
from pathlib import Path

from assay.charts.figure import Figure
from assay.questions.common.tables import Table
from assay.records.files import OUTPUT, cannot_write, write_atomically
from assay.report.latex.bibliography import bibtex
from assay.report.latex.escape import escaped
from assay.report.latex.print_size import WIDTHS, print_figures
from assay.report.latex.tables import booktabs, results_table
from assay.report.model import MethodSentence, ReportModel, Section
from assay.report.overview.presented import presented

_REFERENCES = "references"
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
_HEAD = r"""% Written by assay {version}.
% Compile with pdflatex, then bibtex, then pdflatex twice.
\documentclass[a4paper]{{article}}
\usepackage[margin=25mm]{{geometry}}
\usepackage{{booktabs}}
\usepackage{{graphicx}}
\emergencystretch=3em
\begin{{document}}
\title{{{title}}}
\author{{}}
\date{{{date}}}
\maketitle
"""
_TAIL = r"""\clearpage
\bibliographystyle{{plain}}
\bibliography{{{folder}/{references}}}
\end{{document}}
"""


def write_latex(report: ReportModel, target: Path, *, option: str = OUTPUT) -> Path:
    """Write ``target`` and the folder ``<stem>-latex`` next to it; returns the folder.

    ``option``: the command's option that names another place, for the error if writing fails.
    Raises AssayError.
    """
    cells = report.cells
    report = presented(report)
    folder = target.with_name(f"{_safe(target.stem)}-latex")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error, option) from None
    tables = _tables(report)
    methods = report.methods or _stated_methods(report.sections)
    cited = {key for sentence in methods for key in sentence.cites} | {"assay"}
    figures = [figure for section in report.sections for figure in section.figures]
    files: dict[str, bytes] = {
        "methods.tex": _methods(methods).encode(),
        f"{_REFERENCES}.bib": bibtex(cited).encode(),
        **{f"{_safe(table.id)}.tex": booktabs(table).encode() for table in tables},
    }
    for figure, (svg, pdf) in zip(figures, print_figures(figures), strict=True):
        files[f"{_figure_name(figure)}.svg"] = svg.encode()
        files[f"{_figure_name(figure)}.pdf"] = pdf
    for name, content in files.items():
        write_atomically(folder / name, content, option=option)
    text = _document(report, tables, folder.name, results=bool(cells))
    write_atomically(target, text.encode(), option=option)
    return folder


def _tables(report: ReportModel) -> list[Table]:
    """The results first, then the tables of the sections that are not for reference only."""
    imported = any(section.id == "imported" for section in report.sections)
    if report.cells:
        first = [results_table(report.cells, imported=imported)]
    else:
        first = [report.cell_table] if report.cell_table.rows else []
    others = [
        table
        for section in report.sections
        for table in section.tables
        if table.rows and not table.folded and not imported
    ]
    return [*first, *others]


def _stated_methods(sections: list[Section]) -> list[MethodSentence]:
    """The sentences on methods of a report on another subject than a run."""
    stated = dict.fromkeys(sentence for section in sections for sentence in section.method)
    tool = MethodSentence("All numbers were computed by assay.", ["assay"])
    return [tool, *(MethodSentence(each) for each in stated)]


def _methods(sentences: list[MethodSentence]) -> str:
    lines = [_cited(each) for each in sentences]
    return "\n".join(["\\paragraph{Methods}", *lines, ""])


def _cited(sentence: MethodSentence) -> str:
    """The text, with its references before the full stop of its first sentence or at its end."""
    text = escaped(sentence.text)
    if not sentence.cites:
        return text
    return rf"{text.removesuffix('.')}~\cite{{{','.join(sentence.cites)}}}."


def _document(report: ReportModel, tables: list[Table], folder: str, *, results: bool) -> str:
    head = _HEAD.format(version=report.assay, title=escaped(report.title), date=report.utc[:10])
    blocks = [head]
    intro = [escaped(each) for each in (report.machine, report.summary, report.unfinished) if each]
    blocks.append("\\par\n".join(f"\\noindent {each}" for each in intro) + "\n")
    if report.foremost:
        blocks.append(rf"\noindent\textbf{{Read this first:}} {escaped(report.foremost)}" + "\n")
    blocks.append(rf"\input{{{folder}/methods}}" + "\n")
    first = tables[:1] if results or report.cell_table.rows else []
    blocks += [rf"\input{{{folder}/{_safe(table.id)}}}" for table in first]
    listed = {table.id for table in tables} - {table.id for table in first}
    for section in report.sections:
        if section.status == "answered":
            blocks.append(_section(section, listed, folder))
    blocks.append(_TAIL.format(folder=folder, references=_REFERENCES))
    return "\n".join(blocks)


def _section(section: Section, listed: set[str], folder: str) -> str:
    lines = [rf"\section*{{{escaped(section.title)}}}", escaped(section.verdict)]
    if section.confidence is not None:
        lines.append(f"({section.confidence} confidence: {escaped(section.confidence_why)})")
    for title, sentences in (("Caveats", section.caveats), ("Limits", section.limits)):
        if sentences:
            lines.append(rf"\paragraph{{{title}}} {' '.join(map(escaped, sentences))}")
    lines += [
        rf"\input{{{folder}/{_safe(table.id)}}}" for table in section.tables if table.id in listed
    ]
    lines += [_figure(figure, folder) for figure in section.figures]
    return "\n".join([*lines, ""])


def _figure(figure: Figure, folder: str) -> str:
    panel = f", {figure.panel}" if figure.group and figure.panel else ""
    title = f"{(figure.group or figure.title).rstrip('.')}{panel}."
    return rf"""\begin{{figure}}[htbp]
  \centering
  \includegraphics[width=\ifdim{WIDTHS[figure.width]:g}mm>\linewidth\linewidth\else{WIDTHS[figure.width]:g}mm\fi]{{{folder}/{_figure_name(figure)}}}
  \caption{{{escaped(f"{title} {figure.caption}")}}}
  \label{{fig:{_safe(figure.id)}}}
\end{{figure}}"""


def _figure_name(figure: Figure) -> str:
    # Dots would be taken for the beginning of a suffix.
    return f"figure-{_safe(figure.id).replace('.', '-')}"


def _safe(name: str) -> str:
    """The name without characters that mean something to LaTeX."""
    return _UNSAFE.sub("-", name).strip("-") or "report"
