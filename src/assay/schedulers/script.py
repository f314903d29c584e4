"""The common part of job scripts: checked values, and the shell lines that run the command.

Each external value is either a single quoted shell word without a raw newline, so that it can't
inject a directive, or a directive's value, which is quoted or refused by the scheduler's own rule.
"""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from assay.config import SchedulerConfig
from assay.config.environment_modules import module_lines
from assay.errors import AssayError
from assay.schedulers.model import TASK_VARIABLE, JobRequest

# Placeholder of the program in launch lines, and the bindings that distribute a node's ranks over
# NUMA nodes.
PROGRAM = "./program"
APART = ("spread", "per-numa")
# Seconds from the warning signal to the walltime. Slurm may send it a minute early. Therefore short
# jobs get no warning: it would arrive near their beginning.
WARNING = 60
_SHORTEST_WARNED = 300
# C0, DEL and C1 controls, and the two separators that some programs treat as ends of lines.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# One option with its value: "--qos=debug", "-l mem=4gb".
_DIRECTIVE = re.compile(r"--?[A-Za-z].*", re.ASCII)


def check_request(request: JobRequest) -> None:
    """Raises AssayError for values that no job script can contain; ValueError for wrong calls."""
    if not request.command or request.nodes < 1 or request.tasks < 1:
        raise ValueError("a job needs a command and at least one node and one task")
    if not 0 < request.walltime < math.inf:
        raise ValueError(f"a walltime must be a positive number of seconds, not {request.walltime}")
    if request.begin is not None and not math.isfinite(request.begin):
        raise ValueError(f"a job can't begin at {request.begin}")
    if not request.output.is_absolute() or not request.directory.is_absolute():
        raise ValueError("a job's paths must be absolute")
    options = request.options
    named = {
        "name": request.name,
        "partition": options.partition,
        "account": options.account,
        "reservation": options.reservation,
        "constraint": options.constraint,
    }
    for what, value in named.items():
        if value is not None and (not value or value != value.strip() or _CONTROL.search(value)):
            raise refused(what, value, "it is empty, or has outer spaces or control characters")
    module_lines(options.modules, "[scheduler]")
    for directive in options.directives:
        if _CONTROL.search(directive):
            raise refused("directive", directive, "it has control characters")
    for directive in options.directives:
        if not _DIRECTIVE.fullmatch(directive):
            raise refused(
                "directive", directive, "it is not an option such as --qos=debug or -l x=1"
            )
    for name in request.environment:
        if not _VARIABLE.fullmatch(name):
            raise refused("environment variable", name, "it is not a valid name")
    texts = [*request.command, str(request.directory), str(request.output), *options.setup]
    texts += [str(request.input)] if request.input is not None else []
    for text in (*texts, *request.environment.values(), *filter(None, named.values())):
        if "\0" in text or not _is_text(text):
            raise refused("text", text, "it contains NUL or is not valid text")


def check_output(request: JobRequest) -> None:
    """Raises AssayError if the output file has characters that a directive can't contain."""
    if _CONTROL.search(str(request.output)):
        raise refused("output file", str(request.output), "it has control characters")


def _is_text(text: str) -> bool:
    """Whether a text can be encoded; bytes of paths that aren't UTF-8 are lone surrogates."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def refused(what: str, value: str, why: str) -> AssayError:
    """The error for a value that can't be written into a job script."""
    shown = value if value.isprintable() else ascii(value)[1:-1]
    return AssayError(
        f"The {what} '{shown}' can't be written into a job script: {why}.",
        where="[scheduler]",
        fix="Correct it in assay.toml, or choose another name or folder for the run.",
    )


def word(text: str) -> str:
    """A text as one quoted word of bash, on one line."""
    if not _CONTROL.search(text):
        return shlex.quote(text)
    # $'…' (bash, QUOTING) has escapes for control characters.
    inside = "".join(
        "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
        if _CONTROL.match(character) or character in "'\\"
        else character
        for character in text
    )
    return f"$'{inside}'"


def body(request: JobRequest, *, task: str, redirect: bool) -> str:
    """The shell lines below the directives.

    ``task``: a bash expression for the task's number. ``redirect``: whether the script redirects
    its output to the file, because the scheduler would deliver the output only at the end.
    """
    lines = [f"export {TASK_VARIABLE}={task}"]
    if redirect:
        lines.append(f"exec >{_output(request)} 2>&1")
    lines.append(f"cd -- {word(str(request.directory))} || exit 1")
    lines += preparation(request.options)
    lines += [f"export {name}={word(value)}" for name, value in sorted(request.environment.items())]
    read = word(str(request.input or "/dev/null"))
    lines.append(f"exec -- {' '.join(map(word, request.command))} <{read}")
    return "\n".join(lines)


def preparation(options: SchedulerConfig) -> list[str]:
    """The lines of bash that load the modules and run the setup lines of ``[scheduler]``."""
    return [*module_lines(options.modules), *options.setup]


def _output(request: JobRequest) -> str:
    if request.tasks == 1:
        return word(str(request.output))
    before, after = around_task(request)
    return f'{word(before)}"${TASK_VARIABLE}"{word(after)}'


def around_task(request: JobRequest) -> tuple[str, str]:
    """The path of an array's output files before and after the task's number."""
    output = request.output
    return str(output.parent / f"{output.stem}-"), output.suffix


def array_range(request: JobRequest) -> str | None:
    """The tasks of an array, and after % the number that may run at a time: ``0-9%3``.

    None without an array. Slurm and both versions of PBS use this notation.
    """
    return f"0-{request.tasks - 1}{at_once(request)}" if request.tasks > 1 else None


def at_once(request: JobRequest) -> str:
    """``%3`` if three tasks of an array may run at a time; empty without a limit."""
    most = request.options.at_once
    return f"%{most}" if most is not None and most < request.tasks else ""


def warning(request: JobRequest) -> str | None:
    """Seconds before its end at which the job is warned; None for a short job."""
    return str(WARNING) if request.walltime >= _SHORTEST_WARNED else None


def clock(seconds: float) -> str:
    """``H:MM:SS``, rounded up; hours may exceed 24."""
    whole = math.ceil(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def begin_at(request: JobRequest, form: str, unit: float = 1.0) -> str | None:
    """The earliest local time at which a job may start, by strftime(3); None for no limit.

    Rounded up to ``unit`` seconds, the resolution of the scheduler's notation.
    """
    if request.begin is None:
        return None
    return time.strftime(form, time.localtime(unit * math.ceil(request.begin / unit)))


def seconds(text: str) -> float | None:
    """Seconds of ``[days-][[hours:]minutes:]seconds`` or "12.5 second(s)"; None for other text."""
    match = re.fullmatch(
        r"(?:(\d+)-)?(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d+)?)(?: second\(s\))?", text.strip(), re.ASCII
    )
    if match is None:
        return None
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + rest


def template(kind: str) -> Path:
    """The mustache template of a scheduler's scripts."""
    return Path(__file__).parent / "templates" / f"{kind}.mustache"


def plain(values: Sequence[tuple[str, str | None]], pattern: re.Pattern[str], kind: str) -> None:
    """Raises AssayError at the first value that a scheduler's directives can't contain.

    For schedulers whose manuals document no quoting. ``values``: pairs of description and value.
    """
    for what, value in values:
        if value is not None and not pattern.fullmatch(value):
            raise refused(what, value, f"{kind} has no notation for some of its characters")
