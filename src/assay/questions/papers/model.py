"""Types of a paper's exhibits: its figures and tables as a mapping to cells and published numbers.

The data are TOML files in ``exhibits/``, one per suite that repeats a paper (``loading.py`` reads
them; ``docs/formats/exhibits.md`` documents them). Nothing here computes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.questions.common.answer import Bound

Statistic = Literal[
    "median", "mean", "least", "most", "deviation", "cov", "cpu_cov", "runs", "power", "rest",
    "first",
]  # fmt: skip
Pick = Literal["best", "worst", "largest", "smallest"]
Derived = Literal["ratio", "gain", "loss", "product", "sum"]
Per = Literal["", "rank", "node", "core"]
Trend = Literal["rises", "falls"]


class Quantity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of an exhibit: a statistic of a cell, or a ratio of other quantities.

    A statistic of a cell names ``kernel`` and ``metric``.

    A derived number is ``of`` over the product of the quantities ``over``, times the expression
    ``times`` (``node_cores``, ``all_nodes``). ``as_`` makes it a ratio, a gain (ratio - 1) or a
    loss (1 - ratio); with ``product`` all are multiplied, and with ``sum`` added.

    A property of the machine is named by ``fact`` (``questions.papers.facts``), a published number
    that others refer to by ``figure``.
    """

    #: Name by which other entries refer to it.
    name: str
    #: Description in words.
    title: str
    kernel: str = ""
    metric: str = ""
    #: Expression that the cell must meet (``questions.papers.points`` lists its names). If several
    #: cells do, ``pick`` takes the cell with the ``best`` or ``worst`` value, or with the
    #: ``largest`` or ``smallest`` value of the parameter ``by``.
    where: str = ""
    pick: Pick = "best"
    by: str = ""
    #: Statistic over the cell's launches. ``cpu_cov`` is the coefficient of variation of their CPU
    #: time. ``rest`` is the median over launches of the metric, a phase of the kernel, over the sum
    #: of the other phases. ``power`` is the median power (W) of the processors and memory of all
    #: nodes, as far as they count their energy. ``first`` is the first sample of a launch over the
    #: median of the launch's other samples.
    statistic: Statistic = "median"
    #: Divides the value by the cell's ranks, nodes or cores.
    per: Per = ""
    #: Parameter whose value is used instead of the metric's.
    shows: str = ""
    #: The value is the smallest ``by`` from which the metric stays at this share of its best.
    reaches: float | None = None
    #: The value is the ``by`` at half of the metric's best.
    half: bool = False
    #: Amount of the kernel's work per element and rank, which is known without a run.
    counted: str = ""
    of: str = ""
    over: tuple[str, ...] = ()
    times: str = ""
    as_: Derived = msgspec.field(default="ratio", name="as")
    #: Unit of the result.
    unit: str = ""
    #: The value is the largest x up to which every line of this curve is above 1.
    up_to: str = ""
    fact: str = ""
    #: Id of a published number that is the value. Only statements and derived numbers use it.
    figure: str = ""
    #: Ids of figures (``assay references``), with ``*`` as a wildcard.
    published: tuple[str, ...] = ()
    #: Id of the published number that divides the others.
    published_over: str = ""
    #: Whether a ratio to the published numbers is meaningful. It is not for times of problems of
    #: another size, or for numbers of launches.
    comparable: bool = True
    #: Whether the number grows with the machine, so that it is also compared per core and per node.
    extensive: bool = False
    #: For a share: relation of its denominator to its numerator (``questions.common.answer``).
    bound: Bound = ""
    #: Name of the quantity in the summary of changes since the paper.
    since: str = ""
    #: Reservation about the number.
    note: str = ""


class ExhibitCurve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One chart of an exhibit: a metric of cells over ``x``."""

    #: Name by which statements refer to it.
    name: str
    #: One or several kernels.
    kernel: tuple[str, ...]
    metric: str
    #: Parameter or property of the placement along the horizontal axis.
    x: str
    title: str = ""
    #: Title of the vertical axis.
    what: str = ""
    #: Expression that cells must meet, as in a quantity.
    where: str = ""
    #: Parameters or properties that distinguish lines or bars.
    lines: tuple[str, ...] = ()
    #: ``launches``: every launch is a point, over its number. ``histogram``: number of launches by
    #: value. ``trials``: every sample of the first launch is a point, over its number.
    form: Literal["bars", "lines", "launches", "histogram", "trials"] = "lines"
    #: Of launches and histograms: the metric, or the CPU time of the launch.
    statistic: Literal["", "cpu"] = ""
    #: Divides values by ranks, nodes or cores, as in a quantity.
    per: Per = ""
    #: Denominator of a ratio: the value of the cell that meets this expression and has the same
    #: ``same`` (parameters or properties) as the point's cell. The point's own cell must not meet
    #: the expression.
    over: str = ""
    same: tuple[str, ...] = ()
    inverse: bool = False
    #: Whether the vertical axis is logarithmic.
    logarithmic: bool = False
    #: Ids of published numbers that are drawn as lines.
    levels: tuple[str, ...] = ()


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conclusion of the paper, in our words, and how it is tested on a machine.

    Exactly one of: ``quantity`` with ``above``, ``below`` or ``within`` (two bounds), each a number
    or the name of another quantity; or ``curve`` with its ``trend`` over x, which is tested on each
    of its lines.
    """

    says: str
    #: Section of the paper.
    section: str = ""
    quantity: str = ""
    above: float | str | None = None
    below: float | str | None = None
    within: tuple[float, float] | None = None
    curve: str = ""
    trend: Trend | None = None


class Exhibit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure, a table or a section with numbers, numbered as in the paper."""

    #: Number as in the paper: "Figure 3", "Table II" or "Section 5.4".
    number: str
    #: Content of the exhibit, in our words.
    title: str
    #: Requirements that a machine lacks if it can't measure the exhibit.
    needs: str = ""
    #: Part of the paper's exhibit that a run doesn't repeat.
    without: str = ""
    #: Sentence on other parts of assay that answer the exhibit.
    also: str = ""
    curve: tuple[ExhibitCurve, ...] = ()
    quantity: tuple[Quantity, ...] = ()
    statement: tuple[Statement, ...] = ()


class Apart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Published numbers without a measured counterpart, and the reason."""

    #: Ids of the numbers, with ``*`` as a wildcard.
    figures: tuple[str, ...]
    #: Hardware (a property of the authors' machine), definition (of the benchmark: assay's kernel
    #: has the same number, and a test compares both), conditions (how the authors measured), code
    #: (another program), projection (not measured by the authors either), or missing (assay has
    #: nothing like it).
    kind: Literal["hardware", "definition", "conditions", "code", "projection", "missing"]
    reason: str


class PaperSuite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A suite that repeats a paper."""

    #: Id of the paper in ``reference/papers``.
    paper: str
    #: Question of the paper, in our words.
    asks: str
    #: How the experiments are scaled to this machine.
    scaled: str
    exhibit: tuple[Exhibit, ...]
    apart: tuple[Apart, ...] = ()
