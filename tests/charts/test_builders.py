"""What is drawn is said in ``charts`` alone: reports name columns and marks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import assay
from source_trees import all_nodes, module_of

ROOT = Path(assay.__file__).parent
# Keys of Vega-Lite's specifications whose values are parts of these.
RAW = {"encoding", "layer", "mark", "transform"}
# Modules that still write specifications, and how many such keys each has at most.
REMAINING: dict[str, int] = {}


def raw_keys(path: Path) -> Iterator[str]:
    """The keys of Vega-Lite in a module's dictionaries, and in what it reads and sets by key."""
    for node in all_nodes(module_of(path)):
        keys = node.keys if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Subscript):
            keys = [node.slice]
        for key in keys:
            if isinstance(key, ast.Constant) and key.value in RAW:
                yield str(key.value)


def test_only_charts_write_specifications():
    found = {
        str(path.relative_to(ROOT)): sum(1 for _ in raw_keys(path))
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).parts[0] != "charts"
    }
    assert {name: number for name, number in found.items() if number} == REMAINING


def test_the_search_finds_them():
    assert {key for path in (ROOT / "charts").glob("*.py") for key in raw_keys(path)} == RAW
