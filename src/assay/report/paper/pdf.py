"""PDF of a report: a Chromium prints it without a window, or WeasyPrint does.

Neither is part of assay. The report is one file without external resources, so nothing is loaded.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.errors import AssayError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WEASYPRINT = "weasyprint"
# A large report takes seconds; a program that takes this long does not work.
PATIENCE = 120.0
_WHERE = "--format pdf"
_OTHER_WAY = "Write the report with --html, and print it from a browser."
# The end of what a program wrote, in an error.
_MOST_CHARACTERS = 200


def printed(page: str) -> bytes:
    """The page of HTML as PDF, by the first program on PATH that prints it.

    Raises AssayError if there is no such program, or if all fail or take longer than ``PATIENCE``.
    """
    found = list(_programs())
    if not found:
        raise AssayError(
            "Nothing on this machine prints PDF.",
            where=_WHERE,
            fix="Install Chromium (`apt install chromium`) or WeasyPrint (`pip install "
            f"weasyprint`). {_OTHER_WAY}",
        )
    problems = []
    with tempfile.TemporaryDirectory(prefix="assay-pdf-") as name:
        folder = Path(name)
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_text(page, encoding="utf-8")
        for program, command in found:
            problem = _run(program, command(source, target, folder), folder)
            content = target.read_bytes() if target.is_file() else b""
            if not problem and content.startswith(b"%PDF-"):
                return content
            problems.append(problem or f"{program} wrote no PDF")
            target.unlink(missing_ok=True)
    raise AssayError(f"{'; '.join(problems)}.", where=_WHERE, fix=_OTHER_WAY)


_Command = Callable[[Path, Path, Path], list[str]]


def _programs() -> list[tuple[str, _Command]]:
    """The programs on PATH that print PDF, with their commands: source, target, folder."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    weasyprint = shutil.which(WEASYPRINT)
    found: list[tuple[str, _Command]] = []
    if browser is not None:
        path = browser

        def by_browser(source: Path, target: Path, folder: Path) -> list[str]:
            return [
                path, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer",
                # Chromium refuses its sandbox to root. The page is assay's own.
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
                f"--print-to-pdf={target}", source.as_uri(),
            ]  # fmt: skip

        found.append((Path(browser).name, by_browser))
    if weasyprint is not None:
        program = weasyprint
        found.append((WEASYPRINT, lambda source, target, _: [program, str(source), str(target)]))
    return found


def _run(program: str, command: Sequence[str], folder: Path) -> str:
    """Run a program; returns why it failed, or nothing. All of its processes are ended."""
    log = folder / "log"
    with log.open("wb") as errors:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
                # Its caches and settings stay in the temporary folder.
                env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
            )
        except OSError as error:
            return f"{program} doesn't start: {error.strerror or error}"
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return f"{program} printed nothing within {PATIENCE:g} s"
        finally:
            _end(process)
    if status == 0:
        return ""
    text = log.read_text(encoding="utf-8", errors="replace").strip()
    said = text.splitlines()[-1].strip()[-_MOST_CHARACTERS:] if text else "it says nothing"
    how = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
    return f"{program} {how} ({said.rstrip('.')})"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and the processes that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
