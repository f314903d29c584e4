"""The line of every key is known: the generator that writes the file counts lines."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.toml import dotted, load_toml, parse_toml

FILE = Path("plan.toml")


def lines_of(text: str) -> dict[tuple[str | int, ...], int]:
    return dict(parse_toml(text, FILE).lines)


def test_tables_arrays_inline_tables_and_quoted_keys():
    text = '''\
# comment with [brackets] and "quotes
name = "x # not a comment"
a.b . "c d" = 1
[toolchains.gcc]
flags = """
[not.a.table]
key = 1 \\""" still inside"""
blas = { libraries = ["p", "q"], "in side" = { deep = true } } # end
[[sweep]]
sizes = [ 1, # one
  2,
  # comment ]
  3, ]
[sweep.factor]
x = 1979-05-27 07:32:00
[[sweep]]
[[sweep.part]]
y = 'C:\\'
[toolchains]
z = \'\'\'a\'\'\'\'\'
last = 1'''
    assert lines_of(text) == {
        ("name",): 2,
        ("a",): 3,
        ("a", "b"): 3,
        ("a", "b", "c d"): 3,
        ("toolchains",): 19,
        ("toolchains", "gcc"): 4,
        ("toolchains", "gcc", "flags"): 5,
        ("toolchains", "gcc", "blas"): 8,
        ("toolchains", "gcc", "blas", "libraries"): 8,
        ("toolchains", "gcc", "blas", "libraries", 0): 8,
        ("toolchains", "gcc", "blas", "libraries", 1): 8,
        ("toolchains", "gcc", "blas", "in side"): 8,
        ("toolchains", "gcc", "blas", "in side", "deep"): 8,
        ("sweep",): 9,
        ("sweep", 0): 9,
        ("sweep", 0, "sizes"): 10,
        ("sweep", 0, "sizes", 0): 10,
        ("sweep", 0, "sizes", 1): 11,
        ("sweep", 0, "sizes", 2): 13,
        ("sweep", 0, "factor"): 14,
        ("sweep", 0, "factor", "x"): 15,
        ("sweep", 1): 16,
        ("sweep", 1, "part"): 17,
        ("sweep", 1, "part", 0): 17,
        ("sweep", 1, "part", 0, "y"): 18,
        ("toolchains", "z"): 20,
        ("toolchains", "last"): 21,
    }


def paths_of(data: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Every key path of parsed data, by a simple reference for which paths must have a line."""
    below = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    return {path} | {p for key, value in below for p in paths_of(value, (*path, key))}


keys = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
    st.sampled_from(["a.b", "x y", "#", "]", "=", "ü", '"', "\\", "'", ""]),
)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


scalars = st.one_of(
    st.integers(-99, 99).map(str),
    st.sampled_from(["true", "1.5e3", "inf", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00"]),
    st.sampled_from(["[t]", "# no", '"', "'", "a = 1", "}", "\\", ""]).map(quoted),
    st.sampled_from(["'[t]'", "'# \"no'", "'\\'", "''", '"""a\n[x]\n""b"""', '""""""']),
    st.sampled_from(["'''\n#\n'''", "''''''", '"""\\\n  x""""', "'''it's''''", '"""\\""""""']),
)
gaps = st.sampled_from(["", " ", "\n", ' # ]} "\n', "\n\n\t"])


@st.composite
def values(draw, depth: int = 2) -> str:
    kind = draw(st.sampled_from(["scalar", "array", "table"])) if depth else "scalar"
    if kind == "array":
        parts = [
            draw(gaps) + draw(values(depth=depth - 1)) + draw(gaps)
            for _ in range(draw(st.integers(0, 3)))
        ]
        return "[" + ",".join(parts) + (draw(st.sampled_from([",", ""])) if parts else "") + "]"
    if kind == "table":
        names = draw(st.lists(keys, max_size=3, unique=True))
        pairs = [f"{quoted(name)} = {draw(values(depth=depth - 1))}" for name in names]
        return "{ " + ", ".join(pairs) + " }"
    return draw(scalars)


