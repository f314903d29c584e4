"""What tests of importers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from importing_probe import Probe, Read, output, probe


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Imports a recorded output by its name."""

    def read_output(name: str) -> Probe:
        return probe(output(name), tmp_path / "output")

    return read_output
