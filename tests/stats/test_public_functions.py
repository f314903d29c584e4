"""Each public function of the statistics has a test here, as docs/methods/ says."""

from __future__ import annotations

import ast
from pathlib import Path

import assay.stats

SOURCES = Path(assay.stats.__file__).parent
TESTS = Path(__file__).parent


def public_functions() -> set[tuple[str, str]]:
    """Module and name of each."""
    found = set()
    for path in SOURCES.rglob("*.py"):
        module = ".".join(("assay", "stats", *path.relative_to(SOURCES).with_suffix("").parts))
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found.add((module, node.name))
    return found


def called_functions() -> set[tuple[str, str]]:
    """Module and name of imports of the tests from the statistics that are used by that name.

    A module that is imported whole counts by its attributes.
    """
    found = set()
    for path in TESTS.rglob("test_*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        imported = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assay.stats.")
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in imported:
                found.add(imported[node.id])
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module = imported.get(node.value.id)
                if module is not None:
                    found.add((".".join(module), node.attr))
    return found


def test_each_public_function_is_tested_here() -> None:
    functions = public_functions()
    assert len(functions) > 100
    assert sorted(functions - called_functions()) == []
