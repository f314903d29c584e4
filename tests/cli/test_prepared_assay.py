"""Commands that tests start with libraries loaded do what commands of a new interpreter do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import prepared_assay
from campaign_lab import Lab
from waiting import wait_for

ASSAY = [sys.executable, "-m", "assay"]


def both(folder: Path, *words: str, **environment: str) -> tuple[object, object]:
    """What a new interpreter and a prepared process say: status, output, errors."""
    return tuple(
        (done.returncode, done.stdout, done.stderr)
        for done in (
            run(
                [*ASSAY, *words], cwd=folder, capture_output=True, text=True, timeout=120,
                env={**os.environ, **environment},
            )
            for run in (subprocess.run, prepared_assay.run)
        )
    )  # fmt: skip


@pytest.mark.long
def test_reports_tables_and_errors_are_the_same(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    used = prepared_assay.cpu_seconds
    assert lab.run("plan.toml").returncode == 0
    for words in (["report", "--json"], ["runs"], ["report", "nothing"], ["frobnicate"]):
        new, prepared = both(tmp_path, *words)
        assert new == prepared
        assert new != both(tmp_path, "--version")[0]
    assert prepared_assay.cpu_seconds > used


@pytest.mark.long
def test_figures_are_the_same(tmp_path: Path) -> None:
    assert Lab(tmp_path).run("plan.toml").returncode == 0
    written = []
    for name, run in (
        *(("new", subprocess.run), ("first", prepared_assay.run)),
        ("second", prepared_assay.run),
    ):
        (tmp_path / name).mkdir()
        words = ["report", "--format", "markdown", "--output", f"{name}/report.md"]
        run([*ASSAY, *words], cwd=tmp_path, capture_output=True, timeout=120, check=True)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        # An engine numbers all clip paths that it has drawn.
        texts = (re.sub(r"\b(clip|gradient_)\d+", r"\1", path.read_text()) for path in files)
        names = (str(path.relative_to(tmp_path / name)) for path in files)
        written.append(dict(zip(names, texts, strict=True)))
    assert written[0] == written[1] == written[2]
    assert any("<svg" in text for text in written[0].values())


def test_environment_folder_and_input_are_the_command_s_own(tmp_path: Path) -> None:
    narrow, wide = (both(tmp_path, "--help", COLUMNS=width) for width in ("60", "120"))
    assert narrow[0] == narrow[1] and wide[0] == wide[1] != narrow[0]
    osu = (Path(__file__).parents[1] / "data" / "importers" / "osu-5.6.out").read_text("utf-8")
    said = [
        run(
            [*ASSAY, "import", "-", "--runs", name, "--json"], cwd=tmp_path, input=osu,
            capture_output=True, text=True, timeout=120, check=True,
        ).stdout.replace(name, "runs")
        for name, run in (("one", subprocess.run), ("two", prepared_assay.run))
    ]  # fmt: skip
    first, second = (json.loads(text)["sources"] for text in said)
    assert first == second != []
    assert (tmp_path / "two").is_dir()


def test_it_ends_in_time_and_the_next_one_is_served(tmp_path: Path) -> None:
    # A program that it has started ends with it, and doesn't keep its output open.
    program = f"echo $$ > {tmp_path}/pid; exec sleep 1000"
    words = ["watch", "--", "sh", "-c", program]
    for seconds in (3, 30):  # on a busy machine it may not have started
        with pytest.raises(subprocess.TimeoutExpired):
            prepared_assay.run([*ASSAY, *words], cwd=tmp_path, capture_output=True, timeout=seconds)
        if (tmp_path / "pid").exists():
            break
    started = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cmdline")
    wait_for(lambda: not started.exists() or b"sleep" not in started.read_bytes())
    with pytest.raises(subprocess.CalledProcessError):
        prepared_assay.run([*ASSAY, "frobnicate"], capture_output=True, check=True)
    done = prepared_assay.run([*ASSAY, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout


def test_what_is_read_at_the_start_and_other_programs_start_as_usual() -> None:
    used = prepared_assay.cpu_seconds
    done = prepared_assay.run(
        [*ASSAY, "--version"], capture_output=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "7"}
    )
    assert done.returncode == 0
    assert prepared_assay.run(["echo", "a"], capture_output=True).stdout == b"a\n"
    assert prepared_assay.cpu_seconds == used
