"""What starting assay imports: nothing of devices, which few commands need."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

DEVICES = re.compile(r"assay\.(kernels\.gpu|system\.devices|reference\.accelerators)\b|pynvml")


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_starting_imports_nothing_of_devices(option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "assay", option],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line]
    assert "assay" in imported
    assert not [name for name in imported if DEVICES.match(name)]
