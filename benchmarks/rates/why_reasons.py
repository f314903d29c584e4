"""Why a program isn't faster: first reasons of simulated programs with a planted one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from rate import Rate

from assay.subjects.why.model import WhyFindings
from drawn_reasons import PLANTED, asked_of, drawn

# A question takes about a second: its launches are simulated message by message.
_SHARE_OF_TRIALS = 0.1
# Planted shares of the run time: well above the 5% from which a reason stands out.
_SHARES = (0.1, 0.35)
# Launches of a short program, and of one for which the budget allows few.
_LAUNCHES = (5, 2)
# docs/why.md states these.
RIGHT, WRONG, ALARM = 0.9, 0.05, 0.05


def outcome(found: WhyFindings, reason: str) -> str:
    """Right, undecided, missed (nothing stands out) or wrong (another reason comes first)."""
    if reason == "busy":
        return "right" if found.undecided else "wrong"
    if found.first:
        return "right" if found.first == reason else "wrong"
    if not reason:
        return "undecided" if found.undecided else "right"
    if found.undecided:
        return "undecided"
    own = next(one for one in found.reasons if one.name == reason)
    return "undecided" if own.outcome == "undecided" else "missed"


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Every rate that docs/why.md states of first reasons."""
    fewer = max(int(trials * _SHARE_OF_TRIALS), 1)
    low, high = (f"{share:.0%}" for share in _SHARES)
    for launches in _LAUNCHES:
        for number, reason in enumerate(PLANTED):
            random = np.random.default_rng([seed, number, launches])
            found = Counter(
                outcome(asked_of(drawn(reason, random, _SHARES), launches), reason)
                for _ in range(fewer)
            )
            if not reason:
                what = f"nothing, {launches} launches"
                yield Rate("a reason is named", what, found["wrong"], fewer, ALARM, "false alarm")
                continue
            if reason == "busy":
                what = f"other work on all ranks at times, {launches} launches"
                yield Rate("a reason is named", what, found["wrong"], fewer, ALARM, "false alarm")
                continue
            what = f"{reason}, {low} to {high} of the run time, {launches} launches"
            yield Rate("it comes first", what, found["right"], fewer, RIGHT, "detection")
            yield Rate(
                "another reason comes first", what, found["wrong"], fewer, WRONG, "false alarm"
            )
            yield Rate(
                "it is undecided", what, found["undecided"], fewer, 1.0 - RIGHT, "false alarm"
            )
