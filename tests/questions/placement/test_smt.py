"""Hardware threads and NUMA nodes as levels of placements, and the counters of energy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from assay.errors import AssayError
from assay.launch.commands import runner
from assay.model.cell import Cell
from assay.model.command import environment
from assay.model.placement import Placement
from assay.model.plan import Plan, PlanContext
from assay.models.placement.candidates import placement_searches
from assay.plans.suites import find_suite, load_plan
from assay.plans.words import plan_from_words
from assay.system.detect import detect
from assay.system.doctor.processor_checks import energy
from assay.system.model import Processor, System
from placement_lab import SearchLab, lab, placement_section
from system_trees import unpack

__all__ = ["lab"]  # a fixture

FOUR = PlanContext(cores=4, hardware_threads=8)
PLAIN = PlanContext(cores=4, hardware_threads=4)


def plan_of(path: Path, lines: str, context: PlanContext, head: str = "") -> Plan:
    file = path / "plan.toml"
    file.write_text(f'schema = 1\n{head}[[measure]]\nkernel = "npb.ep"\n{lines}\n')
    return load_plan(file, context)


def placed(plan: Plan) -> list[tuple[str, int, int]]:
    return [(c.placement.smt, c.placement.ppn, c.placement.threads) for c in plan.cells]


def test_all_is_all_cores_or_all_hardware_threads(tmp_path: Path) -> None:
    lines = 'smt = "each"\nppn = [1, "all"]\nthreads = "all"'
    assert placed(plan_of(tmp_path, lines, FOUR)) == [
        ("off", 1, 4), ("off", 4, 1), ("on", 1, 8), ("on", 8, 1),
    ]  # fmt: skip
    # Without hardware threads the level doesn't exist, and is not reported.
    plain = plan_of(tmp_path, lines, PLAIN)
    assert placed(plain) == [("off", 1, 4), ("off", 4, 1)]
    assert plain.notes == ()
    assert placed(plan_of(tmp_path, lines, PlanContext(4))) == placed(plain)


def test_more_than_there_is_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="ppn = 5 needs 5 cores, but a node has 4") as caught:
        plan_of(tmp_path, "ppn = 5", FOUR)
    assert 'smt = "on"' in str(caught.value)
    with pytest.raises(AssayError, match="ppn = 9 needs 9 hardware threads, but a node has 8"):
        plan_of(tmp_path, 'smt = "on"\nppn = 9', FOUR)
    with pytest.raises(AssayError, match="a core has 1 hardware thread here"):
        plan_of(tmp_path, 'smt = "on"', PLAIN)
    with pytest.raises(AssayError, match="'smt' can't be 'yes'"):
        plan_of(tmp_path, 'smt = "yes"', FOUR)
    portable = plan_of(tmp_path, 'smt = ["off", "on"]', PLAIN, "portable = true\n")
    assert placed(portable) == [("off", 1, 1)]
    assert "a core has 1 hardware thread" in " ".join(portable.notes)


def test_the_level_changes_no_id_where_it_is_off() -> None:
    plain = Cell("npb.ep", {"class": "S"}, Placement(ppn=2), "embedded")
    shared = Cell("npb.ep", {"class": "S"}, Placement(ppn=2, smt="on"), "embedded")
    assert plain.id == "d3e18a11fe4b"
    assert shared.id != plain.id
    assert msgspec.convert({"ppn": 2}, Placement).smt == "off"


def test_numa_nodes_have_as_many_hardware_threads(tmp_path: Path) -> None:
    two = PlanContext(cores=8, hardware_threads=16, numa={0: 4, 1: 4})
    assert placed(plan_of(tmp_path, 'binding = "numa:1"\nsmt = "on"\nppn = 8', two))
    with pytest.raises(AssayError, match="needs 9 hardware threads, but NUMA node 1 has 8"):
        plan_of(tmp_path, 'binding = "numa:1"\nsmt = "on"\nppn = 9', two)
    assert placed(plan_of(tmp_path, 'binding = "per-numa"\nppn = 4\nthreads = 2', two))
    with pytest.raises(AssayError, match=r"puts 6 threads on a NUMA node, but node 0 has 4"):
        plan_of(tmp_path, 'binding = "per-numa"\nppn = 1\nthreads = 6', two)
    assert placed(plan_of(tmp_path, 'binding = "per-numa"\nsmt = "on"\nppn = 1\nthreads = 6', two))
    one = PlanContext(cores=8, numa={0: 8})
    assert placed(plan_of(tmp_path, 'binding = "per-numa"\nthreads = 8', one))


def test_the_command_line_and_commands_know_it() -> None:
    plan = plan_from_words("npb.ep", context=FOUR, placement={"smt": "each", "ppn": "all"})
    assert placed(plan) == [("off", 4, 1), ("on", 8, 1)]
    shared = Placement(ppn=2, smt="on")
    assert environment(shared, "./a {smt}")["OMP_PLACES"] == "threads"
    assert environment(Placement(), "./a {smt}")["OMP_PLACES"] == "cores"
    assert "OMP_PLACES" not in environment(shared, "./a")


def test_the_suite_tries_hardware_threads_where_there_are_any() -> None:
    suite = find_suite("placement")
    two = PlanContext(cores=4, hardware_threads=8, numa={0: 2, 1: 2}, memory=6e10)
    with_smt, without = load_plan(suite, two), load_plan(suite, PlanContext(4, memory=6e10))
    shared = [c.placement for c in with_smt.cells if c.placement.smt == "on"]
    assert shared and all(p.ppn * p.threads > 4 for p in shared)
    assert {p.ppn * p.threads for p in shared} == {8}
    assert not [c for c in without.cells if c.placement.smt == "on"]
    assert {c.placement.binding for c in with_smt.cells} == {"compact", "spread", "per-numa"}
    assert {c.placement.binding for c in without.cells} == {"compact"}
    # At two sizes, where a benchmark has two that suit.
    sizes = {c.parameters["class"] for c in without.cells if c.kernel == "npb.cg"}
    assert len(sizes) == 2
    searches = placement_searches(with_smt)
    # The search sees the level.
    assert any({"off", "on"} <= {w for c in s.candidates for w in c.words} for s in searches)


PLAN = """
schema = 1
title = "Hardware threads"
seed = 5
[replication]
precision = "5%"
budget = "100000 s"
max_launches = 12
min_samples = 1
[[measure]]
search = true
kernel = "npb.ep"
class = "S"
smt = "each"
ppn = { from = 1, to = "all", steps = "powers of 2" }
where = "smt == 'off' or ppn > cores"
"""
SCENARIO = """
schema = 1
seed = 3
cores = 4
smt = 2
[[kernel]]
time = "1.0 / min(ppn, 4) * (1 - {gain} * (smt == 'on'))"
max_batch = 1
noise = {{ sigma = 0.005, launch_sigma = 0.005 }}
covariates = {{ sampling_seconds = 10, energy = "10 * (60 + 20 * ppn)" }}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("gain", "best"),
    [
        (0.25, "8 ranks, sharing cores (SMT)"),
        pytest.param(-0.2, "4 ranks", marks=pytest.mark.long),
    ],
)
def test_a_machine_whose_hardware_threads_help_or_harm(
    lab: SearchLab, gain: float, best: str
) -> None:
    (lab.path / "plan.toml").write_text(PLAN)
    (lab.path / "scenario.toml").write_text(SCENARIO.format(gain=gain))
    finished = lab.run("plan.toml")
    assert finished.returncode == 0, finished.stderr
    section = placement_section(finished.stdout)
    assert f"{best} (" in str(section["verdict"])
    advice = " ".join(map(str, section["advice"]))
    assert ("-bind-to hwthread:1" in advice) == (gain > 0)
    if gain > 0:  # 140 W for 0.25 s, and 220 W for 0.19 s where cores are shared
        (energy,) = [line for line in section["advice"] if str(line).startswith("For energy")]  # type: ignore[attr-defined]
        assert re.search(r"EP class S \(.* 3[45]\.\d J", str(energy))
        assert "4 ranks on 1 node" in str(energy)
        assert "launches, too few for intervals" in str(energy)
    jobs = [json.loads(p.read_text()) for p in lab.runs.glob("*/raw/*.job.json")]
    assert all(job["smt"] in ("on", "off") for job in jobs)


