"""The search, the best of each architecture and the front, against loops over every candidate.

Prices, powers, racks and rates are summed here from the catalogue's numbers, one candidate at a
time. Numbers of switches and cables come from the fabric (``test_fabric.py``).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from assay.design.architecture import Architecture, architectures
from assay.design.candidates import Builder
from assay.design.costs.ownership import HOURS_PER_YEAR
from assay.design.front import pareto_front
from assay.design.search import search
from assay.subjects.design.findings import find
from design_specs import read

HEAD = """
currency = "USD"
kind = "quoted"
[room]
rack = 700
rack_units = 20
rack_floor = 1.5
rack_power = "1.9 kW"
pdu = 100
pdu_power = "4 kW"
management = 20
assembly = 2
wage = 25
server = 3000
[[switch]]
name = "switch"
ports = 24
price = 900
power = "80 W"
units = 1
[[cable]]
name = "copper"
price = 10
per_metre = 3
longest = 4
"""


@dataclass(frozen=True)
class Row:
    """A candidate that meets the limits."""

    architecture: int
    nodes: int
    price: float
    power: float
    total: float
    rate: float


def parts_of(generator: random.Random, kinds: int) -> str:
    """A random catalogue. Prices are whole numbers, some equal, so that there are ties."""
    text = HEAD
    for number in range(kinds):
        slots = "slots = 2\n" if number % 3 == 2 else ""
        text += (
            f'[[node]]\nname = "node {number}"\nsockets = 2\ncores = {generator.choice((8, 16))}\n'
            f'peak = "1 Tflop/s"\ndgemm = "0.8 Tflop/s"\nbandwidth = "100 GB/s"\n'
            f'memory = "{generator.choice((32, 64))} GiB"\n'
            f"price = {generator.randint(5, 15) * 200}\n"
            f'power = "{generator.randint(3, 9) * 50} W"\nunits = {generator.choice((1, 2))}\n'
            f'{slots}rates = {{ integer = "{generator.randint(1, 9)} Gop/s" }}\n'
        )
    for number in range(2):
        text += (
            f'[[accelerator]]\nname = "device {number}"\nmemory = "16 GB"\npeak = "5 Tflop/s"\n'
            f'dgemm = "4 Tflop/s"\nbandwidth = "1 TB/s"\nlink = "10 GB/s"\n'
            f"price = {generator.randint(5, 15) * 200}\n"
            f'power = "{generator.randint(2, 5) * 50} W"\n'
            f'rates = {{ integer = "{generator.randint(5, 20)} Gop/s" }}\n'
        )
        text += (
            f'[[disk]]\nname = "disk {number}"\ncapacity = "{number + 1} TB"\nrate = "1 GB/s"\n'
            f'price = {generator.randint(1, 4) * 50}\npower = "5 W"\n'
        )
        text += (
            f'[[storage]]\nname = "store {number}"\ncapacity = "{generator.randint(5, 20)} TB"\n'
            f'rate = "{generator.randint(1, 9)} GB/s"\ninodes = 1_000_000\n'
            f'price = {generator.randint(2, 9) * 300}\npower = "90 W"\nunits = 2\n'
        )
        text += (
            f'[[interconnect]]\nname = "network {number}"\ntopology = "fat-tree"\n'
            f'latency = "{number + 2} us"\nbandwidth = "{number + 1} GB/s"\n'
            f'adapter = {generator.randint(1, 5) * 50}\npower = "5 W"\n'
            f'switches = ["switch"]\ncable = "copper"\n'
        )
    text += (
        f'[[memory]]\nname = "kit"\nmemory = "32 GiB"\nprice = {generator.randint(2, 8) * 50}\n'
        'power = "10 W"\n'
    )
    return text


def spec_of(generator: random.Random, most: int) -> str:
    budget = generator.randint(30, 60) * most * 50
    return (
        f'catalogues = ["parts.toml"]\n[limits]\nbudget = {budget}\nnodes = [1, {most}]\n'
        f'power = "{generator.randint(4, 9) * most / 20:g} kW"\n'
        f'memory_per_rank = "{generator.choice((2, 3))} GiB"\n'
        '[require]\ncapacity = "25 TB"\nbandwidth = "3 GB/s"\ninodes = 1500000\nscratch = "1 TB"\n'
        f'[choose]\nspares = "{generator.choice((0, 3, 10))}%"\n'
        'spare_accelerators = "5%"\n'
        '[costs]\nyears = 3\nenergy = 0.2\npue = 1.3\nload = "60%"\nidle = "50%"\n'
        'maintenance = "4%"\nstaff = 900\n'
        "[workload]\ninteger = 1\n"
    )


def rounded(number: float) -> int:
    return math.floor(number + 0.5 + 1e-9)


def every_row(spec, builder: Builder) -> Iterator[Row]:
    for index, one in enumerate(architectures(spec)):
        for nodes in range(spec.limits.least, spec.limits.most + 1):
            row = row_of(spec, builder, one, index, nodes)
            if row is not None:
                yield row


def row_of(spec, builder: Builder, one: Architecture, index: int, nodes: int) -> Row | None:
    """None if the candidate doesn't meet a limit."""
    room, limits, fabric = spec.catalogue.room, spec.limits, builder.fabric(one)
    host, kit, device, store = one.host, one.kit, one.accelerator, one.storage
    number = host.slots if device else 0
    bought = nodes + rounded(nodes * spec.spares)
    devices = bought * number + rounded(bought * number * spec.spare_accelerators)
    switches = int(fabric.switches["switch"][nodes])
    each = host.price.value + one.disk.price.value + (kit.price.value if kit else 0)
    stores = max(math.ceil(25e12 / store.capacity.value), math.ceil(3e9 / store.rate.value), 2)
    watts = host.power.value + one.disk.power.value + 5 + (kit.power.value if kit else 0)
    watts += number * device.power.value if device else 0
    power = nodes * watts + switches * 80 + stores * 90
    units = nodes * host.units + switches + 2 * stores
    per_rack = math.floor(1900 / watts + 1e-9)
    if per_rack == 0:
        return None
    racks = max(
        math.ceil(units / 20),
        math.ceil(nodes / min(per_rack, math.floor(20 / host.units))),
        math.ceil(power / 1900 - 1e-9),
    )
    cable = 10 + 3 * min(float(fabric.metres[nodes]), 4)
    price = (
        bought * each
        + (devices * device.price.value if device else 0)
        + bought * one.network.adapter.value
        + switches * 900
        + int(fabric.cables[nodes]) * cable
        + stores * store.price.value
        + racks * 700
        + max(math.ceil(power / room.pdu_power.value), racks) * 100
        + nodes * 20
        + bought * 50
        + 3000
    )
    yearly = power * 1.3 * (0.5 + 0.5 * 0.6) / 1000 * HOURS_PER_YEAR * 0.2 + 0.04 * price + 900
    memory = host.memory.value + (kit.memory.value if kit else 0)
    rate = device.rates["integer"].value * number if device else host.rates["integer"].value
    fits = (
        price <= limits.budget
        and power <= limits.power
        and memory / host.cores >= limits.memory_per_rank
        and nodes * one.network.bandwidth.value >= 3e9
        and fabric.fits[nodes]
    )
    return Row(index, nodes, price, power, price + 3 * yearly, nodes * rate) if fits else None


