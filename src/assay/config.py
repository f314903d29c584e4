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
from assay.expectation import Expectation, checked_expectations
from assay.hostnames import expand_hosts
from assay.ownership import why_untrusted
from assay.toml import TomlDocument, dotted, load_toml
from assay.units import parse_quantity, parse_walltime

CONFIG_NAME = "assay.toml"
# Seconds without progress reports after which kernels are considered hung. No kernel that reports
# its progress is silent for longer.
PATIENCE = 600.0
# A name, an IPv4 address, or an IPv6 address; no character that a launcher treats as a separator.
HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*", re.ASCII)


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
    """``[compilers.NAME]``: a compiler; each compiler is combined with every MPI."""

    cxx: str | None = None
    flags: str | None = None
    environment: dict[str, str] = {}


class MpiConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[mpis.NAME]``: an MPI; the keys are those of a toolchain.

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

    ``hosts``: names or addresses, in the order of use. They are assumed to be like the machine that
    assay runs on, and must see its files under the same paths. ``remote_shell``: a program called
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


class SchedulerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[scheduler]``: how jobs are submitted where a batch scheduler allocates the nodes.

    Without ``kind`` the scheduler is detected by its commands. ``walltime``: the longest time that
    one job may request, such as "12 h", "1-12:00:00", or a number of minutes, as for Slurm.
    ``modules`` are loaded before assay; ``setup`` are shell lines run after them. ``directives``:
    further options, as written in a job script after the scheduler's directive prefix:
    ``"--qos=debug"``. ``arrays``: whether the site allows job arrays; without them one allocation
    serves all nodes of ``--per-node``. ``at_once``: the most tasks of an array that may run at a
    time.
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

    @property
    def longest(self) -> float:
        """Seconds that one job may request; inf without ``walltime``."""
        return math.inf if self.walltime is None else parse_walltime(self.walltime)


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[defaults]``: the toolchain of cells that name none, and where runs are kept.

    ``patience``: the time without reports after which kernels are considered hung.
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
    expect: tuple[Expectation, ...] = ()


@dataclass(frozen=True)
class Prices:
    """``[prices]``: amounts by name (``node``, ``kwh``, …) in one currency (None if not given)."""

    currency: str | None = None
    amounts: Mapping[str, float] = field(default_factory=dict)


NO_PRICES = Prices()


@dataclass(frozen=True)
class Config:
    """The contents of ``assay.toml``, or the defaults without one (``document`` is None).

    ``crossed``: the toolchains that combine one of its compilers with one of its MPIs.
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
    expect: tuple[Expectation, ...] = ()

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
        """A path given in the file: ``~`` expanded, relative to the file's folder."""
        base = self.path.absolute().parent if self.path else Path.cwd()
        return base / Path(path).expanduser()


def load_config(path: Path | None = None) -> Config:
    """Read the config: the file given, else the one ``find_config`` finds, else the defaults.

    Raises AssayError with file, line and key for invalid contents.
    """
    found = path or find_config()
    if found is None:
        return Config()
    document = load_toml(found)
    content = document.read([], document.data, _File)
    crossed = _crossed(document, content)
    _check_groups(document, content.system.groups)
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
        expect=checked_expectations(document, content.expect),
    )
    most = content.scheduler.at_once if content.scheduler else None
    if most is not None and most < 1:
        raise document.error(
            ["scheduler", "at_once"], "'scheduler.at_once' must be 1 or more.", "Such as 50."
        )
    if content.scheduler and content.scheduler.walltime is not None:
        parse_walltime(content.scheduler.walltime, where=document.where(["scheduler", "walltime"]))
    return replace(config, cluster=_cluster(config, content.cluster))


def _check_groups(document: TomlDocument, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Raises AssayError for a list of hosts that can't be read, and for a host in two groups."""
    for what, named in groups.items():
        of_host: dict[str, str] = {}
        for name, listed in named.items():
            try:
                hosts = expand_hosts(listed)
            except AssayError as error:
                path = ["system", "groups", what, name]
                raise document.error(path, error.what, error.fix) from None
            for host in hosts:
                if of_host.setdefault(host, name) != name:
                    raise document.error(
                        ["system", "groups", what, name],
                        f"The host '{host}' is in two groups: {of_host[host]} and {name}.",
                        "A node is in at most one group of each kind.",
                    )


def _crossed(document: TomlDocument, content: _File) -> dict[str, ToolchainConfig]:
    """Every compiler with every MPI, as ``COMPILER-MPI``; with only one of the two, by its name.

    Raises AssayError for a name that another toolchain has.
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
    """The config file that applies, or None.

    ``$ASSAY_CONFIG`` (AssayError if there is no such file); ``assay.toml`` in the directory or one
    above it, no further up than the root of a repository or the home directory; and
    ``${XDG_CONFIG_HOME:-~/.config}/assay/assay.toml``. Raises AssayError for a file found in the
    directory or above it that another user may have written: a config names programs to run.
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

    A link's owner is checked too: the config's relative paths are relative to the link's folder.
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
    """The section with the remote shell's full path. Raises AssayError for invalid hosts."""
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
    """Seconds. Raises AssayError unless they are positive and finite."""
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
