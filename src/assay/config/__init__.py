"""``assay.toml``: the site's toolchains, prices, facts and defaults."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from assay.config.expectation import Expectation, checked_expectations
from assay.config.profiles import SITE, with_profile
from assay.config.sections import (
    PATIENCE,
    SHARED_CACHE,
    BlasConfig,
    CacheConfig,
    CheckConfig,
    ClusterConfig,
    CompilerConfig,
    ContainerConfig,
    Defaults,
    MpiConfig,
    PartitionConfig,
    SchedulerConfig,
    SystemConfig,
    ToolchainConfig,
)
from assay.errors import AssayError, nearest
from assay.hostnames import MOST_HOSTS, expand_hosts
from assay.ownership import why_untrusted
from assay.toml import TomlDocument, dotted, load_toml
from assay.units import parse_duration, parse_walltime

__all__ = [
    "CONFIG_NAME",
    "HOST_NAME",
    "NO_PRICES",
    "PATIENCE",
    "BlasConfig",
    "CheckConfig",
    "ClusterConfig",
    "CompilerConfig",
    "Config",
    "ContainerConfig",
    "Defaults",
    "MpiConfig",
    "PartitionConfig",
    "Prices",
    "SchedulerConfig",
    "SystemConfig",
    "ToolchainConfig",
    "find_config",
    "load_config",
]

CONFIG_NAME = "assay.toml"
# A name, an IPv4 address, or an IPv6 address, without characters that a launcher treats as
# separators.
HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*", re.ASCII)


class _File(msgspec.Struct, frozen=True):
    system: SystemConfig = SystemConfig()
    toolchains: dict[str, ToolchainConfig] = {}
    compilers: dict[str, CompilerConfig] = {}
    mpis: dict[str, MpiConfig] = {}
    containers: dict[str, ContainerConfig] = {}
    prices: dict[str, float | str] = {}
    site: dict[str, str] = {}
    defaults: Defaults = Defaults()
    cluster: ClusterConfig | None = None
    scheduler: SchedulerConfig | None = None
    cache: CacheConfig = CacheConfig()
    check: CheckConfig = CheckConfig()
    expect: tuple[Expectation, ...] = ()


@dataclass(frozen=True)
class Prices:
    """``[prices]``: amounts by name (``node``, ``kwh``, …) in one currency (None if not given)."""

    currency: str | None = None
    amounts: Mapping[str, float] = field(default_factory=dict)


NO_PRICES = Prices()


@dataclass(frozen=True)
class Config:
    """The contents of ``assay.toml``, or the defaults without a file (``document`` is None)."""

    document: TomlDocument | None = None
    system: SystemConfig = field(default_factory=SystemConfig)
    toolchains: Mapping[str, ToolchainConfig] = field(default_factory=dict)
    #: Toolchains that combine one of the file's compilers with one of its MPIs.
    crossed: tuple[str, ...] = ()
    prices: Prices = field(default_factory=Prices)
    site: Mapping[str, str] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    cluster: ClusterConfig | None = None
    scheduler: SchedulerConfig | None = None
    patience: float = PATIENCE
    expect: tuple[Expectation, ...] = ()
    profile: str | None = None
    containers: Mapping[str, ContainerConfig] = field(default_factory=dict)
    check: CheckConfig = field(default_factory=CheckConfig)

    @property
    def path(self) -> Path | None:
        """The file that the config was read from."""
        return self.document.path if self.document else None

    @property
    def runs(self) -> Path:
        """The folder of runs: as configured (relative to the config file), else ``./runs``."""
        return self.resolve(self.defaults.runs) if self.defaults.runs else Path("runs")

    def where(self, *path: str | int) -> str:
        """The place of a key as ``"file:line"``; empty without a file."""
        return self.document.where(path) if self.document else ""

    def resolve(self, path: str) -> Path:
        """A path given in the file: ``~`` expanded, relative to the file's folder."""
        base = self.path.absolute().parent if self.path else Path.cwd()
        return base / Path(path).expanduser()


def load_config(path: Path | None = None, site: str | None = None) -> Config:
    """Read the config: the file given, else the one ``find_config`` finds, else the defaults.

    ``site``: the profile to use, see ``with_profile``. ``$ASSAY_SITE`` is set to the profile in
    use, and ``$ASSAY_SHARED_CACHE``, unless already set, to the folder of ``[cache]``. Processes
    that this one starts, here and on other hosts, then use them, too. Raises AssayError with file,
    line and key for invalid contents.
    """
    found = path or find_config()
    if found is None:
        if site is not None:
            raise AssayError(
                f"There is no profile '{site}': no assay.toml was found.",
                fix="Name the file with --config, or start assay in its folder or a subfolder.",
            )
        return Config()
    document, profile = with_profile(load_toml(found), site)
    if profile is not None:
        os.environ[SITE] = profile
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
        profile=profile,
        containers=_containers(document, content),
        expect=checked_expectations(document, content.expect),
        check=content.check,
    )
    if content.scheduler is not None:
        _check_scheduler(document, ["scheduler"], content.scheduler)
        for name, partition in content.scheduler.partitions.items():
            _check_scheduler(document, ["scheduler", "partitions", name], partition)
    if content.cache.shared:
        os.environ.setdefault(SHARED_CACHE, str(config.resolve(content.cache.shared)))
    return replace(config, cluster=_cluster(config, content.cluster))


