"""No two functions of the package do the same: one piece of logic lies in one place."""

from __future__ import annotations

import ast
import collections
from collections.abc import Iterator

from source_trees import nodes_below, source_trees

LEAST = 4  # statements, nested ones included; a shorter body may be alike by chance

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _body(function: Function) -> list[ast.stmt]:
    """The statements without the docstring."""
    documented = ast.get_docstring(function, clean=False) is not None
    return function.body[1:] if documented else function.body


def _own_names(function: Function) -> set[str]:
    """Names that the function itself binds: parameters and variables."""
    nodes = nodes_below(function)
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _normal(function: Function) -> str:
    """The body with own names numbered in the order of use, and without annotations."""
    own = _own_names(function)
    numbers: dict[str, str] = {}

    def shown(value: object) -> str:
        if isinstance(value, list):
            return f"[{','.join(map(shown, value))}]"
        if not isinstance(value, ast.AST):
            return repr(value)
        if isinstance(value, ast.Name) and value.id in own:
            return numbers.setdefault(value.id, f"name {len(numbers)}")
        if isinstance(value, ast.arg):
            return numbers.setdefault(value.arg, f"name {len(numbers)}")
        fields = ((name, each) for name, each in ast.iter_fields(value) if name != "annotation")
        return f"{type(value).__name__}({','.join(f'{n}={shown(each)}' for n, each in fields)})"

    return shown(_body(function))


def _statements(block: list[ast.stmt]) -> list[ast.stmt]:
    """A block's statements and those within them; expressions are not looked into."""
    found = list(block)
    for one in found:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            found += getattr(one, name, ())
    return found


def _functions(trees: dict[str, ast.Module]) -> Iterator[tuple[str, Function, tuple[type, ...]]]:
    """Functions that are long enough, each with the kinds of its statements."""
    for module, tree in trees.items():
        for node in _statements(tree.body):
            if isinstance(node, Function):
                kinds = tuple(type(each) for each in _statements(_body(node)))
                if len(kinds) >= LEAST:
                    yield f"{module}.{node.name}", node, kinds


def duplicates(trees: dict[str, ast.Module]) -> list[list[str]]:
    """Groups of functions with the same body, names of parameters and variables aside."""
    alike = collections.defaultdict(list)
    for name, function, kinds in _functions(trees):
        alike[kinds].append((name, function))
    same = collections.defaultdict(list)
    for found in alike.values():
        if len(found) > 1:  # only these can have the same body
            for name, function in found:
                same[_normal(function)].append(name)
    return [names for names in same.values() if len(names) > 1]


def test_no_function_is_written_twice() -> None:
    assert duplicates(source_trees()) == []


COPY = """
def {name}({values}: int) -> int:
    total = 0
    for x in {values}:
        total += {called}(x)
    return total
"""


def test_a_copy_with_other_names_is_found() -> None:
    first = ast.parse(COPY.format(name="summed", values="values", called="abs"))
    copy = ast.parse(COPY.format(name="added", values="numbers", called="abs"))
    unlike = ast.parse(COPY.format(name="added", values="numbers", called="len"))
    found = duplicates({"assay.one": first, "assay.other": copy})
    assert found == [["assay.one.summed", "assay.other.added"]]
    assert duplicates({"assay.one": first, "assay.other": unlike}) == []
