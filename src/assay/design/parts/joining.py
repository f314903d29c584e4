"""One catalogue from the files that a specification names."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from assay.design.figures import PartFigure
from assay.design.parts.checks import check_figures
from assay.design.parts.model import Accelerator, Catalogue, MemoryKit, Offer, Room
from assay.design.parts.reading import PARTS, PRICES, PartsFile
from assay.errors import AssayError, nearest

_T = TypeVar("_T")


def join(
    files: Sequence[PartsFile], rates: Mapping[str, float], currency: str, day: datetime.date
) -> Catalogue:
    """One catalogue in ``currency``.

    ``rates``: units of this currency per unit of each other currency. ``day``: the day on which
    offers must be valid.

    Raises AssayError if an offer has expired, a rate is missing, a name occurs twice, no file has a
    ``[room]``, a part names an unknown part, or a part can't exist (``check_figures``).
    """
    joined: dict[str, dict[str, Any]] = {table: {} for table in PARTS}
    room: Room | None = None
    for file in files:
        _check_offer(file.offer, day)
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
        accelerators=joined["accelerator"],
        storage=joined["storage"],
        cloud=joined["cloud"],
        room=room,
        offers=tuple(
            sorted((file.offer for file in files if file.offer), key=lambda one: one.expires)
        ),
    )
    _check_names(catalogue)
    check_figures(catalogue)
    return catalogue


def _check_offer(offer: Offer | None, day: datetime.date) -> None:
    if offer is not None and offer.expires < day:
        raise AssayError(
            f"The offer of {offer.vendor} expired on {offer.expires}, before {day}.",
            where=offer.where,
            fix="Ask for a new offer, or write date = … of an earlier day into the specification.",
        )


def _in_currency(part: _T, factor: float) -> _T:
    """The part with its prices multiplied."""
    if factor == 1.0:
        return part
    prices = {
        field.name: dataclasses.replace(figure, value=figure.value * factor)
        for field in dataclasses.fields(part)  # type: ignore[arg-type]
        if isinstance(figure := getattr(part, field.name), PartFigure) and field.name in PRICES
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
    fitting: tuple[MemoryKit | Accelerator, ...] = (
        *catalogue.memory.values(),
        *catalogue.accelerators.values(),
    )
    for part in fitting:
        for name in part.nodes:
            if name not in catalogue.nodes:
                raise _unknown("node", name, catalogue.nodes, part.name, part.price.where)
    for rented in catalogue.cloud.values():
        where = rented.hour.where
        if rented.node not in catalogue.nodes:
            raise _unknown("node", rented.node, catalogue.nodes, rented.name, where)
        if rented.network not in catalogue.interconnects:
            known = catalogue.interconnects
            raise _unknown("interconnect", rented.network, known, rented.name, where)


def _unknown(kind: str, name: str, known: Mapping[str, object], by: str, where: str) -> AssayError:
    return AssayError(
        f"'{by}' names the {kind} '{name}', which is not in any catalogue.",
        where=where,
        fix=nearest(name, known) or f"Add a [[{kind}]].",
    )
