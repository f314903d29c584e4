"""Expressions in plans: ``cores / ppn``, ``ppn * threads <= cores and op == "copy"``.

Python's own parser can't be used, because ``class`` and ``from`` are names of parameters. Operators
by increasing precedence: ``or``; ``and``; ``not``; ``== != < <= > >=``; ``+ -``; ``* / // %``;
sign; ``**``. Operands: numbers, 'strings', names, ``f(…)``, parentheses. Comparisons yield 1 or 0,
so that they can be multiplied.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from assay.errors import AssayError, nearest
from assay.model.placement import Value

Evaluate = Callable[[Mapping[str, Value]], Value]

FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "sin": math.sin,
}

_LONGEST = 20_000  # most characters of an expression
_MOST_DIGITS = 300  # most digits of a number in it
_MOST_BITS = 10_000  # most bits of a power
_LARGEST = 1e300
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>\"[^\"]*\"|'[^']*')"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*|//|[=!<>]=|[-+*/%<>(),]))"
)
_COMPARE: dict[str, Callable[[Value, Value], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SUM: dict[str, Callable[[Value, Value], Value]] = {"+": operator.add, "-": operator.sub}
_PRODUCT: dict[str, Callable[[Value, Value], Value]] = {
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


@dataclass(frozen=True)
class Expression:
    """A parsed expression: its text, the names that it uses, and its value for given names."""

    text: str
    names: frozenset[str]
    _evaluate: Evaluate

    def value(self, names: Mapping[str, Value], *, where: str = "") -> Value:
        """The value. Raises AssayError for an unknown name, division by zero, a string in a sum."""
        for name in self.names:
            if name not in names:
                raise AssayError(
                    f"'{self.text}' uses '{name}', which is unknown here.",
                    where=where,
                    fix=nearest(name, names),
                )
        try:
            return self._evaluate(names)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise AssayError(f"'{self.text}' has no value: {error}.", where=where) from None
        except RecursionError:
            raise AssayError(
                f"'{_short(self.text)}' has no value: it has too many terms.", where=where
            ) from None

    def number(self, names: Mapping[str, Value], *, where: str = "") -> float:
        """The value as a number. Also raises AssayError for a string and for a number that isn't
        finite."""
        value = self.value(names, where=where)
        if isinstance(value, str):
            raise AssayError(f"'{self.text}' is a word, not a number.", where=where)
        if not -_LARGEST <= value <= _LARGEST:
            raise AssayError(f"'{_short(self.text)}' is not a finite number.", where=where)
        return value


def parse_expression(text: str, *, where: str = "") -> Expression:
    """Parse an expression. Raises AssayError with the reason if it is invalid."""
    try:
        names, evaluate = _parse(text)
    except (_SyntaxError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise AssayError(
            f"'{_short(text)}' is not an expression: {why}.",
            where=where,
            fix="Write an expression such as 'cores / 2' or 'ppn * threads <= cores'.",
        ) from None
    return Expression(text, names, evaluate)


def _short(text: str) -> str:
    """An expression as errors show it."""
    return text if len(text) <= 200 else f"{text[:40]}…"


class _SyntaxError(Exception):
    pass


@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[frozenset[str], Evaluate]:
    parser = _Parser(text)
    evaluate = parser.whole()
    return frozenset(parser.names), evaluate


class _Parser:
    """A recursive-descent parser. The method of each precedence level returns a function of the
    names."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        self._tokens: list[tuple[str, str]] = []
        at = 0
        end = len(text.rstrip())
        if end > _LONGEST:
            raise _SyntaxError(f"it has more than {_LONGEST} characters")
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise _SyntaxError(f"nothing begins with '{text[at:].strip()[0]}'")
            kind = match.lastgroup or ""
            self._tokens.append((kind, match[kind]))
            at = match.end()
        self._at = 0

    def whole(self) -> Evaluate:
        result = self._or()
        if self._at < len(self._tokens):
            raise _SyntaxError(f"'{self._tokens[self._at][1]}' is unexpected")
        return result

    def _accept(self, *words: str) -> str | None:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind in ("sign", "name") and text in words:
                self._at += 1
                return text
        return None

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise _SyntaxError(f"a '{sign}' is missing")

    def _or(self) -> Evaluate:
        left = self._and()
        while self._accept("or"):
            left = _both(left, self._and(), lambda a, b: int(bool(a) or bool(b)))
        return left

    def _and(self) -> Evaluate:
        left = self._not()
        while self._accept("and"):
            left = _both(left, self._not(), lambda a, b: int(bool(a) and bool(b)))
        return left

    def _not(self) -> Evaluate:
        if self._accept("not"):
            inner = self._not()
            return lambda names: int(not inner(names))
        return self._comparison()

    def _comparison(self) -> Evaluate:
        left = self._chain(_SUM, lambda: self._chain(_PRODUCT, self._signed))
        sign = self._accept(*_COMPARE)
        if not sign:
            return left
        compare = _COMPARE[sign]
        right = self._chain(_SUM, lambda: self._chain(_PRODUCT, self._signed))
        return _both(left, right, lambda a, b: int(compare(a, b)))

    def _chain(
        self, signs: Mapping[str, Callable[[Value, Value], Value]], part: Callable[[], Evaluate]
    ) -> Evaluate:
        left = part()
        while sign := self._accept(*signs):
            left = _both(left, part(), _numbers_only(signs[sign]))
        return left

    def _signed(self) -> Evaluate:
        sign = self._accept("-", "+")
        if sign == "-":
            inner = self._signed()
            return lambda names: _numbers_only(operator.sub)(0, inner(names))
        return self._signed() if sign else self._power()

    def _power(self) -> Evaluate:
        base = self._atom()
        if not self._accept("**"):
            return base
        return _both(base, self._signed(), _numbers_only(_power))

    def _atom(self) -> Evaluate:
        if self._accept("("):
            inner = self._or()
            self._expect(")")
            return inner
        if self._at == len(self._tokens):
            raise _SyntaxError("it ends too early")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            if len(text) > _MOST_DIGITS or float(text) > _LARGEST:
                raise _SyntaxError(f"'{_short(text)}' is too large a number")
            number: Value = int(text) if text.isdigit() else float(text)
            return lambda names: number
        if kind == "word":
            word = text[1:-1]
            return lambda names: word
        if kind == "sign" or text in ("and", "or", "not"):
            raise _SyntaxError(f"'{text}' is unexpected")
        if self._accept("("):
            return self._call(text)
        self.names.add(text)
        return lambda names: names[text]

    def _call(self, name: str) -> Evaluate:
        if name not in FUNCTIONS:
            raise _SyntaxError(f"there is no function '{name}' ({', '.join(sorted(FUNCTIONS))})")
        function = FUNCTIONS[name]
        arguments = [self._or()]
        while self._accept(","):
            arguments.append(self._or())
        self._expect(")")
        return lambda names: function(*(argument(names) for argument in arguments))


def _both(left: Evaluate, right: Evaluate, join: Callable[[Value, Value], Value]) -> Evaluate:
    return lambda names: join(left(names), right(names))


def _numbers_only(join: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    def joined(left: Value, right: Value) -> Value:
        if isinstance(left, str) or isinstance(right, str):
            raise TypeError("it calculates with a word")
        return join(left, right)

    return joined


def _power(base: Value, exponent: Value) -> Value:
    """``base ** exponent``. Raises ValueError for a large exponent and a result that isn't real."""
    # 10 ** 10 ** 10 would take hours.
    size = base.bit_length() if isinstance(base, int) else 1
    if abs(float(exponent)) > 1000 or size * abs(float(exponent)) > _MOST_BITS:
        raise ValueError("the exponent is too large")
    result: object = operator.pow(base, exponent)
    if not isinstance(result, int | float):
        raise ValueError("it is not a real number")
    return result
