"""Shares of states per bin, against sums over single calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.report.timeline.previews import WHOLE, bins_for, state_shares, used_states
from assay.report.timeline.states import STATES, states_of
from traces import imbalance, late_sender, ring, stencil


def brute_force(trace, states, bins):
    width = (trace.end - trace.begin) / bins
    found = np.zeros((len(states), len(trace.ranks), bins))
    for row, rank in enumerate(trace):
        for begin, end, function in zip(
            rank.events.begin, rank.events.end, rank.events.function, strict=True
        ):
            place = states.index(states_of(trace.functions)[function])
            for bin_ in range(bins):
                low = trace.begin + bin_ * width
                inside = min(end, low + width) - max(begin, low)
                found[place, row, bin_] += max(inside, 0.0) / width
    return found


@pytest.mark.parametrize("trace", [late_sender(), ring(), stencil(3, 12), imbalance(iterations=9)])
@pytest.mark.parametrize("bins", [1, 7, 64])
def test_shares_are_those_of_single_calls(trace, bins) -> None:
    of_function = states_of(trace.functions)
    states = used_states(trace, of_function)
    shares = state_shares(trace, of_function, states, bins)
    exact = brute_force(trace, states, bins)
    # Rounded as sums over states: at most half a step on either side.
    assert np.abs(shares / WHOLE - exact).max() <= 1 / WHOLE + 1e-9
    assert shares.astype(int).sum(axis=0).max() <= WHOLE
    assert exact.max() > 0.1


def test_calls_of_several_threads_never_exceed_the_whole() -> None:
    trace = late_sender()
    events = trace.ranks[1].events
    order = np.argsort(np.concatenate([events.begin] * 2), kind="stable")

    def twice(column):
        return np.concatenate([column, column])[order]

    columns = {
        name: twice(getattr(events, name))
        for name in events.__dataclass_fields__
        if not name.startswith("completed")
    }
    doubled = replace(
        events, **columns, completed_start=np.zeros(len(order) + 1, np.int64),
        completed_request=np.zeros(0, np.int64),
    )  # fmt: skip
    threaded = replace(trace, ranks=(trace.ranks[0], replace(trace.ranks[1], events=doubled)))
    of_function = states_of(trace.functions)
    states = used_states(trace, of_function)
    shares = state_shares(threaded, of_function, states, 500)
    assert shares.astype(int).sum(axis=0).max() == WHOLE


def test_number_of_bins() -> None:
    assert bins_for(64, 4, 1_000_000) == 3906
    assert bins_for(1, 1, 1_000_000) == 8192
    assert bins_for(10**6, 8, 1_000_000) == 64
    assert bins_for(4, 0, 10) == 64


def test_states_without_calls_are_left_out() -> None:
    trace = late_sender()
    found = used_states(trace, states_of(trace.functions))
    assert [STATES[state] for state in found] == ["Send", "Receive"]
