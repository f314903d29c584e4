"""The rules of the layout: data flows one way, folders stay small, registries match folders."""

from __future__ import annotations

import ast
import collections
import functools
import re
from pathlib import Path

import assay
from assay import importers, questions, schedulers
from assay.cli.app import COMMANDS, HIDDEN, SUBCOMMANDS
from assay.kernels import kernels
from assay.trace import exports
from assay.usage import accounts

PACKAGE = Path(assay.__file__).parent
NATIVE = PACKAGE.parents[1] / "native"
TESTS = Path(__file__).parent

MOST_MODULES = 16  # of a folder, its __init__ aside

# The packages from the lowest up: each imports those before it alone. Single modules of the top
# level carry no flow and may be imported by all.
ORDER = (
    "config",
    "model",
    "topologies",
    "reference",
    "kernels",
    "plans",
    "records",
    "importers",
    "schedulers",
    "usage",
    "trace",
    "system",
    "lab",
    "launch",
    "stats",
    "models",
    "design",
    "simulation",
    "charts",
    "questions",
    "subjects",
    "report",
    "watch",
    "campaign",
    "cli",
)
# Imports that a package may not have although the target is below it.
APART = {
    "charts": {"kernels", "plans", "launch", "lab", "system", "stats", "models", "design"},
    "design": {"plans", "importers", "schedulers", "trace", "system", "lab", "launch"},
    "simulation": {
        "plans",
        "importers",
        "schedulers",
        "usage",
        "system",
        "lab",
        "launch",
        "records",
        "stats",
    },
    "questions": {"launch", "lab", "plans"},
    "subjects": {"launch", "lab", "plans"},
    "report": {"launch", "lab", "plans"},
    "stats": {"plans", "launch", "lab", "system"},
    "models": {"plans", "launch", "lab", "records", "system"},
    "watch": {
        "plans",
        "launch",
        "lab",
        "records",
        "models",
        "questions",
        "subjects",
        "report",
        "charts",
    },
    "lab": {"model", "kernels", "plans", "records", "system"},
    "schedulers": {"reference", "kernels", "plans"},
    "launch": {"lab", "plans", "system"},
    "records": {"kernels"},
    "importers": {"reference", "kernels", "plans"},
    "usage": {"model", "reference", "kernels", "plans", "records", "importers", "schedulers"},
    "trace": {"model", "reference", "plans", "records", "importers", "schedulers"},
    "system": {"plans", "records"},
}