def compare(folder, seed: int, kinds: int, most: int) -> int:
    """The number of candidates considered."""
    generator = random.Random(seed)
    spec = read(folder, spec_of(generator, most), parts_of(generator, kinds))
    builder = Builder(spec)
    rows = {(row.architecture, row.nodes): row for row in every_row(spec, builder)}
    assert rows
    found = search(spec, builder)
    seen = {*zip(found.architecture.tolist(), found.count.tolist(), strict=True)}
    assert seen == rows.keys()
    order = [rows[key] for key in zip(found.architecture.tolist(), found.count.tolist(),
                                      strict=True)]  # fmt: skip
    for column in ("price", "power", "total", "rate"):
        expected = [getattr(row, column) for row in order]
        assert getattr(found, column) == pytest.approx(expected, rel=1e-9)
    check_front(found.price, found.power, found.rate)
    check_choice(spec, [*rows.values()])
    return found.considered


def check_front(price, power, rate) -> None:
    """By definition: nothing dominates a member, and a member dominates or equals all others."""
    front = pareto_front(price, power, rate)
    covered = np.zeros(len(price), dtype=bool)
    for at in front.tolist():
        no_worse = (price <= price[at]) & (power <= power[at]) & (rate >= rate[at])
        better = (price < price[at]) | (power < power[at]) | (rate > rate[at])
        assert not np.any(no_worse & better)
        covered |= (price >= price[at]) & (power >= power[at]) & (rate <= rate[at])
    assert np.all(covered)
    keys = {*zip(price[front].tolist(), power[front].tolist(), rate[front].tolist(), strict=True)}
    assert len(keys) == len(front)


def check_choice(spec, rows: list[Row]) -> None:
    """The shortlist: of each architecture the fastest, of equally fast ones the cheaper."""
    best: dict[int, Row] = {}
    for row in rows:
        other = best.get(row.architecture)
        if other is None or (row.rate, -row.price) > (other.rate, -other.price):
            best[row.architecture] = row
    expected = sorted(best.values(), key=lambda row: (-row.rate, row.price, row.power))
    shortlist = find(spec).best
    keys = [(one.nodes, one.price, one.power) for one in shortlist]
    wanted = [(row.nodes, row.price, row.power) for row in expected[: len(shortlist)]]
    assert [key[0] for key in keys] == [key[0] for key in wanted]
    assert [number for key in keys for number in key] == pytest.approx(
        [number for key in wanted for number in key]
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_candidates(tmp_path, seed):
    assert compare(tmp_path, seed, kinds=3, most=20) >= 1000


@pytest.mark.long
@pytest.mark.parametrize(("seed", "kinds", "most"), [(3, 6, 100), (4, 9, 200), (5, 12, 640)])
def test_many_candidates(tmp_path, seed, kinds, most):
    considered = compare(tmp_path, seed, kinds, most)
    assert considered >= (100_000 if most == 640 else 10_000)
