"""Every parser returns a value or raises one sentence, quickly, for any input.

``ASSAY_TEST_INPUTS=1000000 pytest -m long tests/cli/test_hostile_inputs.py`` runs a million.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from hostile import inputs

COUNT = int(os.environ.get("ASSAY_TEST_INPUTS", "20000"))
SEED = int(os.environ.get("ASSAY_TEST_SEED", "1"))
SLOW = 2.0  # s of CPU time


def _try(count: int, seed: int, folder: Path) -> None:
    slowest = (0.0, "", "")
    tried: Counter[str] = Counter()
    for number, (name, text, call) in enumerate(inputs(seed, folder)):
        if number == count:
            break
        began = time.process_time()
        try:
            call()
        except BaseException:
            print(f"input {number} of seed {seed}, {name}: {text[:200]!r} ({len(text)})")
            raise
        slowest = max(slowest, (time.process_time() - began, name, text))
        tried[name] += 1
    print(f"{count} inputs, slowest {slowest[0]:.3f} s: {slowest[1]} {slowest[2][:80]!r}; {tried}")
    assert slowest[0] < SLOW, (slowest[0], slowest[1], slowest[2][:200])


def test_a_few_hostile_inputs(tmp_path: Path) -> None:
    _try(200, 0, tmp_path)


@pytest.mark.long
def test_many_hostile_inputs(tmp_path: Path) -> None:
    _try(COUNT, SEED, tmp_path)
