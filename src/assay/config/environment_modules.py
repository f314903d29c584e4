"""Environment modules (Lmod, Tcl) from ``assay.toml``, as lines of bash.

An entry is a module's name, or one of module(1)'s subcommands with its arguments: ``"gcc/13"``,
``"load gcc/13 openmpi"``, ``"unload gcc"``, ``"swap PrgEnv-cray PrgEnv-gnu"``, ``"use /apps/mf"``,
``"purge"``. Both implementations have these subcommands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from assay.errors import AssayError

# Subcommands, with the least and the greatest number of their arguments.
_COMMANDS = {"load": (1, 99), "unload": (1, 99), "swap": (1, 2), "use": (1, 99), "purge": (0, 0)}
_WORD = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\u2028\u2029'\"\\;&|<>`$(){}*?!#~-]"
                   r"[^\s\x00-\x1f\x7f-\x9f\u2028\u2029'\"\\;&|<>`$(){}*?!#]*")  # fmt: skip
# In a shell that isn't a login shell, ``module`` may be undefined.
_INITIALISE = "command -v module >/dev/null 2>&1 || . /etc/profile"


def module_lines(modules: Sequence[str], where: str = "[toolchains]") -> list[str]:
    """Lines that run these entries in order and exit with 1 at the first failure.

    Empty without entries. Raises AssayError for an invalid entry.
    """
    lines = []
    for entry in modules:
        words = entry.split()
        if words[:1] and words[0] in _COMMANDS:
            command, *rest = words
        else:
            command, rest = "load", [entry]
        least, most = _COMMANDS[command]
        if not least <= len(rest) <= most or not all(_WORD.fullmatch(word) for word in rest):
            shown = entry if entry.isprintable() else ascii(entry)[1:-1]
            raise AssayError(
                f"The module '{shown}' can't be loaded: it is not a name, nor load, unload, swap, "
                "use or purge with arguments.",
                where=where,
                fix='Write "gcc/13", "swap PrgEnv-cray PrgEnv-gnu", "use /apps/mf" or "purge".',
            )
        lines.append(f"module {' '.join([command, *map(shlex.quote, rest)])} || exit 1")
    return [_INITIALISE, *lines] if lines else []
