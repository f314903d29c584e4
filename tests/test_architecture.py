"""The rules of the layout: data flows one way, folders stay small, registries match folders."""

from __future__ import annotations

import ast
import collections
import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import assay
from assay import importers, questions, schedulers, subjects, version
from assay.cli.app import COMMANDS, HIDDEN, SUBCOMMANDS
from assay.kernels import kernels
from assay.subjects.subject import Subject
from assay.trace import exports
from assay.trace.samples import exports as sample_exports
from assay.usage import accounts
from source_trees import all_nodes, module_of, nodes_below, source_trees

PACKAGE = Path(assay.__file__).parent
NATIVE = PACKAGE.parents[1] / "native"
TESTS = Path(__file__).parent

MOST_MODULES = 16  # of a folder, its __init__ aside

# The packages from the lowest up: each imports those before it alone. Single modules of the top
# level carry no flow and may be imported by all.
ORDER = (
    "units",
    "config",
    "model",
    "topologies",
    "reference",
    "kernels",
    "plans",
    "records",
    "importers",
    "schedulers",
    "trace",
    "system",
    "lab",
    "launch",
    "stats",
    "check",
    "usage",
    "models",
    "design",
    "simulation",
    "acceptance",
    "charts",
    "questions",
    "subjects",
    "report",
    "watch",
    "campaign",
    "cli",
)
# The folders of packages whose own layers matter, from the lowest up.
FOLDER_ORDER = {
    "campaign": (
        "cells", "budget", "machine", "engine", "requests", "jobs", "commands", "explaining",
    ),
    "design": ("parts", "costs", "spec", "alternatives"),
    "stats": (
        "core", "cells", "compare", "repeats", "changes", "noise", "fleet", "attribution",
    ),
}  # fmt: skip
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
    "acceptance": {
        "plans",
        "importers",
        "schedulers",
        "trace",
        "system",
        "lab",
        "launch",
        "check",
        "usage",
        "models",
        "design",
        "simulation",
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
    "usage": {
        "model",
        "reference",
        "kernels",
        "plans",
        "records",
        "importers",
        "schedulers",
        "trace",
        "system",
        "lab",
        "launch",
    },
    "trace": {"model", "reference", "plans", "records", "importers", "schedulers"},
    "system": {"plans", "records"},
    "check": {"plans", "lab", "launch"},
}


