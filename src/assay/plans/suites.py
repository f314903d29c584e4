"""Suites and plans as TOML files."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, nearest
from assay.kernels import find_kernel
from assay.kernels import kernels as known_kernels
from assay.kernels.outside import APP
from assay.model.cell import Cell
from assay.model.demand import PlacementForecast, forecast
from assay.model.plan import ASKED, Plan, PlanContext, Search
from assay.model.rank_order import seats_by_rank
from assay.model.replication import Replication
from assay.plans.app import App, app_measures
from assay.plans.expand import Measure, expand, parse_keep
from assay.plans.factors import FACTORS
from assay.plans.feasibility import expected_times, within_time
from assay.plans.levels import (
    FactorLevel,
    LevelRange,
    Written,
    read_levels,
    read_quantity,
    shown,
)
from assay.plans.open_settings import searched
from assay.plans.overrides import Changes, amended, chosen_time, stretch
from assay.plans.plan_target import Fitting, Messages, RequestedLevels
from assay.plans.replication import read_replication
from assay.toml import TomlDocument, load_toml, parse_toml
from assay.units import whole_number

if TYPE_CHECKING:
    from assay.arrays import Floats

PLAN_SCHEMA = 1
_KEYS = (
    "schema",
    "title",
    "question",
    "seed",
    "portable",
    "oversubscribe",
    "include",
    "replication",
    "search",
    "matrix",
    "factors",
    "measure",
)
# The key by which the command line chooses a plan's kernels (``kernel=npb.cg``).
KERNEL = "kernel"
_SUITES = Path(__file__).with_name("suites")


def suites() -> dict[str, Path]:
    """The suites that come with assay, by name."""
    return {path.stem: path for path in sorted(_SUITES.glob("*.toml"))}


def find_suite(name: str) -> Path:
    """The file of a shipped suite. Raises AssayError naming the nearest one."""
    shipped = suites()
    if name not in shipped:
        raise AssayError(f"There is no suite '{name}'.", fix=nearest(name, shipped))
    return shipped[name]


def find_plan(word: str) -> Path:
    """The plan's file: ``word`` if it looks like a path (``.toml`` or a slash), else a suite's."""
    return Path(word) if word.endswith(".toml") or "/" in word else find_suite(word)


@dataclass
class Source:
    """The text of plans: from their files, or from an earlier reading."""

    #: Texts by path. Texts read from files are added, so that they can be stored.
    texts: dict[str, str] = field(default_factory=dict)

    def load(self, path: Path) -> TomlDocument:
        """Read a plan. Raises AssayError with the line if it is not TOML."""
        known = self.texts.get(str(path))
        if known is not None:
            return parse_toml(known, path)
        document = load_toml(path)
        self.texts[str(path)] = document.text
        return document

    def matrix(self, path: Path) -> Floats:
        """Read a communication matrix. Raises AssayError."""
        from assay.plans.fitted_order import read_matrix, text_of

        text = self.texts.get(str(path))
        text = self.texts[str(path)] = text_of(path) if text is None else text
        return read_matrix(path, text)


def load_plan(
    path: Path,
    context: PlanContext,
    seed: int | None = None,
    instead: Mapping[str, tuple[Written, ...]] | None = None,
    *,
    nodes: tuple[Written, ...] | None = None,
    source: Source | None = None,
    lenient: bool = False,
    app: App | None = None,
    changes: Changes | None = None,
) -> Plan:
    """Read a plan for this machine.

    ``seed`` takes precedence over the file's; if there is neither, one is drawn. ``instead``:
    factors that replace the plan's own in every measure whose kernel has them, and ``kernel``,
    which chooses among the measures or names other kernels. ``nodes``: numbers of nodes for
    measures that name none. ``lenient`` allows more ranks than cores, because the plan is for
    another machine. ``app``: a command to measure instead of the plan's kernels. ``changes``:
    changes to the replication rule. Raises AssayError with file, line, key and fix.
    """
    source = source or Source()
    document = source.load(path)
    data = document.data
    _check_schema(document)
    document.check_keys((), data, _KEYS)
    written = _rule(document)
    rule = amended(written, changes or {})
    fitting = Fitting(
        context,
        portable=document.read(("portable",), data.get("portable", False), bool),
        oversubscribe=lenient
        or document.read(("oversubscribe",), data.get("oversubscribe", False), bool),
        stretch=stretch(written, rule, changes or {}),
    )
    fitting.messages = _messages(document, source, app)
    if not lenient:
        given = [*(instead or {}).items(), *([("nodes", nodes)] if nodes else [])]
        fitting.requested = RequestedLevels(
            {(name, id(level)) for name, levels in given for level in levels}
        )
    measures = _measures_of(document, source, instead or {}, app)
    cells = expand(_spread(measures, nodes) if nodes else measures, fitting)
    if fitting.portable:
        cells, late = within_time(cells, rule, context)
        fitting.notes |= dict.fromkeys(late)
    between = _between(cells, fitting)
    candidates = tuple(cell.id for cell in cells if cell.id in fitting.searched)
    written_seed = document.read(("seed",), data.get("seed"), int | None)  # type: ignore[arg-type]
    chosen = seed if seed is not None else written_seed
    return Plan(
        name=path.stem,
        title=document.read(("title",), data.get("title", path.stem), str),
        cells=cells,
        replication=rule,
        seed=chosen if chosen is not None else draw_seed(),
        notes=(*context.notes, *fitting.notes),
        choices=(
            *fitting.choices,
            *searched(cells),
            *chosen_time(written, rule, changes or {}),
        ),
        search=_search(document, candidates, fitting) if candidates else None,
        fitted=tuple(cell.id for cell in cells if cell.id in fitting.fitted),
        between=between,
        expected=expected_times(cells, context),
        first=tuple(cell.id for cell in cells if cell.id in fitting.first),
        demand=app.demand if app else None,
        forecasts=_forecasts(cells, between, context, app),
        question=_question(document),
    )


def _question(document: TomlDocument) -> str:
    """The plan's question; empty if it names none. Raises AssayError."""
    asked = document.read(("question",), document.data.get("question", ""), str)
    if asked and asked not in ASKED:
        raise document.error(
            ("question",), f"A plan can't ask the question '{asked}'.", nearest(asked, ASKED)
        )
    return asked


