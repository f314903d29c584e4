"""The file that a report is written to, by one rule for all commands.

A file is written if ``--format``, ``--html`` or ``--output`` requests one. An option names its
format; otherwise the file's suffix decides. Without ``--output`` the file has the command's default
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError

# The formats of reports by the suffixes of their files; the first suffix is the default.
REPORT_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "html": (".html", ".htm"),
    "markdown": (".md", ".markdown"),
    "json": (".json",),
}
TERMINAL = "terminal"
_OUTPUT = "--output"


@dataclass(frozen=True)
class Destination:
    """A format and the file that is written in this format."""

    form: str
    path: Path


def destination(
    form: str | None,
    output: Path | None,
    usual: Path,
    *,
    html: bool = False,
    suffixes: Mapping[str, tuple[str, ...]] = REPORT_SUFFIXES,
) -> Destination | None:
    """The file that the options request, or None if they request none.

    ``form``: the value of ``--format``; ``html``: whether ``--html`` was given. ``usual``: the
    default file without ``--output``; its suffix is replaced by the format's suffix. ``output`` may
    be a folder, which receives a file with the default name. A file without a suffix receives one.
    Raises AssayError if the options contradict each other, or if the format is unknown.
    """
    form = _named_format(form, html)
    if form == TERMINAL:
        if output is not None:
            raise AssayError(
                "--format terminal writes no file.",
                where=f"{_OUTPUT} {output}",
                fix="Leave out one of the two options.",
            )
        return None
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


def _named_format(form: str | None, html: bool) -> str | None:
    if html and form not in (None, "html"):
        raise AssayError(
            f"--html and --format {form} contradict each other.", fix="Leave out one of them."
        )
    return "html" if html else form


def _with_suffix(usual: Path, form: str, suffixes: Mapping[str, tuple[str, ...]]) -> Path:
    return usual.with_suffix(suffixes[form][0])
