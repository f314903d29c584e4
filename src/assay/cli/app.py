"""The ``assay`` command: the table of its subcommands, which are imported when called."""

from __future__ import annotations

import inspect
import io
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent

from cyclopts import App, CycloptsError

from assay.cli.examples import example_commands, laid_out
from assay.version import VERSION

# The commands in the order of the help, one module each, with the folder of each module. The
# module's docstring is the command's help with examples, read without importing it. If a command's
# name is a Python keyword, its module ends in an underscore.
COMMANDS = {
    "run": "measuring",
    "measure": "measuring",
    "watch": "measuring",
    "profile": "measuring",
    "why": "measuring",
    "report": "results",
    "history": "results",
    "usage": "planning",
    "design": "planning",
    "simulate": "planning",
    "accept": "planning",
    "compare": "results",
    "export": "results",
    "import_": "results",
    "runs": "results",
    "site": "results",
    "system": "machine",
    "kernels": "machine",
    "references": "results",
    "lab": "",
    "doctor": "machine",
    "check": "machine",
}
# Exit status as a shell's after SIGPIPE.
_BROKEN_PIPE = 141
# Commands for job scripts and shells, hidden from users: modules of the folder ``hidden``.
HIDDEN = ("job", "complete")
# Subcommands of a command that is a package: their functions by name.
SUBCOMMANDS = {"lab": {"up": "up", "list": "list_labs", "run": "run", "down": "down"}}

app = App(
    name="assay",
    help="Measure a machine or a cluster, and report how fast it is, how far from its limits, "
    "and with what confidence.",
    version=VERSION,
    help_format="plaintext",
)


def help_of(*names: str) -> tuple[str, str]:
    """The help of a command and its examples, a line each, from the docstring of its module."""
    path = Path(__file__).parent.joinpath(COMMANDS.get(names[0], ""), *names)
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = path.read_text("utf-8").partition('"""')[2].partition('"""')[0]
    summary, _, examples = text.partition("\n\nExamples::\n\n")
    if not examples:
        return summary.partition("\n\n")[0], ""
    return summary, dedent(examples).strip()


def _epilogue(examples: str) -> str:
    """The examples below the options, as wide as the terminal."""
    if not examples:
        return ""
    return f"Examples:\n{laid_out(examples, shutil.get_terminal_size().columns)}"


def command_name(name: str) -> str:
    """The name of a command on the command line."""
    return name.removesuffix("_")


def _group(name: str, commands: Mapping[str, str]) -> App:
    summary, examples = help_of(name)
    group = App(
        name=name,
        help=summary,
        help_epilogue=_epilogue(examples),
        help_format="plaintext",
        version_flags=(),
    )
    for below, function in commands.items():
        summary, examples = help_of(name, below)
        target = f"assay.cli.{name}.{below}:{function}"
        group.command(target, name=below, help=summary, help_epilogue=_epilogue(examples))
    return group


for _name in COMMANDS:
    if _name in SUBCOMMANDS:
        app.command(_group(_name, SUBCOMMANDS[_name]))
        continue
    _help, _examples = help_of(_name)
    app.command(
        f"assay.cli.{COMMANDS[_name]}.{_name}:{_name}",
        name=command_name(_name),
        help=_help,
        help_epilogue=_epilogue(_examples),
    )
for _name in HIDDEN:
    _target = f"assay.cli.hidden.{_name}:{_name}"
    app.command(_target, name=_name, help=help_of("hidden", _name)[0], show=False)


def _misused(error: CycloptsError, given: Sequence[str]) -> tuple[str, str]:
    """What is wrong with the arguments of a command, and how to fix it, with an example."""
    from cyclopts import MissingArgumentError
    from cyclopts.exceptions import UnusedCliTokensError

    modules = {command_name(name): name for name in COMMANDS}
    names = [modules[word] for word in given[:1] if word in modules]
    names += [word for word in given[1:2] if names and word in SUBCOMMANDS.get(names[0], ())]
    what, option = str(error), ""
    argument = getattr(error, "argument", None)
    if argument is not None and argument.names:
        option = argument.names[0]
        if isinstance(error, MissingArgumentError):
            positional = argument.field_info.kind is not inspect.Parameter.KEYWORD_ONLY
            name = option.removeprefix("--").upper()
            what = f"{name} is missing." if positional else f"{option} needs a value."
    elif isinstance(error, UnusedCliTokensError):
        words = [word for word in given if f"'{word}'" in what]
        listed = ", ".join(f"'{word}'" for word in words) or "A word"
        what = f"{listed} {'is' if len(words) < 2 else 'are'} too much."
    help_command = " ".join(("assay", *map(command_name, names), "--help"))
    fix = f"`{help_command}` says what it takes."
    if names and names[0] not in HIDDEN:
        examples = example_commands(help_of(*names)[1])
        # An example with the option in question if there is one; else the first.
        fitting = [line for line in examples if option and f"{option} " in line] or examples
        if fitting:
            fix = f"Such as: {fitting[0]}\n       {fix}"
    return what, fix


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, run the command, and exit with its status: 0 done, 1 by --fail-on, 2
    wrong input.

    Errors are printed in one sentence; the details of unexpected ones are saved in a file.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _run(given)
    except BaseException as error:
        status = _failed(error, given)
    sys.exit(status)


def _run(given: Sequence[str]) -> int:
    from assay.cli.limits import check_limits
    from assay.cli.options import with_values
    from assay.conditions import check_surroundings, name_output

    given = with_values(given)
    check_surroundings()
    name_output()
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")
    check_limits(given, [*map(command_name, COMMANDS), *HIDDEN])
    status = app(given, result_action="return_value", exit_on_error=False, print_error=False)
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _failed(error: BaseException, given: Sequence[str]) -> int:
    """Print what went wrong, and return the exit status."""
    from assay.conditions import condition, discard_output
    from assay.console import print_error, unforeseen
    from assay.errors import INTERRUPTED, AssayError

    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):  # the reader of the output has ended
        discard_output()
        return _BROKEN_PIPE
    if isinstance(error, CycloptsError):
        what, fix = _misused(error, given)
        print_error(what, fix=fix)
        return 2
    found = error if isinstance(error, AssayError) else condition(error)
    if found is not None:
        print_error(found.what, where=found.where, fix=found.fix, detail=found.detail)
    else:
        print_error(**unforeseen(error))
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()
    return 2 if found is None else found.status
