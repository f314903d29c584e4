"""Slurm on the hosts of a virtual cluster, independent of the machine's daemons, keys and files."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from assay.errors import AssayError
from assay.lab import network
from assay.lab.cluster import Cluster, Host
from assay.lab.slurm_accounts import SlurmAccounts, why_no_accounts
from assay.units import counted

PARTITION = "lab"
# Commands for users and assay; daemons are started only by the cluster.
_CLIENTS = ("sbatch", "squeue", "scontrol", "scancel", "sacct", "sinfo", "srun", "salloc")
_DAEMONS = ("munged", "slurmctld", "slurmd")
# Debian installs daemons outside of a user's PATH.
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_MUNGED, CONTROLLER = "munged", "slurmctld"
# Seconds between two checks of an awaited condition.
_PAUSE = 0.1
# The longest path of a socket (unix(7)), and the end of the path of a job step's socket: slurmd's
# files are in spool/NODE, and this file is NODE_JOB.STEP, for job ids of up to five digits.
_LONGEST_PATH = 107
_STEP = "spool/{0}/{0}_99999.4294967295"


def check_length(folder: Path, nodes: Sequence[str]) -> None:
    """Raises AssayError if paths in the folder are too long for Slurm's sockets.

    With such paths slurmd would start, but every job launch would fail.
    """
    longest = max(len(str(folder / _STEP.format(node))) for node in nodes)
    if longest > _LONGEST_PATH:
        raise AssayError(
            "The path of this folder is too long for the sockets of a Slurm, by "
            f"{counted(longest - _LONGEST_PATH, 'character')}.",
            where=str(folder),
            fix="Name a shorter one for labs in ASSAY_LABS, or for temporary files in TMPDIR.",
        )


class SlurmCluster:
    """``with SlurmCluster(cluster) as slurm: …``, on the hosts of a virtual cluster.

    The controller runs on the first host; ``nodes`` (default: all hosts) have one slurmd each,
    under their own names, with one CPU per core of the host, in the partition ``lab``. It needs the
    packages slurm-wlm and munge. ``settings`` override lines of slurm.conf; ``partitions`` are
    further partitions, by name the options of their line. ``accounts``: whether to run slurmdbd
    with MariaDB, from the packages slurmdbd and mariadb-server. ``users``: whether ordinary users
    of this machine may submit on the hosts. ``patience``: seconds for the nodes to become idle.
    ``folder``: the folder for its files. If the context is entered but not left, Slurm runs until
    its hosts' processes are ended. Raises AssayError, with the daemon's last output, if it can't be
    started.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        nodes: Sequence[Host] | None = None,
        settings: Mapping[str, str] | None = None,
        partitions: Mapping[str, str] | None = None,
        accounts: bool = False,
        users: bool = False,
        patience: float = 60.0,
        folder: Path | None = None,
    ) -> None:
        self.cluster = cluster
        self.nodes = tuple(cluster.hosts if nodes is None else nodes)
        self.folder = folder or Path(tempfile.gettempdir()) / f"{cluster.name}-slurm"
        self._settings = dict(settings or {})
        self._partitions = dict(partitions or {})
        self._users = users
        self.database: SlurmAccounts | None = None
        if accounts:
            self.database = SlurmAccounts(cluster, self.folder, _find, self._start)
        self._patience = patience
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def conf(self) -> Path:
        """The slurm.conf of daemons and commands."""
        return self.folder / "slurm.conf"

    @property
    def ready(self) -> Path:
        """A file that is created once all nodes have been idle for the first time."""
        return self.folder / "ready"

    @property
    def accounts(self) -> Path:
        """The text file of jobs that have ended, for ``assay usage``; absent until the first job
        has ended.
        """
        return self.folder / "completed.txt"

    def environment(self) -> dict[str, str]:
        """Variables that make ``sbatch`` and the other commands use this Slurm.

        They work on the cluster's hosts and outside: PATH begins with a folder of scripts that run
        the commands on the first host.
        """
        path = os.environ.get("PATH", os.defpath)
        return {"SLURM_CONF": str(self.conf), "PATH": f"{self._programs}{os.pathsep}{path}"}

    def __enter__(self) -> SlurmCluster:
        problem = why_not()
        if problem:
            raise AssayError(problem, fix="Install the packages slurm-wlm and munge.")
        if self.database is not None:
            check_accounts()
        check_length(self.folder, [node.name for node in self.nodes])
        try:
            self._make()
            self._start_daemons()
            self.ready.touch()
        except BaseException:
            with contextlib.suppress(AssayError):
                self.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """End jobs and daemons, and remove all files; does nothing if this was done already."""
        if CONTROLLER in self._daemons:
            self.stop_controller()  # on SIGTERM it also ends its helper process
        for daemon in self._daemons.values():
            daemon.kill()
        for daemon in self._daemons.values():
            daemon.wait()
        self._daemons.clear()
        for node in self.nodes:
            self._end_jobs(node)
        shutil.rmtree(self.folder, ignore_errors=True)

    def node(self, name: str) -> Host:
        """The compute node with that name."""
        return next(node for node in self.nodes if node.name == name)

    def stop_controller(self) -> None:
        """End the controller: commands get no answer, jobs continue."""
        daemon = self._daemons.pop(CONTROLLER)
        daemon.terminate()  # it saves its state
        try:
            daemon.wait(self._patience)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def start_controller(self) -> None:
        """Start the controller with its saved state; returns when it answers."""
        self._start(CONTROLLER, self.cluster.hosts[0], "slurmctld", "-D", "-f", str(self.conf))
        self._await(lambda: self._ask("scontrol", "ping") is not None, "its controller answers")

    def states(self) -> dict[str, str]:
        """The nodes' states in Slurm's short form (``idle``, ``alloc``, ``down*`` …).

        Empty if the controller does not answer.
        """
        said = self._ask("sinfo", "--noheader", "--Node", "--format=%N %t") or ""
        return dict(line.split() for line in said.splitlines())

    def await_idle(self) -> None:
        """Wait until all nodes are idle. Raises AssayError after ``patience`` seconds."""
        idle = {node.name: "idle" for node in self.nodes}
        self._await(lambda: self.states() == idle, "all its nodes are idle")

    @property
    def _programs(self) -> Path:
        return self.folder / "bin"

    @property
    def _socket(self) -> Path:
        return self.folder / "munge.socket"

    def _make(self) -> None:
        for folder in (self.folder, self._programs, self.folder / "state", self.folder / "spool"):
            folder.mkdir(mode=0o755 if self._users else 0o700)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        self.conf.write_text(self._configuration())
        # Read from the folder of slurm.conf. slurmd looks for control groups even if none are used,
        # but a namespace shows none.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        for client in _CLIENTS:
            if found := _find(client):
                program = self._programs / client
                program.write_text(self._client(found))
                program.chmod(0o700)

    def _client(self, found: str) -> str:
        """A script that runs a Slurm command on the first host, wherever it is called."""
        command = self.cluster.command(self.cluster.hosts[0], found)
        conf = shlex.quote(str(self.conf))
        return f'#!/bin/sh\nexport SLURM_CONF={conf}\nexec {shlex.join(command)} "$@"\n'

    def _configuration(self) -> str:
        first = self.cluster.hosts[0]
        settings = {
            "ClusterName": "lab",
            "SlurmctldHost": f"{first.name}({first.addresses[0]})",
            "SlurmUser": "root",
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={self._socket}",
            "StateSaveLocation": str(self.folder / "state"),
            "SlurmdSpoolDir": str(self.folder / "spool" / "%n"),
            "SlurmctldPidFile": str(self.folder / "slurmctld.pid"),
            "SlurmdPidFile": str(self.folder / "%n.pid"),
            # Hosts are namespaces: they have neither their own cgroups nor their own hardware.
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "SlurmdParameters": "config_overrides",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU",
            "SwitchType": "switch/none",
            "MpiDefault": "none",
            "ReturnToService": "2",
            # sacct would need a database; this text file has one line per job that has ended.
            "JobCompType": "jobcomp/filetxt",
            "JobCompLoc": str(self.accounts),
            # Shorter timeouts than those of a real site.
            "SlurmdTimeout": "15",
            "KillWait": "5",
            "InactiveLimit": "0",
            **(self.database.settings if self.database else {}),
            **self._settings,
        }
        nodes = [
            f"NodeName={node.name} NodeHostname={node.name} NodeAddr={node.addresses[0]} "
            f"CPUs={len(node.cores)} State=UNKNOWN"
            for node in self.nodes
        ]
        names = ",".join(node.name for node in self.nodes)
        return "".join(
            f"{line}\n"
            for line in (
                *(f"{name}={value}" for name, value in settings.items()),
                *nodes,
                f"PartitionName={PARTITION} Nodes={names} Default=YES MaxTime=INFINITE State=UP",
                *(f"PartitionName={n} {options}" for n, options in self._partitions.items()),
            )
        )

    def _start_daemons(self) -> None:
        first = self.cluster.hosts[0]
        files = {"key": "munge.key", "pid": "munge.pid", "seed": "munge.seed", "log": "munge.log"}
        options = [f"--{kind}-file={self.folder / name}" for kind, name in files.items()]
        # --force: munged requires a socket that all users can reach; here it is only for root.
        foreground = ["--foreground", "--force", f"--socket={self._socket}"]
        self._start(_MUNGED, first, "munged", *foreground, *options)
        self._await(self._socket.exists, "its munged answers")
        if self.database is not None:
            self.database.run(self._socket)
            self.database.manage("add", "cluster", "lab")
        self.start_controller()
        for node in self.nodes:
            self._start_slurmd(node)
        self.await_idle()

    def _start_slurmd(self, node: Host) -> None:
        # Each node has its own spool; slurmd doesn't create it.
        (self.folder / "spool" / node.name).mkdir(mode=0o755, exist_ok=True)
        self._start(node.name, node, "slurmd", "-D", "-N", node.name, "-f", str(self.conf))

    def _start(self, name: str, host: Host, program: str, *words: str) -> None:
        """Start a daemon in the foreground."""
        found = _find(program)
        assert found is not None  # or why_not would have said so
        with self._log(name).open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                self.cluster.command(host, found, *words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**_without_slurm(os.environ), "SLURM_CONF": str(self.conf)},
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _await(self, there: Callable[[], bool], what: str) -> None:
        """Wait for a condition. Raises AssayError if a daemon ends or the time is over."""
        until = time.monotonic() + self._patience
        while not there():
            for name, daemon in self._daemons.items():
                if daemon.poll() is not None:
                    raise self._failure(f"{name} ended before {what}", name)
            if time.monotonic() > until:
                raise self._failure(f"it took longer than {self._patience:g} s until {what}")
            time.sleep(_PAUSE)

    def _failure(self, what: str, name: str = CONTROLLER) -> AssayError:
        try:
            said = self._log(name).read_text(errors="replace").splitlines()[-20:]
        except OSError:
            said = []
        alive = CONTROLLER in self._daemons and self._daemons[CONTROLLER].poll() is None
        states = ", ".join(
            f"{node} {state}" for node, state in (self.states() if alive else {}).items()
        )
        return AssayError(
            f"The Slurm of the virtual cluster can't be started: {what}.",
            detail="\n".join([*([states] if states else []), *said]),
            fix="On a busy machine, try again with fewer hosts.",
        )

    def _ask(self, client: str, *words: str) -> str | None:
        """The output of a command; None if it fails or exceeds the patience."""
        try:
            done = subprocess.run(
                [self._programs / client, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=self._patience,
            )
        except subprocess.TimeoutExpired:
            return None
        return done.stdout if done.returncode == 0 else None

    def _end_jobs(self, node: Host) -> None:
        """Kill the processes that slurmd has started on a node: its helpers and the jobs'."""
        until = time.monotonic() + self._patience
        while pids := list(self._started_by_slurmd(node)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > until:
                raise AssayError(f"Processes on the host '{node.name}' can't be ended: {pids}.")
            time.sleep(_PAUSE)

    def _started_by_slurmd(self, node: Host) -> Iterator[int]:
        """Slurm's helpers, found by name, and the jobs' processes, found by their variables."""
        daemons = {daemon.pid for daemon in self._daemons.values()}
        conf = f"SLURM_CONF={self.conf}".encode()
        for pid in network.processes_in(node.namespace):
            try:
                program = Path(f"/proc/{pid}/comm").read_bytes().strip()
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:  # ended meanwhile
                continue
            on_a_node = any(variable.startswith(b"SLURMD_NODENAME=") for variable in variables)
            # A helper overwrites its environment with its title.
            helper = program in (b"slurmstepd", b"slurmd") and pid not in daemons
            if helper or (on_a_node and conf in variables):
                yield pid


def check_accounts() -> None:
    """Raises AssayError if this machine can't have accounts."""
    if problem := why_no_accounts(_find):
        raise AssayError(problem, fix="Install the packages slurmdbd and mariadb-server.")


def why_not() -> str | None:
    """A sentence on why Slurm can't be started here; None if it can."""
    missing = [name for name in (*_DAEMONS, "sbatch", "scontrol", "sinfo") if not _find(name)]
    return f"Slurm needs the program '{missing[0]}', which is not found." if missing else None


def _find(program: str) -> str | None:
    """The path of a program of the machine; those of virtual clusters on PATH are skipped."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = [folder for folder in folders if not Path(folder).parent.name.startswith("assay-lab-")]
    return shutil.which(program, path=os.pathsep.join([*own, *_SBIN]))


def _without_slurm(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables of a Slurm around this process."""
    return {name: value for name, value in environ.items() if not name.startswith("SLURM")}
