"""Labs: virtual clusters that stay until they are removed, each with a name and a folder.

A lab's folder, below ``/run/assay-labs``, holds ``lab.json``, written before anything else is
created, the remote shell, the hosts' names, and Slurm's files. Only root can access it. ``/run``
also has the names of namespaces: both disappear when the machine restarts, and both stay when a
user logs out. The process that creates or removes a lab holds a lock in its folder. The kernel
releases it with the last process that works on the lab, which distinguishes the remains of a
killed ``up`` from a lab being created.

``names.py`` doesn't treat the names of a lab's namespaces (``assay-labs.NAME.node1``) as leftovers.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from assay.decoding import UNREADABLE
from assay.errors import AssayError, nearest
from assay.lab import network
from assay.lab.cluster import Cluster
from assay.lab.network import Progress
from assay.lab.spec import Spec

if TYPE_CHECKING:
    from assay.lab.slurm import SlurmCluster

LAB_SCHEMA = 1
# Environment variable that names a folder to use instead of /run/assay-labs.
FOLDER_VARIABLE = "ASSAY_LABS"
# No dots: a dot ends the lab's name within a namespace's name. The name is also a folder's name.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}", re.ASCII)
_ROOT = Path("/run/assay-labs")
_STATE, _LOCK = "lab.json", ".lock"
# Seconds to wait for the last process that a killed ``up`` had started.
_PATIENCE = 5.0

State = Literal["up", "being made", "half made", "gone"]


class LabFile(msgspec.Struct, frozen=True):
    """``lab.json``."""

    schema: int
    name: str
    #: Time of creation, Unix s.
    utc: float
    spec: Spec
    #: Cores of this machine for the hosts.
    cores: list[int]


@dataclass(frozen=True)
class Lab:
    """A lab or the remains of one."""

    name: str
    #: "up"; "being made" (or removed) now; "half made": a part is missing; "gone": only its folder
    #: is left, after a restart of the machine.
    state: State
    #: The lab; None if its file can't be read.
    cluster: Cluster | None
    utc: float | None


def labs() -> list[Lab]:
    """All labs, sorted by name, including remains."""
    root = _root()
    names = {path.name for path in root.iterdir() if path.is_dir()} if root.is_dir() else set()
    names |= {name.split(".")[1] for name in network.namespaces_called(labs_prefix())}
    return [_look(name) for name in sorted(names) if _NAME.fullmatch(name)]


def find_lab(name: str) -> Cluster:
    """The cluster of a lab that is up. Raises AssayError."""
    check_name(name)
    found = {lab.name: lab for lab in labs()}
    lab = found.get(name)
    if lab is None:
        fix = nearest(name, found) if found else f"`assay lab up --name {name}` makes one."
        raise AssayError(f"There is no lab '{name}'.", fix=fix)
    if lab.cluster is None or lab.state != "up":
        raise AssayError(
            f"The lab '{name}' can't be used: it is {lab.state}.",
            fix="Wait for the process that creates it."
            if lab.state == "being made"
            else f"`assay lab down {name}` removes the remains.",
        )
    _check_root_folder()
    return lab.cluster


def bring_up(spec: Spec, name: str, progress: Progress | None = None) -> Cluster:
    """Create a lab. On failure, all parts are removed and AssayError is raised."""
    check_root()
    check_name(name)
    if spec.slurm:
        from assay.lab.slurm import check_accounts, why_not

        if problem := why_not():
            raise AssayError(problem, fix="Install the packages slurm-wlm and munge.")
        if spec.site.accounts:
            check_accounts()
    root = _made_root()
    taken = network.namespaces_called(_spaces_of(name))
    folder = root / name
    try:
        if taken:
            raise FileExistsError
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise AssayError(
            f"There is a lab '{name}' already: it is {_look(name).state}.",
            fix=f"Give another --name, or `assay lab down {name}` first.",
        ) from None
    with _locked(folder, name) as descriptor:
        cores = sorted(os.sched_getaffinity(0))
        file = LabFile(LAB_SCHEMA, name, time.time(), spec, cores)
        cluster = _cluster(file)
        try:
            (folder / _STATE).write_bytes(msgspec.json.format(msgspec.json.encode(file)) + b"\n")
            cluster.make(progress, keep=(descriptor,))
            if spec.slurm:
                if spec.site.users:  # they find Slurm's files, and can't list those of labs
                    root.chmod(0o711)
                    folder.chmod(0o711)
                slurm_of(cluster).__enter__()  # ``_remove`` ends it with the lab's processes
        except BaseException:
            with contextlib.suppress(AssayError):
                _remove(name)
            raise
    return cluster


def slurm_of(cluster: Cluster) -> SlurmCluster:
    """The Slurm on a lab's hosts, whether it was started or not."""
    from assay.lab.slurm import SlurmCluster

    site = cluster.spec.site
    return SlurmCluster(
        cluster,
        folder=cluster.folder / "slurm",
        accounts=site.accounts,
        users=site.users,
        partitions=site.partitions,
        settings=site.settings,
    )


