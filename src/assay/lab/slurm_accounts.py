"""Accounts of a lab's Slurm: slurmdbd with MariaDB, so that sacct, associations and QOS work."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.lab.cluster import Cluster

# MariaDB's server and client, Slurm's daemon and command.
PROGRAMS = ("mariadbd", "mariadb", "slurmdbd", "sacctmgr")
_PATIENCE = 60.0


class SlurmAccounts:
    """The two daemons, on the cluster's first host.

    ``folder``: the folder for their files. ``find`` returns the path of a program. ``start`` starts
    a daemon in the foreground and keeps it.
    """

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        find: Callable[[str], str | None],
        start: Callable[..., None],
    ) -> None:
        self._cluster = cluster
        self._folder = folder
        self._find = find
        self._start = start

    @property
    def settings(self) -> dict[str, str]:
        """Lines of slurm.conf(5) that use the accounts."""
        return {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": self._cluster.hosts[0].addresses[0],
            # slurm.conf(5): for munge the path of its socket.
            "AccountingStoragePass": str(self._folder / "munge.socket"),
            "JobAcctGatherType": "jobacct_gather/linux",
            "JobAcctGatherFrequency": "1",
        }

    def run(self, socket: Path) -> None:
        """Start both daemons. ``socket``: munged's socket. Raises AssayError if they can't be
        started.
        """
        first = self._cluster.hosts[0]
        data, own = self._folder / "database", self._folder / "db.socket"
        data.mkdir(mode=0o700)
        password = secrets.token_hex(16)
        server = self._program("mariadbd")
        options = ["--no-defaults", f"--datadir={data}", "--user=root"]
        # What mariadb-install-db does, without its changes to installed files.
        tables = "".join(f.read_text("utf-8") for f in _table_files(server))
        self._check(
            [server, *options, "--bootstrap"], f"CREATE DATABASE mysql;\nUSE mysql;\n{tables}"
        )
        network = ["--bind-address=127.0.0.1", "--port=3306", f"--socket={own}"]
        self._start("mariadbd", first, "mariadbd", *options, *network)
        client = [self._program("mariadb"), "--no-defaults", f"--socket={own}", "-uroot", "-e"]
        made = (
            "CREATE DATABASE slurm; "
            f"CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}'; "
            "GRANT ALL ON slurm.* TO slurm@'127.0.0.1'; "
            f"CREATE USER slurm@'localhost' IDENTIFIED BY '{password}'; "
            "GRANT ALL ON slurm.* TO slurm@'localhost';"
        )
        self._await(lambda: own.exists(), "MariaDB answers")
        self._check([*client, made])
        conf = self._folder / "slurmdbd.conf"
        lines = {
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={socket}",
            "DbdHost": first.name,
            "DbdAddr": first.addresses[0],
            "SlurmUser": "root",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "127.0.0.1",
            "StoragePort": "3306",
            "StorageUser": "slurm",
            "StoragePass": password,
            "StorageLoc": "slurm",
            "PidFile": str(self._folder / "slurmdbd.pid"),
        }
        conf.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        conf.chmod(0o600)
        # slurmdbd finds slurmdbd.conf in the folder of slurm.conf.
        self._start("slurmdbd", first, "slurmdbd", "-D")
        self._await(lambda: self.manage("list", "cluster") is not None, "slurmdbd answers")

    def manage(self, *words: str) -> str | None:
        """The output of sacctmgr(1) with these words, unasked; None if it fails."""
        command = self._cluster.command(
            self._cluster.hosts[0], self._program("sacctmgr"), "--immediate", "--noheader", *words
        )
        environment = {**os.environ, "SLURM_CONF": str(self._folder / "slurm.conf")}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, check=False, timeout=_PATIENCE
        )
        return done.stdout if done.returncode == 0 else None

    def _program(self, name: str) -> str:
        found = self._find(name)
        assert found is not None  # or why_not would have said so
        return found

    def _check(self, command: Sequence[str], text: str = "") -> None:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssayError(
                f"The database of the lab's Slurm can't be made: '{command[0]}' failed.",
                detail=done.stderr or done.stdout,
            )

    def _await(self, there: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + _PATIENCE
        while not there():
            if time.monotonic() > until:
                raise AssayError(
                    f"The accounts of the lab's Slurm can't be started: it took longer than "
                    f"{_PATIENCE:g} s until {what}.",
                    detail=self._last_lines(),
                )
            time.sleep(0.1)

    def _last_lines(self) -> str:
        found = []
        for name in ("mariadbd", "slurmdbd"):
            with contextlib.suppress(OSError):
                found += (
                    (self._folder / f"{name}.log").read_text(errors="replace").splitlines()[-10:]
                )
        return "\n".join(found)


def why_no_accounts(find: Callable[[str], str | None] = shutil.which) -> str | None:
    """A sentence on why this machine can't have accounts; None if it can."""
    missing = [name for name in PROGRAMS if find(name) is None]
    if missing:
        return f"Accounts of Slurm need the program '{missing[0]}', which is not found."
    server = find("mariadbd")
    assert server is not None
    absent = [file for file in _table_files(server) if not file.exists()]
    return f"Accounts of Slurm need MariaDB's file '{absent[0]}'." if absent else None


def _table_files(server: str) -> list[Path]:
    """MariaDB's definitions of its own tables, which are installed with the server."""
    folder = Path(server).resolve().parents[1] / "share" / "mysql"
    return [folder / f"mysql_system_tables{part}.sql" for part in ("", "_data")]
