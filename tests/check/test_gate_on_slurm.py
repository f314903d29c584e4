"""The node gate on a real Slurm: planted faults drain a node with a reason that names them.

The nodes are namespaces of this machine, which has one kernel, one /sys/devices and one clock for
all of them. Faults that these decide are planted where a check sees them: files of /proc and /sys
are replaced in the node's mount namespace. What a namespace can't have at all, such as an ECC
error, is tested with recorded trees (tests/check/facts/).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import gate_lab
import node_faults
import slurm_lab
from assay.lab.cluster import Host
from gate_lab import GatedSlurm, gated_slurm
from waiting import wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(slurm_lab.reason is not None, reason=slurm_lab.reason or ""),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]

Fault = Callable[[GatedSlurm, Host], AbstractContextManager[None]]
# The fault, and what its reason must name.
FACTS: dict[str, tuple[Fault, str]] = {
    "quota": (node_faults.quota, "CPU quota"),
    "lost core": (node_faults.lost_core, "CPUs"),
    "wrong memory": (node_faults.wrong_memory, "memory"),
    "wrong speed": (node_faults.wrong_speed, "eth0"),
    "full scratch": (node_faults.full_scratch, "assay-scratch"),
    "hung mount": (node_faults.hung_mount, "assay-hung"),
    "leftover": (node_faults.leftover, "python"),
}


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatedSlurm]:
    """Two nodes with prolog and epilog."""
    folder = tmp_path_factory.mktemp("gate")
    with gated_slurm(folder, ["slurm-prolog", "slurm-epilog"], cores=2) as gated:
        gated.daemons = node_faults.ClockDaemons(gated, folder)
        with contextlib.closing(gated.daemons):
            gated.learn()
            yield gated


@pytest.fixture
def node(gated: GatedSlurm) -> Iterator[Host]:
    node = gated.nodes[0]
    yield node
    gated.resume(node)


@pytest.mark.parametrize("name", FACTS)
def test_the_prolog_drains_with_a_reason_that_names_the_fault(
    name: str, gated: GatedSlurm, node: Host
) -> None:
    fault, named = FACTS[name]
    with fault(gated, node):
        gated.job(node)
        state, reason = gated.state(node)
    assert "DRAIN" in state
    assert reason.startswith("unhealthy: ") and named in reason
    assert len(reason) <= 100
    # The other node takes jobs.
    assert gated.state(gated.nodes[1])[0] == "IDLE"


def test_a_healthy_node_runs_jobs(gated: GatedSlurm, node: Host) -> None:
    for _ in range(3):
        assert gated.job(node) == "COMPLETED"
    assert gated.state(node) == ("IDLE", "")
    # A record for each prolog and each epilog.
    said = gated.assay(node, "--verbose", "--facts").stdout
    assert "0 unhealthy" in said


def test_the_job_of_a_failing_node_runs_on_another(gated: GatedSlurm, node: Host) -> None:
    other = gated.nodes[1]
    # Slurm takes the node with the lower weight first.
    gated.ask("scontrol", "update", f"NodeName={other.name}", "Weight=9")
    with node_faults.wrong_memory(gated, node):
        said = gated.ask("sbatch", "--parsable", "--exclusive", "--output=/dev/null", "--wrap=true")
        number = said.strip()
        gated.await_drain(node)
        until = time.monotonic() + 90.0
        shown = ""
        while "JobState=COMPLETED" not in shown and time.monotonic() < until:
            shown = gated.ask("scontrol", "--oneliner", "show", "job", number)
            time.sleep(0.5)
    assert "JobState=COMPLETED" in shown and f"NodeList={other.name}" in shown
    # Slurm itself would say "Prolog error": it keeps the reason that is there.
    assert "memory" in gated.state(node)[1]


def test_the_epilog_drains_after_the_job(gated: GatedSlurm, node: Host, tmp_path: Path) -> None:
    begun, broken = tmp_path / "begun", tmp_path / "broken"
    script = f"touch {begun}; until [ -e {broken} ]; do sleep 0.1; done"
    with contextlib.ExitStack() as fault:
        number = gated.ask(
            "sbatch", "--parsable", f"--nodelist={node.name}", "--exclusive",
            "--output=/dev/null", f"--wrap={script}",
        ).strip()  # fmt: skip
        # Slurm calls a job running before its prolog ends. Its script begins afterwards.
        wait_for(begun.exists, 60.0)
        fault.enter_context(node_faults.full_scratch(gated, node))
        broken.touch()
        reason = gated.await_drain(node)
    assert "scratch" in reason or "storage" in reason
    # The epilog drains before Slurm has ended the job.
    wait_for(lambda: _state(gated, number) not in {"RUNNING", "COMPLETING"}, 60.0)
    assert _state(gated, number) == "COMPLETED"


def _state(gated: GatedSlurm, number: str) -> str:
    shown = gated.ask("scontrol", "--oneliner", "show", "job", number)
    return shown.partition("JobState=")[2].split(" ", 1)[0]


def test_an_administrators_drain_keeps_its_reason(gated: GatedSlurm, node: Host) -> None:
    mine = "fan 3 ordered, do not touch"
    gated.ask("scontrol", "update", f"NodeName={node.name}", "State=DRAIN", f"Reason={mine}")
    with node_faults.wrong_memory(gated, node):
        done = _hook(gated, node, "slurm-epilog")
    assert done == 1
    assert gated.state(node)[1] == mine
    # And a healthy check doesn't return the node to service.
    assert _hook(gated, node, "slurm-epilog") == 0
    assert "DRAIN" in gated.state(node)[0] and gated.state(node)[1] == mine


def test_a_stopped_clock_daemon_drains(gated: GatedSlurm, node: Host) -> None:
    assert gated.daemons is not None
    gated.daemons.stop(node)
    try:
        gated.job(node)
        state, reason = gated.state(node)
    finally:
        gated.daemons.start(node)
    assert "DRAIN" in state and "chronyd" in reason


def test_an_assay_on_a_dead_file_server_drains_nothing(
    gated: GatedSlurm, node: Host, tmp_path: Path
) -> None:
    """Whether its process can be ended depends on what it waits for; the hook doesn't wait."""
    text = (gated.folder / "slurm-epilog").read_text()
    hook = tmp_path / "hook"
    hook.write_text(text.replace(str(gate_lab.ASSAY), str(node_faults.HUNG / "assay")))
    with node_faults.hung_mount(gated, node):
        words = ["env", "-i", f"SLURM_CONF={gated.slurm.conf}", f"SLURMD_NODENAME={node.name}"]
        begin = time.monotonic()
        done = gated.run(node, *words, "sh", str(hook), check=False)
        lasted = time.monotonic() - begin
    assert done.returncode == 0 and "undecided" in done.stderr
    # 12 to 16 s by its own timers, and not the minute that Slurm would grant a health check.
    assert lasted < 45.0
    assert gated.state(node) == ("IDLE", "")


def _hook(gated: GatedSlurm, node: Host, name: str) -> int:
    """The status of a hook that is run by hand, in the environment that Slurm gives it."""
    conf = f"SLURM_CONF={gated.slurm.conf}"
    words = ["env", "-i", conf, f"SLURMD_NODENAME={node.name}", str(gated.folder / name)]
    return gated.run(node, *words, check=False).returncode
