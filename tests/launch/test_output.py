"""Programs with endless output: beginning and end are kept, on disk during and after the run."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from assay.launch import output, process
from assay.launch.output import cap, curb
from assay.launch.process import LaunchProcess

PRINTS = """
import os, sys, time
for number in range(60_000):
    print(f"line {number:08d} " + "x" * 90)
sys.stdout.flush()
open("printed", "w").close()
while not os.path.exists("go"):
    time.sleep(0.005)
print("the end")
"""


@pytest.mark.parametrize("holes", [True, False])
def test_runaway_output_is_bounded_while_it_runs_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holes: bool
) -> None:
    monkeypatch.setattr(output, "MOST", 1 << 20)
    monkeypatch.setattr(output, "KEPT", 64 << 10)
    monkeypatch.setattr(process, "_LOOK", 0.0)
    if not holes:  # as on a file system without sparse files
        monkeypatch.setattr(output, "_punch", lambda *_: False)
    monkeypatch.chdir(tmp_path)
    out, err = tmp_path / "a.out", tmp_path / "a.err"
    command = [sys.executable, "-c", PRINTS]
    launch = LaunchProcess(command, rank_program=Path(sys.executable), out=out, err=err)
    while not (tmp_path / "printed").exists():
        assert launch.wait(0.0) is None
        time.sleep(0.005)
    assert launch.wait(0.0) is None
    assert out.stat().st_blocks * 512 <= (1 << 20) + (256 << 10)
    (tmp_path / "go").touch()
    while launch.wait(1.0) is None:
        pass
    cap(out)
    text = out.read_text()
    assert out.stat().st_size < 200 << 10
    assert text.startswith("line 00000000 xxx")
    assert text.endswith("the end\n")
    assert "bytes of output are left out here]" in text
    assert "\0" not in text
    if holes:
        assert "line 00059999 " in text


def test_output_within_the_limit_is_kept_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_bytes(b"x" * (1 << 20))
    curb(path)
    cap(path)
    cap(tmp_path / "nothing.out")
    assert path.read_bytes() == b"x" * (1 << 20)
