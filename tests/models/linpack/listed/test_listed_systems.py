"""Listed systems: names, trees against planted effects, intervals, the shipped coefficients."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.models.linpack.listed.columns import OrderRule, fit_orders, mechanisms, numbers
from assay.models.linpack.listed.names import (
    UNKNOWN,
    ListedSystem,
    described_network,
    read_names,
    without_names,
)
from assay.models.linpack.listed.prediction import listed_model, width_of
from listed.boosting import ForestSettings, fit_forest
from listed.families import family_of
from listed.fitting import as_text, fit, folds, interval_widths, known

SYSTEM = ListedSystem(
    cores=11016,
    peak=129_108e9,
    year=2011,
    computer="BladeCenter HS22 Cluster (WM), Xeon X5670 6C 2.93 GHz, Gigabit Ethernet",
    manufacturer="IBM",
)


def test_names_are_read() -> None:
    names = read_names(SYSTEM)
    assert (names.network, names.processor, names.maker) == ("gigabit", "westmere", "ibm")
    assert (names.clock, names.cores_per_chip) == (2.93e9, 6)
    assert names.accelerator == "unknown"
    assert {"xeon", "x5670", "gigabit"} <= names.words


@pytest.mark.parametrize(
    ("computer", "network"),
    [
        ("AMD 1.66 GHz - SCI 3D-torus", "sci"),
        ("Prairiefire AMD 1.8 GHz - Myrinet", "myrinet"),
        ("Sugon TC6000, Xeon E5-2620v4 8C 2.1GHz, 10G Ethernet", "10g"),
        ("Cluster, Xeon, Infiniband FDR", "ib-fdr"),
        ("ORIGIN 2000", "numalink"),
        ("no network named", "unknown"),
    ],
)
def test_networks(computer: str, network: str) -> None:
    assert read_names(replace(SYSTEM, computer=computer)).network == network


@pytest.mark.parametrize(
    "twins",
    [
        ("SP2/42 ", "sp2/64"),
        ("SP Power3 375 MHz 16 way", "SP Power3 222 MHz"),
        ("C1, Xeon E5-2670 8C 2.600GHz, 10G Ethernet", "C1, Xeon E5-2690 8C 2.9GHz, 10G Ethernet"),
        ("Altix, Opteron 6174 12C 2.20 GHz", "Altix, Opteron 6128 8C 2.0 GHz"),
        ("C6420, Xeon Gold 6148 20C 2.4GHz", "C6420, Xeon Platinum 8160 24C 2.1GHz"),
    ],
)  # fmt: skip
def test_near_twins_are_a_family(twins: tuple[str, str]) -> None:
    assert family_of(twins[0]) == family_of(twins[1])


def test_generations_and_networks_part_families() -> None:
    names = ("Xeon E5-2670 8C, 10G Ethernet", "Xeon E5-2670v3 8C, 10G Ethernet",
             "Xeon E5-2670 8C, Infiniband FDR", "Xeon X5670 6C, 10G Ethernet")  # fmt: skip
    assert len({family_of(name) for name in names}) == 4


@pytest.mark.parametrize(
    ("text", "rate", "network"),
    [
        ("400 Gbit/s, full InfiniBand", 4.8e10, "ib-hdr"),
        ("InfiniBand", 6e9, "ib-fdr"),
        ("25 Gbit/s Ethernet", 2.9e9, "25g"),
        ("Ethernet", 1.1e8, "gigabit"),
        ("SCI torus", 2e8, "sci"),
    ],
)
def test_a_described_network_is_of_the_generation_of_its_rate(text, rate, network) -> None:
    assert described_network(text, rate) == network


def test_without_names_only_the_description_is_left() -> None:
    names = without_names(read_names(SYSTEM))
    assert (names.network, names.cores_per_chip) == ("gigabit", 6)
    assert (names.processor, names.maker, names.clock, names.words) == ("", "", None, frozenset())
    assert names.accelerator == UNKNOWN
    listed = read_names(replace(SYSTEM, accelerator="NVIDIA Tesla V100"))
    assert without_names(listed).accelerator == ""


def test_the_rule_of_orders_is_found_again() -> None:
    random = np.random.default_rng(0)
    true = OrderRule(1.0, 0.2, 0.3, 0.01)
    systems = []
    for _ in range(50):
        cores, peak = int(random.integers(2, 10_000)), float(10 ** random.uniform(11, 15))
        system = replace(SYSTEM, cores=cores, peak=peak, year=int(random.integers(1993, 2021)))
        systems.append(replace(system, order=round(true.order(system))))
    found = fit_orders(systems)
    assert found.peak == pytest.approx(0.3, abs=0.01)
    assert found.cores == pytest.approx(0.2, abs=0.01)


def test_mechanisms_are_the_published_terms() -> None:
    """One word of 8 B per flop-time at P = Q: bandwidth is 3 (3P + Q) / (4 N) words."""
    names = replace(read_names(SYSTEM), latency=0.0, rate=8.0)
    system = replace(SYSTEM, cores=6, peak=6.0)
    assert mechanisms(system, names, 100.0).bandwidth == pytest.approx(3 * (3 * 2 + 3) / 400)
    assert mechanisms(replace(system, cores=1), names, 100.0).bandwidth == 0.0


def test_unknown_numbers_are_nan_not_zero() -> None:
    columns = numbers(
        replace(SYSTEM, computer="x"),
        read_names(replace(SYSTEM, computer="x")),
        OrderRule(12.0, 0.0, 0.0, 0.0),
    )
    assert sum(math.isnan(value) for value in columns) == 8


def test_trees_find_planted_effects_and_resist_outliers() -> None:
    random = np.random.default_rng(3)
    x = random.random((600, 3))
    flag = (random.random((600, 2)) < 0.5).astype(float)
    truth = np.where(x[:, 1] > 0.4, 1.0, 0.0) + 0.5 * flag[:, 1]
    y = truth + np.where(random.random(600) < 0.1, 50.0, 0.0)
    settings = ForestSettings(trees=80, depth=3, rate=0.2, prior=1.0)
    forest = fit_forest(x, flag, y, np.ones(600), settings, 0)
    predicted = forest.predict(np.hstack([x, flag]))
    assert np.median(np.abs(predicted - truth)) < 0.05
    # A missing number goes left, as a small one.
    missing, small = np.array([[0.5, np.nan, 0.5, 0, 0]]), np.array([[0.5, 0.0, 0.5, 0, 0]])
    assert forest.predict(missing) == pytest.approx(forest.predict(small))


def test_folds_never_part_twins() -> None:
    systems = [
        replace(SYSTEM, computer=f"machine {'abcdefg'[n % 7]} {n} MHz", cores=n + 1)
        for n in range(70)
    ]
    data = known(systems, np.ones(70), np.full(70, np.nan))
    fold = folds(data, 3, 0)
    for number in range(7):
        assert len({int(fold[row]) for row in range(number, 70, 7)}) == 1


def test_widths_are_the_quantile_of_their_level() -> None:
    random = np.random.default_rng(5)
    systems = [replace(SYSTEM, computer=f"machine a{n}", cores=n + 1) for n in range(2000)]
    data = known(systems, np.ones(2000), np.full(2000, np.nan))
    widths = interval_widths(data, random.standard_normal(2000))
    assert width_of(widths, "2011-ethernet") == pytest.approx(1.645, rel=0.05)
    assert width_of({"": 1.0, "2011": 2.0}, "2011-other") == 2.0
    assert width_of({"": 1.0}, "1999-other") == 1.0


def test_a_model_is_the_same_after_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    small = ForestSettings(trees=4, depth=2)
    monkeypatch.setattr("listed.fitting.EFFICIENCY", small)
    monkeypatch.setattr("listed.fitting.HALF", small)
    random = np.random.default_rng(7)
    systems = [
        replace(SYSTEM, cores=10 + n, peak=1e12 * (10 + n), computer=f"c{n}a", order=10_000 + n)
        for n in range(80)
    ]
    peak = np.array([system.peak for system in systems])
    data = known(systems, peak * random.uniform(0.4, 0.8, 80), np.linspace(1e3, 2e3, 80))
    model = fit(data, np.arange(80), 0)
    written = json.loads(gzip.decompress(as_text(model, "a test")))
    assert written["words"] == list(model.words)
    assert (written["source"], written["rate"]["trees"]) == ("a test", 4)


def test_the_shipped_model_says_what_is_lost_to_what() -> None:
    found = listed_model().predict(SYSTEM)
    assert found.rmax_ci90[0] < found.rmax < found.rmax_ci90[1] <= SYSTEM.peak
    assert found.half_ci90[0] < found.half < found.half_ci90[1]
    losses = found.losses
    lost = losses.panel + losses.broadcast + losses.small_order + losses.memory
    assert lost + found.rmax / SYSTEM.peak == pytest.approx(1.0)
    assert found.unknown == ("order",)
    faster = replace(SYSTEM, computer=SYSTEM.computer.replace("Gigabit Ethernet", "Infiniband QDR"))
    assert listed_model().predict(faster).rmax > 1.2 * found.rmax


def test_a_small_order_is_a_loss_of_its_own() -> None:
    typical = listed_model().rule.order(SYSTEM)
    small = replace(SYSTEM, order=round(typical / 4))
    large = replace(SYSTEM, order=round(typical))
    assert listed_model().predict(small).losses.small_order > 0.01
    assert listed_model().predict(large).losses.small_order < 1e-6


def test_an_unknown_system_says_so() -> None:
    strange = ListedSystem(cores=64, peak=1e13, year=2025, computer="Zork")
    assert listed_model().predict(strange).unknown == ("network", "processor", "order")


def test_the_documented_errors_are_those_of_the_benchmark() -> None:
    root = Path(__file__).parents[4]
    results = (root / "benchmarks" / "results" / "2026-11-28-top500.md").read_text("utf-8")
    documented = (root / "docs" / "methods" / "machine.md").read_text("utf-8")
    rows = [line for line in results.splitlines() if line.startswith("| ")]
    assert len(rows) == 11
    assert all(row in documented for row in rows)
    found = {row.split("|")[1].strip(): row.split("|")[2:-1] for row in rows[2:]}
    share = {name: [float(cell.strip(" %")) for cell in cells] for name, cells in found.items()}
    assert share["listed, median error"][-1] <= 7.0
    for name in ("listed", "design"):
        assert 87.0 <= share[f"{name}, 90% intervals hold"][0] <= 93.0
