"""The parts list of a cluster."""

from __future__ import annotations

import math

import numpy as np

from assay.design.architecture import Architecture
from assay.design.candidates import Builder, PriceFactors
from assay.design.figures import PartFigure
from assay.design.spec.model import DesignSpec
from assay.subjects.design.model import BillLine


def bill_of(spec: DesignSpec, builder: Builder, one: Architecture, nodes: int) -> list[BillLine]:
    """Every part with its quantity and price. The lines add up to the price of the cluster."""
    catalogue, room = spec.catalogue, spec.catalogue.room
    bought = int(spec.bought(np.array(float(nodes))))
    fabric = builder.fabric(one)
    whole = builder.bill(one, np.array([nodes]), PriceFactors.as_quoted())
    racks = int(whole.racks[0])
    lines = [_line(one.host.name, bought, one.host.price)]
    if one.accelerator:
        devices = float(bought * one.accelerators)
        number = int(spec.bought_accelerators(np.array(devices)))
        lines.append(_line(one.accelerator.name, number, one.accelerator.price))
    if one.kit:
        lines.append(_line(one.kit.name, bought, one.kit.price))
    if one.disk:
        lines.append(_line(one.disk.name, bought, one.disk.price))
    if one.bought_adapters:
        name = f"adapter, {one.network.name}"
        lines.append(_line(name, bought * one.bought_adapters, one.network.adapter))
    for name, column in fabric.switches.items():
        if column[nodes]:
            lines.append(
                _line(f"switch, {name}", int(column[nodes]), catalogue.switches[name].price)
            )
    cable = catalogue.cables.get(one.network.cable)
    if cable is not None and fabric.cables[nodes]:
        length = min(float(fabric.metres[nodes]), cable.longest)
        each = cable.price.value + cable.per_metre.value * length
        text = f"cable, {cable.name}, {length:.1f} m on average"
        lines.append(_line(text, int(fabric.cables[nodes]), cable.price, each))
    if one.storage:
        lines.append(_line(one.storage.name, one.storage_number, one.storage.price))
    power = float(whole.power[0])
    units = max(math.ceil(power / room.pdu_power.value), racks)
    hours = room.assembly.value * room.wage.value
    lines += [
        _line("rack", racks, room.rack),
        _line("power distribution unit", units, room.pdu),
        _line("administration network, per node", nodes, room.management),
        _line("assembly, per node", bought, room.assembly, hours),
        _line("servers for login, storage, administration", 1, room.server),
    ]
    return [line for line in lines if line.number and line.price]


def _line(part: str, number: int, price: PartFigure, each: float | None = None) -> BillLine:
    value = price.value if each is None else each
    return BillLine(
        part=part, number=number, price=value, kind=price.kind, source=price.source, date=price.date
    )
