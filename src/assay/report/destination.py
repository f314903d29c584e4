"""The file that a report is written to, by one rule for all commands.

A file is written if ``--format``, ``--html`` or ``--output`` requests one. An option names its
format; otherwise the file's suffix decides. Without ``--output`` the file has the command's default
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import AssayError

# The formats of reports by the suffixes of their files; the first suffix is the default.
REPORT_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "html": (".html", ".htm"),
    "markdown": (".md", ".markdown"),
    "json": (".json",),
    "lines": (".lines",),
    "pdf": (".pdf",),
    "latex": (".tex",),
}
# The formats of the page for a board; the first is the default.
PAGE_FORMATS = ("html", "pdf")
TERMINAL = "terminal"
# One line per thing that is wrong; printed instead of the report if no file is named.
LINES = "lines"
_STDOUT = Path("-")
_OUTPUT = "--output"


@dataclass(frozen=True)
class Destination:
    """A format and the file that is written in this format."""

    form: str
    path: Path
    #: Whether it has the page for a board instead of the whole report.
    page: bool = False

    @property
    def on_stdout(self) -> bool:
        """Whether it is printed instead of the report."""
        return self.path == _STDOUT


def destination(
    form: str | None,
    output: Path | None,
    usual: Path,
    *,
    html: bool = False,
    lines: bool = False,
    page: bool = False,
    json: bool = False,
    suffixes: Mapping[str, tuple[str, ...]] = REPORT_SUFFIXES,
) -> Destination | None:
    """The file that the options request, or None if they request none.

    ``form``: the value of ``--format``; ``html``, ``lines``, ``page``: whether ``--html``,
    ``--lines`` or ``--page`` was given; ``json``: whether JSON goes to stdout. ``usual``: the
    default file without ``--output``; its suffix is replaced by the format's suffix. ``output`` may
    be a folder, which receives a file with the default name. A file without a suffix receives one.
    Lines go to stdout without a file.
    Raises AssayError if the options contradict each other, or if the format is unknown.
    """
    form = _named_format(_named_format(form, html, "html"), lines, LINES)
    if page:
        return _page_destination(form, output, usual, suffixes)
    if form == TERMINAL:
        if output is not None:
            raise AssayError(
                "--format terminal writes no file.",
                where=f"{_OUTPUT} {output}",
                fix="Leave out one of the two options.",
            )
        return None
    if form == LINES and output is None:
        if json:
            raise AssayError(
                "JSON and lines can't both go to stdout.",
                where="--json and --lines",
                fix="Leave out one of them; the JSON report has the lines as `lines`.",
            )
        return Destination(LINES, _STDOUT)
    if output is None:
        return None if form is None else Destination(form, _with_suffix(usual, form, suffixes))
    if output.is_dir():
        form = form or next(iter(suffixes))
        return Destination(form, output / _with_suffix(Path(usual.name), form, suffixes))
    of_suffix = format_of(output, suffixes)
    if form is not None and of_suffix is not None and of_suffix != form:
        raise AssayError(
            f"The suffix means the format {of_suffix}, but the option requests {form}.",
            where=f"{_OUTPUT} {output}",
            fix=f"Name a file that ends in {suffixes[form][0]}, or leave out the format.",
        )
    chosen = form or of_suffix
    if not output.suffix:
        chosen = chosen or next(iter(suffixes))
        return Destination(chosen, output.with_name(output.name + suffixes[chosen][0]))
    if chosen is None:
        raise unknown_suffix(_OUTPUT, output, suffixes)
    return Destination(chosen, output)


def _page_destination(
    form: str | None, output: Path | None, usual: Path, suffixes: Mapping[str, tuple[str, ...]]
) -> Destination:
    """The file of the page for a board: ``usage-page.html`` beside ``usage.html``."""
    if form is None and output is None:
        form = PAGE_FORMATS[0]
    if form not in (None, *PAGE_FORMATS):
        raise _not_a_page(form)
    usual = usual.with_stem(f"{usual.stem}-page")
    found = destination(form, output, usual, suffixes=suffixes)
    assert found is not None  # a format or a file is named
    if found.form not in PAGE_FORMATS:
        raise _not_a_page(found.form)
    return replace(found, page=True)


def _not_a_page(form: str) -> AssayError:
    return AssayError(
        f"The page for a board has the format html or pdf, not {form}.",
        where="--page",
        fix="Leave out --page, or use --format html or --format pdf.",
    )


def format_of(path: Path, suffixes: Mapping[str, tuple[str, ...]] = REPORT_SUFFIXES) -> str | None:
    """The format of a file by its suffix, in upper or lower case; None if the suffix is unknown."""
    suffix = path.suffix.lower()
    return next((form for form, known in suffixes.items() if suffix in known), None)


def unknown_suffix(option: str, path: Path, suffixes: Mapping[str, tuple[str, ...]]) -> AssayError:
    """The error for a file whose suffix belongs to no format."""
    known = ", ".join(each for group in suffixes.values() for each in group)
    return AssayError(
        f"The suffix {path.suffix} belongs to no format.",
        where=f"{option} {path}",
        fix=f"Use one of {known}, or name the format with --format.",
    )


def _named_format(form: str | None, given: bool, name: str) -> str | None:
    """The format by ``--format`` and by an option of its own (``given``)."""
    if given and form not in (None, name):
        raise AssayError(
            f"--{name} and --format {form} contradict each other.", fix="Leave out one of them."
        )
    return name if given else form


def _with_suffix(usual: Path, form: str, suffixes: Mapping[str, tuple[str, ...]]) -> Path:
    return usual.with_suffix(suffixes[form][0])
