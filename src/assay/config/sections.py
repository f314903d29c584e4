"""The sections of ``assay.toml``, as written there."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from assay.units import parse_quantity, parse_walltime

# Seconds without progress reports after which kernels are considered hung. Kernels that report
# progress do so more often.
PATIENCE = 600.0


# The variable that names the folder of the site's builds. ``[cache] shared`` sets it for this
# process and for processes that it starts anywhere.
SHARED_CACHE = "ASSAY_SHARED_CACHE"


class BlasConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[toolchains.NAME.blas]``: the CBLAS to link."""

    #: Paths, or names as after ``-l``.
    libraries: tuple[str, ...]
    #: The folder that holds ``cblas.h``.
    include: str | None = None
    #: ``prefix``, ``suffix``: prefix and suffix of symbol names (``scipy_``, ``64_``).
    prefix: str = ""
    suffix: str = ""
    #: Whether its integers have 64 bits (ILP64).
    int64: bool = False
    name: str = "BLAS"


class ToolchainConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[toolchains.NAME]``: an MPI, a compiler and a BLAS that belong together."""

    #: Folder of the MPI, whose ``bin`` contains ``mpicxx`` and ``mpirun``; each may also be named
    #: separately. A name without a slash is looked up on PATH; a relative path is relative to the
    #: config file. Without ``blas`` the embedded one is used. ``launch_flags`` are passed to mpirun
    #: before the program. ``environment`` applies to building and running.
    mpi_prefix: str | None = None
    mpicxx: str | None = None
    mpirun: str | None = None
    cxx: str | None = None
    flags: str | None = None
    blas: BlasConfig | None = None
    launch_flags: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    #: With ``"srun"``, Slurm starts the ranks. Use it for an MPI without its own mpirun.
    launcher: Literal["mpirun", "srun"] = "mpirun"
    #: Environment modules, as in ``[scheduler]``.
    modules: tuple[str, ...] = ()
    #: Names of installed EasyBuild modules.
    easybuild: str | None = None
    #: Specs as for ``spack load``. They are loaded for building and running; names are then looked
    #: up on the resulting PATH.
    spack: str | None = None
    #: Container, from ``[containers]``, that holds the compiler and the MPI and runs the ranks.
    container: str | None = None


class ContainerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[containers.NAME]``: an image with a compiler and an MPI."""

    #: Program that runs the container.
    kind: Literal["apptainer", "sarus", "podman"]
    #: Image, as the program names it.
    image: str
    #: Path of the program, if it isn't on PATH.
    program: str | None = None
    #: Folders of the host that the container sees, in addition to the cache, the runs and the
    #: working directory.
    bind: tuple[str, ...] = ()
    #: With ``"outside"`` the host's mpirun (or srun) starts a container for each rank; with
    #: ``"inside"`` one container holds mpirun and all ranks of a node.
    mpi: Literal["outside", "inside"] = "outside"
    #: Further options of the program, such as ``"--nv"``.
    options: tuple[str, ...] = ()


class CompilerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[compilers.NAME]``: a compiler; each compiler is combined with every MPI."""

    cxx: str | None = None
    flags: str | None = None
    environment: dict[str, str] = {}


class MpiConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[mpis.NAME]``: an MPI, with the keys of a toolchain.

    An empty section is the default MPI of this machine.
    """

    mpi_prefix: str | None = None
    mpicxx: str | None = None
    mpirun: str | None = None
    launch_flags: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    launcher: Literal["mpirun", "srun"] = "mpirun"


class SystemConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[system]``: the machine under test."""

    #: Name of the machine; None is its host name.
    name: str | None = None
    #: Groups of nodes that share something, by kind and name, in bracket notation:
    #: ``[system.groups.rack]`` with ``r03 = "n[0301-0316]"``.
    groups: dict[str, dict[str, str]] = {}


class ClusterConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[cluster]``: the hosts on which mpirun starts ranks if no scheduler allocates them."""

    #: Names or addresses in the order of use; names may be in bracket notation, such as "n[01-16]".
    #: The hosts are assumed to be like the machine that assay runs on, and must see its files under
    #: the same paths.
    hosts: tuple[str, ...]
    #: A program called like ssh, ``HOST COMMAND…``. A path with a slash is relative to the config
    #: file.
    remote_shell: str = "ssh"
    #: This machine's address as the hosts see it, if it isn't found automatically.
    local_address: str | None = None
    #: How mpirun starts its agents on the hosts: ``"shell"`` (the remote shell) or ``"slurm"`` (one
    #: srun for all of them, inside an allocation).
    starter: Literal["shell", "slurm"] = "shell"
    #: Rate of the slowest link between hosts, such as "10 Gbit/s" or in B/s, if it is below the
    #: adapters' rate.
    slowest_link: float | str | None = None

    @property
    def slowest_rate(self) -> float | None:
        """The rate of the slowest link in B/s; None if unknown."""
        known = self.slowest_link
        return None if known is None else float(parse_quantity(known, "B/s", where="slowest_link"))


class PartitionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[scheduler.partitions.NAME]``: options that replace those of ``[scheduler]`` if given."""

    #: Name in the scheduler; by default the section's name.
    partition: str | None = None
    account: str | None = None
    reservation: str | None = None
    constraint: str | None = None
    exclusive: bool | None = None
    walltime: float | str | None = None
    modules: tuple[str, ...] | None = None
    directives: tuple[str, ...] | None = None
    setup: tuple[str, ...] | None = None
    arrays: bool | None = None
    at_once: int | None = None


class SchedulerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[scheduler]``: how jobs are submitted if a batch scheduler allocates the nodes.

    Without ``kind`` the scheduler is detected by its commands.
    """

    kind: str | None = None
    partition: str | None = None
    account: str | None = None
    reservation: str | None = None
    constraint: str | None = None
    exclusive: bool = True
    #: The longest time that a job may request, such as "12 h", "1-12:00:00", or a number of
    #: minutes, as for Slurm. ``modules`` are loaded before assay; ``setup`` are shell lines that
    #: run after them.
    walltime: float | str | None = None
    modules: tuple[str, ...] = ()
    #: Further options, as in a job script after the scheduler's directive prefix:
    #: ``"--qos=debug"``.
    directives: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    #: Whether the site allows job arrays. Without them, one allocation serves all nodes of
    #: ``--per-node``.
    arrays: bool = True
    #: The most tasks of an array that may run at the same time.
    at_once: int | None = None
    #: Options by partition name. They replace these options for ``--partition NAME``, or for the
    #: name in ``partition``.
    partitions: dict[str, PartitionConfig] = {}

    def of_partition(self, name: str | None) -> SchedulerConfig:
        """The options for a partition, without ``partitions``. None: the partition in
        ``partition``."""
        asked = name or self.partition
        section = self.partitions.get(asked) if asked else None
        changes: dict[str, object] = {"partition": asked, "partitions": {}}
        if section is not None:
            given = msgspec.structs.asdict(section)
            changes |= {key: value for key, value in given.items() if value is not None}
        return msgspec.structs.replace(self, **changes)

    @property
    def longest(self) -> float:
        """Seconds that one job may request; inf without ``walltime``."""
        return math.inf if self.walltime is None else parse_walltime(self.walltime)


class CacheConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[cache]``: ``shared`` is a folder of builds that an administrator made for all users
    (``kernels/builds/shared.py``). ``$ASSAY_SHARED_CACHE`` takes precedence.
    """

    shared: str | None = None


class CheckConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[check]``: where and how strictly nodes are checked (``assay check``)."""

    #: Folder of the fleet's checks, on a file system that all nodes share. ``$ASSAY_CHECKS`` takes
    #: precedence.
    folder: str | None = None
    #: Folder on each node's own disk in which local storage is measured.
    scratch: str | None = None
    #: Time after which a check ends whatever hangs.
    deadline: float | str | None = None
    #: Rate of checks that may fail a healthy node.
    false_drains: float | None = None


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[defaults]``: the toolchain of cells that name none, and the folder of runs."""

    toolchain: str | None = None
    runs: str | None = None
    #: Time without progress reports after which kernels are considered hung.
    patience: float | str = PATIENCE
