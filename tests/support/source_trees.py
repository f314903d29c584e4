"""The syntax trees of all modules of the package, parsed once for the tests that read them."""

from __future__ import annotations

import ast
import functools
import gc
from pathlib import Path

import assay

PACKAGE = Path(assay.__file__).parent


@functools.cache
def source_trees() -> dict[str, ast.Module]:
    """The tree of each module of assay, by its full name such as ``assay.usage.use``."""
    # The trees are millions of objects and stay until the end: looking for garbage among them takes
    # three times as long as parsing.
    gc.disable()
    trees = {module_of(path): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}
    gc.freeze()
    gc.enable()
    return trees


@functools.cache
def all_nodes(module: str) -> list[ast.AST]:
    """All nodes of a module of assay, by the module's full name."""
    return nodes_below(source_trees()[module])


def nodes_below(node: ast.AST) -> list[ast.AST]:
    """All nodes of a tree, in no particular order; several times as fast as ``ast.walk``."""
    found = [node]
    for one in found:
        for value in vars(one).values():
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return found


def module_of(path: Path) -> str:
    """The full name of a module of assay."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
