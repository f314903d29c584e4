"""Types of a paper's exhibits: its figures and tables as a mapping to cells and published numbers.

The data are TOML files in ``exhibits/``, one per suite that repeats a paper (``loading.py`` reads
them; ``docs/formats/exhibits.md`` documents them). Nothing here computes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.questions.common.answer import Bound

Statistic = Literal[
    "median", "mean", "least", "most", "deviation", "cov", "cpu_cov", "runs", "power", "rest"
]
Pick = Literal["best", "worst", "largest", "smallest"]
Derived = Literal["ratio", "gain", "loss", "product", "sum"]
Per = Literal["", "rank", "node", "core"]
Trend = Literal["rises", "falls"]


class Quantity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of an exhibit: a statistic of a cell, or a ratio of other quantities.

    Of a cell: ``kernel`` and ``metric``;

    Derived: ``of`` over the product of the quantities ``over``, times the expression ``times``
    (``node_cores``, ``all_nodes``), as a ratio, gain (ratio - 1) or loss (1 - ratio); ``product``
    multiplies all of them, and ``sum`` adds them.

    A property of the machine: ``fact`` (``questions.papers.facts``).
    """

    #: By which others refer to it.
    name: str
    #: What it is, in words.
    title: str
    kernel: str = ""
    metric: str = ""
    #: An expression that the cell must meet (``questions.papers.points`` lists its names). Of
    #: several cells ``pick`` takes the one with the ``best`` or ``worst`` value, or with the
    #: ``largest`` or ``smallest`` value of the parameter ``by``.
    where: str = ""
    pick: Pick = "best"
    by: str = ""
    #: Of its launches; ``cpu_cov`` is that of their CPU time, ``rest`` the median of the metric, a
    #: phase of the kernel, over the sum of its other phases, launch by launch; ``power`` the median
    #: of the power (W) of the processors and memory of all its nodes, as far as these count their
    #: energy.
    statistic: Statistic = "median"
    #: Divided by its ranks, nodes or cores.
    per: Per = ""
    #: The value of this parameter in place of the metric's.
    shows: str = ""
    #: The smallest ``by`` from which on the metric stays at this share of its best.
    reaches: float | None = None
    #: The ``by`` at half of the best.
    half: bool = False
    #: An amount of the kernel's work per element and rank, which is known without a run.
    counted: str = ""
    of: str = ""
    over: tuple[str, ...] = ()
    times: str = ""
    as_: Derived = msgspec.field(default="ratio", name="as")
    #: Of the result.
    unit: str = ""
    #: The largest x up to which every line of this curve is above 1.
    up_to: str = ""
    fact: str = ""
    #: Ids of figures (``assay references``), with ``*`` as a wildcard.
    published: tuple[str, ...] = ()
    #: The id of one by which they are divided.
    published_over: str = ""
    #: Whether the ratio to them says anything; not of the time of a problem of another size, or of
    #: a number of launches.
    comparable: bool = True
    #: Whether it grows with the machine, so that it is also compared per core and per node.
    extensive: bool = False
    #: Of a share, what its denominator is to its numerator (``questions.common.answer``).
    bound: Bound = ""
    #: The words for it in the summary of what has changed.
    since: str = ""
    #: A reservation.
    note: str = ""


class ExhibitCurve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One chart of an exhibit: a metric of cells over ``x``."""

    #: By which statements refer to it.
    name: str
    #: One or several.
    kernel: tuple[str, ...]
    metric: str
    #: A parameter or a property of the placement.
    x: str
    title: str = ""
    #: The vertical axis.
    what: str = ""
    #: As of a quantity.
    where: str = ""
    #: The parameters or properties by which lines or bars are distinguished.
    lines: tuple[str, ...] = ()
    form: Literal["bars", "lines", "launches"] = "lines"
    #: As of a quantity.
    per: Per = ""
    #: The denominator of a ratio: the value of the cell that meets this expression and has the same
    #: ``same`` (parameters or properties) as the point's cell; the point's own cell must not meet
    #: it. ``launches``: every launch is a point, over its number.
    over: str = ""
    same: tuple[str, ...] = ()
    inverse: bool = False
    #: The vertical axis.
    logarithmic: bool = False
    #: Ids of published figures that are drawn as lines.
    levels: tuple[str, ...] = ()


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conclusion of the paper, in our words, and how it is tested on a machine.

    Exactly one of: ``quantity`` with ``above``, ``below`` or ``within`` (two bounds), each a number
    or the name of another quantity; or ``curve`` with its ``trend`` over x, which is tested on each
    of its lines.
    """

    says: str
    #: Of the paper.
    section: str = ""
    quantity: str = ""
    above: float | str | None = None
    below: float | str | None = None
    within: tuple[float, float] | None = None
    curve: str = ""
    trend: Trend | None = None


class Exhibit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure, a table or a section with numbers, numbered as in the paper."""

    #: "Figure 3", "Table II" or "Section 5.4".
    number: str
    #: What it shows, in our words.
    title: str
    #: What it takes, for a machine that can't measure it.
    needs: str = ""
    #: A sentence on what else of assay answers it.
    also: str = ""
    curve: tuple[ExhibitCurve, ...] = ()
    quantity: tuple[Quantity, ...] = ()
    statement: tuple[Statement, ...] = ()


class Apart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Published numbers that nothing here is compared with, and the reason."""

    #: Ids, with ``*`` as a wildcard.
    figures: tuple[str, ...]
    #: Hardware (a property of that machine), definition (of the benchmark: assay's kernel has the
    #: same number, which a test compares), conditions (how the authors measured), code (another
    #: program), projection (not measured by the authors either), or missing (nothing like it here).
    kind: Literal["hardware", "definition", "conditions", "code", "projection", "missing"]
    reason: str


class PaperSuite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A suite that repeats a paper."""

    #: Its id in ``reference/papers``.
    paper: str
    #: The question of the paper, in our words.
    asks: str
    #: How its experiments are scaled to the machine at hand.
    scaled: str
    exhibit: tuple[Exhibit, ...]
    apart: tuple[Apart, ...] = ()
