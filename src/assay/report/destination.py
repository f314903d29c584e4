"""The file that a report is written to: one rule for every command that reports.

A file is written if ``--format``, ``--html`` or ``--output`` asks for one. Its format is the named
one, or else that of the file's suffix. Without ``--output`` it has the command's usual name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError

# The formats of reports by the suffixes of their files; the first suffix is the usual one.
REPORT_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "html": (".html", ".htm"),
    "markdown": (".md", ".markdown"),
    "json": (".json",),
}
TERMINAL = "terminal"
_OUTPUT = "--output"


@dataclass(frozen=True)
class Destination:
    """A format and the file that is written in it."""

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
    """The file that the options ask for, or None if they ask for none.

    ``form``: of ``--format``; ``html``: whether ``--html`` was given. ``usual``: the file without
    ``--output``; its suffix becomes the format's. ``output`` may be a folder, which gets a file of
    the usual name; a file without a suffix gets one. Raises AssayError if the options contradict
    each other, or if the format is unknown.
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
            f"The suffix is of the format {of_suffix}, and the option asks for {form}.",
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
    """The format of a file by its suffix, in capitals or not; None if the suffix is unknown."""
    suffix = path.suffix.lower()
    return next((form for form, known in suffixes.items() if suffix in known), None)


def unknown_suffix(option: str, path: Path, suffixes: Mapping[str, tuple[str, ...]]) -> AssayError:
    """The error for a file whose suffix says no format."""
    known = ", ".join(each for group in suffixes.values() for each in group)
    return AssayError(
        f"No format has the suffix {path.suffix}.",
        where=f"{option} {path}",
        fix=f"Known are {known}; or name the format with --format.",
    )


def _named_format(form: str | None, html: bool) -> str | None:
    if html and form not in (None, "html"):
        raise AssayError(
            f"--html and --format {form} contradict each other.", fix="Leave out one of them."
        )
    return "html" if html else form


def _with_suffix(usual: Path, form: str, suffixes: Mapping[str, tuple[str, ...]]) -> Path:
    return usual.with_suffix(suffixes[form][0])
