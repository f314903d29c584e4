"""Loads of exchanges in a grid of processes: counted by hand and over all paths."""

from __future__ import annotations

import pytest

from assay.topologies.kinds import FatTree, RowsColumns, Single, Torus
from described.grids import grid_loads


def test_a_column_within_a_node_loads_no_link() -> None:
    loads = grid_loads(Single(2), 2, 2, 2, True)
    assert (loads.columns.adapter, loads.inside) == (0.0, 1.0)
    assert loads.rows.adapter == 2.0  # both ranks of a node send to the other node


def test_by_row_the_column_crosses_nodes() -> None:
    loads = grid_loads(Single(2), 2, 2, 2, False)
    assert (loads.columns.adapter, loads.inside) == (2.0, 0.0)


# A fat tree with one leaf is a single switch: its loads are counted, the other's a closed form.
@pytest.mark.parametrize("by_column", [True, False])
@pytest.mark.parametrize(("p", "q", "per_host"), [(4, 4, 2), (2, 8, 2), (3, 4, 1), (4, 4, 4)])
def test_closed_form_equals_counts(p: int, q: int, per_host: int, by_column: bool) -> None:
    hosts = p * q // per_host
    closed = grid_loads(Single(hosts), p, q, per_host, by_column)
    counted = grid_loads(FatTree(1, 1, hosts), p, q, per_host, by_column)
    assert closed.columns.adapter == pytest.approx(counted.columns.adapter)
    assert closed.inside == pytest.approx(counted.inside)
    assert closed.rows.adapter == pytest.approx(counted.rows.adapter)


def test_a_ring_of_neighbours_loads_a_torus_once() -> None:
    # Rows along the first dimension: each host sends to the next; no link is used twice.
    loads = grid_loads(Torus((4, 3)), 3, 4, 1, False)
    assert loads.rows.adapter == 1.0


def test_exchanges_by_the_core_load_the_trunks() -> None:
    # Four hosts, 2 x 2; columns of processes are (1, 3) and (2, 4): the columns' switches.
    assert grid_loads(RowsColumns(2, 2), 2, 2, 1, False).columns.trunk == 0.0
    # A single column of all four: a third of each rank's unit goes diagonally, over the core.
    assert grid_loads(RowsColumns(2, 2), 4, 1, 1, False).columns.trunk == pytest.approx(2 / 3)


def test_too_many_processes_are_refused() -> None:
    with pytest.raises(ValueError, match="don't fit 2 hosts"):
        grid_loads(Single(2), 2, 4, 2, True)
