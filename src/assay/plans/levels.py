"""Levels of a factor as users write them: lists, ranges, words, quantities.

A level may depend on the machine and on earlier factors ("all", "cores / ppn"), so it is evaluated
only when a cell is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from assay.errors import AssayError, nearest
from assay.kernels.catalogue import Parameter
from assay.model.expression import Expression, parse_expression
from assay.model.placement import Value
from assay.units import parse_quantity

MOST_LEVELS = 10_000
# Python refuses to read integers of more than 4,300 digits.
_MOST_DIGITS = 18
MOST_NUMBER = 1e300
RANGE_KEYS = ("from", "to", "steps", "step", "times", "count", "spacing")
_STEPPING = "steps = 'powers of 2', step = 100, times = 1.5 or count = 9"

Names = Mapping[str, Value]
# The name of the factor "devices" among the names: "devices" is the number that a node has.
DEVICES_USED = "devices_used"


@dataclass(frozen=True)
class FactorLevel:
    """One level as written: a number, or text (a word, a quantity or an expression)."""

    raw: Value
    where: str


@dataclass(frozen=True)
class LevelRange:
    """Levels from ``start`` to ``stop``, both as written, stepped by ``rule``."""

    start: FactorLevel
    stop: FactorLevel
    #: ``powers`` (powers of ``amount`` in the range, and 0 if the range includes it), ``step`` (add
    #: ``amount``), ``times`` (multiply by ``amount``; 0 is followed by 1), ``linear`` and
    #: ``geometric`` (``amount`` levels, evenly spaced, both ends included).
    rule: str
    amount: float
    where: str


@dataclass(frozen=True)
class LargestLevel:
    """The last of a parameter's choices that meets the condition and fits into a node's memory. The
    choices are the kernel's, from small to large, or the levels ``among``, as written.
    """

    condition: Expression
    where: str
    among: tuple[FactorLevel, ...] = ()


Written = FactorLevel | LevelRange | LargestLevel
ReadLevel = Callable[[FactorLevel], Value]


def read_levels(raw: object, name: str, where: str, places: list[str]) -> tuple[Written, ...]:
    """The levels of a factor as written in TOML: one value, a list, a range table, or a mixture.

    ``places``: file and line of each element of a list. Raises AssayError for anything else.
    """
    if not isinstance(raw, list):
        return (_read_one(raw, name, where),)
    if not raw:
        raise AssayError(f"'{name}' is an empty list.", where=where, fix="Name at least one level.")
    return tuple(_read_one(item, name, place) for item, place in zip(raw, places, strict=True))


def _read_one(raw: object, name: str, where: str) -> Written:
    if isinstance(raw, dict) and "largest" in raw:
        return _read_largest(raw, name, where)
    if isinstance(raw, dict):
        return _read_range(raw, name, where)
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        raise AssayError(f"'{name}' must be a number, a word, a list or a range.", where=where)
    return FactorLevel(raw, where)


def _read_largest(table: dict[str, object], name: str, where: str) -> LargestLevel:
    text, among = table["largest"], table.get("of")
    if table.keys() - {"largest", "of"} or not isinstance(text, str):
        raise AssayError(
            f"The largest '{name}' is requested by a single condition.",
            where=where,
            fix=f'Write {name} = {{ largest = "operations <= 1e9" }}.',
        )
    levels = [_read_one(each, name, where) for each in among] if isinstance(among, list) else []
    known = tuple(level for level in levels if isinstance(level, FactorLevel))
    if "of" in table and (not known or len(known) < len(levels)):
        raise AssayError(
            f"'of' must list the levels of '{name}', from small to large.",
            where=where,
            fix=f'Write {name} = {{ largest = "seconds <= 1", of = ["1 KiB", "1 MiB"] }}.',
        )
    condition = parse_expression(text, where=where)
    return LargestLevel(condition, where, known)


def _read_range(table: dict[str, object], name: str, where: str) -> LevelRange:
    for key, value in table.items():
        if key not in RANGE_KEYS:
            raise AssayError(
                f"Unknown key '{key}' in the range of '{name}'.",
                where=where,
                fix=nearest(key, RANGE_KEYS),
            )
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise AssayError(f"'{key}' of '{name}' must be a number or a word.", where=where)
    written: dict[str, Value] = {k: v for k, v in table.items() if isinstance(v, int | float | str)}
    for key in ("from", "to"):
        if key not in written:
            raise AssayError(f"The range of '{name}' has no '{key}'.", where=where)
    rule, amount = _stepping(written, name, where)
    return LevelRange(
        FactorLevel(written["from"], where), FactorLevel(written["to"], where), rule, amount, where
    )


def _stepping(table: Mapping[str, Value], name: str, where: str) -> tuple[str, float]:
    given = [key for key in ("steps", "step", "times", "count") if key in table]
    if len(given) != 1:
        what = "several ways to step" if given else "no way to step"
        raise AssayError(
            f"The range of '{name}' has {what}.", where=where, fix=f"Give one of {_STEPPING}."
        )
    key, value = given[0], table[given[0]]
    spacing = table.get("spacing", "linear")
    if spacing not in ("linear", "geometric"):
        raise AssayError(
            f"The spacing of '{name}' can't be '{spacing}'.",
            where=where,
            fix=nearest(str(spacing), ("linear", "geometric")),
        )
    if "spacing" in table and key != "count":
        raise AssayError(f"'spacing' of '{name}' goes with 'count' only.", where=where)
    if key == "steps":
        match = re.fullmatch(r"\s*powers of (\d+)\s*", str(value))
        if not match or len(match[1]) > _MOST_DIGITS or int(match[1]) < 2:
            raise AssayError(
                f"'{name}' can't step by '{value}'.", where=where, fix=f"Give one of {_STEPPING}."
            )
        return "powers", int(match[1])
    amount = _number(FactorLevel(value, where), key, "", {})
    least, rule = {"step": (0.0, "step"), "times": (1.0, "times"), "count": (1.0, str(spacing))}[
        key
    ]
    if not amount > least or (key == "count" and amount != int(amount)):
        kind = "a whole number above" if key == "count" else "above"
        raise AssayError(f"'{key}' of '{name}' must be {kind} {least:g}.", where=where)
    return rule, amount


def spread(written: Written, read: ReadLevel, name: str) -> Iterator[Value]:
    """The values of a level or range; ``read`` turns one level into its value.

    For integers, intermediate values are rounded and duplicates omitted. Raises AssayError for a
    range over words, an empty range, and one of more than ten thousand levels.
    """
    if isinstance(written, FactorLevel):
        yield read(written)
        return
    if isinstance(written, LargestLevel):
        raise AssayError(f"'{name}' has no choices to take the largest of.", where=written.where)
    first, last = read(written.start), read(written.stop)
    if isinstance(first, str) or isinstance(last, str):
        raise AssayError(
            f"'{name}' is not a number, so it can't have a range.", where=written.where
        )
    whole = isinstance(first, int) and isinstance(last, int)
    values = dict.fromkeys(
        round(value) if whole else value for value in _points(written, first, last, name)
    )
    if not values:
        raise AssayError(
            f"The range of '{name}' from {first:g} to {last:g} is empty.", where=written.where
        )
    yield from values


def _points(written: LevelRange, first: float, last: float, name: str) -> Iterator[float]:
    rule, amount = written.rule, written.amount
    if rule in ("linear", "geometric"):
        if rule == "geometric" and not first > 0:
            raise AssayError(
                f"A geometric range of '{name}' can't begin at {first:g}.", where=written.where
            )
        count = int(amount)
        if count > MOST_LEVELS:
            raise _too_many(name, written.where)
        for i in range(count if first <= last else 0):
            share = i / max(count - 1, 1)
            if rule == "linear":
                yield first + (last - first) * share
            else:
                yield first * (last / first) ** share
        return
    # A rounding error must not lose the last level of 0, 0.1, … 1.
    end = last + 1e-9 * abs(last)
    value: float = first
    if rule == "powers":
        if first <= 0 <= end:
            yield 0
        value = 1
        while value < first:
            value *= int(amount)
    index = 0
    while value <= end:
        if index == MOST_LEVELS:
            raise _too_many(name, written.where)
        yield value
        index += 1
        if rule == "step":
            value = first + index * amount
        elif value == 0:
            value = 1
        elif value < 0:
            raise AssayError(
                f"A range of '{name}' that multiplies can't begin below 0.", where=written.where
            )
        else:
            value *= int(amount) if amount == int(amount) else amount


def _too_many(name: str, where: str) -> AssayError:
    return AssayError(
        f"The range of '{name}' has more than {MOST_LEVELS} levels.",
        where=where,
        fix="Use larger steps.",
    )


def read_parameter(level: FactorLevel, parameter: Parameter, names: Names) -> Value:
    """The value of a kernel's parameter, checked against its type, choices and range."""
    name, raw = parameter.name, level.raw
    if isinstance(parameter.default, str):
        if not isinstance(raw, str):
            raise AssayError(f"'{name}' must be a word, not {raw}.", where=level.where)
        value: Value = raw
    else:
        value = _number(level, name, parameter.unit, names)
        if isinstance(parameter.default, int):
            if value != int(value):
                raise AssayError(
                    f"'{name}' must be a whole number, not {value:g}.", where=level.where
                )
            value = int(value)
        else:
            value = float(value)
    if parameter.choices and value not in parameter.choices:
        raise AssayError(
            f"'{name}' can't be '{raw}'.",
            where=level.where,
            fix=nearest(str(raw), map(str, parameter.choices)),
        )
    if isinstance(value, str):
        return value
    if parameter.low is not None and value < parameter.low:
        raise AssayError(f"'{name}' must be at least {parameter.low:g}.", where=level.where)
    if parameter.high is not None and value > parameter.high:
        raise AssayError(f"'{name}' must be at most {parameter.high:g}.", where=level.where)
    return value


