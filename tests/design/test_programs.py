"""Profiled programs as workloads: times that can be computed by hand, and sentences on mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.design.architecture import architectures
from assay.design.candidates import Builder
from assay.design.workload import needs_rate, times
from assay.errors import AssayError
from assay.subjects.design.findings import find
from design_specs import SPEC, read

PROGRAM = """
[[program]]
name = "model"
ranks = 8
node = "small"
computing = "100 s"
messages = 1e6
bytes = "1 GB"
memory = "25%"
"""
WANTED = SPEC.replace("integer = 1", '"program.model" = 1')


def of(folder: Path, node: str, nodes: int, program: str = PROGRAM):
    spec = read(folder, WANTED + program)
    builder = Builder(spec)
    one = next(
        one
        for one in architectures(spec)
        if one.node.name == node and one.network.name == "ethernet" and one.kit is None
    )
    return times("program.model", builder.machines(one, np.array([nodes]), "program.model"))


def test_a_run_on_the_node_where_it_was_profiled(tmp_path: Path) -> None:
    found = of(tmp_path, "small", 2)  # 4 cores each: one run at a time
    assert found.work[0] == 1
    assert found.compute[0] == pytest.approx(100.0)
    assert found.latency[0] == pytest.approx(30.0, rel=0.01)  # 1e6 messages of 30 us
    assert found.link[0] == pytest.approx(4e9 / 1e8)  # four ranks share an adapter of 100 MB/s
    assert of(tmp_path, "small", 5).work[0] == 2  # a fifth node is too few for a third run
    assert of(tmp_path, "small", 1).work[0] == 0.5


def test_a_node_that_holds_a_whole_run_sends_nothing(tmp_path: Path) -> None:
    found = of(tmp_path, "large", 3)
    assert (found.work[0], found.latency[0], found.link[0]) == (3, 0.0, 0.0)
    # DGEMM and memory per core are those of the small node: 160/8 and 80/8, as 80/4 and 40/4.
    assert found.compute[0] == pytest.approx(100.0)


def test_computing_follows_memory_in_its_share(tmp_path: Path) -> None:
    spec = read(tmp_path, WANTED + PROGRAM)
    one = next(iter(architectures(spec)))
    machines = Builder(spec).machines(one, np.array([2]), "program.model")
    from dataclasses import replace

    halved = times("program.model", replace(machines, bandwidth=machines.bandwidth / 2))
    assert halved.compute[0] == pytest.approx(75.0 + 2 * 25.0)


def test_a_design_for_a_program(tmp_path: Path) -> None:
    found = find(read(tmp_path, WANTED + PROGRAM))
    (rate,) = found.best[0].rates
    assert rate.workload == "program.model"
    assert rate.interval[0] < rate.rate < rate.interval[1]
    assert "large" in found.best[0].name  # a whole run per node, without the network
    assert not needs_rate("program.model")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('node = "small"', 'node = "smal"', "No catalogue has 'smal'"),
        ('computing = "100 s"', "computing = 100", "'computing' has no unit"),
        ('computing = "100 s"', 'computing = "-1 s"', "can't be -1 s"),
        ("ranks = 8", "ranks = 0", "'ranks' can't be 0"),
        ("messages = 1e6", "messages = -1", "'messages' can't be -1"),
        ('memory = "25%"', 'memory = "125%"', "'memory' must be a share"),
        ('name = "model"', 'name = "modle"', "There is no program 'model'"),
        ("ranks = 8", "rank = 8", "Unknown key 'rank'"),
    ],
)
def test_mistakes_are_one_sentence_with_their_line(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(AssayError) as found:
        read(tmp_path, WANTED + PROGRAM.replace(old, new))
    assert sentence in found.value.what
    assert ":" in found.value.where
    assert found.value.fix
