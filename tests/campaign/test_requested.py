"""What the command line requests is met, or refused in one sentence before anything is measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.records.reading import read_run
from campaign_lab import InProcessLab

MACHINE = """
schema = 1
cores = 4
{more}
"""


@pytest.fixture
def lab(tmp_path: Path) -> InProcessLab:
    found = InProcessLab(tmp_path)
    machine(found, "nodes = 2\nadapters = ['eth0', 'eth1']\nsmt = 1\ndomains = 2")
    return found


def machine(lab: InProcessLab, more: str) -> None:
    (lab.path / "scenario.toml").write_text(MACHINE.format(more=more))


REFUSED = {
    "network --nodes 4": "--nodes 4: There are 2 nodes.",
    "network --nodes 1,4": "--nodes 1,4: There are 2 nodes.",
    "npb --nodes 3": "--nodes 3: There are 2 nodes.",
    "network nodes=4": "nodes=4: nodes = 4, but there are 2 nodes.",
    "npb ppn=64": "ppn=64: ppn = 64 needs 64 cores, but a node has 4.",
    "npb --ppn 1,64": "ppn=64: ppn = 64 needs 64 cores, but a node has 4.",
    "npb ppn=1..16:x2": "ppn=8: ppn = 8 needs 8 cores, but a node has 4.",
    "memory threads=8": "threads=8: ppn = 1 with threads = 8 needs 8 cores, but a node has 4.",
    "npb smt=on": "smt=on: smt = on, but a core has 1 hardware thread here.",
    "npb binding=numa:7": "binding=numa:7: There is no NUMA node 7.",
    "memory memory_node=5": "memory_node=5: There is no NUMA node 5.",
    "network nodes=2 adapter=eth9": "adapter=eth9: adapter = 'eth9', but there is no network",
    "network adapter=eth0 nodes=1 ppn=2": "adapter=eth0: adapter = 'eth0', but ranks on one node",
    "npb toolchain=icc": "toolchain=icc: There is no toolchain 'icc'.",
    "npb class=X": "class=X: 'class' can't be 'X'.",
    "npb foo=3": "foo=3: No kernel of the plan has a parameter 'foo'",
    "network threads=2 kernel=network.barrier": "threads=2: threads = 2, but 'network.",
    "memory --nodes 2 nodes=1": "--nodes 2: No cell of 'memory' runs on more than 1 node here.",
    "quick --nodes 0": "nodes=0: 'nodes' must be a whole number of at least 1, not 0.",
    "quick ppn=0": "ppn=0: 'ppn' must be a whole number of at least 1, not 0.",
    "quick --junit nowhere/r.xml": "--junit nowhere/r.xml: There is no folder 'nowhere'.",
    "quick --launches 0": "--launches: 'min_launches' must be above 0.",
    "quick --every 6h": "--every 6h: The number of sessions is missing.",
    "quick --walltime 2h": "--walltime 2h: No job is submitted, since this process measures.",
    "quick --partition batch": "--partition batch: No job is submitted",
    "quick --account me": "--account me: No job is submitted",
    "quick --fail-on nodes": "--fail-on nodes: There are no nodes to compare",
    "quick --detach": "--detach needs jobs.",
    "quick --per-node --nodes 4": "--nodes 4: There are 2 nodes.",
    "quick --budget 10": "--budget: '10' has no unit. Give a unit: --budget \"10 min\"",
    "quick --duration 20": "--duration: '20' has no unit.",
    "quick --every 6 --sessions 2": "--every: '6' has no unit.",
    "quick --app true --timeout 5": "--timeout: '5' has no unit.",
    "quick --budget 10m": "--budget: 'budget': '10m' can mean minutes or months.",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_can_not_be_met_is_refused(words: str, lab: InProcessLab) -> None:
    done = lab.run(*words.split())
    assert done.returncode == 2, done.stderr
    said = " ".join(done.stderr.removeprefix("assay: ").split())
    assert said.startswith(REFUSED[words]), said
    assert not lab.runs.exists()


@pytest.mark.parametrize(
    "words",
    [
        "network --nodes 2",
        "npb --nodes 1,2 class=S",
        "npb ppn=1,4 class=S",
        "npb ppn=all class=S",
        "network nodes=2 adapter=eth1 kernel=network.pingpong bytes=8",
        "quick --budget 2secs",
        "quick --budget 0.1mins",
    ],
)
def test_what_can_be_met_is_measured(words: str, lab: InProcessLab) -> None:
    done = lab.run(*words.split(), "--launches", "1")
    assert done.returncode == 0, done.stderr
    assert read_run(lab.only_run().path).complete


def test_a_level_that_some_kernels_can_do_is_measured_with_a_note(lab: InProcessLab) -> None:
    done = lab.run("quick", "threads=2", "--launches", "1")
    assert done.returncode == 0
    assert "Left out network.barrier: threads = 2, but 'network.barrier' has no" in done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert {cell["cell"]["placement"]["threads"] for cell in cells} == {2}


def test_a_suites_own_levels_are_left_out_with_a_note(lab: InProcessLab) -> None:
    machine(lab, "nodes = 1")
    done = lab.run("network", "--launches", "1", "--budget", "20 s")
    assert done.returncode == 0 and "Left out" not in done.stderr
    assert any(
        "nodes = 2, but" in note for note in read_run(lab.only_run().path).manifest.plan.notes
    )


def test_a_fake_machine_that_names_no_nodes_has_as_many_as_requested(lab: InProcessLab) -> None:
    machine(lab, "")
    done = lab.run("network", "--nodes", "6", "--launches", "1", "--budget", "10 s")
    assert done.returncode == 0, done.stderr
    plan = read_run(lab.only_run().path).manifest.plan
    assert max(cell.placement.nodes for cell in plan.cells) == 6


@pytest.mark.parametrize(
    "more",
    [
        "--budget 10min",
        "--seed 3",
        "--whole",
        "--launches 9",
        "--precision 5%",
        "--every 2h",
        "--dry-run",
        "--nodes 2",
    ],
)
def test_a_run_that_goes_on_refuses_what_it_can_not_change(more: str, lab: InProcessLab) -> None:
    lab.run("plan.toml", "--launches", "1")
    run = lab.only_run()
    (run.path / "seal.json").unlink()
    done = lab.run("--resume", *more.split())
    assert done.returncode == 2
    assert more.split()[0] in done.stderr
    assert not run.complete


def test_errors_in_plans_name_file_line_and_kernel(lab: InProcessLab) -> None:
    (lab.path / "mine.toml").write_text(
        'schema = 1\n[[measure]]\nkernel = ["npb.ep", "npb.cg"]\nclass = "S"\nppn = [1, 64]\n'
    )
    done = lab.run("mine.toml")
    assert done.returncode == 2
    assert "mine.toml:5: npb.ep: ppn = 64 needs 64 cores, but a node has 4." in done.stderr


def test_errors_in_scenarios_name_file_line_and_kernel(lab: InProcessLab) -> None:
    machine(lab, '[[kernel]]\nmatch = "network.*"\ntime = "1e-6 + bytes / 1e9"')
    done = lab.run("network")
    assert done.returncode == 2
    assert "scenario.toml:6: " in done.stderr
    assert "uses 'bytes', which network.barrier doesn't have." in " ".join(done.stderr.split())
    assert not lab.runs.exists()


def test_the_nodes_of_a_fake_machine_measure_themselves(lab: InProcessLab) -> None:
    """An administrator's central report, without a cluster: a slow node and a failing one."""
    (lab.path / "scenario.toml").write_text(
        "schema = 1\nseed = 3\ncores = 4\nnodes = 8\n[[kernel]]\nmatch = 'network.*'\n"
        'time = "0.001 * (1 + 0.25 * (node == 5))"\n'
        "noise = { sigma = 0.01, launch_sigma = 0.01 }\n"
        "[[kernel]]\ntime = 0.001\nnoise = { sigma = 0.01, launch_sigma = 0.01 }\n"
        '[[failure]]\nkind = "error"\nmatch = "npb.ep"\nwhere = "node == 3"\n'
    )
    done = lab.run("plan.toml", "--per-node", "ppn=2")
    assert done.returncode == 1, done.stderr  # a cell failed on a node
    report = json.loads(done.stdout)
    (section,) = report["sections"]
    suspects = section["findings"]["suspects"]
    assert {suspect["node"] for suspect in suspects} == {"fake5"}, section["verdict"]
    assert any("fake3 failed" in caveat for caveat in section["caveats"])
    assert "8 complete" in report["summary"]
    group = lab.only_run()
    resumed = lab.run("--resume", group.name)
    assert "Traceback" not in resumed.stderr


def test_two_of_the_nodes_are_enough(lab: InProcessLab) -> None:
    machine(lab, "nodes = 8")
    done = lab.run("plan.toml", "--per-node", "--nodes", "2", "--launches", "1", "kernel=npb.ep")
    assert done.returncode == 0, done.stderr
    assert "2 complete" in json.loads(done.stdout)["summary"]
    machine(lab, "")
    assert lab.run("plan.toml", "--per-node").returncode == 2
