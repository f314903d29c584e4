"""The catalogue's entry for a user's command, which assay measures but doesn't build."""

from __future__ import annotations

from collections.abc import Mapping

from assay.errors import AssayError
from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.command import check_command
from assay.model.placement import Placement, Value

APP = "app"


def _no_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {}


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    try:
        check_command(
            str(parameters["command"]), str(parameters["time"]), str(parameters["verify"])
        )
    except AssayError as error:
        return error.what
    return None


KERNELS = (
    Kernel(
        name=APP,
        title="A user's command",
        parameters=(
            Parameter("command", "", "the command, with placeholders for the placement"),
            Parameter("time", "", "regular expression that matches the time it prints", tacit=True),
            Parameter("verify", "", "regular expression that its output must match", tacit=True),
            Parameter("shell", 0, "1: a shell runs it", choices=(0, 1), tacit=True),
            Parameter(
                "timeout",
                0.0,
                "time limit; 0: derived from the fastest launch",
                "s",
                low=0.0,
                tacit=True,
            ),
        ),
        metrics=(
            Metric("time", "s", "less", "as printed by the command, else wall time"),
            Metric("wall", "s", "less", "from its start to its end", series="wall", optional=True),
            Metric(
                "cpu",
                "s",
                "less",
                "CPU time of the command and of the children it waited for",
                series="cpu",
                optional=True,
            ),
        ),
        work=_no_work,
        source="measured from outside (docs/methods/placement.md)",
        threaded=True,
        check=_check,
        outside=True,
    ),
)