def _number(level: FactorLevel, name: str, unit: str, names: Names) -> int | float:
    """A number from a number, a quantity ("64 KiB") or an expression ("1000 * ranks")."""
    raw = level.raw
    if not isinstance(raw, str):
        if not -MOST_NUMBER <= raw <= MOST_NUMBER:  # also true for NaN and infinity
            raise AssayError(f"'{name}' can't be {shown(raw)}.", where=level.where)
        return raw
    try:
        value = parse_quantity(raw, unit or "1")  # "1": a plain number or a percentage
        if abs(value) > MOST_NUMBER:
            raise AssayError(f"'{name}' can't be {raw}: it is too large.", where=level.where)
        return value
    except AssayError as not_a_quantity:
        try:
            expression = parse_expression(raw)
            if expression.names and not names:  # no names can be used here
                raise not_a_quantity
        except AssayError:
            what = not_a_quantity.what if unit else f"It takes a single number, not '{raw}'."
            fix = not_a_quantity.fix if unit else ""
            raise AssayError(f"'{name}': {what}", where=level.where, fix=fix) from None
        return expression.number(names, where=level.where)


def shown(raw: Value) -> str:
    """A value as errors show it; Python refuses to print integers of thousands of digits."""
    return "a number this large" if isinstance(raw, int) and abs(raw) >= 10**18 else str(raw)


def read_quantity(raw: object, name: str, unit: str, where: str) -> int | float:
    """A number in SI units from a number or text such as ``"90 s"``. Raises AssayError."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        raise AssayError(f"'{name}' must be a number or text such as '90 s'.", where=where)
    return _number(FactorLevel(raw, where), name, unit, {})
