"""The sections of ``assay.toml``, as written there."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from assay.units import parse_quantity, parse_walltime

# Seconds without progress reports after which kernels are considered hung. No kernel that reports
# its progress is silent for longer.
PATIENCE = 600.0


# The variable that names the site's builds; ``[cache] shared`` sets it for this process and those
# that it starts anywhere.
SHARED_CACHE = "ASSAY_SHARED_CACHE"


class BlasConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[toolchains.NAME.blas]``: the CBLAS to link.

    ``libraries``: paths, or names as after ``-l``. ``include``: the folder that holds ``cblas.h``.
    ``prefix``/``suffix``: prefix and suffix of the symbol names (``scipy_``, ``64_``).
    ``int64``: whether its integers have 64 bits (ILP64).
    """

    libraries: tuple[str, ...]
    include: str | None = None
    prefix: str = ""
    suffix: str = ""
    int64: bool = False
    name: str = "BLAS"


class ToolchainConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[toolchains.NAME]``: an MPI, a compiler and a BLAS that belong together.

    ``mpi_prefix``: the MPI's folder, whose ``bin`` holds ``mpicxx`` and ``mpirun``; either may be
    named separately instead. A name without a slash is looked up on PATH; a relative path is
    relative to the config file. Without ``blas`` the embedded one is used. ``launch_flags`` are
    passed to mpirun before the program; ``environment`` holds for building and running.
    ``launcher``: with ``"srun"`` Slurm starts the ranks, for an MPI without its own mpirun.
    ``modules``: environment modules, as in ``[scheduler]``; ``easybuild``: names of EasyBuild's
    installations; ``spack``: specs, as for ``spack load``. They are loaded for building and
    running, and then names are looked up on their PATH. ``container``: of ``[containers]``, in
    which the compiler, the MPI and the ranks are.
    """

    mpi_prefix: str | None = None
    mpicxx: str | None = None
    mpirun: str | None = None
    cxx: str | None = None
    flags: str | None = None
    blas: BlasConfig | None = None
    launch_flags: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    launcher: Literal["mpirun", "srun"] = "mpirun"
    modules: tuple[str, ...] = ()
    easybuild: str | None = None
    spack: str | None = None
    container: str | None = None


class ContainerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[containers.NAME]``: an image with a compiler and an MPI.

    ``kind``: the program that runs it; ``program``: its path, if it is not on PATH. ``image``: as
    this program names it. ``bind``: folders of the host that it sees, besides the cache, the runs
    and the working directory. ``mpi``: with ``"outside"`` the host's mpirun (or srun) starts a
    container for each rank; with ``"inside"`` one container holds mpirun and all ranks of a node.
    ``options``: further ones of the program, such as ``"--nv"``.
    """

    kind: Literal["apptainer", "sarus", "podman"]
    image: str
    program: str | None = None
    bind: tuple[str, ...] = ()
    mpi: Literal["outside", "inside"] = "outside"
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
    """``[system]``: the machine under test.

    ``name``: None is its host name. ``groups``: groups of nodes that share something, by what they
    are and by name, in bracket notation: ``[system.groups.rack]`` with ``r03 = "n[0301-0316]"``.
    """

    name: str | None = None
    groups: dict[str, dict[str, str]] = {}


class ClusterConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[cluster]``: the hosts that mpirun starts ranks on where no scheduler allocates them.

    ``hosts``: names or addresses, in the order of use; names may be in bracket notation, such as
    "n[01-16]". They are assumed to be like the machine that assay runs on, and must see its files
    under the same paths. ``remote_shell``: a program called
    like ssh, ``HOST COMMAND…``; one with a slash is relative to the config file.
    ``local_address``: this machine's address as the hosts see it, if it isn't found automatically.
    ``starter``: how mpirun starts its agents on the hosts: ``"shell"`` (the remote shell) or
    ``"slurm"`` (one srun for all of them, inside an allocation). ``slowest_link``: the rate of the
    slowest link between hosts, such as "10 Gbit/s" or in B/s, where it is below the adapters'.
    """

    hosts: tuple[str, ...]
    remote_shell: str = "ssh"
    local_address: str | None = None
    starter: Literal["shell", "slurm"] = "shell"
    slowest_link: float | str | None = None

    @property
    def slowest_rate(self) -> float | None:
        """The rate of the slowest link in B/s; None if it isn't known."""
        known = self.slowest_link
        return None if known is None else float(parse_quantity(known, "B/s", where="slowest_link"))


class PartitionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[scheduler.partitions.NAME]``: options that replace those of ``[scheduler]`` if given.

    ``partition``: its name in the scheduler, by default the section's.
    """

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
    """``[scheduler]``: how jobs are submitted where a batch scheduler allocates the nodes.

    Without ``kind`` the scheduler is detected by its commands. ``walltime``: the longest time that
    one job may request, such as "12 h", "1-12:00:00", or a number of minutes, as for Slurm.
    ``modules`` are loaded before assay; ``setup`` are shell lines run after them. ``directives``:
    further options, as written in a job script after the scheduler's directive prefix:
    ``"--qos=debug"``. ``partitions``: by name, options that replace these for ``--partition NAME``,
    or for the name in ``partition``. ``arrays``: whether the site allows job arrays; without them
    one allocation serves all nodes of ``--per-node``. ``at_once``: the most tasks of an array that
    may run at a time.
    """

    kind: str | None = None
    partition: str | None = None
    account: str | None = None
    reservation: str | None = None
    constraint: str | None = None
    exclusive: bool = True
    walltime: float | str | None = None
    modules: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    arrays: bool = True
    at_once: int | None = None
    partitions: dict[str, PartitionConfig] = {}

    def of_partition(self, name: str | None) -> SchedulerConfig:
        """The options for a partition, of ``partition`` for None; without ``partitions``."""
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
    """``[cache]``: ``shared`` is a folder of builds that an administrator has made for all users
    (``kernels/builds/shared.py``). ``$ASSAY_SHARED_CACHE`` takes precedence.
    """

    shared: str | None = None


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[defaults]``: the toolchain of cells that name none, and where runs are kept.

    ``patience``: the time without reports after which kernels are considered hung.
    """

    toolchain: str | None = None
    runs: str | None = None
    patience: float | str = PATIENCE
