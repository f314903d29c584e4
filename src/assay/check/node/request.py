"""What a check was asked for, and the site's settings for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.check.state.file_names import host_name
from assay.errors import AssayError

#: The variable that names the folder of a fleet's checks.
FOLDER_VARIABLE = "ASSAY_CHECKS"
#: Seconds after which a check ends, and the rate of false drains.
DEADLINE, FALSE_DRAINS = 8.0, 1e-4
# A check that starts Python and reads facts needs half a second; Slurm ends a health check after a
# minute.
_DEADLINES = (0.5, 60.0)
_MOST_FALSE_DRAINS = 0.1
_BACKENDS = ("auto", "cuda", "hip", "opencl", "none")


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """The options of the command line; None and empty where none was given."""

    folder: Path | None = None
    config: Path | None = None
    site: str | None = None
    facts_only: bool = False
    #: Whether no job should be on the node.
    idle: bool = False
    deadline: float | None = None
    false_drains: float | None = None
    scratch: Path | None = None
    partner: str = ""
    #: What measures devices in a learning check; empty: chosen by what the node has.
    backend: str = ""
    as_json: bool = False
    verbose: bool = False
    junit: Path | None = None
    textfile: Path | None = None


@dataclass(frozen=True, kw_only=True)
class CheckSettings:
    """What applies to a check: the options, else the config, else the defaults."""

    folder: Path
    scratch: Path | None = None
    deadline: float = DEADLINE
    false_drains: float = FALSE_DRAINS


# The options that have an effect in each mode, in addition to --folder, --config and --site.
_EFFECTIVE: Mapping[str, frozenset[str]] = {
    "--record": frozenset({"--scratch", "--partner", "--backend"}),
    "--learn": frozenset(),
    "--report": frozenset({"--verbose"}),
    "--print-hook": frozenset({"--deadline", "--scratch"}),
}


def checked_mode(
    request: CheckRequest, paths: Sequence[Path], modes: Mapping[str, bool]
) -> str | None:
    """The mode that was asked for; None for a check.

    ``modes``: the options that choose one, and whether each was given. Raises AssayError for two of
    them, and for options that have no effect.
    """
    chosen = [name for name, given in modes.items() if given]
    if len(chosen) > 1:
        raise AssayError(f"{chosen[0]} and {chosen[1]} can't be combined.", fix="Give one of them.")
    given = {
        "--facts": request.facts_only,
        "--idle": request.idle,
        "--deadline": request.deadline is not None,
        "--false-drains": request.false_drains is not None,
        "--partner": bool(request.partner),
        "--backend": bool(request.backend),
        "--scratch": request.scratch is not None,
        "--json": request.as_json,
        "--verbose": request.verbose,
        "--junit": request.junit is not None,
        "--textfile": request.textfile is not None,
    }
    if not chosen:
        if paths:
            raise AssayError(
                f"'{paths[0]}' is too much: a check takes no names.",
                fix="Names of runs belong to --learn, and the name of a file to --report.",
            )
        check_options(request)
        return None
    mode = chosen[0]
    without = [name for name, is_given in given.items() if is_given]
    without = [name for name in without if name not in _EFFECTIVE[mode]]
    if without:
        raise AssayError(f"{without[0]} has no effect with {mode}.", fix="Give one of them.")
    most = {"--report": 1, "--learn": len(paths)}.get(mode, 0)
    if len(paths) > most:
        raise AssayError(f"'{paths[most]}' is too much for {mode}.", fix="Leave it out.")
    _check_partner(request.partner)
    if request.backend and request.backend not in _BACKENDS:
        raise AssayError(
            f"Devices can't be measured by '{request.backend}'.",
            where="--backend",
            fix=f"Give one of {', '.join(_BACKENDS)}.",
        )
    if request.deadline is not None:
        checked_deadline(request.deadline, "--deadline")
    return mode


def check_options(request: CheckRequest) -> None:
    """Raises AssayError for impossible values and for options that contradict each other."""
    if request.as_json and request.verbose:
        raise AssayError(
            "--json and --verbose are two forms of one output.", fix="Give one of them."
        )
    if request.facts_only and request.partner:
        raise AssayError(
            "--facts measures nothing, and --partner measures messages.", fix="Give one of them."
        )
    if request.facts_only and request.false_drains is not None:
        raise AssayError(
            "--facts measures nothing, so --false-drains has no effect.", fix="Give one of them."
        )
    if request.backend:
        raise AssayError(
            "--backend has no effect without --record: a check measures what was recorded.",
            fix="Leave it out.",
        )
    _check_partner(request.partner)
    for option, path in (("--junit", request.junit), ("--textfile", request.textfile)):
        if path is not None and not path.name:
            raise AssayError(
                f"{option} names no file.", where=str(path), fix="Name one, such as check.xml."
            )
    if request.junit is not None and request.junit == request.textfile:
        raise AssayError(
            "--junit and --textfile name the same file.", fix="Name two different files."
        )
    if request.deadline is not None:
        checked_deadline(request.deadline, "--deadline")
    if request.false_drains is not None:
        checked_rate(request.false_drains, "--false-drains")


def _check_partner(partner: str) -> None:
    if not partner:
        return
    from assay.config import HOST_NAME

    if not HOST_NAME.fullmatch(partner):
        raise AssayError(
            f"'{partner}' is not a host's name or address.",
            where="--partner",
            fix="Name another node, such as n0002.",
        )
    if partner == host_name():
        raise AssayError(
            "A node can't be its own partner.",
            where=f"--partner {partner}",
            fix="Name another node.",
        )


def checked_deadline(seconds: float, where: str) -> float:
    """The deadline in s. Raises AssayError if no check can keep it or no scheduler waits for it."""
    least, most = _DEADLINES
    if not least <= seconds <= most:
        raise AssayError(
            f"A check can't have a deadline of {seconds:g} s.",
            where=where,
            fix=f"Give {least:g} to {most:g} seconds.",
        )
    return seconds


def checked_rate(rate: float, where: str) -> float:
    """The rate of false drains. Raises AssayError unless it is above 0 and at most a tenth."""
    if not 0 < rate <= _MOST_FALSE_DRAINS:
        raise AssayError(
            f"{rate:g} is not a rate of false drains that can be kept.",
            where=where,
            fix=f"Give a share of checks above 0 and at most {_MOST_FALSE_DRAINS:g}, such as 1e-4.",
        )
    return rate


def settings_for(request: CheckRequest) -> CheckSettings:
    """Read the config, and combine it with the options.

    Raises AssayError for an invalid config, and if no folder of checks is named anywhere.
    """
    from assay.config import load_config
    from assay.units import parse_duration

    config = load_config(request.config, request.site)
    given = config.check
    named = os.environ.get(FOLDER_VARIABLE)
    if request.folder is not None:
        folder = request.folder.expanduser().absolute()
    elif named:
        folder = Path(named).expanduser().absolute()
    elif given.folder:
        folder = _plain_name(config.resolve(given.folder), config.where("check", "folder"))
    else:
        raise AssayError(
            "No folder of checks is named.",
            fix="Name one that all nodes share: with --folder, with ASSAY_CHECKS, or as folder in "
            "[check] of assay.toml.",
        )
    scratch = request.scratch
    if scratch is None and given.scratch:
        scratch = _plain_name(config.resolve(given.scratch), config.where("check", "scratch"))
    deadline, rate = request.deadline, request.false_drains
    if deadline is None and given.deadline is not None:
        where = config.where("check", "deadline")
        deadline = checked_deadline(parse_duration(given.deadline, where=where), where)
    if rate is None and given.false_drains is not None:
        rate = checked_rate(given.false_drains, config.where("check", "false_drains"))
    return CheckSettings(
        folder=folder,
        scratch=scratch.expanduser().absolute() if scratch is not None else None,
        deadline=DEADLINE if deadline is None else deadline,
        false_drains=FALSE_DRAINS if rate is None else rate,
    )


def _plain_name(path: Path, where: str) -> Path:
    """Raises AssayError for a name that no folder can have."""
    if "\0" in str(path):
        raise AssayError(
            "A folder's name can't contain a null character.", where=where, fix="Correct the name."
        )
    return path
