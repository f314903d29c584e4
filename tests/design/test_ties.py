"""Architectures with equal scores: the cheaper first, then the one with less power."""

from __future__ import annotations

from assay.subjects.design.findings import find
from design_specs import PARTS, SPEC, read

_DISK = """
[[disk]]
name = "{name}"
capacity = "1 TB"
rate = "1 GB/s"
price = {price}
power = "{power} W"
"""


def _first(tmp_path, *disks):
    """The names of the best architectures; disks are listed in this order."""
    parts = PARTS + "".join(_DISK.format(name=n, price=p, power=w) for n, p, w in disks)
    spec = SPEC.replace("budget = 40000\nnodes = [1, 40]", "nodes = [8, 8]")
    return [one.name for one in find(read(tmp_path, spec, parts)).best]


def test_of_equal_scores_the_cheaper_is_first(tmp_path):
    names = _first(tmp_path, ("dear", 350, 4), ("cheap", 150, 4))
    assert "cheap" in names[0]
    assert "cheap" in _first(tmp_path, ("cheap", 150, 4), ("dear", 350, 4))[0]


def test_of_equal_scores_and_prices_the_one_with_less_power_is_first(tmp_path):
    assert "cool" in _first(tmp_path, ("hot", 150, 9), ("cool", 150, 4))[0]
