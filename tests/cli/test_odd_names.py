"""Commands that read runs whose folder, or whose store, has a name that is not UTF-8."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from examples import executed

MACHINE = """
schema = 1
seed = 5
cores = 2
launch_time = "1 ms"
[[kernel]]
time = 0.001
noise = { sigma = 0.02, launch_sigma = 0.01 }
"""
ODD = os.fsdecode(b"m\xe4rz")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, one of them with such a name, in a folder with such a name."""
    folder = tmp_path_factory.mktemp("odd") / ODD
    folder.mkdir()
    (folder / "machine.toml").write_text(MACHINE)
    measure = ["measure", "compute.dgemm", "n=64", "--fake", "machine.toml", "--keep"]
    for _ in range(2):
        executed(folder, *measure, "--launches", "6")
    newest = max((folder / "runs").iterdir())
    newest.rename(newest.with_name(f"{newest.name}-{ODD}"))
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "history", "history --html", "report", "report --html --output page.html", "report --json",
        "report --format markdown", "report --lines", "compare 1 2", "runs", "export --format csv",
        "export --format parquet --out results.parquet", "site",
    ],
)  # fmt: skip
def test_such_a_run_is_read(words: str, store: Path) -> None:
    names = sorted(path.name for path in (store / "runs").iterdir())
    given = [names[int(word) - 1] if word in "12" else word for word in words.split()]
    done = executed(store, *given)
    assert "unexpected" not in done.stderr
    assert done.stdout or done.stderr or "--lines" in words
