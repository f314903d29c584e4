"""Report: findings as HTML, Markdown, JSON and terminal output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.records.files import OUTPUT

if TYPE_CHECKING:
    from rich.console import Console

    from assay.model.demand import ProgramDemand
    from assay.questions.common.lines import ReportLine
    from assay.records.model import RunData
    from assay.report.destination import Destination
    from assay.report.model import ReportModel
    from assay.stats.core.model import CellSummary

Format = Literal["html", "markdown", "json"]
_SUFFIXES: dict[Format, str] = {"html": ".html", "markdown": ".md", "json": ".json"}


def build_report(
    run: RunData,
    cells: Sequence[CellSummary],
    history: Sequence[RunData] = (),
    program: ProgramDemand | None = None,
) -> ReportModel:
    """Answer the questions and build the format-independent report.

    ``history``: stored runs of the same machine (``assay.report.history.read_history``).
    ``program``: the profile of a program that is to run on the machine.
    """
    from assay.report.build import build

    if run.manifest.imported:
        from assay.report.imported_run.build import build_imported

        return build_imported(run, cells)
    return build(run, cells, history, program)


def write_report(
    report: ReportModel,
    path: Path,
    formats: Iterable[Format] = ("html",),
    *,
    option: str = OUTPUT,
) -> list[Path]:
    """Write the report in each format and return the files.

    Each file is written atomically. ``path`` is a folder, which receives ``report.html`` and so on,
    or a file, whose suffix is replaced by the suffix of each format. Raises AssayError if a file
    can't be written; its fix names ``option``.
    """
    base = path / "report" if path.is_dir() else path
    return [_write(report, form, base, option) for form in formats]


def print_summary(report: ReportModel, console: Console, *, verbose: bool = False) -> None:
    """Print the verdicts. ``verbose``: also print tables, caveats and recommendations."""
    from assay.report.terminal import print_report
    from assay.report.terms.printing import print_explained

    print_explained(console, lambda: print_report(report, console, verbose=verbose))


def present_report(
    report: ReportModel,
    console: Console,
    target: Destination | None,
    *,
    verbose: bool = False,
) -> None:
    """Print the report, and write it if a file is requested; or only print its lines.

    ``verbose``: as in ``print_summary``. Raises AssayError if the file can't be written.
    """
    if target is not None and target.on_stdout:
        print_lines(report.lines)
        return
    print_summary(report, console, verbose=verbose)
    write_asked(report, console, target)


def print_lines(lines: Sequence[ReportLine]) -> None:
    """Print what is wrong, one line each; nothing if nothing is."""
    from assay.questions.common.lines import lines_text

    print(lines_text(lines), end="")


def write_asked(
    report: ReportModel, console: Console | None, target: Destination | None
) -> Path | None:
    """Write the report if a file is requested, and print its path.

    ``console`` is None where JSON goes to stdout. Raises AssayError if the file can't be written.
    """
    if target is None:
        return None
    beside = _write_file(report, target.form, target.path, OUTPUT, page=target.page)
    if console is not None:
        what = "page" if target.page else "report"
        console.print(f"\n{what}: {target.path}", markup=False, soft_wrap=True)
        if beside is not None:
            console.print(f"tables, figures, methods: {beside}", markup=False, soft_wrap=True)
    return target.path


def make_folder(folder: Path, option: str) -> None:
    """Create the folder of an output. Raises AssayError, whose fix names ``option``."""
    from assay.records.files import cannot_write

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error, option) from None


def _write(report: ReportModel, form: Format, base: Path, option: str) -> Path:
    target = _with_suffix(base, _SUFFIXES[form])
    _write_file(report, form, target, option)
    return target


def _write_file(
    report: ReportModel, form: str, target: Path, option: str, *, page: bool = False
) -> Path | None:
    """Write the report, or its page for a board; returns the folder of its further files."""
    from assay.records.files import write_atomically

    make_folder(target.parent, option)
    if form == "html":
        write_atomically(target, _html(report, page).encode(), option=option)
    elif form == "pdf":
        from assay.report.paper.pdf import printed
        from assay.report.paper.size import paper_size

        content = printed(_html(report, page, paper_size()))
        write_atomically(target, content, option=option)
    elif form == "latex":
        from assay.report.latex.write import write_latex

        return write_latex(report, target, option=option)
    elif form == "json":
        import msgspec

        encoded = msgspec.json.encode(report)
        content = msgspec.json.format(encoded, indent=2) + b"\n"
        write_atomically(target, content, option=option)
    elif form == "lines":
        from assay.questions.common.lines import lines_text

        write_atomically(target, lines_text(report.lines).encode(), option=option)
    else:
        from assay.report.markdown import write_markdown

        write_markdown(report, target, option=option)
    return None


def _html(report: ReportModel, page: bool, paper: str = "") -> str:
    if page:
        from assay.report.page.html import to_page

        return to_page(report, paper)
    from assay.report.html import to_html

    return to_html(report, paper)


def _with_suffix(base: Path, suffix: str) -> Path:
    """``report`` becomes ``report.md``; only suffixes of formats are replaced."""
    known = base.suffix in _SUFFIXES.values()
    return base.with_suffix(suffix) if known else base.with_name(base.name + suffix)