def test_settable_topologies_report_their_hardware_threads(tmp_path: Path) -> None:
    system = detect(unpack("xeon", tmp_path))
    assert system.processor.threads_per_core == 2
    assert system.usable_threads == 2 * (system.usable_cores or 0)


def energy_tree(root: Path, **zones: tuple[str, str, str | None]) -> Path:
    """Zones by name: its kind, its range, its counter (None: unreadable)."""
    for zone, (name, full, shown) in zones.items():
        folder = root / "sys/class/powercap" / zone.replace("_", ":")
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "max_energy_range_uj").write_text(f"{full}\n")
        if shown is not None:
            (folder / "energy_uj").write_text(f"{shown}\n")
    return root / "sys/class/powercap"


ZONES = {
    "intel-rapl_0": ("package-0", "262143328850", "1000000"),
    "intel-rapl_0_0": ("core", "262143328850", "500000"),
    "intel-rapl_0_1": ("dram", "65712999613", "65712999000"),
    "intel-rapl_1": ("psys", "262143328850", "9000000"),
    "intel-rapl-mmio_0": ("package-0", "262143328850", "1000000"),
}


def test_energy_of_a_command_is_added_up_and_counters_wrap(tmp_path: Path) -> None:
    folder = energy_tree(tmp_path, **ZONES)
    before = runner._energy(str(folder))
    assert before.keys() == {"intel-rapl:0", "intel-rapl:0:1"}
    (folder / "intel-rapl:0/energy_uj").write_text("3500000\n")
    (folder / "intel-rapl:0:0/energy_uj").write_text("2500000\n")
    (folder / "intel-rapl:0:1/energy_uj").write_text("999387\n")  # 0.000613 J and 0.999387 J
    after = runner._energy(str(folder))
    assert runner._energy_between(before, after, 2.0) == pytest.approx(2.5 + 1.0)
    # The memory's counter may wrap twice in longer than 65.7 s at 1 kW.
    assert runner._energy_between(before, after, 66.0) is None
    assert runner._energy_between({}, after, 1.0) is None
    assert runner._energy(str(tmp_path / "none")) == {}


def test_part_of_the_energy_is_no_energy(tmp_path: Path) -> None:
    zones = {**ZONES, "intel-rapl_2": ("package-1", "262143328850", None)}
    assert runner._energy(str(energy_tree(tmp_path, **zones))) == {}


def test_whether_energy_can_be_read_is_a_fact_and_a_finding(tmp_path: Path) -> None:
    energy_tree(tmp_path / "all", **ZONES)
    energy_tree(tmp_path / "part", **{**ZONES, "intel-rapl_0": ("package-0", "262143328850", None)})
    (tmp_path / "none").mkdir()
    facts = {
        name: detect(tmp_path / name).processor.energy_readable for name in ("all", "part", "none")
    }
    assert facts == {"all": True, "part": False, "none": None}
    found = {
        readable: energy(System(processor=Processor(energy_readable=readable)))
        for readable in (True, False, None)
    }
    assert [f.severity for f in found[True]] == ["ok"] and found[None] == []
    assert "chmod" in found[False][0].fix
