"""The C++ wrappers of the profiling library, from its table of functions and the MPI's mpi.h."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_KINDS = {
    "point": "kPoint",
    "start": "kStartKind",
    "completion": "kCompletion",
    "probe": "kProbe",
    "collective": "kCollective",
    "one-sided": "kOneSided",
    "file": "kFile",
    "communicator": "kCommunicator",
    "life": "kLife",
}
# Kinds whose effects on requests and communicators are followed even while counting is off.
_FOLLOWED = {"start", "completion", "communicator", "life"}
# One-sided functions that fetch data, and one-sided functions that send and fetch.
_GETS = {"Get", "Rget"}
_BOTH_WAYS = {"Get_accumulate", "Rget_accumulate", "Fetch_and_op", "Compare_and_swap"}
# Collectives that no rank leaves before all have entered.
_EVERYBODY = {"Barrier", "Allreduce", "Allgather", "Alltoall"}
# Functions that begin MPI, whose arguments are passed alike by all MPI libraries.
_BEGINS = {"Init", "Init_thread", "Session_init"}
# Programs call ``MPI_``; Fortran functions of MPI and other tools may call ``PMPI_``.
_PREFIXES = ("MPI", "PMPI")
_INCLUDED = ("call", "entries", "functions", "other_mpi")
_PROTOTYPE = re.compile(r"\bint\s+MPI_(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_NAME = re.compile(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)$")


@dataclass(frozen=True)
class TraceRule:
    """A line of ``functions.txt``; ``before`` and ``after`` are calls of methods of ``Call``."""

    name: str
    kind: str
    before: str
    after: str


def read_rules(table: Path) -> list[TraceRule]:
    """The lines of the table."""
    rules = []
    for line in table.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            words = [word.strip() for word in line.split("|")]
            rules.append(TraceRule(*[*words, "", ""][:4]))
    return rules


def prototypes(header: str) -> dict[str, list[tuple[str, str]]]:
    """The parameters (declaration, name) of each function of a preprocessed mpi.h, by its name
    without ``MPI_``.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for name, text in _PROTOTYPE.findall(header):
        parameters = []
        for declaration in text.split(","):
            words = " ".join(declaration.split())
            match = _NAME.search(words)
            if words == "void" or match is None:
                continue
            parameters.append((words, match.group(1)))
        found[name] = parameters
    return found


def wrappers(rules: list[TraceRule], header: str) -> tuple[str, str]:
    """``functions.inc``, with the functions' names, and ``wrappers.cpp`` with the wrappers."""
    declared = prototypes(header)
    enumeration, names, bodies = [], [], []
    entries: list[str] = []
    for rule in rules:
        enumeration.append(f"kMpi{rule.name}")
        names.append(f'{{"{rule.name}", {_KINDS[rule.kind]}}}')
        both = [name for name in (rule.name, f"{rule.name}_c") if name in declared]
        for name, prefix in ((n, p) for n in both for p in _PREFIXES):
            bodies.append(_wrapper(rule, name, prefix, declared[name]))
            bodies.append(f"ASSAY_ENTRY({prefix}_{name}, {len(entries)})\n")
            entries.append(f"{prefix}_{name}")
    for started in (
        "Start_receive", "Start_send", "Start_collective", "Start_precv", "Start_psend",
    ):  # fmt: skip
        enumeration.append(f"kMpi{started}")
        names.append(f'{{"{started}", kStartKind}}')
    functions = (
        f"enum FunctionId : std::int32_t {{ {', '.join(enumeration)} }};\n"
        f"inline constexpr Function kFunctions[] = {{{', '.join(names)}}};\n"
    )
    included = "".join(f'#include "{name}.hpp"\n' for name in _INCLUDED)
    start = f'{included}\nusing namespace assay::trace;\n\nextern "C" {{\n'
    table = ", ".join(f"(void*)assay_{name}" for name in entries)
    end = f"void* assay_entries[] = {{{table}}};\n}}\n"
    end += f"const int kEntryCount = {len(entries)};\n"
    end += "const char* const kEntryNames[] = {" + ", ".join(f'"{n}"' for n in entries) + "};\n"
    return functions, start + "".join(bodies) + end


