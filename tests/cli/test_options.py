"""An option that several commands have is declared once, in ``assay.cli.options``."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import assay.cli
from assay.cli import options
from assay.cli.app import COMMANDS, SUBCOMMANDS

FOLDER = Path(assay.cli.__file__).parent
# Options with one name whose meaning, values or explanation depends on the command.
DEPENDS_ON_COMMAND = {
    "anonymize": "what contains names: a report, an export, a specification, a profile",
    "app": "the program of a plan, or of a contract's commitments",
    "budget": "of one ad-hoc sweep, or of a plan and its sessions",
    "bundle": "an archive of an acceptance, or of runs",
    "cluster": "a switch of doctor, a name for references",
    "every": "a session's period, or all labs",
    "example": "a specification of a design, or a description to simulate",
    "fail_on": "each command has its own conditions",
    "folder": "of records, of heartbeats, or of the checks of a fleet",
    "format_": "history and export have formats that reports don't have",
    "from_": "of a node's catalogue, or of a cluster's description",
    "here": "run also continues here what was submitted",
    "json": "design, simulate, usage and compare print findings; others explain their own",
    "junit": "runs writes it only with --follow",
    "keep": "a switch of measure, a folder for simulate",
    "kernel": "a filter of history and references",
    "launches": "a range per cell, or the repetitions of a profile",
    "name": "an argument of the lab commands and of kernels",
    "nodes": "of a cell, a plan, a kernel's job, or a modelled machine",
    "order": "profile uses it only for a kernel",
    "patience": "for a job's start, or for a step",
    "ppn": "defaults differ: a kernel's minimum, a plan's, all cores",
    "precision": "defaults differ: 1%, or a plan's",
    "profile": "of the command to measure, or of a program whose delay is reported",
    "program": "a program's number, a profile's folder, or a simulated program",
    "read": "a profile, or the launches of why",
    "report": "runs writes it only with --follow",
    "run": "an argument of report and runs, a source of variation for usage",
    "samples": "a range per cell, or a switch of export",
    "seed": "of the cells' order, of draws, or of a synthetic load",
    "since": "a log counts its last days from its end, history from today",
    "spec": "of a lab, or of a design",
    "submit": "run submits by default if assay.toml has a scheduler",
    "suite": "an argument of run, a filter of history",
    "system": "a filter of history, a name for import",
    "threads": "profile uses it only for a kernel",
    "time": "of the program of --app: a plan's, or a contract's",
    "timeout": "of a program, of executables beside kernels, or of a contract's program",
    "toolchain": "one to build with, or several to compare",
    "until": "of a log's times, or of runs' days",
    "verify": "of the program of --app: a plan's, or a contract's",
    "user": "who runs in a lab, or whose jobs are counted",
    "verbose": "a check prints evidence, and other commands tables and caveats",
    "walltime": "defaults differ: 1 h, or an estimate",
}
# Hidden commands serve no users.
_COMMANDS = [
    *(FOLDER / folder / f"{name}.py" for name, folder in COMMANDS.items() if folder),
    *(FOLDER / group / f"{name}.py" for group, names in SUBCOMMANDS.items() for name in names),
]


def command_of(path: Path) -> ast.FunctionDef:
    """The function of a command's module: its first public one."""
    body = ast.parse(path.read_text("utf-8")).body
    return next(
        part for part in body if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")
    )


def types_of(function: ast.FunctionDef) -> dict[str, str]:
    """The annotations of a command's parameters, by name."""
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return {each.arg: ast.unparse(each.annotation) for each in parameters if each.annotation}


def repeated() -> dict[str, set[str]]:
    """The types of each option that several commands have."""
    types: dict[str, list[str]] = defaultdict(list)
    for path in _COMMANDS:
        for name, annotation in types_of(command_of(path)).items():
            types[name].append(annotation)
    return {name: set(found) for name, found in types.items() if len(found) > 1}


def declared_once(types: set[str]) -> bool:
    """Whether all commands use the same declaration of ``assay.cli.options``."""
    return len(types) == 1 and types != {"Flag"} and hasattr(options, *types)


def declared_with_help() -> set[str]:
    """The declarations of options that have a help text."""
    text = Path(options.__file__).read_text("utf-8")
    return {
        part.targets[0].id
        for part in ast.parse(text).body
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and "help=" in ast.unparse(part)
    }


def test_an_option_of_several_commands_is_declared_once() -> None:
    found = {name for name, types in repeated().items() if not declared_once(types)}
    assert found <= DEPENDS_ON_COMMAND.keys()


def test_the_list_of_exceptions_holds_only_such_options() -> None:
    repeats = repeated()
    assert {name for name in DEPENDS_ON_COMMAND if declared_once(repeats.get(name, set()))} == set()
    assert repeats.keys() >= DEPENDS_ON_COMMAND.keys()


def test_no_command_explains_what_the_declaration_explains() -> None:
    """A docstring's text would never be shown."""
    explained = declared_with_help()
    assert {"ConfigFile", "JsonFindings", "Verbose"} <= explained
    for path in _COMMANDS:
        function = command_of(path)
        documented = set(re.findall(r"(?m)^(\w+)$", ast.get_docstring(function) or ""))
        for name, annotation in types_of(function).items():
            assert annotation not in explained or name not in documented, f"{path}: {name}"
