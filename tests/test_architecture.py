"""The layout's promises: data flows one way, catalogue and native tree agree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import assay
from assay.cli.app import COMMANDS, HIDDEN
from assay.kernels import kernels

PACKAGE = Path(assay.__file__).parent
NATIVE = PACKAGE.parents[1] / "native"

# May be imported by everybody: words and files that carry no flow.
COMMON = {"errors", "units", "toml", "config", "hostnames", "waiting", "reference", "__init__"}
# Each folder, and what it may import besides the common ones and itself.
ALLOWED = {
    "plans": {"kernels"},
    "kernels": {"plans"},  # the catalogue speaks of parameters' values
    "system": {"kernels", "models"},
    "launch": {"plans", "records", "kernels"},
    "lab": set(),  # a cluster to measure on; it knows nothing of measuring
    "records": {"plans"},
    "stats": {"plans", "records", "kernels"},
    "models": {"plans", "kernels", "system", "stats"},
    "answers": {"plans", "records", "kernels", "stats", "models", "system"},
    "report": {"plans", "records", "kernels", "stats", "models", "system", "answers"},
    "campaign": {
        *("plans", "launch", "records", "kernels", "stats", "system", "models", "report", "cli"),
        "lab",  # what dead ones left is cleaned up with what dead runs left
    },
    # Beside campaign: it drives a program that isn't ours. Of the kernels it takes the place where
    # the native files are.
    "watch": {"stats", "system", "kernels"},
}


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {n.name.split(".")[1] for n in node.names if n.name.startswith("assay.")}
    return found - {"__version__"}


def test_data_flows_one_way() -> None:
    wrong = []
    for folder, allowed in ALLOWED.items():
        for path in (PACKAGE / folder).rglob("*.py"):
            for name in _imports(path) - allowed - COMMON - {folder}:
                wrong.append(f"{path.relative_to(PACKAGE)} imports assay.{name}")
    assert wrong == []


def test_every_folder_has_its_rule() -> None:
    folders = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert folders == set(ALLOWED) | {"cli", "reference"}


def test_a_command_is_a_module_and_is_listed() -> None:
    modules = {p.stem for p in (PACKAGE / "cli").glob("*.py")} - {"__init__", "app", "output"}
    assert modules == {*COMMANDS, *HIDDEN}


def test_commands_import_nothing_heavy_at_the_top() -> None:
    for name in (*COMMANDS, *HIDDEN):
        tree = ast.parse((PACKAGE / "cli" / f"{name}.py").read_text())
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                assert node.module in ("__future__", "pathlib", "typing", "cyclopts"), (
                    f"cli/{name}.py imports {node.module} at its top"
                )


def test_a_kernel_stands_once_in_the_native_tree_and_once_in_the_catalogue() -> None:
    registered = [
        name
        for path in NATIVE.rglob("*.cpp")
        if "tests" not in path.parts and "third_party" not in path.parts
        for name in re.findall(r'ASSAY_KERNEL\("([^"]+)"', path.read_text())
    ]
    assert sorted(registered) == sorted(kernel.name for kernel in kernels())