def _packages() -> set[str]:
    return {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@functools.cache
def _nodes(path: Path) -> list[ast.AST]:
    """All imports and definitions of classes in a file."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef)
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


def _imports(path: Path) -> set[str]:
    """The packages and modules of assay's top level that a file imports, wherever in it."""
    found = set()
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {n.name.split(".")[1] for n in node.names if n.name.startswith("assay.")}
    return found - {"__version__"}


def _top_level_graph() -> dict[str, set[str]]:
    """What each package and each module of the top level imports of the others."""
    graph: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        graph.setdefault(name, set()).update(_imports(path) - {name})
    return graph


def test_no_package_imports_itself_through_others() -> None:
    graph = _top_level_graph()

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = graph.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen

    assert sorted(name for name in graph if name in reached(name)) == []


def test_data_flows_one_way() -> None:
    assert set(ORDER) == _packages()
    wrong = []
    for name in ORDER:
        allowed = set(ORDER[: ORDER.index(name) + 1]) - APART.get(name, set())
        for path in (PACKAGE / name).rglob("*.py"):
            for other in (_imports(path) & set(ORDER)) - allowed:
                wrong.append(f"{path.relative_to(PACKAGE)} imports assay.{other}")
    assert wrong == []


def test_a_folder_holds_a_limited_number_of_modules() -> None:
    folders = collections.Counter(
        path.parent.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    )
    assert {name: count for name, count in folders.items() if count > MOST_MODULES} == {}


def test_a_class_name_means_one_thing() -> None:
    where = collections.defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(path.relative_to(PACKAGE).as_posix())
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_tests_lie_in_folders() -> None:
    assert {path.name for path in TESTS.glob("*.py")} == {
        "conftest.py",
        "test_architecture.py",
        "test_end_to_end.py",
    }


def test_a_scheduler_is_a_module_and_a_line() -> None:
    modules = {path.stem for path in (PACKAGE / "schedulers").glob("*.py")}
    shared = {"__init__", "model", "batch", "commands", "script", "reading", "find"}
    shared |= {"output_relay", "loose_json", "slurm_records", "slurm_reasons"}
    assert modules - shared == set(schedulers.NAMES)
    templates = {path.stem for path in (PACKAGE / "schedulers" / "templates").glob("*.mustache")}
    assert templates == {scheduler.kind for scheduler in schedulers.schedulers()}
    assert [system.name for system in schedulers.systems()] == list(schedulers.NAMES)


def test_an_importer_is_a_module_and_a_line() -> None:
    folder = PACKAGE / "importers"
    modules = {
        f"{kind}.{path.stem}"
        for kind in ("text", "documents")
        for path in (folder / kind).glob("*.py")
    }
    assert modules - {"text.__init__", "documents.__init__"} == set(importers.NAMES)
    found = {*importers.text_importers(), *importers.document_importers()}
    assert found == {name.partition(".")[2] for name in importers.NAMES}
    assert len(found) == len(importers.NAMES)


def test_a_format_of_accounts_is_a_module_and_a_line() -> None:
    shared = {"__init__", "model", "reading", "packed", "documents", "tables", "refusals"}
    shared |= {"values", "stated"}
    modules = {path.stem for path in (PACKAGE / "usage" / "accounts").glob("*.py")} - shared
    assert modules == set(accounts.NAMES)
    assert set(accounts.formats()) == modules


def test_an_export_of_traces_is_a_module_and_a_line() -> None:
    modules = {path.stem for path in (PACKAGE / "trace" / "exports").glob("*.py")}
    assert modules - {"__init__", "model"} == set(exports.NAMES)
    assert set(exports.exports()) == set(exports.NAMES)


def test_a_scheduler_is_named_in_its_own_files_alone() -> None:
    """Flux occurs in its module, its template and its line, and nowhere else."""
    named = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"flux", path.read_text(), re.I)
    }
    read = {"cli/planning/usage.py", "usage/accounts/__init__.py", "usage/accounts/flux.py"}
    assert named - read == {"schedulers/__init__.py", "schedulers/flux.py"}


def test_a_question_is_a_package_and_a_line() -> None:
    packages = {path.parent.name for path in (PACKAGE / "questions").glob("*/__init__.py")}
    packages -= {"common"}
    assert packages == set(questions.NAMES)
    assert [question.name for question in questions.questions()] == list(questions.NAMES)


def test_a_command_is_a_module_and_is_listed() -> None:
    folder = PACKAGE / "cli"
    assert {path.stem for path in folder.glob("*.py")} == {
        "__init__",
        "app",
        "completions",
        "examples",
        "options",
    }
    folders = set(COMMANDS.values()) - {""}
    modules = {
        path.stem: name
        for name in folders
        for path in (folder / name).glob("*.py")
        if path.stem != "__init__"
    }
    assert {**modules, **dict.fromkeys(SUBCOMMANDS, "")} == COMMANDS
    assert {path.name for path in folder.iterdir() if (path / "__init__.py").exists()} == {
        *folders,
        *SUBCOMMANDS,
        "hidden",
    }
    assert {path.stem for path in (folder / "hidden").glob("*.py")} - {"__init__"} == set(HIDDEN)
    for group, commands in SUBCOMMANDS.items():
        modules = {path.stem for path in (folder / group).glob("*.py")}
        assert modules - {"__init__", "describe"} == set(commands)


def test_commands_import_nothing_heavy_at_the_top() -> None:
    light = ("__future__", "pathlib", "typing", "cyclopts", "collections.abc", "assay.cli.options")
    for path in (PACKAGE / "cli").rglob("*.py"):
        if path.name in ("app.py", "completions.py", "describe.py", "examples.py"):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom):
                assert node.module in light, f"{path} imports {node.module} at its top"


def test_a_kernel_occurs_once_in_the_native_tree_and_once_in_the_catalogue() -> None:
    registered = [
        name
        for path in NATIVE.rglob("*.cpp")
        if not {"tests", "third_party"} & {*path.relative_to(NATIVE).parts}
        for name in re.findall(r'ASSAY_KERNEL\("([^"]+)"', path.read_text())
    ]
    assert sorted(registered) == sorted(kernel.name for kernel in kernels())
