"""Reading catalogues of parts: TOML files, or shipped ones by name (docs/formats/design.md)."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from assay.design.figures import FigureReader, Kind, Origin, PartFigure, Written, read_share
from assay.design.parts import (
    CablePart,
    Catalogue,
    Disk,
    InterconnectPart,
    MemoryKit,
    Node,
    Room,
    Switch,
    check_figures,
)
from assay.errors import AssayError, nearest
from assay.toml import KeyPath, TomlDocument, load_toml

# The tables of a file and the type of their entries. The measured part of a node has the fields of
# a node.
PARTS: Mapping[str, type] = {
    "node": Node,
    "memory": MemoryKit,
    "disk": Disk,
    "switch": Switch,
    "cable": CablePart,
    "interconnect": InterconnectPart,
}
_UNITS: Mapping[str, str] = {
    "peak": "flop/s",
    "dgemm": "flop/s",
    "bandwidth": "B/s",
    "memory": "B",
    "capacity": "B",
    "rate": "B/s",
    "latency": "s",
    "power": "W",
    "pdu_power": "W",
    "rates": "op/s",
}
# Numbers that are shares, such as "1%".
_SHARES = {"between_nodes", "over_time"}
# Figures that may be 0: parts may be free or draw no power.
_MAY_BE_ZERO = {
    "price",
    "power",
    "adapter",
    "per_metre",
    "rack",
    "pdu",
    "management",
    "assembly",
    "wage",
    "server",
}
# Smallest and largest number of a field; other numbers are above 0 and at most ``_MOST``. A switch
# with one port connects nothing. A taper beyond the ports of a switch has no meaning.
_MOST = 1e9
_BOUNDS = {"ports": (2.0, 1e5), "taper": (0.01, 1e3)}
_ORIGIN = ("kind", "source", "date")
_HEAD = ("currency", *_ORIGIN)
# For msgspec; neither a union nor a type of literals is a class.
_WRITTEN: Any = Written
_KIND: Any = Kind
_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class PartsFile:
    """The parts of one file, by kind and name. ``room`` is None if the file has no room."""

    document: TomlDocument
    currency: str
    parts: Mapping[str, Mapping[str, Any]]
    room: Room | None


def shipped_catalogues() -> list[str]:
    """The names of the catalogues that ship with assay."""
    folder = resources.files("assay.design") / "catalogues"
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def find_catalogue(name: str, beside: Path) -> Path:
    """The file of a catalogue, from a path (relative to the specification) or a name.

    Raises AssayError if there is no such file and no such name.
    """
    if name.endswith(".toml"):
        return beside / name
    shipped = shipped_catalogues()
    if name in shipped:
        return Path(str(resources.files("assay.design") / "catalogues" / f"{name}.toml"))
    raise AssayError(
        f"There is no catalogue '{name}'.",
        fix=f"{nearest(name, shipped)} The name of your own file must end with .toml.",
    )


def read_parts(path: Path, uncertainty: Mapping[Kind, float]) -> PartsFile:
    """The parts of one file. Raises AssayError, with file and line, for any error in it."""
    document = load_toml(path)
    return parts_of(document, uncertainty)


def parts_of(document: TomlDocument, uncertainty: Mapping[Kind, float]) -> PartsFile:
    """As ``read_parts``, from a document."""
    data = document.data
    document.check_keys([], data, {*_HEAD, *PARTS, "room"})
    currency = document.read(["currency"], data.get("currency", ""), str)
    if not currency:
        raise document.error([], "The catalogue has no currency.", 'Add currency = "USD".')
    reader = FigureReader(document, uncertainty)
    origin = _origin([], data, document, Origin())
    parts: dict[str, dict[str, Any]] = {}
    for table, kind in PARTS.items():
        found = parts.setdefault(table, {})
        for index, entry in enumerate(_entries(document, table, data.get(table, []))):
            path: KeyPath = [table, index]
            part: Any = _read_part(
                kind=kind, path=path, table=entry, document=document, reader=reader, base=origin
            )
            if part.name in found:
                raise document.error(
                    [*path, "name"], f"There are two {table} parts '{part.name}'.", "Rename one."
                )
            found[part.name] = part
    room = None
    if "room" in data:
        room = _read_part(
            kind=Room,
            path=["room"],
            table=data["room"],
            document=document,
            reader=reader,
            base=origin,
        )
    return PartsFile(document, currency, parts, room)


def join(files: Sequence[PartsFile], rates: Mapping[str, float], currency: str) -> Catalogue:
    """One catalogue in ``currency``.

    ``rates``: units of this currency per unit of each other currency.

    Raises AssayError if a rate is missing, a name occurs twice, no file has a ``[room]``, an
    interconnect names an unknown part, or a part can't exist (``check_figures``).
    """
    joined: dict[str, dict[str, Any]] = {table: {} for table in PARTS}
    room: Room | None = None
    for file in files:
        factor = 1.0 if file.currency == currency else rates.get(file.currency)
        if factor is None:
            raise file.document.error(
                ["currency"],
                f"Prices are in {file.currency}, but the design is in {currency}.",
                f"Write the rate into the specification: [exchange] {file.currency} = …",
            )
        for table, parts in file.parts.items():
            for name, part in parts.items():
                if name in joined[table]:
                    raise file.document.error(
                        [], f"Two catalogues have a {table} '{name}'.", "Rename one of them."
                    )
                joined[table][name] = _in_currency(part, factor)
        if file.room is not None:
            room = _in_currency(file.room, factor)
    if room is None:
        raise AssayError(
            "No catalogue has a [room]: racks, power, administration and assembly.",
            fix="Add one, or name a catalogue that has it, such as 'example-2026'.",
        )
    catalogue = Catalogue(
        currency=currency,
        nodes=joined["node"],
        memory=joined["memory"],
        disks=joined["disk"],
        switches=joined["switch"],
        cables=joined["cable"],
        interconnects=joined["interconnect"],
        room=room,
    )
    _check_names(catalogue)
    check_figures(catalogue)
    return catalogue


def _entries(document: TomlDocument, table: str, entries: object) -> list[dict[str, Any]]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise document.error(
            [table], f"'{table}' must be an array of tables.", f"Write [[{table}]]."
        )
    return entries


def _origin(
    path: KeyPath, table: Mapping[str, Any], document: TomlDocument, base: Origin
) -> Origin:
    kind: Kind = document.read([*path, "kind"], table.get("kind", base.kind), _KIND)
    source, date = (
        document.read([*path, key], table.get(key, getattr(base, key)), str)
        for key in ("source", "date")
    )
    return Origin(kind, source, date)


def _read_part(
    kind: type[_T],
    path: KeyPath,
    table: object,
    document: TomlDocument,
    reader: FigureReader,
    base: Origin,
) -> _T:
    """A part from its table: figures have units; other fields are read by their types."""
    if not isinstance(table, dict):
        raise document.error(path, f"'{path[-1]}' must be a table.")
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    document.check_keys(path, table, {*fields, *_ORIGIN})
    origin = _origin(path, table, document, base)
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in table:
            if (
                field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING
            ):
                label = f" '{table['name']}'" if isinstance(table.get("name"), str) else ""
                raise document.error(
                    path, f"The {path[0]}{label} has no '{name}'.", f"Add {name} = …"
                )
            continue
        here = [*path, name]
        if name in _SHARES:
            values[name] = read_share(document, here, table[name])
        elif hints[name] is PartFigure:
            written: Written = document.read(here, table[name], _WRITTEN)
            values[name] = reader.figure(
                here, written, _UNITS.get(name, ""), origin, zero=name in _MAY_BE_ZERO
            )
        elif name == "rates":
            rates = document.read(here, table[name], dict[str, Written])
            values[name] = {
                key: reader.figure([*here, key], rate, _UNITS[name], origin)
                for key, rate in rates.items()
            }
        else:
            values[name] = document.read(here, table[name], hints[name])
            _check_number(document, here, values[name])
    return kind(**values)


def _check_number(document: TomlDocument, path: KeyPath, value: object) -> None:
    least, most = _BOUNDS.get(str(path[-1]), (0.0, _MOST))
    for number in value if isinstance(value, tuple) else (value,):
        if not isinstance(number, int | float):
            continue
        if not (least <= number <= most and number > 0.0):
            first = f"{least:g}" if least else "more than 0"
            raise document.error(
                path,
                f"'{path[-1]}' can't be {number}.",
                f"Write a number from {first} to {most:g}.",
            )


def _in_currency(part: _T, factor: float) -> _T:
    """The part with its prices multiplied. Prices are the figures without a unit, except hours."""
    if factor == 1.0:
        return part
    prices = {
        field.name: dataclasses.replace(figure, value=figure.value * factor)
        for field in dataclasses.fields(part)  # type: ignore[arg-type]
        if isinstance(figure := getattr(part, field.name), PartFigure)
        and field.name not in _UNITS
        and field.name != "assembly"
    }
    replaced: _T = dataclasses.replace(part, **prices)  # type: ignore[type-var]
    return replaced


def _check_names(catalogue: Catalogue) -> None:
    for network in catalogue.interconnects.values():
        where = network.latency.where
        for switch in network.switches:
            if switch not in catalogue.switches:
                raise _unknown("switch", switch, catalogue.switches, network.name, where)
        if network.cable and network.cable not in catalogue.cables:
            raise _unknown("cable", network.cable, catalogue.cables, network.name, where)
        switched = network.topology not in ("none", "torus-2d", "torus-3d")
        if switched and not network.switches:
            raise AssayError(
                f"The interconnect '{network.name}' needs switches for a {network.topology}.",
                where=where,
                fix='Add switches = ["NAME", …].',
            )
    for node in catalogue.nodes.values():
        for name in node.networks:
            if name not in catalogue.interconnects:
                raise _unknown(
                    "interconnect", name, catalogue.interconnects, node.name, node.price.where
                )
    for kit in catalogue.memory.values():
        for name in kit.nodes:
            if name not in catalogue.nodes:
                raise _unknown("node", name, catalogue.nodes, kit.name, kit.price.where)


def _unknown(kind: str, name: str, known: Mapping[str, object], by: str, where: str) -> AssayError:
    return AssayError(
        f"'{by}' names the {kind} '{name}', which is not in any catalogue.",
        where=where,
        fix=nearest(name, known) or f"Add a [[{kind}]].",
    )
