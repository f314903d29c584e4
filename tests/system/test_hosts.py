"""Host records: bytes through adapters, and the time of day. Parsed, and reported."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import msgspec
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.model import Measurement, RunData
from assay.records.schema import (
    AdapterTraffic,
    ClockOffset,
    HostClocks,
    RankRecord,
    StreamRecord,
)
from assay.records.stream import sent_by_adapter
from assay.records.tables import measurement_table
from assay.report.hosts import clock_notes, clock_text, network_text
from assay.report.machine import provenance_tables
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.model import CellSummary
from report_builder import make_measurement, make_run

EXACT = 1e-6


def clocks(utc: float, error: float = EXACT) -> HostClocks:
    return HostClocks(ClockOffset(utc, error), ClockOffset(-5000.0, error))


def ranks(*hosts: tuple[str, float] | tuple[str, None]) -> tuple[RankRecord, ...]:
    return tuple(
        RankRecord(i, host, 1, 0, [0], 0, True, False, None if utc is None else clocks(utc))
        for i, (host, utc) in enumerate(hosts)
    )


def over_network(
    adapter: str | None, traffic: Sequence[AdapterTraffic], seats: tuple[RankRecord, ...] = ()
) -> Measurement:
    cell = Cell("network.pingpong", {"bytes": 8}, Placement(nodes=2, adapter=adapter), "embedded")
    measurement = make_measurement(cell, [1.0, 1.1, 0.9, 1.0, 1.05])
    record = msgspec.structs.replace(measurement.record, traffic=list(traffic))
    return dataclasses.replace(measurement, record=record, ranks=seats or measurement.ranks)


def sent(adapter: str, most: float, host: str | None = "n1") -> AdapterTraffic:
    return AdapterTraffic(adapter, most, most / 2, host)


def run_of(*measurements: Measurement) -> RunData:
    cells = [
        CellSummary(m.cell.kernel, m.cell.id, m.cell, "ok", True, {}, {}, []) for m in measurements
    ]
    return make_run(cells, measurements=measurements)


# ---- adapters --------------------------------------------------------------------------------


def test_bytes_are_added_up_over_hosts_and_measurements() -> None:
    first = over_network("eth1", [sent("eth1", 5e9), sent("eth1", 3e9, "n2"), sent("eth0", 1e4)])
    second = over_network("eth1", [sent("eth1", 4e9, None)])
    records = [first.record, second.record]
    assert sent_by_adapter(records) == {"eth1": 12e9, "eth0": 1e4}
    assert list(sent_by_adapter(records)) == ["eth1", "eth0"]
    assert sent_by_adapter([]) == {}


def test_the_report_names_the_adapter() -> None:
    run = run_of(over_network("eth1", [sent("eth1", 12e9), sent("eth0", 5e6)]))
    assert network_text(run) == "12.0 GB over eth1, 5.00 MB over eth0"
    (origin, *_) = provenance_tables(run)
    facts = {row[0].text: row[1].text for row in origin.rows}
    assert facts["Sent between hosts"] == "12.0 GB over eth1, 5.00 MB over eth0"
    silent = provenance_tables(run_of(over_network(None, [])))[0]
    assert "Sent between hosts" not in {row[0].text for row in silent.rows}


@pytest.mark.parametrize(
    ("asked", "traffic", "said"),
    [
        ("eth1", {"eth0": 12e9, "eth1": 1e6}, "12.0 GB went over eth0 and 1.00 MB over eth1"),
        ("eth1", {"eth0": 12e9}, "12.0 GB went over eth0 and 0 B over eth1"),
        ("eth0,eth1", {"ib0": 1e9, "eth1": 1e3}, "The placement requests eth0 and eth1"),
        ("eth1", {"eth1": 12e9, "eth0": 11e9}, ""),
        ("eth1", {"eth0": 12e9, "eth1": 7e9}, ""),  # a bond, or both rails
        ("bond0", {"eth0": 6e9, "eth1": 6e9, "bond0": 12e9}, ""),
        ("eth1", {"eth0": 9e4}, ""),  # a few connections
        ("eth1", {}, ""),
        (None, {"eth0": 12e9}, ""),
    ],
)
def test_bytes_over_another_adapter_are_a_finding(
    asked: str | None, traffic: dict[str, float], said: str
) -> None:
    run = run_of(over_network(asked, [sent(name, most) for name, most in traffic.items()]))
    (cell,) = summarise_cells(run)
    found = [caveat for caveat in cell.caveats if "placement requests" in caveat]
    assert len(found) == bool(said)
    assert all(said in caveat for caveat in found)


def test_the_table_has_it_in_a_column() -> None:
    run = run_of(over_network("eth1", [sent("eth1", 12e9), sent("eth0", 1.5e4)]))
    assert measurement_table(run)["traffic"].to_list() == ["eth1=12000000000,eth0=15000"]
    assert measurement_table(run_of(over_network(None, [])))["traffic"].to_list() == [None]


# ---- clocks ----------------------------------------------------------------------------------


def test_clocks_far_apart_are_reported_with_a_remedy() -> None:
    run = run_of(over_network(None, [], ranks(("n1", 0.0), ("n2", 0.5))))
    (note,) = clock_notes(run)
    assert "The clock of n2 is 500 ms ahead of the clock of n1" in note
    assert "NTP" in note
    assert clock_text(run) == "times of day differ by up to 500 ms (±2.00 µs)"
    assert provenance_tables(run)[0].notes == [note]


@pytest.mark.parametrize(("apart", "error"), [(0.09, EXACT), (0.0, EXACT), (0.3, 0.2)])
def test_possible_chance_is_not_reported(apart: float, error: float) -> None:
    seats = ranks(("n1", 0.0), ("n2", None))
    far = msgspec.structs.replace(seats[1], clocks=clocks(apart, error))
    run = run_of(over_network(None, [], (seats[0], far)))
    assert clock_notes(run) == []


def test_records_of_older_writers_read_as_before() -> None:
    old = (
        b'{"record":"rank","rank":0,"host":"n1","pid":1,"local_rank":0,"cpus":[0],"numa":null,'
        b'"pinned":true,"oversubscribed":false}'
    )
    rank = msgspec.json.decode(old, type=StreamRecord)
    assert isinstance(rank, RankRecord) and rank.clocks is None
