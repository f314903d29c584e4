"""This machine as a fleet of one node, learned by the real command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

_TRIES = 6
COMMAND = (sys.executable, "-m", "assay", "check")


def assay_check(
    folder: Path,
    *words: str,
    before: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    timeout: float = 120.0,
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; ``before``: a program that starts it."""
    env = {**os.environ, "ASSAY_CHECKS": str(folder)} if environment is None else environment
    return subprocess.run(
        [*before, *COMMAND, *words],
        capture_output=True,
        text=True,
        env=env,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )


def decided(
    folder: Path, *words: str, before: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """The command, repeated as long as this machine is too busy for a decision."""
    for _ in range(_TRIES):
        done = assay_check(folder, *words, before=before)
        if done.returncode != 3:
            break
    return done


def found_by(folder: Path, *words: str, before: Sequence[str] = ()) -> dict[str, Any]:
    """The check as its JSON says it, repeated likewise."""
    found: dict[str, Any] = json.loads(decided(folder, "--json", *words, before=before).stdout)
    return found


@pytest.fixture(scope="session")
def learned_folder() -> Iterator[Path]:
    """A folder of checks with a baseline of this machine. Tests copy it (``node_folder``)."""
    # Not below pytest's own folder, which other users can't enter.
    place = Path(tempfile.mkdtemp(prefix="assay-test-checks-"))
    place.chmod(0o755)
    folder = place / "checks"
    scratch = place / "scratch"
    scratch.mkdir()
    try:
        for _ in range(2):
            done = assay_check(folder, "--record", "--scratch", str(scratch))
            assert done.returncode == 0, done.stderr
        done = assay_check(folder, "--learn")
        assert done.returncode == 0, done.stderr
        assert "2 checks of 1 node" in done.stdout
        yield folder
    finally:
        shutil.rmtree(place)


@pytest.fixture
def node_folder(learned_folder: Path) -> Iterator[Path]:
    """A copy of it for one test, beside the same scratch folder."""
    place = Path(tempfile.mkdtemp(prefix="checks-", dir=learned_folder.parent))
    place.chmod(0o755)
    folder = place / "checks"
    shutil.copytree(learned_folder, folder)
    yield folder
    shutil.rmtree(place)