def _containers(document: TomlDocument, content: _File) -> dict[str, ContainerConfig]:
    """The containers with full paths. Raises AssayError for a toolchain in an unknown container."""
    for name, entry in content.toolchains.items():
        if entry.container is not None and entry.container not in content.containers:
            raise document.error(
                ["toolchains", name, "container"],
                f"There is no container '{entry.container}'.",
                nearest(entry.container, content.containers) or "Add its section [containers].",
            )
    base = document.path.absolute().parent
    found = {}
    for name, container in content.containers.items():
        image = container.image
        if image.startswith((".", "~")) or image.endswith((".sif", ".img")):
            image = str(base / Path(image).expanduser())
        bind = tuple(str(base / Path(folder).expanduser()) for folder in container.bind)
        found[name] = msgspec.structs.replace(container, image=image, bind=bind)
    return found


def _check_scheduler(
    document: TomlDocument, path: list[str | int], section: SchedulerConfig | PartitionConfig
) -> None:
    """Raises AssayError for impossible values."""
    if section.at_once is not None and section.at_once < 1:
        where = [*path, "at_once"]
        raise document.error(where, f"'{dotted(where)}' must be 1 or more.", "Such as 50.")
    if section.walltime is not None:
        parse_walltime(section.walltime, where=document.where([*path, "walltime"]))


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
                        "A node can be in at most one group of each kind.",
                    )


def _crossed(document: TomlDocument, content: _File) -> dict[str, ToolchainConfig]:
    """Every compiler with every MPI, as ``COMPILER-MPI``. Without the other, each has its own name.

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
                    f"There are two toolchains '{both}'; one combines a compiler with an MPI.",
                    "Rename one of them.",
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

    ``$ASSAY_CONFIG`` (AssayError if there is no such file); ``assay.toml`` in the directory or
    above it, up to the root of a repository or the home directory; and
    ``${XDG_CONFIG_HOME:-~/.config}/assay/assay.toml``. Raises AssayError for a file found in the
    directory or above it that another user may have written, because a config names programs to
    run.
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
            f"This config was found here and {why}, but a config names programs to run.",
            where=str(path),
            fix=f"If you trust the file, name it: --config {named}, or ASSAY_CONFIG={named}.",
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
    hosts = _cluster_hosts(config.document, cluster.hosts)
    cluster = msgspec.structs.replace(cluster, hosts=hosts)
    shell = cluster.remote_shell
    if "/" in shell or shell.startswith("~"):
        return msgspec.structs.replace(cluster, remote_shell=str(config.resolve(shell)))
    return cluster


def _cluster_hosts(document: TomlDocument, written: tuple[str, ...]) -> tuple[str, ...]:
    """The hosts of ``[cluster]``, with names in bracket notation expanded, in their order.

    Raises AssayError for an entry that can't be read or isn't a name, for a host that is listed
    twice, and for more than ``MOST_HOSTS`` in total.
    """
    found: dict[str, None] = {}
    for index, entry in enumerate(written):
        where: list[str | int] = ["cluster", "hosts", index]
        try:
            names = expand_hosts(entry) if set(entry) & set("[],") else (entry,)
        except AssayError as error:
            raise document.error(where, f"'{entry}': {error.what}", error.fix) from None
        for host in names:
            if not HOST_NAME.fullmatch(host):
                raise document.error(
                    where,
                    f"'{host}' is not a host's name or address.",
                    "Such as node01, 10.0.0.1 or n[01-16].",
                )
            if host in found:
                raise document.error(where, f"The host '{host}' is listed twice.", "Remove one.")
            found[host] = None
        if len(found) > MOST_HOSTS:
            raise document.error(
                where,
                f"'cluster.hosts' names more than {MOST_HOSTS:,} hosts.",
                "Check the numbers in the brackets.",
            )
    return tuple(found)


def _duration(
    document: TomlDocument, path: list[str | int], written: float | str, example: str
) -> float:
    """Seconds. Raises AssayError unless they are positive and finite."""
    if isinstance(written, str) or tuple(path) in document.lines:
        written = parse_duration(written, where=document.where(path))
    seconds = float(written)  # a default is a number of seconds
    if not 0 < seconds < math.inf:
        raise document.error(path, f"'{dotted(path)}' must be above 0.", f'Such as "{example}".')
    return seconds


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
                "Write only the amount; 'currency' names the unit.",
            )
        elif not 0 <= value < float("inf"):
            raise document.error(
                ["prices", name], f"'prices.{name}' must be a finite amount of 0 or more."
            )
        else:
            amounts[name] = value
    return Prices(currency, amounts)
