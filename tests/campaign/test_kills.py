"""Kills at random moments: nothing complete is lost, nothing remains, everything is reported.

``ASSAY_TEST_KILLS=1000 pytest -m long tests/campaign/test_kills.py`` runs a thousand of each kind.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from kills import Tally, one_kill

COUNT = int(os.environ.get("ASSAY_TEST_KILLS", "5"))
SEED = int(os.environ.get("ASSAY_TEST_SEED", "1"))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("real", [False, True], ids=["fake", "real"])
def test_killed_anywhere_at_any_time(tmp_path: Path, real: bool) -> None:
    tally = Tally()
    # The first campaign is not killed: its duration determines when the others may be.
    began = time.monotonic()
    one_kill(tmp_path / "whole", -1, real=real, last=0.0, tally=Tally())
    last = time.monotonic() - began
    for seed in range(SEED, SEED + COUNT):
        one_kill(tmp_path / str(seed), seed, real=real, last=last, tally=tally)
        shutil.rmtree(tmp_path / str(seed))
    print(f"{COUNT} kills, {'real' if real else 'fake'}: {tally}")
