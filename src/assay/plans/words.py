"""A plan from arguments of a command line: ``npb.cg class=A,B``, ``n=100..2000:+100``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from assay.errors import AssayError
from assay.model.placement import Value
from assay.model.plan import Plan, PlanContext
from assay.model.replication import Replication
from assay.plans.expand import Measure, expand
from assay.plans.factors import FACTORS
from assay.plans.feasibility import expected_times
from assay.plans.levels import FactorLevel, LevelRange, Written
from assay.plans.plan_target import Fitting
from assay.plans.suites import draw_seed

# A list of seats is one order, not several levels.
_SEATS = re.compile(r"[\d,\s]+", re.ASCII)
_RANGE = re.compile(r"(?P<start>.+?)\.\.(?P<stop>[^:]+)(?::(?P<sign>[x+])(?P<amount>[\d.]+))?")


def plan_from_words(
    kernel: str,
    assignments: Iterable[str] = (),
    *,
    context: PlanContext,
    placement: Mapping[str, Value | None] | None = None,
    replication: Replication | None = None,
    oversubscribe: bool = False,
    seed: int | None = None,
) -> Plan:
    """A plan of one kernel.

    ``assignments``: ``key=value`` with lists (``class=A,B``) and ranges (``bytes=0..4MiB:x2`` times
    two, ``n=100..2000:+100`` in steps) that sweep. ``placement``: toolchain, nodes, ppn, threads,
    order, binding, adapter, devices in the same notation ("0,2,1,3" is one order, "eth0+eth1" two
    adapters used together); None if not given. Raises AssayError.
    """
    given = [(word, *_split(word)) for word in assignments]
    for factor, value in (placement or {}).items():
        if factor not in FACTORS:
            raise ValueError(f"{factor} is not a placement word")
        if value is not None:
            given.append((f"--{factor} {value}", factor, str(value)))
    factors = _factors(given)
    fitting = Fitting(context, oversubscribe=oversubscribe)
    rule = replication or Replication()
    cells = expand([Measure(kernel, factors, budget=rule.budget)], fitting)
    return Plan(
        name=kernel,
        title=" ".join([kernel, *(word for word, _, _ in given)]),
        cells=cells,
        replication=rule,
        seed=seed if seed is not None else draw_seed(),
        notes=context.notes,
        fitted=tuple(cell.id for cell in cells if cell.id in fitting.fitted),
        expected=expected_times(cells, context),
    )


def read_words(assignments: Iterable[str]) -> dict[str, tuple[Written, ...]]:
    """The factors of ``key=value`` words, in the notation of ``plan_from_words``.

    Raises AssayError.
    """
    return _factors([(word, *_split(word)) for word in assignments])


def _factors(given: Iterable[tuple[str, str, str]]) -> dict[str, tuple[Written, ...]]:
    """The factors of (word, name, text) triples."""
    factors: dict[str, tuple[Written, ...]] = {}
    for word, name, text in given:
        if name in factors:
            raise AssayError(f"'{name}' is given twice.", where=word)
        parts = [text] if name == "order" and _SEATS.fullmatch(text) else text.split(",")
        factors[name] = tuple(_written(part, name, word) for part in parts)
    return factors


def _split(word: str) -> tuple[str, str]:
    name, sign, text = word.partition("=")
    if not sign or not name or not text:
        raise AssayError(
            f"'{word}' is not an assignment.", fix="Write parameters as key=value, such as class=A."
        )
    return name.strip(), text


def _written(text: str, name: str, where: str) -> Written:
    """One part of a comma list: a range, a number, or a word."""
    text = text.strip()
    if not text:
        raise AssayError(f"'{name}' has an empty level.", where=where)
    if ".." not in text:
        return FactorLevel(text, where)
    match = _RANGE.fullmatch(text)
    if match is None or match["sign"] is None:
        raise AssayError(
            f"The range '{text}' has no step.",
            where=where,
            fix=f"Write {name}={text.split(':')[0]}:x2 to double, or :+10 for steps of ten.",
        )
    start, stop = FactorLevel(match["start"], where), FactorLevel(match["stop"], where)
    rule, least = ("times", 1.0) if match["sign"] == "x" else ("step", 0.0)
    try:
        amount = float(match["amount"])
    except ValueError:
        amount = 0.0
    if not least < amount < math.inf:
        raise AssayError(f"The step of '{name}' must be above {least:g} and finite.", where=where)
    return LevelRange(start, stop, rule, amount, where)