@st.composite
def documents(draw) -> tuple[str, dict[tuple[str | int, ...], int]]:
    """A document and, counted while writing it, the lines of its statements."""
    text, expected, arrays = "", {}, {}
    table: tuple[str | int, ...] = ()
    used: dict[tuple[str | int, ...], set[str]] = {}
    for number in range(draw(st.integers(1, 8))):
        text += draw(st.sampled_from(["", "# [c]\n", "\n", "  ", "\r\n"]))
        line = text.count("\n") + 1
        kind = draw(st.sampled_from(["pair", "pair", "pair", "table", "array"]))
        if kind == "pair":
            key = draw(keys.filter(lambda k, t=table: k not in used.get(t, set())))
            used.setdefault(table, set()).add(key)
            expected[*table, key] = line
            text += f"{quoted(key)}\t= {draw(values())}"
        elif kind == "table":
            table = (f"t{number}", draw(keys))
            expected[table] = line
            text += f"[ {table[0]} . {quoted(str(table[1]))} ]"
        else:
            name = draw(st.sampled_from(["m n", "o.p"]))
            if name in used.get((), set()) and name not in arrays:
                continue  # a pair of the root table has taken the name
            used.setdefault((), set()).add(name)
            index = arrays[name] = arrays.get(name, -1) + 1
            table = (name, index)
            expected[table] = line
            text += f"[[{quoted(name)}]] # x"
        text += "\n"
    return text, expected


@settings(max_examples=200, deadline=None)
@given(documents())
def test_fuzz_every_path_has_a_line_and_statements_have_theirs(document):
    text, expected = document
    data = tomllib.loads(text)
    lines = lines_of(text)
    assert set(lines) == paths_of(data) - {()}
    assert {path: lines[path] for path in expected} == expected


def test_where_falls_back_to_the_innermost_table():
    document = parse_toml("[a]\nb = 1\n", FILE)
    assert document.where(["a", "b"]) == "plan.toml:2"
    assert document.where(["a", "missing", 3]) == "plan.toml:1"
    assert document.where(["missing"]) == "plan.toml"
    assert document.where([]) == "plan.toml"


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb = \n", 2), ("a = 1\n\nb = [1,\n2\n", 4), ("a = 1\na = 2", 2), ("[a\n", 1)],
)
def test_not_toml_names_the_line(tmp_path, text, line):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(AssayError) as error:
        load_toml(path)
    assert error.value.where == f"{path}:{line}"
    assert error.value.what.startswith("The file is not valid TOML: ")


def test_files_that_cannot_be_read(tmp_path):
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"a = 1\nb = '\xfc'\n")
    with pytest.raises(AssayError, match="not UTF-8") as error:
        load_toml(latin)
    assert error.value.where == f"{latin}:2"
    with pytest.raises(AssayError, match="No such file"):
        load_toml(tmp_path / "none.toml")
    with pytest.raises(AssayError, match="nesting is too deep"):
        parse_toml("a = " + "[" * 9000 + "]" * 9000, FILE)


class Part(msgspec.Struct):
    size: int
    kind: Literal["block", "cyclic"] = "block"


class Whole(msgspec.Struct):
    name: str = ""
    scale: float = 1.0
    parts: tuple[Part, ...] = ()
    by_name: dict[str, Part] = {}
    inner: Part | None = None
    words: tuple[str, ...] | str = ()


def read(text: str) -> Whole:
    document = parse_toml(text, FILE)
    return document.read([], document.data, Whole)


def test_read_into_structs():
    whole = read(
        'name = "n"\nscale = 2\nwords = ["w"]\ninner = {size = 3}\n[[parts]]\nsize = 1\n'
        '[by_name.x]\nsize = 2\nkind = "cyclic"\n'
    )
    assert whole == Whole("n", 2.0, (Part(1),), {"x": Part(2, "cyclic")}, Part(3), ("w",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nnane = 1", "plan.toml:1: Unknown key 'x'. Valid are: by_name, inner, name,"),
        ("nane = 1", "plan.toml:1: Unknown key 'nane'. Did you mean 'name'?"),
        ("\nname = 1", "plan.toml:2: 'name' must be a string, not a whole number."),
        ("scale = true", "plan.toml:1: 'scale' must be a number, not true or false."),
        ("[[parts]]\nsize=1\n[[parts]]", "plan.toml:3: [parts[1]] has no 'size'. Add size = …"),
        ("[[parts]]\nsize=1\n\nzise=1", "plan.toml:4: Unknown key 'zise' in [parts[0]]."),
        ("[by_name.q]\nsize = 1.5", "plan.toml:2: 'by_name.q.size' must be a whole number, not"),
        ("[inner]\nsize = 1\nkind = 'cyclc'", "plan.toml:3: 'inner.kind' can't be 'cyclc'. Did"),
        ("parts = 1", "plan.toml:1: 'parts' must be an array, not a whole number."),
        ("by_name = 1", "plan.toml:1: 'by_name' must be a table, not a whole number."),
        ("words = ['a',\n 1]", "plan.toml:2: 'words[1]' must be a string, not a whole number."),
    ],
)
def test_read_says_what_is_wrong_and_where(text, message):
    with pytest.raises(AssayError) as error:
        read(text)
    assert str(error.value).startswith(message)


def test_dotted():
    assert dotted(["a", 0, "b c"]) == 'a[0]."b c"'
