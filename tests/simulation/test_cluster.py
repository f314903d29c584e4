"""Descriptions of clusters: what is read, and a sentence with the line for what can't be."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.simulation.calibration import calibration
from assay.simulation.cluster import SizeCost, cluster_of
from assay.simulation.example import EXAMPLE
from assay.toml import parse_toml
from assay.topologies.kinds import Torus
from simulated_clusters import BASE, cluster


def test_everything_of_the_example_is_read() -> None:
    found = cluster(EXAMPLE)
    assert found.topology == Torus((6, 4, 5))
    assert (found.latency.value, found.bandwidth.value, found.hop) == (3.7e-6, 230e6, 1e-7)
    assert (found.within_latency, found.within_bandwidth) == (1e-6, 600e6)
    assert (found.cores, found.speed, found.adapters, found.eager) == (2, 1.0, 1, 65536)
    assert found.trunk == found.bandwidth.value
    varies = found.variability
    assert (varies.between_nodes, varies.over_time, varies.interval) == (0.01, 0.01, 1.0)


def test_a_description_replaces_the_usual_execution_of_linpack() -> None:
    usual = cluster().linpack
    assert usual == calibration().linpack
    assert not usual.look_ahead
    text = '[linpack]\npanel = "10%"\ndgemm_half = 9\nlook_ahead = true\n'
    assert cluster(BASE + text).linpack == replace(usual, panel=0.1, half=9.0, look_ahead=True)


def test_larger_messages_have_costs_of_their_own() -> None:
    size = '[[size]]\nabove = "16 KiB"\nlatency = "60 us"\nbandwidth = "110 MB/s"\n'
    assert cluster(BASE + size).sizes == (SizeCost(16384, 60e-6, 110e6),)
    with pytest.raises(AssayError, match="is not more than 16384") as found:
        cluster(BASE + size + size)
    assert found.value.where == "cluster.toml:18"


@pytest.mark.parametrize(
    ("old", "new", "sentence", "line"),
    [
        ('value = "20 us", ', 'value = "20", ', "'latency' has no unit", 6),
        ('"100 MB/s"', '"-1 MB/s"', "can't be -1 MB/s", 7),
        ("cores = 2", "cores = 0", "'node.cores' can't be 0", 12),
        ('kind = "single"', 'kind = "singel"', "There is no topology 'singel'", 3),
        ("[node]\ncores = 2\n", "", "There is no [node]", None),
        ("cores = 2", "core = 2", "Unknown key 'core'", 12),
        ("schema = 1", "schema = 2", "reads schema 1", 1),
        ("[node]", '[linpack]\npanel = "200%"\n[node]', "'linpack.panel' can't be 200%", 12),
        ("[node]", "[linpack]\nblock = 0\n[node]", "'linpack.block' can't be 0", 12),
        ("[node]", "[linpack]\nahead = true\n[node]", "Unknown key 'ahead'", 12),
        ("cores = 2", 'cores = 2\nover_time = "-3%"', "'over_time' can't be -3%", 13),
    ],
)
def test_what_is_wrong_is_one_sentence(old: str, new: str, sentence: str, line: int | None) -> None:
    with pytest.raises(AssayError) as found:
        cluster(BASE.replace(old, new))
    assert sentence in found.value.what
    assert found.value.where == ("cluster.toml" if line is None else f"cluster.toml:{line}")


def test_mutated_descriptions_raise_nothing_else() -> None:
    chosen = random.Random(1)
    for _ in range(300):
        text = list(EXAMPLE)
        for _change in range(chosen.randint(1, 4)):
            text[chosen.randrange(len(text))] = chosen.choice('0-"[]=x\n.9%')
        try:
            cluster_of(parse_toml("".join(text), Path("cluster.toml")))
        except AssayError as error:
            assert error.what