def _forecasts(
    cells: Sequence[Cell], between: Mapping[str, float], context: PlanContext, app: App | None
) -> dict[str, PlacementForecast]:
    """The times that the command's profile predicts, by id; empty without a profile."""
    if app is None or app.demand is None:
        return {}
    link = context.slowest_link or context.adapter_speed
    return {
        cell.id: forecast(app.demand, cell.placement, context.cores, link, between.get(cell.id))
        for cell in cells
        if cell.kernel == APP
    }


def _rule(document: TomlDocument) -> Replication:
    """The replication rule as a plan has it. Raises AssayError."""
    table = document.read(
        ("replication",), document.data.get("replication", {}), dict[str, str | float | bool]
    )
    return read_replication(table, lambda key: document.where(("replication", key)))


def _messages(document: TomlDocument, source: Source, app: App | None) -> Messages | None:
    """The communication matrix of the command line, else the plan's. Raises AssayError."""
    if app is not None and app.matrix:
        return Messages(source.matrix(Path(app.matrix)), app.matrix)
    written = document.read(("matrix",), document.data.get("matrix", ""), str)
    if not written:
        return None
    path = document.path.absolute().parent / Path(written).expanduser()
    return Messages(source.matrix(path), document.where(("matrix",)))


def _between(cells: Sequence[Cell], fitting: Fitting) -> dict[str, float]:
    """The share of traffic that crosses nodes, by id, of each cell that the matrix fits.

    Raises AssayError if no cell has the matrix's number of ranks.
    """
    messages = fitting.messages
    if messages is None:
        return {}
    from assay.plans.fitted_order import share_between

    outside = [cell for cell in cells if find_kernel(cell.kernel).outside]
    found = {}
    for cell in outside:
        place = cell.placement
        if place.ranks == messages.ranks:
            seats = seats_by_rank(place.order, place.nodes, place.ppn)
            found[cell.id] = share_between(messages.matrix, seats)
    if not found:
        counts = ", ".join(map(str, sorted({cell.placement.ranks for cell in outside})))
        raise AssayError(
            f"The communication matrix covers {messages.ranks} ranks, but no placement of the plan "
            f"has this many ({counts or 'it has no command'}).",
            where=messages.where,
            fix="Count what the program sends at a number of ranks that the plan has, or request "
            "that number: ppn=…",
        )
    return found


