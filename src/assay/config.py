"""``assay.toml``: the site's toolchains, prices, facts and defaults."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.ownership import why_untrusted
from assay.toml import TomlDocument, dotted, load_toml
from assay.units import parse_quantity

CONFIG_NAME = "assay.toml"
# Seconds without a word from kernels after which they are given up: none is silent for longer that
# tells how far it is.
PATIENCE = 600.0
# A name, an IPv4 address, or an IPv6 address; nothing that a launcher would take apart.
HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*", re.ASCII)


class BlasConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[toolchains.NAME.blas]``: the CBLAS to link.

    ``libraries``: paths, or names as after ``-l``. ``include``: the folder that holds ``cblas.h``.
    ``prefix``/``suffix``: what stands before and after the symbols' names (``scipy_``, ``64_``).
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
    named by itself instead. A name without a slash is looked up on PATH; a relative path counts
    from the config file. ``blas`` missing is the embedded one. ``launch_flags`` are given to mpirun
    ahead of the program; ``environment`` holds for building and for running. ``launcher``:
    ``"srun"`` starts the ranks by Slurm itself, for an MPI without a mpirun of its own.
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


class CompilerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[compilers.NAME]``: one of several, each of which makes a toolchain with every MPI."""

    cxx: str | None = None
    flags: str | None = None
    environment: dict[str, str] = {}


class MpiConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[mpis.NAME]``: one of several; the keys are those of a toolchain.

    An empty one is the MPI that this machine has by itself.
    """

    mpi_prefix: str | None = None
    mpicxx: str | None = None
    mpirun: str | None = None
    launch_flags: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    launcher: Literal["mpirun", "srun"] = "mpirun"


class SystemConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[system]``: what the machine under test is called; None is its host name."""

    name: str | None = None


class ClusterConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[cluster]``: the hosts that mpirun starts ranks on where no scheduler gives them.

    ``hosts``: names or addresses, in the order in which they are used. They are taken to be like
    the machine that assay runs on, and must see its files under the same paths. ``remote_shell``:
    a program called like ssh, ``HOST COMMAND…``; one with a slash counts from the config file.
    ``local_address``: this machine's own address towards the hosts, where it isn't found by itself.
    ``starter``: by what mpirun starts its agents on the hosts, ``"shell"`` (the remote shell) or
    ``"slurm"`` (one srun for all of them, inside an allocation).
    """

    hosts: tuple[str, ...]
    remote_shell: str = "ssh"
    local_address: str | None = None
    starter: Literal["shell", "slurm"] = "shell"


class SchedulerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[scheduler]``: how jobs are asked for where a batch scheduler gives out the nodes.

    ``kind`` missing is the one whose commands are found. ``walltime``: the longest time that one
    job may ask for, seconds or such as "12 h". ``modules`` are loaded ahead of assay, ``setup``
    are lines of shell run after them. ``directives``: further options, each as it stands in a
    script after the scheduler's own mark: ``"--qos=debug"``.
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

    @property
    def longest(self) -> float:
        """Seconds that one job may ask for; inf if nothing was said."""
        return math.inf if self.walltime is None else float(parse_quantity(self.walltime, "s"))


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[defaults]``: the toolchain of cells that name none, and where runs are kept.

    ``patience``: the time without a word from kernels after which they are given up for hung.
    """

    toolchain: str | None = None
    runs: str | None = None
    patience: float | str = PATIENCE


class _File(msgspec.Struct, frozen=True):
    system: SystemConfig = SystemConfig()
    toolchains: dict[str, ToolchainConfig] = {}
    compilers: dict[str, CompilerConfig] = {}
    mpis: dict[str, MpiConfig] = {}
    prices: dict[str, float | str] = {}
    site: dict[str, str] = {}
    defaults: Defaults = Defaults()
    cluster: ClusterConfig | None = None
    scheduler: SchedulerConfig | None = None


@dataclass(frozen=True)
class Prices:
    """``[prices]``: amounts by name (``node``, ``kwh``, …) in one currency, None if not said."""

    currency: str | None = None
    amounts: Mapping[str, float] = field(default_factory=dict)


NO_PRICES = Prices()


@dataclass(frozen=True)
class Config:
    """What ``assay.toml`` says, or the defaults where there is none (``document`` is None).

    ``crossed``: the toolchains that are made of one of its compilers and one of its MPIs.
    """

    document: TomlDocument | None = None
    system: SystemConfig = field(default_factory=SystemConfig)
    toolchains: Mapping[str, ToolchainConfig] = field(default_factory=dict)
    crossed: tuple[str, ...] = ()
    prices: Prices = field(default_factory=Prices)
    site: Mapping[str, str] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    cluster: ClusterConfig | None = None
    scheduler: SchedulerConfig | None = None
    patience: float = PATIENCE

    @property
    def path(self) -> Path | None:
        """The file it was read from."""
        return self.document.path if self.document else None

    @property
    def runs(self) -> Path:
        """Where runs are kept: as configured (relative to the config file), else ``./runs``."""
        return self.resolve(self.defaults.runs) if self.defaults.runs else Path("runs")

    def where(self, *path: str | int) -> str:
        """``"file:line"`` of a key; empty without a file."""
        return self.document.where(path) if self.document else ""

    def resolve(self, path: str) -> Path:
        """A path of the file: ``~`` expanded, relative ones counted from the file's folder."""
        base = self.path.absolute().parent if self.path else Path.cwd()
        return base / Path(path).expanduser()


