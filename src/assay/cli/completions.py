"""Completion in shells: of options, and of the names that assay knows.

cyclopts writes what shells complete statically: commands, options and their choices. For names of
suites, kernels, runs, labs and published clusters, shells call ``assay complete``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.cli.app import SUBCOMMANDS, app

if TYPE_CHECKING:
    from cyclopts import App

Shell = Literal["bash", "zsh", "fish"]
# The kind of names that a command's arguments are, and how many arguments have it (None: all).
_ARGUMENTS: Mapping[str, tuple[str, int | None]] = {
    "run": ("suites", 1),
    "measure": ("kernels", 1),
    "kernels": ("kernels", 1),
    "report": ("runs", 1),
    "runs": ("runs", 1),
    "compare": ("runs", None),
    "export": ("runs", None),
    "references": ("clusters", 1),
    "lab run": ("labs", 1),
    "lab up": ("lab specs", 1),
    "lab down": ("labs", 1),
}
# The kind of name that an option's value is, in any command.
_OPTIONS: Mapping[str, str] = {
    "--suite": "suites",
    "--kernel": "kernels",
    "--run": "runs",
    "--from": "runs",
    "--lab": "labs",
    "--cluster": "clusters",
}


def candidates(words: Sequence[str]) -> list[str]:
    """The names that complete the last word of a command line; none if it isn't a name that assay
    knows.

    ``words``: the command line from the program on; the last word may be empty.
    """
    *before, current = list(words[1:]) or [""]
    if not before or current.startswith("-") or "--" in before:
        return []
    name, rest = before[0], before[1:]
    if name not in app:
        return []
    command = app[name]
    if name in SUBCOMMANDS:
        if not rest or rest[0] not in SUBCOMMANDS[name]:
            return []
        name, command, rest = f"{name} {rest[0]}", command[rest[0]], rest[1:]
    values = _with_values(command)
    root = _value_of("--runs", rest)
    if rest and rest[-1] in values:
        return _fitting(_OPTIONS.get(rest[-1], ""), current, root)
    kind, most = _ARGUMENTS.get(name, ("", None))
    if name == "run" and "--resume" in rest:
        kind = "runs"
    given = sum(
        not word.startswith("-") and (i == 0 or rest[i - 1] not in values)
        for i, word in enumerate(rest)
    )
    return [] if most is not None and given >= most else _fitting(kind, current, root)


def _with_values(command: App) -> set[str]:
    """The options of a command that take a value."""
    found: set[str] = set()
    for argument in command.assemble_argument_collection():
        if argument.field_info.kind is inspect.Parameter.KEYWORD_ONLY and argument.hint is not bool:
            found.update(argument.names)
    return found


def _value_of(option: str, words: Sequence[str]) -> str | None:
    for i, word in enumerate(words):
        if word == option:
            return words[i + 1] if i + 1 < len(words) else None
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _fitting(kind: str, beginning: str, root: str | None) -> list[str]:
    names = _KINDS[kind](root) if kind else ()
    return sorted(name for name in names if name.startswith(beginning))


def _suites(_: str | None) -> Iterable[str]:
    from assay.plans.suites import suites

    return suites()


def _kernels(_: str | None) -> Iterable[str]:
    from assay.kernels import kernels

    return (kernel.name for kernel in kernels())


def _runs(root: str | None) -> Iterable[str]:
    from assay.config import load_config
    from assay.records.directory import list_runs

    folder = Path(root).expanduser() if root else load_config(None).runs
    return (run.name for run in list_runs(folder))


def _clusters(_: str | None) -> Iterable[str]:
    from assay.reference.papers.loading import clusters_by_id

    return clusters_by_id()


def _labs(_: str | None) -> Iterable[str]:
    from assay.lab.store import labs

    return (lab.name for lab in labs())


def _lab_specs(_: str | None) -> Iterable[str]:
    from assay.lab.spec import shipped

    return shipped()


_KINDS: Mapping[str, Callable[[str | None], Iterable[str]]] = {
    "suites": _suites,
    "kernels": _kernels,
    "runs": _runs,
    "clusters": _clusters,
    "labs": _labs,
    "lab specs": _lab_specs,
}

# bash: names in addition to the static words. If neither fits, `-o default` completes files.
_BASH = """
# Names of suites, kernels, runs and labs.
_assay_with_names() {
  _assay
  local cur="${COMP_WORDS[COMP_CWORD]}"
  [[ $cur == -* ]] && return
  local name
  while IFS= read -r name; do
    [[ -n $name ]] && COMPREPLY+=("$name")
  done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}

complete -o default -F _assay_with_names assay
"""
_ZSH = """
# Names of suites, kernels, runs and labs, beside what is completed statically.
_assay_names() {
  [[ ${words[CURRENT]} == -* ]] && return 1
  local -a names
  names=(${(f)"$("${words[1]}" complete -- "${(@)words[1,CURRENT]}" 2>/dev/null)"})
  (( $#names )) && compadd -a names
}

_assay_names
_cyclopts_assay "$@"
"""
_FISH = """
# Names of suites, kernels, runs and labs.
function __fish_assay_names
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete -- $words 2>/dev/null
end

complete -c assay -a '(__fish_assay_names)'
"""


def completion(shell: Shell) -> str:
    """The file that a shell reads: commands, options, choices and names."""
    text = app.generate_completion(shell=shell).rstrip()
    if shell == "bash":
        return re.sub(r"\n+complete -F _assay assay$", "", text) + "\n" + _BASH
    return text + "\n" + (_ZSH if shell == "zsh" else _FISH)
