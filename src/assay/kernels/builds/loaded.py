"""The environment that modules, Spack or EasyBuild give to a toolchain."""

from __future__ import annotations

import functools
import os
import re
import shlex
import signal
import subprocess

from assay.config.environment_modules import module_lines
from assay.config.sections import ToolchainConfig
from assay.errors import AssayError

# Seconds to wait for modules on a busy shared file system; Spack reads its packages first.
PATIENCE = 120.0
_MARK = b"\0assay-environment\0"
# Variables of the shell, and variables in which Lmod and Tcl modules keep their state.
_OWN = re.compile(
    r"_|COLUMNS|LINES|SHLVL|PWD|OLDPWD|BASH_.*|PS\d|_ModuleTable.*|__LMOD.*|__MODULES.*|LMOD_.*|MODULES_.*"
    r"|_LMFILES_.*|LOADEDMODULES.*|MODULEPATH.*|MODULESHOME|SPACK_LOADED_HASHES|ENV|MANPATH"
)


def lines_of(entry: ToolchainConfig) -> list[str]:
    """The lines of bash that provide a toolchain; empty if it needs none. Raises AssayError."""
    lines = module_lines(entry.modules)
    if entry.easybuild:
        # EasyBuild's names of installations and of modules: foss-2024a and foss/2024a.
        names = [_module_of(name) for name in entry.easybuild.split()]
        lines += module_lines(names)[1 if lines else 0 :]
    if entry.spack:
        spack = '"${SPACK_ROOT:+$SPACK_ROOT/bin/}spack"'
        specs = shlex.join(shlex.split(entry.spack))
        lines.append(f"assay_loaded=$({spack} load --sh {specs}) || exit 1")
        lines.append('eval "$assay_loaded"')
        lines.append("unset assay_loaded")
    return lines


def _module_of(name: str) -> str:
    return name if "/" in name else re.sub(r"-(?=\d)", "/", name, count=1)


def loaded_environment(entry: ToolchainConfig) -> dict[str, str]:
    """The variables that differ from this process's after loading; removed ones are empty.

    Raises AssayError with the command's output if something can't be loaded.
    """
    lines = lines_of(entry)
    return dict(_loaded(tuple(lines), tuple(sorted(os.environ.items())))) if lines else {}


@functools.cache
def _loaded(
    lines: tuple[str, ...], environ: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """``environ``: this process's variables; the answer is kept while they don't change."""
    ending = ["printf '\\0assay-environment\\0'", "exec env -0"]
    try:
        process = subprocess.Popen(
            ["bash", "-c", "\n".join([*lines, *ending])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise _failure(lines, f"bash: {error.strerror}") from None
    try:
        out, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise _failure(lines, f"No answer within {PATIENCE:g} s.") from None
    _, mark, listed = out.rpartition(_MARK)
    if process.returncode != 0 or not mark:
        raise _failure(lines, (said or out).decode(errors="replace"))
    found: dict[str, str] = {}
    for item in listed.split(b"\0"):
        name, equals, value = item.decode("utf-8", "surrogateescape").partition("=")
        if equals:
            found[name] = value
    before = dict(environ)
    changed = {name: value for name, value in found.items() if before.get(name) != value}
    changed |= dict.fromkeys(before.keys() - found.keys(), "")
    return tuple((k, v) for k, v in sorted(changed.items()) if not _OWN.fullmatch(k))


def _failure(lines: tuple[str, ...], said: str) -> AssayError:
    failed = [line for line in lines if line.startswith(("module ", "assay_loaded="))]
    shown = "; ".join(line.removesuffix(" || exit 1") for line in failed)
    return AssayError(
        f"The environment of a toolchain can't be loaded: {shown}",
        where="modules, spack or easybuild of [toolchains] in assay.toml",
        fix="Run these commands in a login shell.",
        detail=said,
    )
