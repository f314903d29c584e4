"""What a user types after sampling: the report, its file, exports, lines, and a comparison."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import prepared_assay
from sampled_programs import compiled

pytestmark = pytest.mark.slow

NAMES = ("half", "third", "seventh", "recursive")


def _assay(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", *map(str, words)]
    done = prepared_assay.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile of a program without MPI: functions of 50, 30, 15 and 5% of its work."""
    folder = tmp_path_factory.mktemp("sampled")
    program = compiled("shares.c", "-O2", "-g")
    done = _assay(
        folder, "profile", "--sample", "199", "--folder", folder / "a.profile", "--html",
        "--export", "folded:first.folded", "--", program, "20000",
    )  # fmt: skip
    assert "Which functions take the computing time, and on which ranks?" in done.stdout
    assert "exported: first.folded" in done.stderr
    return folder


def test_the_report_has_the_functions_and_the_call_tree(kept: Path) -> None:
    found = json.loads(_assay(kept, "profile", "--read", "a.profile", "--json").stdout)["samples"]
    inclusive = {one["function"]: one["inclusive"] for one in found["functions"]}
    ordered = sorted(NAMES, key=lambda name: -inclusive[name])
    assert ordered == list(NAMES)
    assert found["lines"][0]["file"].endswith("shares.c")
    page = (kept / "profile.html").read_text("utf-8")
    assert "sampled-tree" in page
    assert "Rank with the most" in page
    lines = _assay(kept, "profile", "--read", "a.profile", "--lines").stdout
    assert "Optimise" in lines


def test_the_exports_agree_on_the_number_of_samples(kept: Path) -> None:
    _assay(
        kept, "profile", "--read", "a.profile", "--export", "pprof:a.pb.gz", "--export",
        "speedscope:a.json", "--export", "firefox:a.firefox.json.gz", "--anonymize",
    )  # fmt: skip
    folded = (kept / "first.folded").read_text("utf-8").splitlines()
    number = sum(int(line.rpartition(" ")[2]) for line in folded)
    firefox = json.loads(gzip.decompress((kept / "a.firefox.json.gz").read_bytes()))
    assert sum(one["samples"]["length"] for one in firefox["threads"]) == number > 100
    scope = json.loads((kept / "a.json").read_text("utf-8"))
    assert any("half" in line for line in folded)
    assert {frame["name"] for frame in scope["shared"]["frames"]} >= {"half", "third"}
    assert gzip.decompress((kept / "a.pb.gz").read_bytes())


def test_a_profile_compared_with_itself_has_no_slower_function(kept: Path) -> None:
    words = ("compare", "a.profile", "a.profile", "--fail-on", "slower", "--json")
    found = json.loads(_assay(kept, *words).stdout)
    assert {one["verdict"] for one in found["changes"][0]["functions"]} <= {"same", "undecided"}
    shown = _assay(kept, "compare", "a.profile", "a.profile", "--html").stdout
    assert "no function surely became slower or faster" in " ".join(shown.split())
    assert (kept / "comparison.html").exists()


def test_what_is_no_profile_with_samples_is_refused(kept: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", "compare", "a.profile", str(tmp_path)]
    done = prepared_assay.run(command, cwd=kept, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "A profile can be compared only with profiles." in done.stderr
