"""Differences of the times of day of a launch's hosts."""

from __future__ import annotations

import dataclasses

import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.model import Measurement
from assay.records.schema import ClockOffset, HostClocks, RankRecord
from assay.stats.fleet.clock_spread import widest_spread
from report_builder import make_measurement

EXACT = 1e-6


def on_hosts(*hosts: tuple[str, float] | tuple[str, None]) -> Measurement:
    """A measurement with a rank per host, of which some know their clock's offset."""
    ranks = tuple(
        RankRecord(i, host, 1, 0, [0], 0, True, False, None if utc is None else clocks(utc))
        for i, (host, utc) in enumerate(hosts)
    )
    cell = Cell("network.pingpong", {"bytes": 8}, Placement(nodes=2), "embedded")
    return dataclasses.replace(make_measurement(cell, [1.0, 1.1, 0.9, 1.0, 1.05]), ranks=ranks)


def clocks(utc: float) -> HostClocks:
    return HostClocks(ClockOffset(utc, EXACT), ClockOffset(-5000.0, EXACT))


def test_the_two_hosts_that_differ_most_are_found() -> None:
    spread = widest_spread([on_hosts(("n1", 0.0), ("n1", None), ("n2", -0.25), ("n3", 0.5))])
    assert spread is not None
    assert (spread.ahead, spread.behind) == ("n3", "n2")
    assert spread.apart == 0.75 and spread.error == pytest.approx(2 * EXACT)
    assert widest_spread([on_hosts(("n1", None))]) is None
