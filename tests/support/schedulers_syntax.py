"""The documented syntax of job scripts, per scheduler, as far as assay uses it.

``read(kind, script)`` returns the directives as (option, value) and the shell lines below them. It
raises SyntaxProblem for an option that the manual doesn't have, for a value whose form differs from
the manual's, and for a directive where the scheduler would ignore or refuse it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

NUMBER = r"[1-9]\d*"
ANY = r".+"
HOURS = r"\d+:[0-5]\d:[0-5]\d"


class SyntaxProblem(Exception):
    pass


@dataclass(frozen=True)
class Syntax:
    """``mark``: the beginning of a directive. ``options``: each with its value's form.

    None is an option without a value. ``assign``: whether a value follows "=".
    """

    manual: str
    mark: str
    options: dict[str, str | None]
    assign: bool


# sbatch(1), Slurm 22.05: OPTIONS, and FILENAME PATTERN for --output.
SLURM = Syntax(
    "sbatch(1)",
    "#SBATCH ",
    {
        "--job-name": ANY,
        "--output": r"/(?:[^%\\]|%%|%a)+",
        "--nodes": NUMBER,
        "--ntasks-per-node": NUMBER,
        "--exclusive": None,
        "--nodelist": r"[\w.-]+(?:\[[\d,-]+\])?(?:,[\w.-]+(?:\[[\d,-]+\])?)*",
        "--mem": r"\d+[KMGT]?",
        # "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours" …
        "--time": r"\d+|\d+:\d\d|\d+:\d\d:\d\d|\d+-\d+(?::\d\d){0,2}",
        "--no-requeue": None,
        "--signal": r"(?:[BR]{1,2}:)?(?:[A-Z]+\d?|\d+)(?:@\d{1,5})?",
        "--array": r"\d+(?:-\d+(?::\d+)?)?(?:,\d+(?:-\d+)?)*(?:%\d+)?",
        # "YYYY-MM-DD[THH:MM[:SS]]", one of the forms that --begin accepts.
        "--begin": r"\d{4}-[01]\d-[0-3]\d(?:T[0-2]\d:[0-5]\d(?::[0-5]\d)?)?",
        "--partition": ANY,
        "--account": ANY,
        "--reservation": ANY,
        "--constraint": ANY,
        "--qos": ANY,
    },
    assign=True,
)
# qsub(1B) of PBS Professional: OPTIONS; pbs_resources(7B): select, place, walltime.
PBS = Syntax(
    "qsub(1B), PBS Professional",
    "#PBS ",
    {
        "-S": r"/\S+",
        # "string, up to 236 characters …": alphabetic first, printable, no white space.
        "-N": r"[A-Za-z]\S{0,235}",
        "-j": "oe|eo|n",
        "-o": r"(?:[^\s:]+:)?[^\s:]+",
        "-l": rf"select={NUMBER}(?::[A-Za-z]\w*=[\w.-]+)*|place=(?:free|pack|scatter|vscatter)"
        rf"(?::(?:excl|shared|exclhost))?|walltime={HOURS}",
        "-r": "y|n",
        "-J": r"\d+-\d+(?::\d+)?(?:%\d+)?",
        "-q": r"[\w.+-]+(?:@[\w.-]+)?",
        "-A": r"\S+",
        "-m": r"n|[abe]+",
        # "[[[[CC]YY]MM]DD]hhmm[.SS]"
        "-a": r"(?:(?:(?:(?:\d\d)?\d\d)?[01]\d)?[0-3]\d)?[0-2]\d[0-5]\d(?:\.[0-5]\d)?",
    },
    assign=False,
)
# qsub(1B) of Torque: OPTIONS; -n in the commands' reference of Torque 6.
CLASSIC = Syntax(
    "qsub(1B), Torque",
    "#PBS ",
    {
        **{name: PBS.options[name] for name in ("-S", "-j", "-o", "-r", "-q", "-A", "-m", "-a")},
        # "up to and including 15 characters …, the first character alphabetic".
        "-N": r"[A-Za-z]\S{0,14}",
        "-l": rf"nodes={NUMBER}(?::[A-Za-z][\w.-]*(?:=[\w.-]+)?)*|walltime={HOURS}|advres=[\w.-]+",
        "-n": None,
        "-t": r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*(?:%\d+)?",
    },
    assign=False,
)
# bsub(1), LSF 10.1: options; #BSUB in a script on standard input.
LSF = Syntax(
    "bsub(1)",
    "#BSUB ",
    {
        "-J": r"[^\[\]%*?]+(?:\[\d+-\d+\](?:%\d+)?)?",
        "-o": r"[^%]+",
        "-n": NUMBER,
        "-R": r"span\[ptile=\d+\]|select\[[^\[\]]+\]",
        "-x": None,
        "-W": r"\d+(?::[0-5]\d)?",
        "-rn": None,
        "-wa": r"[A-Z]+\d?",
        "-wt": r"(?:\d+:)?\d+",
        "-q": r"\S+",
        "-P": ANY,
        "-U": r"\S+",
        "-sp": r"\d+",
        # "[[year:][month:]day:]hour:minute"
        "-b": r"(?:(?:(?:\d{4}:)?\d{1,2}:)?\d{1,2}:)?\d{1,2}:[0-5]\d",
    },
    assign=False,
)
# flux-batch(1): JOB PARAMETERS, OTHER OPTIONS; SUBMISSION DIRECTIVES, which is RFC 36; RFC 23 FSD.
FLUX = Syntax(
    "flux-batch(1)",
    "# flux: ",
    {
        "--job-name": ANY,
        "--output": r"(?:(?!\{\{).)+",
        "--nodes": NUMBER,
        "--nslots": NUMBER,
        "--exclusive": None,
        "--time-limit": r"\d+(?:\.\d+)?[smhd]",
        "--signal": r"(?:SIG)?[A-Z]+\d?@\d+(?:\.\d+)?[smhd]",
        "--queue": ANY,
        "--bank": ANY,
        "--requires": ANY,
        "--urgency": r"\d+",
        # "+FSD|DATETIME"
        "--begin-time": r"\+\d+(?:\.\d+)?[smhd]|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
    },
    assign=True,
)
SYNTAX = {"slurm": SLURM, "pbs": PBS, "pbs-classic": CLASSIC, "lsf": LSF, "flux": FLUX}


def read(kind: str, script: str) -> tuple[list[tuple[str, str | None]], list[str]]:
    syntax = SYNTAX[kind]
    lines = script.splitlines()
    if script.splitlines() != script.rstrip("\n").split("\n"):
        raise SyntaxProblem("a line ends with something else than a newline")
    if lines[0] != "#!/bin/bash":
        raise SyntaxProblem(f"the first line is {lines[0]!r}")
    directives: list[tuple[str, str | None]] = []
    shell: list[str] = []
    for line in lines[1:]:
        # Each scheduler reads directives up to the first line that is neither empty nor a comment;
        # LSF continues after it, and Flux refuses a later one.
        if re.match(r"\W*(?:SBATCH|PBS|BSUB|flux:|FLUX:)", line):
            if shell or not line.startswith(syntax.mark):
                raise SyntaxProblem(f"a directive out of place: {line!r}")
            directives += _options(syntax, line.removeprefix(syntax.mark))
        elif line.strip():
            shell.append(line)
    return directives, shell


def _options(syntax: Syntax, text: str) -> list[tuple[str, str | None]]:
    words = shlex.split(text, comments=True) if syntax is not SLURM else slurm_words(text)
    found: list[tuple[str, str | None]] = []
    while words:
        option = words.pop(0)
        value: str | None = None
        if syntax.assign:
            option, equals, rest = option.partition("=")
            value = rest if equals else None
        if option not in syntax.options:
            raise SyntaxProblem(f"{syntax.manual} has no option {option!r}")
        form = syntax.options[option]
        if form is not None and not syntax.assign:
            if not words:
                raise SyntaxProblem(f"{option} has no value")
            value = words.pop(0)
        if (form is None) != (value is None):
            raise SyntaxProblem(f"{option} with the value {value!r}")
        if form is not None and not re.fullmatch(form, value or ""):
            raise SyntaxProblem(f"{option} can't be {value!r} by {syntax.manual}")
        found.append((option, value))
    return found


def slurm_words(text: str) -> list[str]:
    """Split a directive as sbatch does: see tests/schedulers/test_slurm.py, which calls sbatch.

    Words are separated by spaces; double and single quotes keep them together; a backslash, within
    quotes too, quotes the next character; a # at the start of a word ends the line.
    """
    words: list[str] = []
    word, quote, begun, position = "", "", False, 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
            word, begun = word + text[position : position + 1], True
        elif quote:
            if character == quote:
                quote = ""
            else:
                word += character
        elif character in "\"'":
            quote, begun = character, True
        elif character.isspace():
            words += [word] if begun else []
            word, begun = "", False
        elif character == "#":
            break
        else:
            word, begun = word + character, True
        position += 1
    if quote:
        raise SyntaxProblem("an open quote")
    return [*words, word] if begun else words
