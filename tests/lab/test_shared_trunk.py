"""The computed queue of a trunk: where a formula gives the same, and what it depends on."""

from __future__ import annotations

import pytest

from shared_trunk import Trunk, first_impact, impact

ADAPTER = 3e6  # B/s
HALO = 131_072


@pytest.mark.parametrize("rate", [3.4e6, 4e6, 5e6])
def test_an_operation_behind_an_empty_queue_gets_its_share_of_the_rate(rate: float) -> None:
    """Both send at the rate of their adapters as long as the operation lasts. Nothing delays the
    answers of the receivers, because no aggressor sends in their direction.
    """
    found = first_impact(Trunk(ADAPTER, rate, HALO, 1 << 20, both=False))
    assert found == pytest.approx(2 * ADAPTER / rate, rel=0.03)


def test_a_trunk_for_both_has_no_impact() -> None:
    assert impact(Trunk(ADAPTER, 2 * ADAPTER, HALO, 16_384, both=True)) == pytest.approx(
        1, rel=0.03
    )


def test_a_longer_queue_delays_the_next_operation() -> None:
    """The more an aggressor has in flight, the more is left in the queue."""
    found = [impact(Trunk(ADAPTER, 4e6, HALO, load, both=False)) for load in (1024, 4096, 16_384)]
    assert 1 < found[0] < found[1] < found[2]
    assert found[2] > 1.1 * first_impact(Trunk(ADAPTER, 4e6, HALO, 16_384, both=False))