def take_down(name: str) -> None:
    """Remove a lab or its remains, and end all its processes. Raises AssayError."""
    check_root()
    check_name(name)
    if name not in {lab.name for lab in labs()}:
        find_lab(name)  # raises the error for an unknown lab
    if any(network.is_inside(space) for space in network.namespaces_called(_spaces_of(name))):
        raise AssayError(
            f"The lab '{name}' can't be removed from one of its own hosts.",
            fix="Run the command outside of the lab.",
        )
    folder = _root() / name
    if not folder.is_dir():
        _remove(name)
        return
    with _locked(folder, name):
        _remove(name)


def check_root() -> None:
    """Raises AssayError unless labs can be created here."""
    problem = network.why_not()
    if problem:
        raise AssayError(problem, fix="Run as root, on a machine with iproute2.")


def check_name(name: str) -> None:
    """Raises AssayError if a lab's name is invalid."""
    if not _is_name(name):
        raise AssayError(
            f"{name!r} can't be a lab's name.",
            fix="Give a --name of up to 31 small letters, digits and hyphens, a letter first.",
        )


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _look(name: str) -> Lab:
    folder = _root() / name
    file = _read(folder / _STATE)
    cluster = _cluster(file) if file is not None else None
    there = set(network.namespaces_called(_spaces_of(name)))
    state: State
    if _is_held(folder):
        state = "being made"
    elif not there:
        state = "gone"
    else:
        # The remote shell, or the file that shows that Slurm is ready, is written last.
        whole = cluster is not None and cluster.remote_shell.exists()
        if cluster is not None and cluster.spec.slurm:
            whole = whole and slurm_of(cluster).ready.exists()
        state = (
            "up" if whole and there >= set(cluster.namespaces if cluster else ()) else "half made"
        )
    return Lab(name, state, cluster, file.utc if file else None)


def _spaces_of(name: str) -> str:
    """The prefix of the names of a lab's namespaces."""
    return f"{labs_prefix()}{name}."


def _cluster(file: LabFile) -> Cluster:
    return Cluster(file.spec, file.name, _spaces_of(file.name), _root() / file.name, file.cores)


def _read(path: Path) -> LabFile | None:
    """The contents of the file; None if it can't be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=LabFile)
    except (OSError, *UNREADABLE):
        return None


def _remove(name: str) -> None:
    network.remove_namespaces(network.namespaces_called(_spaces_of(name)))
    shutil.rmtree(_root() / name, ignore_errors=True)


def _root() -> Path:
    # Absolute: programs on hosts start in other folders.
    return Path(os.environ.get(FOLDER_VARIABLE) or _ROOT).absolute()


def labs_prefix() -> str:
    """The prefix of the names of all labs' namespaces, different for each labs' folder."""
    root = _root()
    return "assay-labs." if root == _ROOT else f"assay-labs-{zlib.crc32(os.fsencode(root)):08x}."


def _made_root() -> Path:
    """The folder of all labs, created if missing. Raises AssayError."""
    root = _root()
    try:
        root.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise AssayError(
            f"The labs' folder can't be created: {error.strerror or error}.", where=str(root)
        ) from None
    _check_root_folder()
    return root


def _check_root_folder() -> None:
    """Raises AssayError if other users may write to the labs' folder: root runs its programs."""
    found = _root().lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise AssayError(
            "Users other than root can write to the labs' folder.",
            where=str(_root()),
            fix=f"Remove it, or name another in {FOLDER_VARIABLE}.",
        )


@contextlib.contextmanager
def _locked(folder: Path, name: str) -> Iterator[int]:
    """Lock a lab. Programs may inherit the descriptor. Raises AssayError if the lock is held."""
    until = time.monotonic() + _PATIENCE
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise AssayError(
            f"The lab '{name}' was removed in the meantime.", fix="Start again."
        ) from None
    try:
        while True:
            # Processes that list labs lock each lab for a moment, and processes started by a killed
            # ``up`` may still run.
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() > until:
                raise AssayError(
                    f"Another assay is making or removing the lab '{name}'.",
                    fix="Wait for it, or end it first.",
                )
            time.sleep(0.02)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_held(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
