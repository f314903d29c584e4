"""Everything public in the package is reached from a command, a registry or the Python interface.

What only tests and benchmarks use is no part of the product: it belongs to `tests/support/` or
`benchmarks/`. The test follows names through imports, from the roots to the definitions. It matches
methods by their name, whatever their class.
"""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from source_trees import nodes_below, source_trees

# Modules that are started or imported by name, and which of their names are then in use.
ROOTS = {
    r"assay(\.__main__|\.api|\.manual|\.cli\..*)?": r".*",
    r"assay\.report\.documented\.(findings|terms)_page": r".*",
    r"assay\.kernels\.\w+(\.\w+)?": r"KERNELS?",
    r"assay\.schedulers\.\w+": r"SYSTEM|SCHEDULERS",
    r"assay\.usage\.accounts\.readers\.\w+": r"FORMAT",
    r"assay\.importers\.(text|documents)\.[\w.]+": r"IMPORTER",
    r"assay\.trace\.(samples\.)?exports\.\w+": r"EXPORT",
    r"assay\.check\.facts\.groups\.\w+": r"facts",
    r"assay\.questions\.\w+\.question": r"QUESTION",
}

# Packages that stay although nothing reaches them, each with its reason.
KEPT = {
    "assay.models.linpack.listed": "it also predicts entries of lists, by the names of their parts",
}
# Methods that Python itself calls.
CALLED_BY_PYTHON = {"readinto"}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Name = tuple[str, str]  # a module, and a name of its top level; "" is the module itself


@dataclass
class _Words:
    """What a statement mentions: names, attributes, and strings."""

    names: set[str] = field(default_factory=set)
    attributes: list[ast.Attribute] = field(default_factory=list)
    strings: set[str] = field(default_factory=set)
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)

    @classmethod
    def of(cls, statement: ast.stmt) -> _Words:
        found = cls()
        for node in nodes_below(statement):
            if isinstance(node, ast.Name):
                found.names.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.attributes.append(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.strings.add(node.value)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                found.imports.append(node)
        return found

    def mentioned(self) -> set[str]:
        return self.names | self.strings | {node.attr for node in self.attributes}


class _References:
    """The names of each module's top level, and what each of them refers to."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self.trees = trees
        self.words: dict[Name, list[_Words]] = collections.defaultdict(list)
        self.definitions: dict[Name, Definition] = {}
        self.aliases: dict[str, dict[str, list[Name]]] = {}
        for module, tree in trees.items():
            aliases = self.aliases[module] = collections.defaultdict(list)
            for statement in tree.body:
                words = _Words.of(statement)
                for name in _defined(statement):
                    self.words[module, name].append(words)
                    if isinstance(statement, Definition):
                        self.definitions[module, name] = statement
                for node in words.imports:
                    for alias, target in _imported(node):
                        aliases[alias].append(target)

    def reached(self, roots: Iterable[Name]) -> set[Name]:
        """All names that the roots need, directly or through others."""
        seen: set[Name] = set()
        todo = list(roots)
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.append((name[0], ""))
                for words in self.words[name]:
                    todo.extend(self._needed(name[0], words))
        return seen

    def _needed(self, module: str, words: _Words) -> Iterator[Name]:
        for name in words.names:
            yield from self._resolved(module, name)
        for node in words.attributes:
            for owner in self._modules(module, node.value):
                yield from self._resolved(owner, node.attr)
        for text in words.strings & self.trees.keys():
            yield text, ""  # started by its name

    def _resolved(self, module: str, name: str) -> Iterator[Name]:
        """The definitions that a name stands for in a module; an import is followed."""
        if (module, name) in self.words:
            yield module, name
        for owner, original in self.aliases.get(module, {}).get(name, ()):
            if original == "":
                yield owner, ""
            elif f"{owner}.{original}" in self.trees:
                yield f"{owner}.{original}", ""
            elif owner != module:
                yield from self._resolved(owner, original)

    def _modules(self, module: str, value: ast.expr) -> Iterator[str]:
        """The modules of assay that an expression such as ``memory`` or ``assay.units`` is."""
        if isinstance(value, ast.Name):
            for owner, name in self._resolved(module, value.id):
                if name == "":
                    yield owner
        elif isinstance(value, ast.Attribute):
            for owner in self._modules(module, value.value):
                if f"{owner}.{value.attr}" in self.trees:
                    yield f"{owner}.{value.attr}"


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Name]]:
    """The names that an import of a part of assay binds, and what they stand for."""
    if isinstance(node, ast.ImportFrom):
        if (node.module or "").split(".")[0] == "assay":
            for name in node.names:
                yield name.asname or name.name, (node.module or "", name.name)
    else:
        for name in node.names:
            if name.name.split(".")[0] == "assay":
                yield name.asname or "assay", (name.name if name.asname else "assay", "")


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, Definition):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (part.id for part in nodes_below(target) if isinstance(part, ast.Name))
    elif not isinstance(statement, ast.Import | ast.ImportFrom):
        yield ""


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def unreached(trees: dict[str, ast.Module]) -> tuple[list[str], list[str]]:
    """Functions, classes and modules that no root needs, and methods that nothing mentions."""
    package = _References(trees)
    roots = [
        (module, name)
        for module, name in package.words
        for modules, names in ROOTS.items()
        if re.fullmatch(modules, module) and (name == "" or re.fullmatch(names, name))
    ]
    roots += [name for name in package.words if name[0].startswith(tuple(KEPT))]
    reached = package.reached(roots)
    unused = [
        f"{module}.{name}"
        for module, name in package.definitions
        if _is_public(name) and (module, name) not in reached
    ]
    modules = {module for module, _ in reached} | {each.rpartition(".")[0] for each in trees}
    return unused + sorted(set(trees) - modules), _uncalled(package, reached)


def _uncalled(package: _References, reached: set[Name]) -> list[str]:
    mentioned = CALLED_BY_PYTHON.union(
        *(words.mentioned() for name in reached for words in package.words.get(name, ()))
    )
    return [
        f"{module}.{name}.{method.name}"
        for (module, name), definition in package.definitions.items()
        if (module, name) in reached and module != "assay.api"
        if isinstance(definition, ast.ClassDef)
        for method in definition.body
        if isinstance(method, ast.FunctionDef)
        if _is_public(method.name) and method.name not in mentioned
    ]


def test_everything_public_is_used_by_more_than_tests() -> None:
    unused, uncalled = unreached(source_trees())
    assert unused == []
    assert uncalled == []


def test_what_only_tests_use_is_found() -> None:
    modules = {
        "assay.cli.app": "from assay.load import start\nstart()",
        "assay.load": "from assay import tools\nclass Part:\n    def seen(self): pass\n"
        "    def unseen(self): pass\ndef start(): tools.cut(Part().seen())\ndef idle(): start()",
        "assay.tools": "def cut(part): return part\ndef glue(): return idle",
        "assay.spare": "def idle(): pass",
    }
    unused, uncalled = unreached({name: ast.parse(text) for name, text in modules.items()})
    assert unused == ["assay.load.idle", "assay.tools.glue", "assay.spare.idle", "assay.spare"]
    assert uncalled == ["assay.load.Part.unseen"]
