"""First reasons of simulated programs with noise; their rates are in benchmarks/rates."""

from __future__ import annotations

import numpy as np
import pytest

from drawn_reasons import PLANTED, asked_of, drawn

SHARES = (0.15, 0.3)


# Their shapes are those of single cases in other tests of this folder.
_LONG = {"CPU quota", "other processes", "slow CPU", "imbalance", "serial part", "too many ranks"}


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param(one, id=one or "healthy", marks=[pytest.mark.long] * (one in _LONG))
        for one in PLANTED
    ],
)
def test_the_planted_reason_comes_first(reason: str) -> None:
    found = asked_of(drawn(reason, np.random.default_rng(1), SHARES), 4)
    if reason == "busy":
        assert (found.first, bool(found.undecided)) == ("", True)
    else:
        assert (found.first, found.undecided) == (reason, "")
