"""Random events are coded and decoded; damaged bytes are decoded under the sanitizers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from native_build import NATIVE

pytestmark = pytest.mark.slow
SUPPORT = Path(__file__).parents[2] / "support"


@pytest.mark.long
def test_random_events_are_decoded_and_damage_is_harmless(tmp_path: Path) -> None:
    program, sources = tmp_path / "check", NATIVE / "trace"
    subprocess.run(
        [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror",
         "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I", sources,
         SUPPORT / "trace_code_check.cpp", sources / "events" / "encoder.cpp", "-o", program],
        check=True, timeout=300,
    )  # fmt: skip
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("ok\n", "", 0)
