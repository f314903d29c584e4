"""The catalogue's entries for programs that assay measures but doesn't build.

``app`` is a user's command. The kernels ``beside.*`` are the site's own executables of benchmarks
for which assay has kernels; they are measured in the same run (``assay run --beside``). Their time
is the time that the executable prints, and their rates count the same operations as the rates of
assay's kernels.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.errors import AssayError
from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.command import check_command
from assay.model.placement import Placement, Value

APP = "app"
BESIDE = "beside."
# The names of input files, in the folder that the executable runs in.
HPL_INPUT = "HPL.dat"
HPCG_INPUT = "hpcg.dat"


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


_TIMEOUT = Parameter(
    "timeout",
    0.0,
    "time limit of a launch; 0: derived from the fastest launch",
    "s",
    low=0.0,
    tacit=True,
)
_WALL = Metric(
    "wall",
    "s",
    "less",
    "time from the start of the command to its end",
    series="wall",
    optional=True,
)
_CPU = Metric(
    "cpu",
    "s",
    "less",
    "CPU time of the command and of the child processes that it waited for",
    series="cpu",
    optional=True,
)


def _counted(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    work = float(parameters["work"])
    return {str(parameters["counts"]): work} if work > 0 else {}


def _not_in_plans(parameters: Mapping[str, Value], placement: Placement) -> str:
    """Executables run only if the user names their folder, never because a plan names them."""
    return "The site's executables are measured only by `assay run SUITE --beside DIR`."


def _beside(name: str, title: str, counts: str, rate: tuple[str, str] | None) -> Kernel:
    """The entry of one tool; ``counts``: the quantity that ``rate`` (name, unit) counts."""
    metrics = [Metric("time", "s", "less", "as the executable prints it")]
    if rate is not None:
        metrics.append(Metric(rate[0], rate[1], "more", f"{counts} / time", quantity=counts))
    return Kernel(
        name=BESIDE + name,
        title=title,
        parameters=(
            Parameter("program", "", "the executable"),
            Parameter("command", "", "its command line, with placeholders", tacit=True),
            Parameter("arguments", "", "its arguments", tacit=True),
            Parameter("input", "", "content of its input file", tacit=True),
            Parameter("sha256", "", "of the executable", tacit=True),
            Parameter("version", "", "as compiled into the executable", tacit=True),
            Parameter("of", "", "kernel that it is measured beside"),
            Parameter("at", "", "parameters of that kernel to which it corresponds"),
            Parameter("benchmark", "", "benchmark that its output must name", tacit=True),
            Parameter("mpi", "", "MPI that it is linked with", tacit=True),
            Parameter("mpirun", "", "launcher of that MPI", tacit=True),
            Parameter("counts", counts, "quantity of work that its rate counts", tacit=True),
            Parameter(
                "work",
                0.0,
                "amount of that quantity in one operation; 0: as the executable prints",
                tacit=True,
            ),
            _TIMEOUT,
        ),
        metrics=(*metrics, _WALL, _CPU),
        work=_counted,
        source="measured from outside (docs/beside.md)",
        threaded=True,
        headline="time" if rate is None else rate[0],
        check=_not_in_plans,
        outside=True,
    )


KERNELS = (
    Kernel(
        name=APP,
        title="A user's command",
        parameters=(
            Parameter("command", "", "the command, with placeholders for the placement"),
            Parameter("time", "", "regular expression that matches the printed time", tacit=True),
            Parameter("verify", "", "regular expression that its output must match", tacit=True),
            Parameter("shell", 0, "1: a shell runs the command", choices=(0, 1), tacit=True),
            _TIMEOUT,
        ),
        metrics=(
            Metric("time", "s", "less", "as printed by the command, else wall time"),
            _WALL,
            _CPU,
        ),
        work=_no_work,
        source="measured from outside (docs/methods/placement.md)",
        threaded=True,
        check=_check,
        outside=True,
    ),
    _beside("npb", "The site's NPB", "operations", ("rate", "op/s")),
    _beside("hpl", "The site's HPL", "flops", ("rate", "flop/s")),
    _beside("hpcg", "The site's HPCG", "flops", ("rate", "flop/s")),
    _beside("stream", "The site's STREAM", "bytes", ("bandwidth", "B/s")),
    _beside("osu", "The site's OSU latency benchmarks", "bytes", None),
    _beside("osu_rate", "The site's OSU message-rate benchmark", "messages", ("rate", "op/s")),
    _beside("osu_bw", "The site's OSU bandwidth benchmark", "bytes", ("bandwidth", "B/s")),
)


def is_beside(kernel: str) -> bool:
    """Whether a kernel's name denotes the site's executables of a benchmark."""
    return kernel.startswith(BESIDE)
