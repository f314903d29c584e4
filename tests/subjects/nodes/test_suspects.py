"""Suspected components of a slow node: each rule by its own pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.subjects.nodes import diagnosis_rules as suspects
from assay.subjects.nodes.diagnosis_rules import (
    NOTHING,
    RULES,
    CovariateDeviation,
    Profile,
    SlowCore,
    resource_of,
    suspect,
)

METHODS = Path(__file__).parents[3] / "docs" / "methods" / "nodes.md"
FINE = {suspects.BANDWIDTH: 0.0, suspects.ARITHMETIC: 0.001, suspects.STORAGE: -0.01}


def profile(*, core: SlowCore | None = None, known=(), deviating=None, **slow: float) -> Profile:
    names = {name.replace("_", " "): shift for name, shift in slow.items()}
    shifts = {**FINE, **names}
    return Profile(shifts, frozenset(names), deviating or {}, frozenset(known), core)


def only(name: str) -> Profile:
    return Profile({**FINE, name: 0.15}, frozenset([name]), {})


CASES = [
    (
        profile(deviating={"steal_seconds": CovariateDeviation(0.3, 0.0)}, arithmetic=0.3),
        "hypervisor",
    ),
    (
        profile(deviating={"throttle_events": CovariateDeviation(4.0, 0.0)}, arithmetic=0.3),
        "cooling",
    ),
    (
        profile(deviating={"other_cpu_seconds": CovariateDeviation(0.9, 0.01)}, arithmetic=0.3),
        "another program",
    ),
    (
        profile(deviating={"major_faults": CovariateDeviation(300.0, 0.0)}, arithmetic=0.3),
        "too little memory",
    ),
    (profile(core=SlowCore(3, 1.2), arithmetic=0.2), "that core"),
    (
        profile(deviating={"clock_rate": CovariateDeviation(2.0e9, 2.4e9)}, arithmetic=0.18),
        "power cap",
    ),
    (only(suspects.BANDWIDTH), "DIMM"),
    (only(suspects.LATENCY), "firmware settings of the memory"),
    (only(suspects.ARITHMETIC), "the processor"),
    (only(suspects.NETWORK), "its link"),
    (only(suspects.MESSAGES), "pinning"),
    (only(suspects.STORAGE), "its disk"),
    (only(suspects.DEVICE_MEMORY), "the device's memory"),
    (only(suspects.DEVICE_ARITHMETIC), "the device's clock"),
    (only(suspects.DEVICE_LINK), "the device's link"),
    (only(suspects.NOISE), "a daemon"),
    (
        Profile(dict.fromkeys(FINE, 0.1), frozenset(FINE), {}, frozenset(["clock_rate"])),
        "a common cause",
    ),
    (Profile({suspects.ARITHMETIC: 0.1}, frozenset([suspects.ARITHMETIC]), {}), "that resource"),
]


@pytest.mark.parametrize(("seen", "expected"), CASES, ids=[rule.pattern for rule in RULES])
def test_each_rule_has_its_pattern(seen: Profile, expected: str) -> None:
    said, evidence = suspect(seen)
    assert said.startswith("suspect ")
    assert expected in said
    assert evidence
    (fitting,) = [rule for rule in RULES if f"suspect {rule.suspect}" == said]
    assert fitting is RULES[CASES.index((seen, expected))]


def test_a_pattern_without_a_rule_is_reported() -> None:
    seen = Profile(
        {suspects.BANDWIDTH: 0.3, suspects.ARITHMETIC: 0.0, suspects.STORAGE: 0.25},
        frozenset([suspects.BANDWIDTH, suspects.STORAGE]),
        {},
    )
    assert suspect(seen) == (NOTHING, "slow in memory bandwidth and storage")


def test_memory_is_no_dimm_where_the_rest_is_not_known_to_be_fine() -> None:
    half = Profile(
        {suspects.BANDWIDTH: 0.1, suspects.ARITHMETIC: 0.08}, frozenset([suspects.BANDWIDTH]), {}
    )
    assert "DIMM" not in suspect(half)[0]
    alone = Profile({suspects.BANDWIDTH: 0.1}, frozenset([suspects.BANDWIDTH]), {})
    assert "no other was measured" in suspect(alone)[0]


def test_a_clock_that_is_down_a_little_does_not_explain_much() -> None:
    seen = profile(deviating={"clock_rate": CovariateDeviation(2.35e9, 2.4e9)}, arithmetic=0.3)
    assert "power cap" not in suspect(seen)[0]


def test_covariates_below_the_others_name_no_node() -> None:
    seen = profile(deviating={"other_cpu_seconds": CovariateDeviation(0.0, 0.5)}, arithmetic=0.3)
    assert "another program" not in suspect(seen)[0]


@pytest.mark.parametrize(
    ("kernel", "nodes", "expected"),
    [
        ("memory.stream", 1, suspects.BANDWIDTH),
        ("memory.latency", 1, suspects.LATENCY),
        ("compute.dgemm", 1, suspects.ARITHMETIC),
        ("npb.ep", 1, suspects.ARITHMETIC),
        ("npb.cg", 1, suspects.PROGRAMS),
        ("linpack", 1, suspects.PROGRAMS),
        ("network.pingpong", 1, suspects.MESSAGES),
        ("network.pingpong", 2, suspects.NETWORK),
        ("storage.file", 1, suspects.STORAGE),
        ("noise.ftq", 1, suspects.NOISE),
        ("gpu.stream", 1, suspects.DEVICE_MEMORY),
        ("gpu.gemm", 1, suspects.DEVICE_ARITHMETIC),
        ("gpu.transfer", 1, suspects.DEVICE_LINK),
        ("weather", 1, "weather"),
    ],
)
def test_the_main_resource_of_a_kernel(kernel: str, nodes: int, expected: str) -> None:
    assert resource_of(Cell(kernel, {}, Placement(nodes=nodes, ppn=2), "fake")) == expected


def test_the_table_of_rules_is_documented() -> None:
    text = METHODS.read_text()
    missing = [r.pattern for r in RULES if f"| {r.pattern} | {r.suspect} |" not in text]
    assert missing == []