def load_config(path: Path | None = None) -> Config:
    """Read the config: the file given, else the one ``find_config`` finds, else the defaults.

    Raises AssayError with file, line and key for anything in it that is not understood.
    """
    found = path or find_config()
    if found is None:
        return Config()
    document = load_toml(found)
    content = document.read([], document.data, _File)
    crossed = _crossed(document, content)
    config = Config(
        document=document,
        system=content.system,
        toolchains={**content.toolchains, **crossed},
        crossed=tuple(crossed),
        prices=_prices(document, content.prices),
        site=content.site,
        defaults=content.defaults,
        scheduler=content.scheduler,
        patience=_duration(document, ["defaults", "patience"], content.defaults.patience, "2 h"),
    )
    if content.scheduler and content.scheduler.walltime is not None:
        _duration(document, ["scheduler", "walltime"], content.scheduler.walltime, "12 h")
    return replace(config, cluster=_cluster(config, content.cluster))


def _crossed(document: TomlDocument, content: _File) -> dict[str, ToolchainConfig]:
    """Every compiler with every MPI, as ``COMPILER-MPI``; with one kind alone, as it is called.

    Raises AssayError for a name that a toolchain of its own has.
    """
    combined = {}
    for compiler, cxx in content.compilers.items() or [("", CompilerConfig())]:
        for name, mpi in content.mpis.items() or [("", MpiConfig())]:
            both = "-".join(filter(None, (compiler, name)))
            if not both:
                continue
            if both in content.toolchains or both in combined:
                raise document.error(
                    ["toolchains", both] if both in content.toolchains else ["mpis", name],
                    f"There are two toolchains '{both}': one is a compiler with an MPI.",
                    "Give it another name.",
                )
            combined[both] = ToolchainConfig(
                mpi_prefix=mpi.mpi_prefix,
                mpicxx=mpi.mpicxx,
                mpirun=mpi.mpirun,
                cxx=cxx.cxx,
                flags=cxx.flags,
                launch_flags=mpi.launch_flags,
                environment={**cxx.environment, **mpi.environment},
                launcher=mpi.launcher,
            )
    return combined


def find_config(directory: Path | None = None) -> Path | None:
    """The config file in force, or None.

    ``$ASSAY_CONFIG`` (AssayError if there is no such file); ``assay.toml`` in the directory or one
    above it, no further up than the root of a repository or the home directory; and
    ``${XDG_CONFIG_HOME:-~/.config}/assay/assay.toml``. Raises AssayError for one that was come upon
    and that somebody else may have written: a config names programs to run.
    """
    named = os.environ.get("ASSAY_CONFIG")
    if named:
        if not Path(named).is_file():
            raise AssayError(
                f"ASSAY_CONFIG names '{named}', which is not a file.",
                where="environment",
                fix="Correct the variable or unset it.",
            )
        return Path(named)
    start = (directory or Path.cwd()).absolute()
    home = _home()
    for folder in (start, *start.parents):
        if (folder / CONFIG_NAME).is_file():
            _check_trusted(folder / CONFIG_NAME)
            return folder / CONFIG_NAME
        if folder == home or (folder / ".git").exists():
            break
    config_home = os.environ.get("XDG_CONFIG_HOME")
    base = Path(config_home) if config_home else home / ".config" if home else None
    user = base / "assay" / CONFIG_NAME if base else None
    return user if user and user.is_file() else None


def _check_trusted(path: Path) -> None:
    """Raises AssayError unless only this user or root can have written the file.

    A link's owner counts as well as the file's: relative paths count from where the link lies.
    """
    why = why_untrusted(path)
    if why:
        named = shlex.quote(str(path))
        raise AssayError(
            f"This config was found here and {why}, and a config names programs to run.",
            where=str(path),
            fix=f"If you trust it, name it: --config {named}, or ASSAY_CONFIG={named}.",
        )


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # no HOME and no entry in the user database: containers
        return None


def _cluster(config: Config, cluster: ClusterConfig | None) -> ClusterConfig | None:
    """The section with the remote shell's whole path. Raises AssayError for hosts that can't be."""
    if cluster is None:
        return None
    assert config.document is not None
    if not cluster.hosts:
        raise config.document.error(
            ["cluster", "hosts"], "'cluster.hosts' is empty.", "Name at least one host."
        )
    for index, host in enumerate(cluster.hosts):
        where: list[str | int] = ["cluster", "hosts", index]
        if not HOST_NAME.fullmatch(host):
            raise config.document.error(where, f"'{host}' is no host's name or address.")
        if host in cluster.hosts[:index]:
            raise config.document.error(where, f"The host '{host}' is listed twice.")
    shell = cluster.remote_shell
    if "/" in shell or shell.startswith("~"):
        return msgspec.structs.replace(cluster, remote_shell=str(config.resolve(shell)))
    return cluster


def _duration(
    document: TomlDocument, path: list[str | int], written: float | str, example: str
) -> float:
    """Seconds. Raises AssayError unless they are some, and not for ever."""
    seconds = parse_quantity(written, "s", where=document.where(path))
    if not 0 < seconds < math.inf:
        raise document.error(path, f"'{dotted(path)}' must be above 0.", f'Such as "{example}".')
    return float(seconds)


def _prices(document: TomlDocument, table: Mapping[str, float | str]) -> Prices:
    currency = None
    amounts: dict[str, float] = {}
    for name, value in table.items():
        if name == "currency":
            if not isinstance(value, str):
                raise document.error(["prices", name], "'prices.currency' must be a string.")
            currency = value
        elif isinstance(value, str):
            raise document.error(
                ["prices", name],
                f"'prices.{name}' must be a number, not a string.",
                "Write the amount alone; 'currency' names the unit.",
            )
        elif not 0 <= value < float("inf"):
            raise document.error(["prices", name], f"'prices.{name}' must not be negative or inf.")
        else:
            amounts[name] = value
    return Prices(currency, amounts)
