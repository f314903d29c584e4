"""The report as Markdown, with figures as SVG files in a folder next to it."""

from __future__ import annotations

import html
from pathlib import Path
from urllib.parse import quote

from assay.charts.drawing import drawn
from assay.charts.figure import groups
from assay.console import harmless
from assay.questions.common.tables import Table
from assay.records.files import OUTPUT, write_atomically
from assay.report.model import ReportModel, Section
from assay.report.overview.confidences import confidence_lines
from assay.report.overview.impossible import impossible_sentences
from assay.report.overview.order import open_questions, shown_sections
from assay.report.overview.presented import presented
from assay.report.terms.terms import terms_in


def write_markdown(report: ReportModel, target: Path, *, option: str = OUTPUT) -> None:
    """Write ``target`` and, in the folder ``<stem>-figures`` next to it, one SVG per figure.

    ``option``: the command's option that names another place, for the error if writing fails.
    """
    report = presented(report)
    figures = [figure for section in report.sections for figure in section.figures]
    folder = target.with_name(f"{target.stem}-figures")
    if figures:
        folder.mkdir(exist_ok=True)
    for figure, document in zip(figures, drawn(figures), strict=True):
        write_atomically(folder / f"{figure.id}.svg", document.encode(), option=option)
    write_atomically(target, to_markdown(report, folder.name).encode(), option=option)


def to_markdown(report: ReportModel, folder: str) -> str:
    """The Markdown text, with links to figures in ``folder``."""
    blocks = [f"# {_plain(report.title)}"]
    blocks += [_plain(report.machine)] if report.machine else []
    blocks.append(f"{report.utc} · {_plain(report.summary)}")
    if report.unfinished:
        blocks.append(f"> {_plain(report.unfinished)}")
    blocks += [f"[{_plain(file.title)}]({quote(file.path)})" for file in report.files]
    if report.foremost:
        blocks.append(f"**Read this first:** {_plain(report.foremost)}")
    sections = shown_sections(report)
    blocks.append(
        "\n".join(
            f"- **{_plain(section.title)}** {_plain(section.verdict)}"
            + _confidences(section)
            + "".join(f"\n  - {_plain(each)}" for each in impossible_sentences(section))
            for section in sections
        )
    )
    if questions := open_questions(report):
        listed = " · ".join(f"{_plain(each.title)} `{each.command}`" for each in questions)
        blocks.append(f"Not answered by this run: {listed}")
    for section in sections:
        if section.status == "answered" or section.caveats:
            blocks += _section(section, folder)
    blocks.append(f"## {_plain(report.cell_table.title)}")
    blocks += (
        _table(report.cell_table) if report.cell_table.rows else ["This run has no cells yet."]
    )
    blocks.append("## System and provenance")
    for table in (report.system_table, *report.provenance):
        blocks += [f"### {_plain(table.title)}", *_table(table)]
    explained = [
        f"- **{_plain(term.name)}**: {_plain(term.text)}" for term in terms_in("\n".join(blocks))
    ]
    if explained:
        blocks += ["## Terms", "\n".join(explained)]
    return "\n\n".join(blocks) + "\n"


def _confidences(section: Section) -> str:
    """`` *(high confidence)*``, or nothing."""
    lines = [line.heading for line in confidence_lines(section)]
    return f" *({'; '.join(lines)})*" if lines else ""


def _section(section: Section, folder: str) -> list[str]:
    blocks = [f"## {_plain(section.title)}"]
    blocks += [
        f"{line.heading[:1].upper()}{line.heading[1:]}. {_plain(line.why)}"
        for line in confidence_lines(section)
    ]
    blocks += _list("Recommendations", section.advice)
    blocks += _list("Caveats", section.caveats)
    for table in section.tables:
        if table.leading:
            blocks += [f"### {_plain(table.title)}", *_table(table)]
    for some in groups(section.figures):
        several = len(some) > 1
        blocks.append(f"### {_plain(some[0].group if several else some[0].title)}")
        for figure in some:
            blocks += [f"#### {_plain(figure.panel)}"] * several
            blocks.append(f"![{_plain(figure.alt)}]({folder}/{figure.id}.svg)")
        blocks.append(_plain(some[0].caption))
    for table in section.tables:
        if not table.leading:
            blocks += [f"### {_plain(table.title)}", *_table(table)]
    blocks += _list("Limits", section.limits)
    blocks += _list("Published clusters, 2003 to 2005", section.published)
    blocks += _list("Method", section.method)
    return blocks


def _list(title: str, sentences: list[str]) -> list[str]:
    if not sentences:
        return []
    return [f"### {title}", "\n".join(f"- {_plain(sentence)}" for sentence in sentences)]


def _table(table: Table) -> list[str]:
    head = "| " + " | ".join(_field(column.label) for column in table.columns) + " |"
    rule = "|" + "|".join(" ---: " if column.numeric else " --- " for column in table.columns) + "|"
    rows = ["| " + " | ".join(_field(entry.text) for entry in row) + " |" for row in table.rows]
    blocks = ["\n".join([head, rule, *rows])]
    if table.notes:
        blocks.append("\n".join(f"{n}. {_plain(note)}" for n, note in enumerate(table.notes, 1)))
    return blocks


_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\*_[]#|~$!"})


def _plain(text: str) -> str:
    """Text with its markup escaped.

    Backticks stay, since only assay's own texts use them, for `code`.
    """
    one_line = harmless(" ".join(text.split()))
    return html.escape(one_line, quote=False).translate(_MARKS)


def _field(text: str) -> str:
    return _plain(text)
