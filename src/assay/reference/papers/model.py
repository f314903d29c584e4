"""Papers, their clusters, and every figure that their texts and tables print.

The data are in a TOML file per paper beside this module (``loading.py`` reads them). A figure keeps
its number and unit as printed, and the words or the table row that print it; the value in SI units
is computed from these.
"""

from __future__ import annotations

from decimal import Decimal
from math import prod
from typing import Literal

import msgspec

# Units as printed, with the SI unit and the factor. A prefix is decimal in rates and frequencies
# and binary in sizes: the papers' ping-pong of up to "4 Mbytes" has 2^22 bytes (Edmundsson et al.,
# 5.2). The unit "1" is a share; "" is a count or a ratio.
_UNITS: dict[str, tuple[str, str]] = {
    "": ("", "1"),
    "%": ("1", "0.01"),
    "percent": ("1", "0.01"),
    "Mflops s-1": ("flop/s", "1e6"),
    "Gflops s-1": ("flop/s", "1e9"),
    "Mflop/s": ("flop/s", "1e6"),
    "Tflop/s": ("flop/s", "1e12"),
    "Gflops": ("flop/s", "1e9"),
    "Tflops": ("flop/s", "1e12"),
    "Mbytes s-1": ("B/s", "1e6"),
    "Gbytes s-1": ("B/s", "1e9"),
    "MB/s": ("B/s", "1e6"),
    "MB/sec": ("B/s", "1e6"),
    "GB/s": ("B/s", "1e9"),
    "Mbps": ("B/s", "125e3"),
    "MHz": ("Hz", "1e6"),
    "Mhz": ("Hz", "1e6"),
    "GHz": ("Hz", "1e9"),
    "-GHz": ("Hz", "1e9"),
    "bytes": ("B", "1"),
    "k": ("B", "1024"),
    "KB": ("B", "1024"),
    "MB": ("B", "1048576"),
    "GB": ("B", "1073741824"),
    "Mbytes": ("B", "1048576"),
    "Gbytes": ("B", "1073741824"),
    "bit": ("bit", "1"),
    "μs": ("s", "1e-6"),
    "μ sec": ("s", "1e-6"),
    "microseconds": ("s", "1e-6"),
    "micro-seconds": ("s", "1e-6"),
    "milliseconds": ("s", "1e-3"),
    "ms": ("s", "1e-3"),
    "sec": ("s", "1"),
    "second": ("s", "1"),
    "seconds": ("s", "1"),
    "hours": ("s", "3600"),
    "day": ("s", "86400"),
    "days": ("s", "86400"),
    "months": ("months", "1"),
    "meters": ("m", "1"),
    "B/Flop/s": ("B/(flop/s)", "1"),
    "B/F": ("B/flop", "1"),
    "U.S. $": ("USD", "1"),
    "US$": ("USD", "1"),
    "US$ million": ("USD", "1e6"),
    "Swedish Krona": ("SEK", "1"),
}
_WORDS = {
    **dict.fromkeys(("two", "Two", "dual", "doubly"), "2"),
    **dict.fromkeys(("three", "Three"), "3"),
    "third": "3",
    **dict.fromkeys(("four", "Four"), "4"),
    "five": "5",
    "six": "6",
    **dict.fromkeys(("seven", "Seven"), "7"),
    "eight": "8",
    "two-way": "2",
}


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A paper, with the data of its citation."""

    id: str
    title: str
    authors: tuple[str, ...]
    year: int
    #: Publisher, proceedings or institution, if the paper prints it.
    venue: str

    @property
    def short(self) -> str:
        """The paper as it is cited: ``Edmundsson et al. (2004)``."""
        names = [author.rsplit(" ", 1)[-1] for author in self.authors]
        if len(names) > 3:
            return f"{names[0]} et al. ({self.year})"
        head = ", ".join(names[:-1])
        return f"{head} & {names[-1]} ({self.year})" if head else f"{names[-1]} ({self.year})"


class PublishedCluster(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cluster, node or machine that was measured.

    All fields from ``processor`` on are phrases as printed; empty where the paper does not say.
    Numbers (processors, clock rate, memory …) are figures.
    """

    id: str
    name: str
    paper: str
    processor: tuple[str, ...] = ()
    interconnect: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    mpi: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()
    scheduler: tuple[str, ...] = ()
    site: tuple[str, ...] = ()


class PublishedFigure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure that a paper prints."""

    id: str
    paper: str
    #: Section, table or caption that prints it.
    section: str
    #: Quantity, in words.
    quantity: str
    #: Value as printed.
    value: str
    #: The passage, or the row of a table with `` | `` between cells, that prints the value.
    quote: str
    #: Id of its cluster; empty for the definition of a benchmark.
    cluster: str = ""
    #: Kernel of assay that measures a similar quantity. ``metric``: its metric, if that is the same
    #: quantity.
    kernel: str = ""
    metric: str = ""
    #: Upper end of a printed range.
    upper: str = ""
    #: Qualification of the value by the paper.
    bound: Literal["", "about", "at most", "at least", "more than", "less than"] = ""
    #: Unit as printed.
    unit: str = ""
    #: Part of the system that the value refers to, such as "processor".
    per: str = ""
    #: ``processes``, ``nodes``, ``ppn`` (processes per node), if the paper states them.
    processes: int | None = None
    nodes: int | None = None
    ppn: int | None = None
    #: Problem class, order or message size as printed.
    size: str = ""
    #: Other conditions.
    conditions: str = ""
    #: ``code``, ``compiler``, ``flags``, ``mpi``: the program and how it was built, as far as
    #: printed.
    code: str = ""
    compiler: str = ""
    flags: str = ""
    mpi: str = ""
    #: Headings of the value's table. ``column``: heading of the value's column.
    header: str = ""
    column: str = ""
    #: Other passages that state the unit or the conditions.
    context: tuple[str, ...] = ()
    #: Reservation of assay about the figure.
    note: str = ""

    @property
    def si_unit(self) -> str:
        """The SI unit of ``si``: "1" for a share, "" for a count or a ratio."""
        return _UNITS[self.unit][0]

    @property
    def si(self) -> float:
        """The value in ``si_unit``; for a range, its lower end."""
        return self._scaled(self.value)

    @property
    def si_upper(self) -> float | None:
        """The upper end of a range in ``si_unit``; None if it is not a range."""
        return self._scaled(self.upper) if self.upper else None

    def _scaled(self, printed: str) -> float:
        return float(printed_number(printed) * Decimal(_UNITS[self.unit][1]))


def printed_number(printed: str) -> Decimal:
    """The number of ``116 100``, ``1,000``, ``.96``, ``94th``, ``2^28``, ``5 x 5`` or ``seven``.

    Raises ``decimal.InvalidOperation`` if it is none of these.
    """
    factors = printed.replace("×", "x").split(" x ")
    if len(factors) > 1:
        return prod((printed_number(factor) for factor in factors), start=Decimal(1))
    base, _, power = printed.partition("^")
    if power:
        return Decimal(base) ** int(power)
    word = _WORDS.get(printed, printed).replace(",", "").replace(" ", "")
    return Decimal(word.removesuffix("th"))
