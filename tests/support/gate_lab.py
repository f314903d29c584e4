"""A Slurm on virtual hosts whose nodes are checked: by its prolog, epilog and health check."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.check import hooks
from assay.lab.cluster import Host
from assay.lab.spec import Spec, Wire
from assay.topologies.kinds import Single
from earlier_checks import set_back
from slurm_lab import FailingSlurm
from virtual_cluster import GIGABIT, VirtualCluster

if TYPE_CHECKING:
    from node_faults import ClockDaemons

ASSAY = Path(sys.executable).parent / "assay"
#: The folder for files of jobs, a tmpfs of its own on each node.
SCRATCH = Path("/mnt/assay-scratch")
# The sysfs of a network namespace begins without control groups.
_GROUPS = """
mount -t tmpfs groups /sys/fs/cgroup
for kind in cpu cpuset memory; do
    mkdir "/sys/fs/cgroup/$kind" && mount -t cgroup -o "$kind" "$kind" "/sys/fs/cgroup/$kind"
done
"""
# No process on this machine has a user from here on.
_NO_USER = 999_999_999
_SETTINGS = {"slurm-prolog": "Prolog", "slurm-epilog": "Epilog"}


class GatedSlurm:
    """A Slurm with hooks, its nodes, and the folder of their checks."""

    def __init__(self, slurm: FailingSlurm, folder: Path) -> None:
        self.slurm = slurm
        self.folder = folder
        self.checks = folder / "checks"
        #: The clock daemons of its nodes (``node_faults.ClockDaemons``), if a test runs some.
        self.daemons: ClockDaemons | None = None

    @property
    def nodes(self) -> tuple[Host, ...]:
        return self.slurm.nodes

    # ---- hosts -----------------------------------------------------------------------------------

    def slurmd(self, node: Host) -> int:
        """The process of a node's slurmd, whose namespaces its hooks have."""
        return self.slurm._daemons[node.name].pid

    def inside(self, node: Host, *words: str) -> list[str]:
        """The command line that runs a program in all namespaces of a node's slurmd."""
        pid = str(self.slurmd(node))
        cores = ",".join(map(str, node.cores))
        return ["nsenter", "-t", pid, "-m", "-n", "-u", "-i", "taskset", "-c", cores, *words]

    def run(
        self, node: Host, *words: str, check: bool = True, patience: float = 120.0
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.inside(node, *words),
            capture_output=True,
            text=True,
            check=check,
            stdin=subprocess.DEVNULL,
            timeout=patience,
            cwd="/",
        )

    def assay(
        self, node: Host, *words: str, patience: float = 120.0
    ) -> subprocess.CompletedProcess[str]:
        """``assay check`` on a node, outside of Slurm."""
        named = ["--folder", str(self.checks)]
        return self.run(node, str(ASSAY), "check", *words, *named, check=False, patience=patience)

    def separate(self, node: Host) -> None:
        """Hide other work on this machine from a node, whose facts would show it as leftovers.

        All hosts have this machine's memory and its processes. A node sees the memory as it is now,
        and knows no ordinary users.
        """
        self.set_first_user(node)
        memory = Path("/proc/meminfo").read_text()
        self._own(node, "meminfo").write_text(memory)
        for path in ("/proc/meminfo", "/etc/login.defs"):
            mine = self._own(node, Path(path).name)
            self.run(node, "mount", "--bind", str(mine), path)

    def set_first_user(self, node: Host, number: int | None = None) -> None:
        """The lowest number of an ordinary user on a node; none: it knows no ordinary users."""
        text = f"UID_MIN {_NO_USER if number is None else number}\n"
        self._own(node, "login.defs").write_text(text)

    def _own(self, node: Host, name: str) -> Path:
        """A node's own content of a file."""
        return self.folder / f"{node.name}-{name}"

    # ---- fleet -----------------------------------------------------------------------------------

    def learn(self, rounds: int = 3) -> str:
        """Record every node some times, and learn as if that had been on several days."""
        for _ in range(rounds):
            for node in self.nodes:
                done = self.assay(node, "--record", "--scratch", str(SCRATCH), patience=600.0)
                if done.returncode:
                    raise RuntimeError(done.stdout + done.stderr)
        set_back(self.checks)
        done = subprocess.run(
            [ASSAY, "check", "--learn", "--folder", self.checks],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return done.stdout

    # ---- Slurm -----------------------------------------------------------------------------------

    def ask(self, *words: str, check: bool = True, patience: float = 60.0) -> str:
        program = self.slurm.folder / "bin" / words[0]
        done = subprocess.run(
            [program, *words[1:]], capture_output=True, text=True, check=False, timeout=patience
        )
        if check and done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return done.stdout

    def state(self, node: Host) -> tuple[str, str]:
        """State and reason of a node as Slurm has them."""
        said = self.ask("scontrol", "--oneliner", "show", "node", node.name)
        state = next(word for word in said.split() if word.startswith("State="))
        reason = said.partition("Reason=")[2].rpartition(" [")[0]
        return state.removeprefix("State="), reason

    def job(self, node: Host, *, seconds: float = 0.0, patience: float = 60.0) -> str:
        """Run a job on a node, and wait until it has ended or its node is drained: its state."""
        said = self.ask(
            "sbatch", "--parsable", f"--nodelist={node.name}", "--exclusive", "--output=/dev/null",
            f"--wrap=sleep {seconds}",
        )  # fmt: skip
        number = said.strip()
        until = time.monotonic() + patience
        while time.monotonic() < until:
            shown = self.ask("scontrol", "--oneliner", "show", "job", number, check=False)
            state = shown.partition("JobState=")[2].split(" ", 1)[0]
            if state == "COMPLETED" and "COMPLETING" not in self.state(node)[0]:
                return state
            if "DRAIN" in self.state(node)[0]:
                self.ask("scancel", number, check=False)
                return state
            time.sleep(0.1)
        raise TimeoutError(f"job {number}: {state}; {self.state(node)}")

    def await_drain(self, node: Host, patience: float = 60.0) -> str:
        """The reason with which a node is drained."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            state, reason = self.state(node)
            if "DRAIN" in state:
                return reason
            time.sleep(0.2)
        raise TimeoutError(f"{node.name} is {self.state(node)}")

    def resume(self, node: Host) -> None:
        """Return a node to service, as an administrator does after a repair."""
        until = time.monotonic() + 60.0
        while "COMPLETING" in self.state(node)[0] and time.monotonic() < until:
            time.sleep(0.1)
        self.ask("scontrol", "update", f"NodeName={node.name}", "State=RESUME", check=False)
        self.ask("scancel", f"--nodelist={node.name}", check=False)
        (self.checks / "nodes" / f"{node.name}.check").unlink(missing_ok=True)
        while not self.state(node)[0].startswith("IDLE") and time.monotonic() < until:
            time.sleep(0.1)

    def log(self, node: Host) -> str:
        return self.slurm._log(node.name).read_text(errors="replace")


@contextlib.contextmanager
def gated_slurm(
    folder: Path,
    names: Sequence[str] = ("slurm-prolog",),
    *,
    nodes: int = 2,
    cores: int | None = None,
    deadline: float = 8.0,
    settings: Mapping[str, str] | None = None,
) -> Iterator[GatedSlurm]:
    """A Slurm with these hooks over ``nodes`` hosts, and one more host for its controller.

    ``cores``: of each host, if not an equal share of this machine's.
    """
    checks = folder / "checks"
    checks.mkdir(parents=True)
    found = shutil.which("scontrol", path=f"{os.defpath}:/usr/bin")
    hook_settings: dict[str, str] = {}
    for name in names:
        path = folder / name
        if name in _SETTINGS:
            hook_settings[_SETTINGS[name]] = str(path)
        else:
            hook_settings |= {"HealthCheckProgram": str(path), "HealthCheckInterval": "5"}
    SCRATCH.mkdir(exist_ok=True)
    spec = Spec(Single(nodes + 1), (Wire(GIGABIT),), cores=cores)
    with VirtualCluster(spec=spec) as cluster:
        slurm = FailingSlurm(
            cluster,
            nodes=cluster.hosts[1:],
            settings={
                "PrologFlags": "Alloc",
                "SchedulerParameters": "nohold_on_prolog_fail",
                "SelectType": "select/linear",
                "SelectTypeParameters": "CR_ONE_TASK_PER_CORE",
                "SlurmdDebug": "verbose",
                **hook_settings,
                **(settings or {}),
            },
        )
        # Slurm starts a job again on another node once its credential has expired.
        slurm._settings.setdefault("AuthInfo", f"socket={slurm._socket},cred_expire=5")
        for name in names:
            text = hooks.script(
                name,
                executable=ASSAY,
                folder=checks,
                deadline=deadline,
                scratch=SCRATCH,
                scontrol=Path(found) if found else None,
                slurm_conf=slurm.conf,
            )
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        with slurm:
            gated = GatedSlurm(slurm, folder)
            for node in gated.nodes:
                gated.run(node, "mount", "-t", "tmpfs", "-o", "size=256m", "scratch", str(SCRATCH))
                gated.run(node, "sh", "-c", _GROUPS)
                gated.separate(node)
            yield gated
