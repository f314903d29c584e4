"""A folder in which every command has something to work on, and conditions of the system."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import prepared_assay
from campaign_lab import InProcessLab
from usage_logs import SWF

ASSAY = Path(sys.executable).parent / "assay"
OSU = Path(__file__).parents[1] / "data" / "importers" / "osu-5.6.out"
# Every command, with the words of a short use of it in the folder that ``prepared`` makes.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "plan.toml", "--fake", "scenario.toml"),
    "measure": ("measure", "network.barrier", "--ppn", "2", "--fake", "scenario.toml"),
    "resume": ("run", "--resume"),
    "watch": ("watch", "--step", r"step (?P<i>\d+)", "--log", "s.jsonl", "--", "sh", "steps.sh"),
    "profile": ("profile", "--folder", "app.profile", "--", "true"),
    "report": ("report",),
    "report to a file": ("report", "--format", "html", "--output", "out/report.html"),
    "history": ("history",),
    "history to a file": ("history", "--html", "-o", "out/history.html"),
    "usage": ("usage", "log.swf"),
    "usage to a file": ("usage", "log.swf", "--html", "-o", "out/usage.html"),
    "design": ("design", "cluster.toml"),
    "design's example": ("design", "--example"),
    "simulate's example": ("simulate", "--example"),
    "simulate": ("simulate", "npb.ep.S", "--on", "seth.toml", "--ranks", "2", "--rate", "1 Gop/s"),
    "compare": ("compare", "first", "second"),
    "compare to a file": ("compare", "first", "second", "--format", "html", "-o", "out/c.html"),
    "export": ("export",),
    "export to a file": ("export", "--format", "parquet", "--out", "out/results.parquet"),
    "import": ("import", "osu.txt"),
    "runs": ("runs",),
    "runs checked": ("runs", "--check"),
    "system": ("system",),
    "doctor": ("doctor",),
    "kernels": ("kernels",),
    "references": ("references",),
    "lab": ("lab", "list"),
}  # fmt: skip


def prepared(path: Path) -> Path:
    """A folder with runs, plans, logs and specifications for ``COMMANDS``."""
    path.mkdir(parents=True, exist_ok=True)
    lab = InProcessLab(path)
    for name in ("20260101T000000Z-box-first", "20260102T000000Z-box-second"):
        assert lab.run("plan.toml").returncode == 0
        newest = max(lab.runs.iterdir(), key=lambda run: run.stat().st_mtime)
        newest.rename(lab.runs / name)
    (path / "log.swf").write_text(SWF)
    (path / "steps.sh").write_text("for i in 1 2 3; do echo step $i; done\n")
    shutil.copy(OSU, path / "osu.txt")
    (path / "out").mkdir()
    for name, words in (("cluster.toml", ["design", "--example"]),
                        ("seth.toml", ["simulate", "--example"])):  # fmt: skip
        (path / name).write_text(lab.call(words).stdout)
    return path


def _variables(folder: Path, changed: Mapping[str, str | None]) -> dict[str, str]:
    """This process's variables with some changed, and without those that are None."""
    variables = {**os.environ, "ASSAY_CACHE": str(folder / "cache"), **changed}
    return {name: value for name, value in variables.items() if value is not None}


def begun(
    folder: Path, words: tuple[str, ...], environment: Mapping[str, str | None]
) -> subprocess.CompletedProcess[str]:
    """The command in this environment, in a process that begins with its modules loaded."""
    return prepared_assay.run(
        [sys.executable, "-P", "-m", "assay", *words],
        cwd=folder,
        env=_variables(folder, environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


def called(
    folder: Path,
    words: tuple[str, ...],
    *,
    before: str = "",
    redirected: str = "",
    user: str = "",
    environment: Mapping[str, str | None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """The command in a shell: ``before`` such as ``ulimit -n 20``, ``redirected`` such as
    ``> /dev/full``; ``user``: the words that start it as another user.
    """
    script = f'{before or ":"} && exec {user} "$@" {redirected}'
    known = _variables(folder, {"PYTHONDONTWRITEBYTECODE": "1", **(environment or {})})
    return subprocess.run(
        ["bash", "-c", script, "bash", str(ASSAY), *words],
        cwd=folder,
        env=known,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