def _search(document: TomlDocument, cells: tuple[str, ...], fitting: Fitting) -> Search:
    """The ``[search]`` of a plan over these cells. Raises AssayError."""
    table = document.read(("search",), document.data.get("search", {}), dict[str, str | float])
    document.check_keys(("search",), table, ("within", "probability"))
    read = {}
    for key, raw in table.items():
        where = document.where(("search", key))
        read[key] = float(read_quantity(raw, key, "", where))
        if not 0 < read[key] < 1:
            raise AssayError(f"'{key}' must lie between 0 and 1.", where=where)
    optional = tuple(name for name in cells if name not in fitting.measured)
    return Search(cells, optional, **read)


def most_nodes(
    path: Path,
    instead: Mapping[str, tuple[Written, ...]] | None = None,
    source: Source | None = None,
) -> int:
    """The largest number of nodes that a plan gives as a number; else 1. Raises AssayError."""
    source = source or Source()
    measures = _measures_of(source.load(path), source, instead or {})
    written = [level for measure in measures for level in measure.factors.get("nodes", ())]
    return max([1, *(count_named(level) for level in written)])


def measured_kernels(path: Path, source: Source | None = None) -> list[str]:
    """The names of the kernels that a plan measures. Raises AssayError."""
    source = source or Source()
    return list(dict.fromkeys(each.kernel for each in _measures(source.load(path), source)))


def count_named(written: Written) -> int:
    """The largest end of a level that is a number, not a word or expression; else 0."""
    ends = [written.start, written.stop] if isinstance(written, LevelRange) else [written]
    raws = [shown(end.raw) for end in ends if isinstance(end, FactorLevel)]
    return max((whole_number(raw) or 0 for raw in raws), default=0)


def draw_seed() -> int:
    """A seed for a plan that names none; it is recorded with the plan."""
    return secrets.randbits(32)


def _check_schema(document: TomlDocument) -> None:
    found = document.data.get("schema")
    if found is None:
        raise document.error(
            (), "The plan doesn't state its schema.", f"Add schema = {PLAN_SCHEMA}."
        )
    if found != PLAN_SCHEMA or isinstance(found, bool):
        raise document.error(
            ("schema",), f"The plan follows schema {found}, and this assay reads {PLAN_SCHEMA}."
        )


def _measures(
    document: TomlDocument, source: Source, above: tuple[Path, ...] = ()
) -> list[Measure]:
    """The measures of the included plans, each with that plan's factors, then the plan's own."""
    included = _included(document, source, (*above, document.path.resolve()))
    tables = document.data.get("measure")
    if tables is None and included:
        return included
    if not isinstance(tables, list) or not tables or not isinstance(tables[0], dict):
        raise document.error(
            ("measure",), "The plan measures nothing.", "Add a [[measure]] with a kernel."
        )
    shared, budget = _shared(document), _rule(document).budget
    measures = included
    for index, table in enumerate(tables):
        path = ("measure", index)
        if "kernel" not in table:
            raise document.error(path, "This [[measure]] names no kernel.", 'Add kernel = "…".')
        kernels = table["kernel"] if isinstance(table["kernel"], list) else [table["kernel"]]
        own = {k: v for k, v in table.items() if k not in ("kernel", "where", "search", "first")}
        search = document.read((*path, "search"), table.get("search", False), bool)
        first = document.read((*path, "first"), table.get("first", False), bool)
        factors = {**shared, **_factors(document, path, own)}
        keep_where = document.where((*path, "where"))
        keep = parse_keep(table["where"], keep_where) if "where" in table else None
        where = document.where((*path, "kernel"))
        words = document.read((*path, "kernel"), kernels, list[str])
        for kernel in dict.fromkeys(name for word in words for name in _named(word, where)):
            measures.append(
                Measure(
                    kernel=kernel,
                    factors=factors,
                    where=where,
                    keep=keep,
                    keep_where=keep_where,
                    search=search,
                    budget=budget,
                    first=first,
                )
            )
    return measures


def _named(word: str, where: str) -> list[str]:
    """A kernel's name unchanged; for a pattern such as ``npb.*`` all matches in catalogue order."""
    if not any(mark in word for mark in "*?["):
        return [word]
    names = [kernel.name for kernel in known_kernels() if fnmatchcase(kernel.name, word)]
    if not names:
        raise AssayError(
            f"No kernel's name matches '{word}'.", where=where, fix="`assay kernels` lists them."
        )
    return names