def _packages() -> set[str]:
    return {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@functools.cache
def _nodes(path: Path) -> list[ast.AST]:
    """All imports and definitions of classes in a file."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef)
    return [node for node in all_nodes(module_of(path)) if isinstance(node, kinds)]


def _imports(path: Path) -> set[str]:
    """The packages and modules of assay's top level that a file imports, wherever in it."""
    found = set()
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {n.name.split(".")[1] for n in node.names if n.name.startswith("assay.")}
    return found


def _top_level_graph() -> dict[str, set[str]]:
    """What each package and each module of the top level imports of the others."""
    graph: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        graph.setdefault(name, set()).update(_imports(path) - {name})
    return graph


def _circles(graph: Mapping[str, set[str]]) -> list[str]:
    """The nodes from which a way leads back to themselves, sorted."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = graph.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen

    return sorted(name for name in graph if name in reached(name))


@functools.cache
def _module_graph() -> dict[str, set[str]]:
    """What each module imports of the others: at its top, in functions, for type checkers alike.

    ``from assay.kernels import building`` is an import of the module ``building``, and
    ``from assay.kernels import kernels`` one of the package's ``__init__``. The imports of parent
    packages that these imply are left out.
    """
    names = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        found = set()
        for node in _nodes(path):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name} has a relative import"
                whole = [f"{node.module}.{each.name}" for each in node.names]
                found |= {one if one in names else str(node.module) for one in whole}
            elif isinstance(node, ast.Import):
                found |= {each.name for each in node.names}
        graph[name] = (found & set(names)) - {name}
    return graph


def _folder_graph(package: str) -> dict[str, set[str]]:
    """What the folders of a package, such as ``assay.campaign``, import of one another."""
    inside = f"{package}."

    def folder(module: str) -> str:
        return module.removeprefix(inside).split(".")[0] if module.startswith(inside) else ""

    place = PACKAGE.parent.joinpath(*package.split("."))
    graph: dict[str, set[str]] = {path.parent.name: set() for path in place.glob("*/__init__.py")}
    for name, imported in _module_graph().items():
        if folder(name) in graph:
            graph[folder(name)] |= ({folder(other) for other in imported} & set(graph)) - {
                folder(name)
            }
    return graph


def test_no_package_imports_itself_through_others() -> None:
    assert _circles(_top_level_graph()) == []


def test_no_module_imports_itself_through_others() -> None:
    """An import within a function or for type checkers hides such a circle, and is no way out."""
    assert _circles(_module_graph()) == []


def test_no_folder_imports_itself_through_others() -> None:
    packages = {
        ".".join(path.parent.relative_to(PACKAGE.parent).parts)
        for path in PACKAGE.rglob("__init__.py")
    }
    circles = {name: _circles(_folder_graph(name)) for name in packages}
    assert {name: found for name, found in circles.items() if found} == {}


def test_folders_of_a_package_have_their_order() -> None:
    wrong = []
    for package, order in FOLDER_ORDER.items():
        graph = _folder_graph(f"assay.{package}")
        assert set(order) == set(graph)
        for place, name in enumerate(order):
            wrong += [f"{package}: {name} imports {o}" for o in graph[name] - set(order[:place])]
    assert wrong == []


def test_data_flows_one_way() -> None:
    assert set(ORDER) == _packages()
    wrong = []
    for name in ORDER:
        allowed = set(ORDER[: ORDER.index(name) + 1]) - APART.get(name, set())
        for path in (PACKAGE / name).rglob("*.py"):
            for other in (_imports(path) & set(ORDER)) - allowed:
                wrong.append(f"{path.relative_to(PACKAGE)} imports assay.{other}")
    assert wrong == []


def test_nothing_imports_the_package_itself() -> None:
    """Its public interface imports most of the package; the version is in ``assay.version``."""
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        for node in _nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module == "assay":
                wrong.append(f"{path.relative_to(PACKAGE)}: from assay import …")
            elif isinstance(node, ast.Import) and any(one.name == "assay" for one in node.names):
                wrong.append(f"{path.relative_to(PACKAGE)}: import assay")
    assert wrong == []


def test_the_version_has_one_source() -> None:
    """The build of packages reads it from the module that all others import."""
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    stated = project["tool"]["hatch"]["version"]["path"]
    assert PACKAGE.parents[1] / stated == Path(version.__file__)
    assert assay.__version__ == version.VERSION
    literal = f'"{version.VERSION}"'
    found = [path.name for path in PACKAGE.rglob("*.py") if literal in path.read_text("utf-8")]
    assert found == ["version.py"]


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
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for kind in ("text", "documents")
        for path in (folder / kind).rglob("*.py")
        if path.stem != "__init__"
    }
    assert modules == set(importers.NAMES)
    found = {*importers.text_importers(), *importers.document_importers()}
    assert found == {name.rpartition(".")[2] for name in importers.NAMES}
    assert len(found) == len(importers.NAMES)


def test_a_format_of_accounts_is_a_module_and_a_line() -> None:
    folder = PACKAGE / "usage" / "accounts" / "readers"
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert modules == set(accounts.NAMES)
    assert set(accounts.formats()) == modules


def test_an_export_of_traces_is_a_module_and_a_line() -> None:
    modules = {path.stem for path in (PACKAGE / "trace" / "exports").glob("*.py")}
    assert modules - {"__init__", "model"} == set(exports.NAMES)
    assert set(exports.exports()) == set(exports.NAMES)


def test_an_export_of_samples_is_a_module_and_a_line() -> None:
    modules = {path.stem for path in (PACKAGE / "trace" / "samples" / "exports").glob("*.py")}
    assert modules - {"__init__", "model"} == set(sample_exports.NAMES)
    assert set(sample_exports.sample_exports()) == set(sample_exports.NAMES)


def test_a_scheduler_is_named_in_its_own_files_alone() -> None:
    """Flux occurs in its module, its template and its line, and nowhere else."""
    named = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"flux", path.read_text(), re.I)
    }
    read = {"cli/planning/usage.py", "usage/accounts/__init__.py", "usage/accounts/readers/flux.py"}
    assert named - read == {"schedulers/__init__.py", "schedulers/flux.py"}


def test_a_question_is_a_package_and_a_line() -> None:
    packages = {path.parent.name for path in (PACKAGE / "questions").glob("*/__init__.py")}
    packages -= {"common"}
    assert packages == set(questions.NAMES)
    assert [question.name for question in questions.questions()] == list(questions.NAMES)


def test_a_subject_is_a_package_and_a_line() -> None:
    folder = PACKAGE / "subjects"
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules = {
        ".".join(path.relative_to(folder).parts[:-1]) for path in folder.rglob("*/subject.py")
    }
    assert packages == {name for name in subjects.NAMES if "." not in name}
    assert modules == set(subjects.NAMES)
    found = subjects.subjects()
    assert all(isinstance(subject, Subject) for subject in found)
    assert len({subject.name for subject in found}) == len(subjects.NAMES)


def test_a_command_is_a_module_and_is_listed() -> None:
    folder = PACKAGE / "cli"
    assert {path.stem for path in folder.glob("*.py")} == {
        "__init__",
        "app",
        "completions",
        "examples",
        "limits",
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
        if path.name in ("app.py", "completions.py", "describe.py", "examples.py", "limits.py"):
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


def test_a_function_changes_a_part_or_returns_something() -> None:
    """A helper of an answer that changes its ``part`` returns nothing: else it does two things."""
    both = []
    for module in source_trees():
        if not module.startswith(("assay.questions.", "assay.subjects.")):
            continue
        for node in all_nodes(module):
            if isinstance(node, ast.FunctionDef) and _changed_parts(node):
                returned = ast.unparse(node.returns) if node.returns else ""
                if returned != "None":
                    both.append(f"{module}: {node.name} -> {returned}")
    assert both == []


def _changed_parts(function: ast.FunctionDef) -> set[str]:
    """The parameters of type Part of which the function assigns, extends or passes on a field."""
    arguments = [*function.args.args, *function.args.kwonlyargs]
    parts = {
        each.arg
        for each in arguments
        if isinstance(each.annotation, ast.Name) and each.annotation.id == "Part"
    }
    changed = set()
    for node in nodes_below(function):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("append", "extend", "insert"):
                targets = [node.func.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            # A helper that gets the part as an argument may change it.
            changed |= {a.id for a in node.args if isinstance(a, ast.Name)} & parts
        changed |= {
            target.value.id
            for target in targets
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
        } & parts
    return changed


# Arguments that a call may pass by position; from one more on, nobody can tell which is which.
MOST_BY_POSITION = 5


def test_wide_calls_name_their_arguments() -> None:
    """Calls of what assay defines, except functions that take any number of arguments."""
    trees = source_trees()
    wide = []
    for name in trees:
        for call in all_nodes(name):
            if isinstance(call, ast.Call) and len(call.args) > MOST_BY_POSITION:
                called = _definition(call.func, name)
                if isinstance(called, ast.ClassDef) or (called and not called.args.vararg):
                    wide.append(f"{name}:{call.lineno}: {ast.unparse(call.func)}")
    assert wide == []


def _definition(called: ast.expr, module: str) -> ast.FunctionDef | ast.ClassDef | None:
    """The function or class of assay that is called; a method counts by its name in the module."""
    if isinstance(called, ast.Attribute):
        if not (isinstance(called.value, ast.Name) and called.value.id in ("self", "cls")):
            return None
        return _defined(called.attr, module)
    if not isinstance(called, ast.Name):
        return None
    if (found := _defined(called.id, module)) is not None:
        return found
    for node in all_nodes(module):
        if isinstance(node, ast.ImportFrom) and node.module in source_trees():
            for alias in node.names:
                if (alias.asname or alias.name) == called.id:
                    return _defined(alias.name, node.module)
    return None


def _defined(name: str, module: str) -> ast.FunctionDef | ast.ClassDef | None:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next((n for n in all_nodes(module) if isinstance(n, kinds) and n.name == name), None)
