"""Costs of a cluster over the years of its use: energy, maintenance, staff."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.design.figures import FigureReader, Origin, PartFigure, Written, read_share
from assay.errors import AssayError
from assay.toml import TomlDocument

# Hours of a mean year of the Gregorian calendar.
HOURS_PER_YEAR = 8765.82
_MOST_YEARS = 30.0
# Share of the full power that an idle cluster draws, if the specification doesn't state it.
_IDLE = 0.4
_NOTHING = PartFigure(value=0.0, spread=0.0, kind="quoted", source="", date="", where="")


class WrittenCosts(msgspec.Struct, frozen=True):
    """``[costs]`` of a file."""

    years: float
    energy: Written
    pue: float
    load: str | float | None = None
    accounts: str | None = None
    idle: str | float = _IDLE
    maintenance: str | float = 0.0
    staff: Written = 0.0
    discount: str | float = 0.0


@dataclass(frozen=True)
class Ownership:
    """What the use of a cluster costs, in the currency of the design."""

    years: float
    #: Price of a kWh.
    energy: PartFigure
    #: Power of the whole building ÷ power of the cluster.
    pue: float
    #: Share of the processors that is busy. ``load_source``: where the share comes from.
    load: float
    load_source: str
    #: Power of an idle cluster ÷ its full power.
    idle: float
    #: Maintenance per year, relative to the purchase.
    maintenance: float
    #: Staff per year.
    staff: PartFigure
    #: Relative decrease of the worth of money per year.
    discount: float

    @property
    def worth(self) -> float:
        """What an amount per year, paid in the middle of each year, is worth at the purchase."""
        begun = np.arange(0.0, self.years)
        lengths = np.minimum(self.years - begun, 1.0)
        return float(np.sum(lengths / (1.0 + self.discount) ** (begun + lengths / 2.0)))

    def energy_per_year(self, power: Floats, load: float | None = None) -> Floats:
        """Price of a year's energy at the median price of a kWh.

        ``power``: full power of the cluster, W. ``load``: another load than the stated one.
        """
        busy = self.load if load is None else load
        drawn = power * self.pue * (self.idle + (1.0 - self.idle) * busy)
        return np.asarray(drawn / 1000.0 * HOURS_PER_YEAR * self.energy.value)

    def per_year(self, price: Floats, power: Floats, energy: Floats) -> Floats:
        """All costs of a year. ``price``: of the purchase. ``energy``: factor on a kWh's price."""
        return np.asarray(
            self.energy_per_year(power) * energy + self.maintenance * price + self.staff.value
        )


def read_costs(document: TomlDocument, table: object) -> Ownership | None:
    """The ``[costs]`` of a specification; None if there are none. Raises AssayError."""
    if table is None:
        return None
    written = document.read(["costs"], table, WrittenCosts)
    reader = FigureReader(document)
    origin = Origin("assumed")

    def share(name: str, most: float) -> float:
        value = read_share(document, ["costs", name], getattr(written, name))
        if value > most:
            raise document.error(
                ["costs", name],
                f"'{name}' can't be {getattr(written, name)}.",
                f"Write 0% to {most:.0%}.",
            )
        return value

    if not 0.0 < written.years <= _MOST_YEARS:
        raise document.error(
            ["costs", "years"],
            f"'years' can't be {written.years:g}.",
            f"Write a number above 0 and up to {_MOST_YEARS:g}.",
        )
    if not 1.0 <= written.pue <= 5.0:
        raise document.error(
            ["costs", "pue"],
            f"'pue' can't be {written.pue:g}: it is the building's power ÷ the cluster's.",
            "Write 1 to 5.",
        )
    load, source = _load(document, written)
    staff = written.staff
    return Ownership(
        years=written.years,
        energy=reader.figure(["costs", "energy"], written.energy, "", origin, zero=True),
        pue=written.pue,
        load=load,
        load_source=source,
        idle=share("idle", 1.0),
        maintenance=share("maintenance", 1.0),
        staff=reader.figure(["costs", "staff"], staff, "", origin, zero=True)
        if staff
        else _NOTHING,
        discount=share("discount", 1.0),
    )


def _load(document: TomlDocument, written: WrittenCosts) -> tuple[float, str]:
    if (written.load is None) == (written.accounts is None):
        raise document.error(
            ["costs"] if written.load is None else ["costs", "accounts"],
            "[costs] needs either a load or the accounts of a machine, whose load is used.",
            'Write load = "80%", or accounts = "accounts.json".',
        )
    if written.accounts is not None:
        from assay.design.costs.load import load_of_accounts

        try:
            load = load_of_accounts(document.path.parent / written.accounts)
        except AssayError as error:
            raise document.error(["costs", "accounts"], error.what, error.fix) from None
        return load, written.accounts
    load = read_share(document, ["costs", "load"], written.load or 0.0)
    if load > 1.0:
        raise document.error(
            ["costs", "load"], f"'load' can't be {written.load}.", "Write 0% to 100%."
        )
    return load, "stated"