def _measures_of(
    document: TomlDocument,
    source: Source,
    instead: Mapping[str, tuple[Written, ...]],
    app: App | None = None,
) -> list[Measure]:
    """A plan's measures, changed by ``instead`` or ``app``. Raises AssayError."""
    others = {name: levels for name, levels in instead.items() if name != KERNEL}
    measures = _measures(document, source)
    if app is not None:
        measures = app_measures(measures, app)
    elif KERNEL in instead:
        measures = _chosen(measures, instead[KERNEL], _shared(document))
    return _changed(measures, others)


def _chosen(
    measures: list[Measure], words: tuple[Written, ...], shared: dict[str, tuple[Written, ...]]
) -> list[Measure]:
    """The measures of the requested kernels. A kernel that the plan lacks gets the measures of the
    first of its family in the plan, or else the plan's ``shared`` factors. Raises AssayError.
    """
    found: list[Measure] = []
    for word in words:
        raw = str(word.raw) if isinstance(word, FactorLevel) else ""
        for name in _named(raw, word.where):
            kernel = find_kernel(name, where=word.where)
            family = name.partition(".")[0] + "."
            known = [measure.kernel for measure in measures if measure.kernel.startswith(family)]
            like = name if name in known else known[0] if known else None
            taken = {*FACTORS, *(parameter.name for parameter in kernel.parameters)}
            for measure in measures:
                if measure.kernel == like:
                    factors = {key: v for key, v in measure.factors.items() if key in taken}
                    found.append(replace(measure, kernel=name, factors=factors))
            if like is None:
                found.append(Measure(name, shared, word.where, budget=measures[-1].budget))
    return found


def _shared(document: TomlDocument) -> dict[str, tuple[Written, ...]]:
    """The plan's ``[factors]``, for all its measures."""
    table = document.read(("factors",), document.data.get("factors", {}), dict[str, Any])
    document.check_keys(("factors",), table, FACTORS)
    return _factors(document, ("factors",), table)


def _changed(measures: list[Measure], instead: Mapping[str, tuple[Written, ...]]) -> list[Measure]:
    """The measures with other factors. Raises AssayError for one that no kernel has.

    In a plan with a search, measures outside the search get only those factors that they name
    themselves; the others are for the search.
    """
    if not instead:
        return measures
    kernels = {m.kernel: find_kernel(m.kernel, where=m.where) for m in measures}
    taken = {name: {*FACTORS, *(p.name for p in k.parameters)} for name, k in kernels.items()}
    valid = set().union(*taken.values())
    for name, levels in instead.items():
        if name not in valid:
            raise AssayError(
                f"No kernel of the plan has a parameter '{name}', and it is not a placement word.",
                where=levels[0].where,
                fix=nearest(name, valid),
            )
    changed = []
    searching = any(measure.search for measure in measures)
    for measure in measures:
        free = measure.search or not searching
        own = {
            name: levels
            for name, levels in instead.items()
            if name in taken[measure.kernel] and (free or name in measure.factors)
        }
        changed.append(replace(measure, factors={**measure.factors, **own}))
    return changed


def _spread(measures: list[Measure], nodes: tuple[Written, ...]) -> list[Measure]:
    """The measures; those that name no nodes get ``nodes``."""
    return [
        measure
        if "nodes" in measure.factors
        else replace(measure, factors={**measure.factors, "nodes": nodes})
        for measure in measures
    ]


def _included(document: TomlDocument, source: Source, above: tuple[Path, ...]) -> list[Measure]:
    """The measures of the plans in ``include``: suites, or paths relative to this file's folder."""
    measures = []
    for index, word in enumerate(
        document.read(("include",), document.data.get("include", []), list[str])
    ):
        key = ("include", index)
        try:
            path = find_plan(word)
        except AssayError as error:
            raise document.error(key, error.what, error.fix) from None
        path = path if path.is_absolute() else document.path.parent / path
        if path.resolve() in above:
            raise document.error(key, f"'{word}' would include itself.", "Remove it.")
        other = source.load(path)
        _check_schema(other)
        other.check_keys((), other.data, _KEYS)
        measures += _measures(other, source, above)
    return measures


def _factors(
    document: TomlDocument, path: tuple[str | int, ...], table: dict[str, Any]
) -> dict[str, tuple[Written, ...]]:
    factors = {}
    for name, raw in table.items():
        key = (*path, name)
        length = len(raw) if isinstance(raw, list) else 0
        places = [document.where((*key, i)) for i in range(length)]
        factors[name] = read_levels(raw, name, document.where(key), places)
    return factors
