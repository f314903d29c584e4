"""SimGrid's smpirun: its path, its version, and one simulation. SimGrid is optional."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError

HOW = (
    "Install SimGrid (Debian, Ubuntu: apt install libsimgrid-dev; others: https://simgrid.org), "
    "or name its smpirun with --simgrid."
)
_PLACES = ("", "smpirun", "bin/smpirun", "usr/bin/smpirun")
# The simulated time as a replay and a program print it.
_TIME = re.compile(r"Simulat(?:ion time|ed time:) ([\d.eE+-]+)")


@dataclass(frozen=True)
class SimGrid:
    """``smpirun`` and its ``version``, such as 3.32."""

    smpirun: Path
    version: str


def find_simgrid(given: Path | None) -> SimGrid | None:
    """SimGrid from its smpirun, from a folder with smpirun, or from PATH.

    None if it is neither named nor on PATH. Raises AssayError if the named smpirun does not run.
    """
    if given is None:
        found = shutil.which("smpirun")
        if found is None:
            return None
        path = Path(found)
    else:
        candidates = [given / place if place else given for place in _PLACES]
        path = next((one for one in candidates if one.is_file()), given)
    try:
        # smpirun is a shell script, even if it is not executable.
        command = [path] if os.access(path, os.X_OK) else ["sh", path]
        printed = subprocess.run(
            [*command, "-version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise AssayError(
            f"SimGrid's smpirun doesn't run: {error}.", where=str(path), fix=HOW
        ) from None
    version = re.search(r"version (\d[\d.]*)", printed)
    return SimGrid(path, version[1] if version else "of an unknown version")


def run_simulation(
    simgrid: SimGrid, folder: Path, ranks: int, words: Sequence[str | Path], seconds: float
) -> tuple[float | None, str]:
    """The simulated time in s (None if SimGrid states none) and what was printed.

    ``folder``: has ``platform.xml`` and ``hosts``. ``words``: further arguments of smpirun. Raises
    AssayError if it fails or takes more than ``seconds``.
    """
    shell = [] if os.access(simgrid.smpirun, os.X_OK) else ["sh"]
    command = [
        *shell, simgrid.smpirun, "-np", str(ranks), "-platform", "platform.xml",
        "-hostfile", "hosts", *words,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise AssayError(
            f"The simulation takes more than {seconds:g} s.",
            fix="Simulate fewer ranks or a shorter run, or raise --limit.",
        ) from None
    text = done.stdout + done.stderr
    if done.returncode != 0:
        lines = [line for line in text.splitlines() if line.strip() and "->" not in line]
        raise AssayError(
            f"SimGrid {simgrid.version} failed with status {done.returncode}.",
            where=str(folder),
            detail="\n".join(lines[-10:]),
            fix="Correct the problem that its message below names. --keep DIR keeps the files "
            "of the run.",
        )
    found = _TIME.search(text)
    return (float(found[1]) if found else None), text
