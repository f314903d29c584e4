"""The specification of a virtual cluster: topology, adapters, trunks; read from TOML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assay.errors import AssayError, nearest
from assay.toml import TomlDocument, load_toml
from assay.topologies.kinds import (
    Dragonfly,
    FatTree,
    RowsColumns,
    Single,
    Switches,
    ThreeLevelTree,
    Topology,
    hosts_of,
    switches_of,
)
from assay.topologies.reading import read_topology
from assay.units import parse_duration, parse_quantity

SPEC_SCHEMA = 1
# Each host or switch is a namespace. The kernel supports more, but creating them takes a long time.
MOST_HOSTS = 250
MOST_SWITCHES = 64
MOST_RAILS = 8
# B/s. Below the minimum a token bucket's queue doesn't work; the maximum exceeds memory bandwidth.
_SLOWEST, _FASTEST = 1e3, 1.25e11
_LONGEST_DELAY = 10.0
_PARTITION = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_SPECS = Path(__file__).with_name("specs")


@dataclass(frozen=True)
class Wire:
    """The limits of an adapter: ``rate`` in B/s, None means no limit; ``delay`` in seconds."""

    rate: float | None = None
    delay: float = 0.0


@dataclass(frozen=True)
class SlurmSite:
    """Options of a lab's Slurm beyond nodes in one partition."""

    #: Whether slurmdbd runs with MariaDB, so that sacct, associations, limits and QOS work.
    accounts: bool = False
    #: Whether ordinary users of this machine may submit.
    users: bool = False
    #: Further partitions: by name, the options of their line in slurm.conf.
    partitions: dict[str, str] = field(default_factory=dict)
    #: Further lines of slurm.conf.
    settings: dict[str, str] = field(default_factory=dict)


# Topologies in which trunks connect switches.
_TRUNKED = (Switches, RowsColumns, FatTree, ThreeLevelTree, Dragonfly)


@dataclass(frozen=True)
class Spec:
    """A cluster that can be built."""

    topology: Topology
    #: Adapters of each host: several (rails) only with topology ``single``, else one for all.
    adapters: tuple[Wire, ...] = (Wire(),)
    #: Limits of links between switches.
    trunk: Wire = Wire()
    #: Cores per host; None: an equal share of this machine's cores.
    cores: int | None = None
    #: Whether the lab has Slurm.
    slurm: bool = False
    title: str = ""
    #: Options of that Slurm.
    site: SlurmSite = SlurmSite()

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return hosts_of(self.topology)

    @property
    def switches(self) -> int:
        """Number of switches."""
        return switches_of(self.topology, len(self.adapters))

    @property
    def delayed(self) -> bool:
        """Whether any wire has a delay, which needs a kernel with netem."""
        return any(wire.delay > 0 for wire in (*self.adapters, self.trunk))


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rate: float | str | None = None
    delay: float | str = 0.0


class _Slurm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    accounts: bool = False
    users: bool = False
    partitions: dict[str, str] = {}
    settings: dict[str, str] = {}


class _File(msgspec.Struct, frozen=True):
    schema: int
    topology: dict[str, object]
    title: str = ""
    adapter: tuple[_Wire, ...] = (_Wire(),)
    trunk: _Wire | None = None
    cores: int | None = None
    slurm: bool | _Slurm = False


def shipped() -> dict[str, Path]:
    """The specs shipped with assay, by name."""
    return {path.stem: path for path in sorted(_SPECS.glob("*.toml"))}


def find_spec(word: str) -> Path:
    """The file of a spec: ``word`` itself if it looks like a path, else the file of a shipped spec.

    Raises AssayError for an unknown name.
    """
    if word.endswith(".toml") or "/" in word:
        return Path(word)
    specs = shipped()
    if word not in specs:
        raise AssayError(f"There is no spec '{word}'.", fix=nearest(word, specs))
    return specs[word]


def load_spec(path: Path) -> Spec:
    """Read a spec. Raises AssayError with file, line and key for what can't be built."""
    document = load_toml(path)
    file = document.read([], document.data, _File)
    if file.schema != SPEC_SCHEMA:
        raise document.error(
            ["schema"], f"The spec has version {file.schema}; this assay reads {SPEC_SCHEMA}."
        )
    topology = read_topology(document, file.topology)
    adapters = tuple(
        _wire(document, ["adapter", index], wire) for index, wire in enumerate(file.adapter)
    )
    if not 1 <= len(adapters) <= MOST_RAILS:
        raise document.error(["adapter"], f"A host has 1 to {MOST_RAILS} adapters.")
    if len(adapters) > 1 and not isinstance(topology, Single):
        raise document.error(
            ["adapter", 1],
            f"A topology of kind '{topology.kind}' determines how many adapters a host has.",
            "Write one [[adapter]]: it applies to all of them.",
        )
    if file.trunk is not None and not isinstance(topology, _TRUNKED):
        raise document.error(
            ["trunk"], f"There are no trunks in a topology of kind '{topology.kind}'."
        )
    if file.cores is not None and file.cores < 1:
        raise document.error(["cores"], "'cores' must be at least 1.")
    if isinstance(file.slurm, _Slurm):
        _check_partitions(document, file.slurm)
    spec = Spec(
        topology=topology,
        adapters=adapters,
        trunk=_wire(document, ["trunk"], file.trunk) if file.trunk else adapters[0],
        cores=file.cores,
        slurm=file.slurm is not False,
        title=file.title,
        site=SlurmSite(**msgspec.structs.asdict(file.slurm))
        if isinstance(file.slurm, _Slurm)
        else SlurmSite(),
    )
    if not 1 <= spec.hosts <= MOST_HOSTS or spec.switches > MOST_SWITCHES:
        raise document.error(
            ["topology"],
            f"The topology has {spec.hosts} hosts and {spec.switches} switches; a lab has up to "
            f"{MOST_HOSTS} and {MOST_SWITCHES}.",
            "Make it smaller.",
        )
    return spec


def _check_partitions(document: TomlDocument, site: _Slurm) -> None:
    for name, options in site.partitions.items():
        if "\n" in options or not _PARTITION.fullmatch(name) or name == "lab":
            raise document.error(
                ["slurm", "partitions", name],
                f"{name!r} = {options!r} is not a further partition.",
                'Such as debug = "Nodes=node1 MaxTime=30"; the partition lab has all nodes.',
            )


def _wire(document: TomlDocument, path: list[str | int], wire: _Wire) -> Wire:
    rate = delay = None
    if wire.rate is not None:
        where = document.where([*path, "rate"])
        rate = parse_quantity(wire.rate, "B/s", where=where)
        if not _SLOWEST <= rate <= _FASTEST:
            raise document.error(
                [*path, "rate"],
                f"A rate is from {_SLOWEST:g} to {_FASTEST:g} B/s.",
                'Such as "1 Gbit/s"; leave it out for no limit.',
            )
    delay = parse_duration(wire.delay, where=document.where([*path, "delay"]))
    if not 0 <= delay <= _LONGEST_DELAY:
        raise document.error(
            [*path, "delay"], f"A delay is from 0 to {_LONGEST_DELAY:g} s.", 'Such as "20 us".'
        )
    return Wire(rate, float(delay))
