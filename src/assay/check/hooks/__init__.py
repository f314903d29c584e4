"""Scripts that connect the check with a batch scheduler, printed by ``assay check --print-hook``.

The check itself never calls a scheduler. A script runs it, and takes the node out of service with
the printed reason if it is unhealthy. Each has a template, a file in ``templates/``, and a line in
``NAMES``.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from pathlib import Path

from assay.errors import AssayError, nearest

NAMES = (
    "slurm-prolog",
    "slurm-epilog",
    "slurm-health",
    "pbs",
    "lsf",
)
_TEMPLATES = Path(__file__).parent / "templates"
# Parts that several scripts share.
_PARTS = {"@COMMON@": "common.sh", "@SLURM@": "slurm.sh"}
# Seconds after the check's own deadline until `timeout` ends it, and until the script goes on
# without it. The first leaves the check time to end what it started; Slurm ends a health check
# after 60 s.
_SPARE, _MORE = 4, 8
_LONGEST_DEADLINE = 40.0


def check_name(name: str) -> None:
    """Raises AssayError if no script has this name."""
    if name not in NAMES:
        raise AssayError(
            f"There is no hook '{name}'.", where="--print-hook", fix=nearest(name, NAMES)
        )


def script(
    name: str,
    *,
    executable: Path,
    folder: Path,
    deadline: float = 8.0,
    scratch: Path | None = None,
    scontrol: Path | None = None,
    slurm_conf: Path | None = None,
) -> str:
    """The text of a script.

    ``executable``, ``folder``: absolute paths of assay and of the fleet's checks. ``deadline``: of
    the check, s. ``scratch``: the folder for files of jobs on a local disk. ``scontrol``: Slurm's
    command, if it isn't on the system's PATH. ``slurm_conf``: its configuration, if it is at an
    unusual place. Raises AssayError for an unknown name, a relative path, or a deadline that is too
    long for Slurm.
    """
    check_name(name)
    for path in (executable, folder, *([scratch] if scratch is not None else [])):
        if not path.is_absolute() or "\0" in str(path):
            raise AssayError(
                f"A hook needs absolute paths, but '{path}' is not one.",
                fix="Name the folder of the checks with --folder and its absolute path.",
            )
    if not 0 < deadline <= _LONGEST_DEADLINE:
        raise AssayError(
            f"A deadline of {deadline:g} s is outside of a hook's limits.",
            where="--deadline",
            fix=f"Name more than 0 and at most {_LONGEST_DEADLINE:g} s: Slurm ends a health check "
            "after 60 s.",
        )
    quoted: Callable[[str], str] = repr if name == "pbs" else shlex.quote
    values = {
        "@ASSAY@": quoted(str(executable)),
        "@FOLDER@": quoted(str(folder)),
        "@DEADLINE@": f"{deadline:g}",
        "@LIMIT@": str(math.ceil(deadline) + _SPARE),
        "@LAST@": str(math.ceil(deadline) + _MORE),
        "@SCRATCH@": quoted("" if scratch is None else str(scratch)),
        "@SCONTROL@": quoted(str(scontrol or "scontrol")),
        "@CONF@": quoted(str(slurm_conf or "")),
    }
    text = (_TEMPLATES / name).read_text()
    for place, part in _PARTS.items():
        text = text.replace(f"{place}\n", (_TEMPLATES / part).read_text())
    # Line by line, once each: a path that contains a placeholder stays as it is.
    return "".join(_filled(line, values) for line in text.splitlines(keepends=True))


def _filled(line: str, values: dict[str, str]) -> str:
    for place, value in values.items():
        if place in line:
            return line.replace(place, value)
    return line
