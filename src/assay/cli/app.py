"""The ``assay`` command: its table of contents. Commands are imported when they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent, indent

from cyclopts import App

from assay import __version__

# The commands, a module each. Its docstring is the command's help and its examples, which are read
# without importing it. A command that is a word of Python's has an underscore at its module's end.
COMMANDS = (
    "run",
    "measure",
    "watch",
    "report",
    "history",
    "import_",
    "runs",
    "system",
    "kernels",
    "lab",
    "doctor",
)
# What job scripts run; nothing for people.
HIDDEN = ("job",)
# Commands below a command, which is a package: by their names the functions.
SUBCOMMANDS = {"lab": {"up": "up", "list": "list_labs", "run": "run", "down": "down"}}

app = App(
    name="assay",
    help="Measure a machine or a cluster, and say what it is worth: how fast it is, how far from "
    "its limits, and how sure that is.",
    version=__version__,
    help_format="plaintext",
)


def help_of(*names: str) -> tuple[str, str]:
    """The help of a command and its examples, from the docstring of its module."""
    path = Path(__file__).parent.joinpath(*names)
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = path.read_text("utf-8").partition('"""')[2].partition('"""')[0]
    summary, _, examples = text.partition("\n\nExamples::\n\n")
    if not examples:
        return summary.partition("\n\n")[0], ""
    return summary, "Examples:\n" + indent(dedent(examples).strip(), "  ")


def spoken(name: str) -> str:
    """What a command is called on the command line."""
    return name.removesuffix("_")


def _group(name: str, commands: Mapping[str, str]) -> App:
    summary, examples = help_of(name)
    group = App(
        name=name,
        help=summary,
        help_epilogue=examples,
        help_format="plaintext",
        version_flags=(),
    )
    for below, function in commands.items():
        summary, examples = help_of(name, below)
        target = f"assay.cli.{name}.{below}:{function}"
        group.command(target, name=below, help=summary, help_epilogue=examples)
    return group


for _name in COMMANDS:
    if _name in SUBCOMMANDS:
        app.command(_group(_name, SUBCOMMANDS[_name]))
        continue
    _help, _examples = help_of(_name)
    app.command(
        f"assay.cli.{_name}:{_name}", name=spoken(_name), help=_help, help_epilogue=_examples
    )
for _name in HIDDEN:
    app.command(f"assay.cli.{_name}:{_name}", name=_name, help=help_of(_name)[0], show=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run the command, exit with its status: 0 done, 1 asked to fail on, 2 wrong input."""
    from cyclopts import CycloptsError

    from assay.console import print_error
    from assay.errors import AssayError

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = app(given, result_action="return_value", exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        known = {spoken(name) for name in COMMANDS}
        command = next((word for word in given if word in known), "")
        fix = f"`{' '.join(filter(None, ('assay', command, '--help')))}` says what it takes."
        print_error(str(error), fix=fix)
        sys.exit(2)
    except AssayError as error:
        print_error(error.what, where=error.where, fix=error.fix, detail=error.detail)
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read our output has gone; point stdout elsewhere so that exiting stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)
