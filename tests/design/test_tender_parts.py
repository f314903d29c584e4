"""Accelerators, memory channels, storage, racks and offers, against sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.design.architecture import architectures
from assay.design.candidates import Builder, PriceFactors
from assay.design.search import search
from assay.errors import AssayError
from assay.subjects.design.answer import answer
from assay.subjects.design.bill import bill_of
from assay.subjects.design.findings import find
from design_specs import BOTH, PARTS, SPEC, read

HOST = '[choose]\nnodes = ["host"]\nmemory = []\ndisks = []\ninterconnects = ["ethernet"]\n'


def only(spec):
    (one,) = architectures(spec)
    return one


def bill(spec, count: int):
    return Builder(spec).bill(only(spec), np.array([count]), PriceFactors.as_quoted())


def test_a_node_has_the_rates_memory_and_power_of_its_accelerators(tmp_path):
    one = only(read(tmp_path, SPEC + HOST, BOTH))
    assert one.name == "host + 4 × device, ethernet"
    assert (one.node.peak.value, one.node.dgemm.value) == (4e12, 3.6e12)
    assert one.node.bandwidth.value == 2e12
    assert one.node.rates["bf16"].value == 32e12
    assert one.node.rates["integer"].value == 2e9  # the host's own
    assert (one.rated_for("bf16"), one.rated_for("integer")) == ("device", "host")
    assert (one.accelerator_memory, one.working_memory) == (32e9, 32e9)
    assert one.memory == 32 * 2**30
    assert one.processes == 4
    assert one.power == 300 + 4 * 250 + 5


def test_adapters_per_accelerator_are_bought_and_used_up_to_the_links(tmp_path):
    more = BOTH.replace("adapter = 50\n", "adapter = 50\nper_accelerator = 1\n")
    single, several = (only(read(tmp_path, SPEC + HOST, parts)) for parts in (BOTH, more))
    assert (single.adapters, several.adapters) == (1, 4)
    assert (single.link, several.link) == (100e6, 240e6)  # 4 × 60 MB/s of the devices' links
    # 4 nodes of 4 adapters: 16 ports are more than a switch has, so each adapter has its network.
    assert bill(read(tmp_path, SPEC + HOST, more), 4).network[0] == 16 * 50 + 4 * 400 + 16 * 10
    # 2 nodes: one switch has the 8 ports.
    assert bill(read(tmp_path, SPEC + HOST, more), 2).network[0] == 8 * 50 + 400 + 8 * 10


def test_spare_accelerators_are_bought_and_not_used(tmp_path):
    spec = read(tmp_path, SPEC + HOST + 'spare_accelerators = "10%"\n', BOTH)
    assert bill(spec, 3).nodes[0] == 3 * 3000 + 13 * 2000  # 12 × 1.1 = 13.2
    lines = {line.part: line.number for line in bill_of(spec, Builder(spec), only(spec), 3)}
    assert (lines["host"], lines["device"]) == (3, 13)
    # Linpack of the working accelerators alone; their memory holds the matrix.
    machines = Builder(spec).machines(only(spec), np.array([3]), "linpack")
    assert (machines.dgemm[0], machines.memory[0], machines.processes[0]) == (3.6e12, 32e9, 4)


def test_a_precision_is_a_workload(tmp_path):
    text = SPEC.replace("integer = 1", "bf16 = 1").replace("40000", "60000")
    best = find(read(tmp_path, text + HOST, BOTH)).best[0]
    assert best.rates[0].rate == pytest.approx(best.nodes * 32e12)
    assert (best.accelerators, best.accelerator_memory) == (4 * best.nodes, best.nodes * 32e9)


def test_memory_of_accelerators_can_be_required(tmp_path):
    text = SPEC.replace("budget = 40000", 'budget = 60000\naccelerator_memory = "100 GB"')
    assert min(search(read(tmp_path, text + HOST, BOTH), _builder(tmp_path, text)).count) == 4


def _builder(tmp_path, text):
    return Builder(read(tmp_path, text + HOST, BOTH))


def test_a_node_with_slots_needs_an_accelerator_that_fits(tmp_path):
    with pytest.raises(AssayError, match="no accelerator fits") as raised:
        list(architectures(read(tmp_path, SPEC + HOST + "accelerators = []\n", BOTH)))
    assert "parts.toml:" in raised.value.where


def test_memory_that_fills_channels_unevenly_is_excluded_unless_it_is_allowed(tmp_path):
    kits = HOST.replace("memory = []", 'memory = ["four modules", "two modules"]')
    found = find(read(tmp_path, SPEC + kits, BOTH))
    assert found.excluded["channels"] == 40
    assert not any("two modules" in one.name for one in found.best)
    allowed = find(read(tmp_path, SPEC + kits + "unbalanced = true\n", BOTH))
    assert "channels" not in allowed.excluded
    assert any("two modules" in one.name for one in allowed.best)


def test_a_node_sold_with_uneven_memory_says_so(tmp_path):
    parts = BOTH.replace("dimms = 4\nslots", "dimms = 6\nslots")
    found = find(read(tmp_path, SPEC + HOST, parts))
    assert "don't fill its 4 channels evenly" in " ".join(found.unknown)
    assert "evenly" not in " ".join(find(read(tmp_path, SPEC + HOST, BOTH)).unknown)


STORE = """
[require]
capacity = "25 TB"
bandwidth = "500 MB/s"
inodes = 900_000
"""
LARGE = '[choose]\nnodes = ["large"]\nmemory = []\ndisks = []\ninterconnects = ["ethernet"]\n'


def test_storage_has_the_smallest_number_that_meets_everything(tmp_path):
    spec = read(tmp_path, SPEC + LARGE + STORE, BOTH)
    numbers = {one.storage.name: one.storage_number for one in architectures(spec)}
    # Small: 25 TB of 10 each. Wide: 500 MB/s of 200 each.
    assert numbers == {"small store": 3, "wide store": 3}
    found = find(spec)
    store = found.best[0].storage
    assert (store.name, store.number, store.capacity) == ("small store", 3, 30e12)
    assert sum(line.number * line.price for line in found.best[0].bill) == pytest.approx(
        found.best[0].price
    )
    plain = read(tmp_path, SPEC + LARGE, BOTH)
    cheaper = Builder(plain).bill(only(plain), np.array([4]), PriceFactors.as_quoted())
    one = next(one for one in architectures(spec) if one.storage.name == "small store")
    with_it = Builder(spec).bill(one, np.array([4]), PriceFactors.as_quoted())
    assert with_it.power[0] - cheaper.power[0] == 300
    assert with_it.storage[0] == 3000


def test_few_nodes_cannot_use_the_bandwidth_of_the_storage(tmp_path):
    """Each node has one adapter of 100 MB/s: five nodes are needed for 500 MB/s."""
    found = search(spec := read(tmp_path, SPEC + LARGE + STORE, BOTH), Builder(spec))
    assert min(found.count) == 5
    assert found.excluded["bandwidth"] == 2 * 4
    best = find(read(tmp_path, SPEC.replace("[1, 40]", "[5, 5]") + LARGE + STORE, BOTH)).best[0]
    assert (best.storage.bandwidth, best.storage.limit) == (500e6, "the nodes' adapters")


def test_scratch_is_a_property_of_the_disk_of_a_node(tmp_path):
    choose = LARGE.replace("disks = []", 'disks = ["slow disk", "fast disk"]')
    for require, kept in (
        ('scratch = "1 TB"', {"slow disk", "fast disk"}),
        ('scratch = "1.5 TB"', {"fast disk"}),
        ('scratch_bandwidth = "1 GB/s"', {"fast disk"}),
    ):
        spec = read(tmp_path, SPEC + choose + f"[require]\n{require}\n", BOTH)
        found = search(spec, Builder(spec))
        disks = {found.architectures[index].disk.name for index in found.architecture}
        assert disks == kept


def test_required_storage_that_no_catalogue_has_is_refused(tmp_path):
    with pytest.raises(AssayError, match="there is none to choose from") as raised:
        read(tmp_path, SPEC + STORE)
    assert raised.value.where.endswith("cluster.toml:9")


def test_racks_are_limited_by_power_and_nodes_spread(tmp_path):
    """Three large nodes of 350 W fit into 1.3 kW; twenty units of height would hold ten."""
    parts = PARTS.replace('pdu_power = "4 kW"', 'pdu_power = "4 kW"\nrack_power = "1.3 kW"')
    spec = read(tmp_path, SPEC + LARGE.replace("memory = []\ndisks = []\n", ""), parts)
    racks = Builder(spec).bill(only(spec), np.arange(1, 13), PriceFactors.as_quoted()).racks
    assert racks.tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]


@pytest.mark.parametrize(
    ("room", "node", "limit"),
    [
        ('rack_power = "300 W"', "", "rack_power"),
        ('air = "300 W"', "", "rack_power"),
        ('air = "10 kW"', 'cooling = "liquid"\n', "cooling"),
    ],
)
def test_a_node_that_no_rack_can_supply_or_cool_is_excluded(tmp_path, room, node, limit):
    parts = PARTS.replace('pdu_power = "4 kW"', f'pdu_power = "4 kW"\n{room}')
    parts = parts.replace("units = 2\n", f"units = 2\n{node}", 1)
    found = find(read(tmp_path, SPEC, parts))
    assert not any("large" in one.name for one in found.best)
    assert found.excluded[limit] == 2 * 40
    with pytest.raises(AssayError, match=f"'{limit}' excludes"):
        find(read(tmp_path, SPEC + '[choose]\nnodes = ["large"]\n', parts))


def test_an_expired_offer_is_refused_and_one_that_ends_soon_is_named(tmp_path):
    offer = 'vendor = "North"\nexpires = 2026-12-31\n' + PARTS
    with pytest.raises(AssayError, match="offer of North expired on 2026-12-31") as raised:
        read(tmp_path, 'date = "2027-01-01"\n' + SPEC, offer)
    assert raised.value.where == f"{tmp_path / 'parts.toml'}:2"
    soon = find(read(tmp_path, "date = 2026-12-31\n" + SPEC, offer))
    assert "The offer of North ends on 2026-12-31 (parts.toml:2)" in " ".join(answer(soon).caveats)
    long_before = find(read(tmp_path, "date = 2026-06-01\n" + SPEC, offer))
    assert long_before.offers == []


def test_a_class_without_a_rate_has_the_rate_of_the_nearest_class(tmp_path):
    parts = PARTS.replace('integer = "1 Gop/s"', '"npb.cg.B" = "1 Gop/s", "npb.cg.S" = "9 Gop/s"')
    parts = parts.replace('integer = "2 Gop/s"', '"npb.cg.C" = "2 Gop/s"')
    spec = read(tmp_path, SPEC.replace("integer", '"npb.cg.C"'), parts)
    small, large = (spec.catalogue.nodes[name].rates["npb.cg.C"] for name in ("small", "large"))
    assert (small.value, small.kind, small.source) == (1e9, "assumed", "rate of npb.cg.B")
    assert small.interval[1] > 1.25e9  # a class apart: ±30% in addition
    assert (large.value, large.kind) == (2e9, "quoted")
    assert "have the rate of npb.cg.B, as an assumption" in " ".join(find(spec).unknown)


def test_npb_cg_of_class_c_can_be_designed_with_the_catalogue_of_the_papers(tmp_path):
    text = SPEC.replace('"parts.toml"', '"papers-2002-2005"').replace("integer", '"npb.cg.C"')
    assert find(read(tmp_path, text.replace("40000", "100000"))).best[0].rates[0].rate > 0