def _wrapper(rule: TraceRule, name: str, prefix: str, parameters: list[tuple[str, str]]) -> str:
    """The function that the entry of that name jumps to."""
    declarations = ", ".join(text for text, _ in parameters) or "void"
    arguments = ", ".join(argument for _, argument in parameters)
    when = "outermost" if rule.kind in _FOLLOWED else "counted"
    before = _context(rule, parameters) + _calls(rule.before, parameters)
    after = _calls(rule.after, parameters) + _objects(parameters)
    steps = f"  if (call.{when}()) {{ {before} }}\n" if before else ""
    if rule.name in _EVERYBODY:  # all ranks have to count these alike, whether or not calls count
        steps += f"  call.everybody({_by_value(parameters, 'MPI_Comm')[0]});\n"
    done = f"  if (result == MPI_SUCCESS) {{ {after} }}\n" if after else ""
    failed = _after_error(rule, parameters)
    if failed:
        done += f"  else {{ {failed} }}\n"
    aside = f"  if (other_mpi()) return behind({arguments});\n" if rule.name in _BEGINS else ""
    return (
        f"ASSAY_HIDDEN int assay_{prefix}_{name}({declarations}) {{\n"
        f"  const auto behind = ASSAY_NEXT({prefix}_{name});\n"
        f"  if (!behind) return MPI_ERR_OTHER;\n"
        f"{aside}"
        f"  Call call(kMpi{rule.name}, __builtin_return_address(0), __builtin_frame_address(0));\n"
        f"{steps}"
        f"  call.begin();\n"
        f"  const int result = behind({arguments});\n"
        f"  call.end();\n"
        f"{done}"
        f"  return result;\n"
        f"}}\n"
    )


def _after_error(rule: TraceRule, parameters: list[tuple[str, str]]) -> str:
    """The effects that a failed call may have had: completed requests, a message that is longer
    than its receive.
    """
    arrived = re.search(r"arrived\((.*?)\)", rule.after)
    if arrived:
        return _calls(f"not_arrived(result, {arrived.group(1)})", parameters)
    handles = re.search(r"(pending|keep_handles)\((.*?)\)", rule.before)
    if handles is None:
        return ""
    in_order = _boolean(handles.group(1) == "pending")
    return _calls(f"erroneous(result, {in_order}, {handles.group(2)})", parameters)


def _context(rule: TraceRule, parameters: list[tuple[str, str]]) -> str:
    """What the trace records of a call, according to the types and names of its parameters:
    communicator, window or file, root, target and direction.
    """
    text = ""
    handles = {kind: _by_value(parameters, kind) for kind in ("MPI_Comm", "MPI_Win", "MPI_File")}
    for kind, names in handles.items():
        if names:
            call = f"on({names[0]})" if kind == "MPI_Comm" else f"on_object(number({names[0]}))"
            text += f"call.{call}; "
            break
    named = {name for _, name in parameters}
    if "root" in named and handles["MPI_Comm"] and rule.kind in ("collective", "start"):
        text += f"call.rooted(root, {handles['MPI_Comm'][0]}); "
    if "target_rank" in named and handles["MPI_Win"]:
        text += f"call.target(target_rank, {handles['MPI_Win'][0]}); "
    if rule.kind in ("one-sided", "file"):
        both = rule.name in _BOTH_WAYS
        receives = both or rule.name in _GETS or "read" in rule.name
        text += f"call.direction({_boolean(both or not receives)}, {_boolean(receives)}); "
    return text


def _objects(parameters: list[tuple[str, str]]) -> str:
    """Windows and files that the call makes from a communicator."""
    if not _by_value(parameters, "MPI_Comm"):
        return ""
    made = [
        name
        for text, name in parameters
        if re.fullmatch(rf"MPI_(?:Win|File) ?\* ?{re.escape(name)}", text)
    ]
    return "".join(f" call.made_object(number(*{name}));" for name in made)


def _by_value(parameters: list[tuple[str, str]], kind: str) -> list[str]:
    return [name for text, name in parameters if text == f"{kind} {name}"]


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _calls(rule: str, parameters: list[tuple[str, str]]) -> str:
    """``rule`` as statements, with the names of the parameters."""
    if not rule:
        return ""
    text = re.sub(r"\$(\d+)", lambda match: parameters[int(match.group(1))][1], rule)
    method = (
        r"(?<![\w.])(?=(?:none|bytes|buffer|send|receive\w*|from|exchange|begun|persistent\w*|start"
    )
    method += r"|statuses|arrived|not_arrived|probed|message|cancelled|keep_handles"
    method += r"|freed|pending|completed_\w+|erroneous|target|group|lock|tested|made\w*|unmade\w*"
    method += r"|named|initialised|finalising|aborting|session"
    method += r"|size|sizes|sum|own|ranks|others|neighbours)\()"
    return re.sub(method, "call.", text) + ";"
