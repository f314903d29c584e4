"""Reading catalogues of parts: TOML files, or shipped ones by name (docs/formats/design.md)."""

from __future__ import annotations

import dataclasses
import datetime
import typing
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from assay.design.figures import FigureReader, Kind, Origin, PartFigure, Written, read_share
from assay.design.parts.model import (
    Accelerator,
    CablePart,
    CloudInstance,
    Disk,
    InterconnectPart,
    MemoryKit,
    Node,
    Offer,
    Room,
    StorageSystem,
    Switch,
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
    "accelerator": Accelerator,
    "storage": StorageSystem,
    "cloud": CloudInstance,
}
_UNITS: Mapping[str, str] = {
    "peak": "flop/s",
    "dgemm": "flop/s",
    "bandwidth": "B/s",
    "memory": "B",
    "capacity": "B",
    "rate": "B/s",
    "link": "B/s",
    "latency": "s",
    "power": "W",
    "pdu_power": "W",
    "rack_power": "W",
    "air": "W",
    "liquid": "W",
    "rates": "op/s",
}
# Amounts of money.
PRICES = {
    "price",
    "adapter",
    "per_metre",
    "rack",
    "pdu",
    "management",
    "wage",
    "server",
    "hour",
    "month",
}
# Numbers that are shares, such as "1%".
_SHARES = {"between_nodes", "over_time"}
# Figures that may be 0: parts may be free or draw no power.
_MAY_BE_ZERO = {*PRICES - {"hour"}, "power", "assembly"}
# Smallest and largest number of a field; other numbers are above 0 and at most ``_MOST``. A switch
# with one port connects nothing. A taper beyond the ports of a switch has no meaning.
_MOST = 1e9
_BOUNDS = {"ports": (2.0, 1e5), "taper": (0.01, 1e3), "most": (1.0, 1e5), "slots": (1.0, 64.0)}
_ORIGIN = ("kind", "source", "date")
_HEAD = ("currency", "vendor", "expires", *_ORIGIN)
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
    #: None if the prices have no last day of validity.
    offer: Offer | None


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
    return PartsFile(document, currency, parts, room, _offer(document))


def _offer(document: TomlDocument) -> Offer | None:
    vendor = document.read(["vendor"], document.data.get("vendor", ""), str)
    expires = read_day(document, "expires")
    if expires is None:
        return None
    return Offer(vendor or "this catalogue", expires, document.where(["expires"]))


def read_day(document: TomlDocument, key: str) -> datetime.date | None:
    """A day at the top of a file, as a TOML date or as text; None if it is missing."""
    value = document.data.get(key)
    if value is None:
        return None
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    try:
        return datetime.date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise document.error(
            [key], f"'{key}' is not a day.", f'Write {key} = "2026-12-31".'
        ) from None


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
        elif hints[name] in (PartFigure, PartFigure | None):
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
