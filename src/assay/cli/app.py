"""The ``assay`` command: its table of contents. Commands are imported when they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from textwrap import dedent, indent

from cyclopts import App

from assay import __version__

# Each command's help and examples stand here, so that `assay --help` imports none of them.
COMMANDS = {
    "run": (
        "Measure this machine with a suite or a plan, and write its report.",
        """
        assay run                                     the suite 'quick', about 90 seconds
        assay run plan.toml --budget "10 min"         a plan of your own
        assay run --resume                            what the newest unfinished run still lacks
        assay run network --submit --nodes 8          in a job of the batch scheduler
        assay run --submit --per-node --nodes 400     each of 400 nodes by itself
        assay run steadiness --every "6 h" --sessions 8    how it varies over two days
        assay run placement                           how to use the nodes: ranks, threads, binding
        assay run placement --app "mpirun -n {ranks} ./a.out" --time "took (\\S+) s"
        assay run toolchains class=S                  which of compiler, MPI and ranks matters
        """,
    ),
    "measure": (
        "Measure one kernel, ad hoc. Lists and ranges sweep; every combination is a cell.",
        """
        assay measure npb.cg class=A --ppn 2 --json
        assay measure compute.dgemm n=100..1000:+100 --threads 1,2
        assay measure network.pingpong bytes=0,8,4MiB --ppn 2 --toolchain embedded,site
        """,
    ),
    "watch": (
        "Run a program, and say within a few steps when these leave their normal range, and why.",
        """
        assay watch --step 'step (?P<i>\\d+) of (?P<n>\\d+)' -- mpirun -n 4 ./model
        assay watch --step 'took (?P<seconds>\\S+)' --log steps.jsonl -- python train.py
        assay watch -- ./model                        a program that calls assay_heartbeat()
        assay watch --heartbeat                       how a program does that
        """,
    ),
    "report": (
        "Write or show the report of a run.",
        """
        assay report                                  the newest run, on the terminal
        assay report 20260101T --format markdown      a run by part of its name
        """,
    ),
    "history": (
        "Say how results have gone over all runs: what changed when, by how much, and with what.",
        """
        assay history                                 every cell, a line each
        assay history npb --since "90 d" --html       with a calendar and trends
        assay history --fail-on regression            exit with 1 if a cell is worse
        assay history --format openmetrics -o assay.prom
        """,
    ),
    "runs": (
        "List the runs there are, oldest first.",
        """
        assay runs
        assay runs --check                            compare sealed runs with their checksums
        assay runs --follow                           the newest one that was submitted
        assay runs --clean --yes                      end the jobs that are left of them
        """,
    ),
    "system": (
        "Show what this machine is: processor, memory, network, scheduler, toolchains.",
        """
        assay system
        assay system --json
        """,
    ),
    "kernels": (
        "Show what can be measured; --build makes the kernels ready without measuring.",
        """
        assay kernels
        assay kernels npb.cg                          its parameters, metrics and work
        """,
    ),
    "lab": (
        "Make clusters on this machine, out of network namespaces, to measure, try and learn on.",
        """
        assay lab up torus-2d                         16 hosts in a 4 x 4 torus
        assay lab run torus-2d -- uname -n            a command on its first host
        assay run network --lab torus-2d              measure it
        assay lab down torus-2d                       and away with it
        """,
    ),
    "doctor": (
        "Say what on this machine will hurt a measurement, and what to do about it.",
        """
        assay doctor
        assay doctor --fail-on warning                exit with 1 if there is one
        assay doctor --cluster                        the hosts of a job, or of [cluster]
        """,
    ),
}
# What job scripts run; nothing for people.
HIDDEN = {"job": "Do a job's part of a run that was submitted."}

# Commands below a command: function, help, examples.
BELOW = {
    "lab": {
        "up": (
            "up",
            "Make a lab, which stays until it is taken down.",
            """
            assay lab up                              four hosts on one switch
            assay lab up switches --name grid         a grid of switches, called grid
            assay lab up my-cluster.toml --json
            """,
        ),
        "list": (
            "list_labs",
            "List the labs there are.",
            """
            assay lab list
            assay lab list --json                     with addresses, cores and namespaces
            """,
        ),
        "run": (
            "run",
            "Run a command on a lab's host.",
            """
            assay lab run grid -- ip route
            assay lab run grid --host node3 -- uname -n
            """,
        ),
        "down": (
            "down",
            "End what runs on a lab and remove it.",
            """
            assay lab down grid
            assay lab down --all
            """,
        ),
    },
}

app = App(
    name="assay",
    help="Measure a machine or a cluster, and say what it is worth: how fast it is, how far from "
    "its limits, and how sure that is.",
    version=__version__,
    help_format="plaintext",
)


def _examples_of(text: str) -> str:
    return "Examples:\n" + indent(dedent(text).strip(), "  ")


for _name, (_help, _examples) in COMMANDS.items():
    if _name in BELOW:
        _group = App(
            name=_name,
            help=_help,
            help_epilogue=_examples_of(_examples),
            help_format="plaintext",
            version_flags=(),
        )
        for _below, (_function, _its_help, _its_examples) in BELOW[_name].items():
            _group.command(
                f"assay.cli.{_name}:{_function}",
                name=_below,
                help=_its_help,
                help_epilogue=_examples_of(_its_examples),
            )
        app.command(_group)
        continue
    app.command(
        f"assay.cli.{_name}:{_name}",
        name=_name,
        help=_help,
        help_epilogue=_examples_of(_examples),
    )
for _name, _help in HIDDEN.items():
    app.command(f"assay.cli.{_name}:{_name}", name=_name, help=_help, show=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run the command, exit with its status: 0 done, 1 asked to fail on, 2 wrong input."""
    from cyclopts import CycloptsError

    from assay.cli.output import print_error
    from assay.errors import AssayError

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = app(given, result_action="return_value", exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        command = next((word for word in given if word in COMMANDS), "")
        mend = f"`{' '.join(filter(None, ('assay', command, '--help')))}` says what it takes."
        print_error(str(error), mend=mend)
        sys.exit(2)
    except AssayError as error:
        print_error(error.what, where=error.where, mend=error.mend, detail=error.detail)
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read our output has gone; point stdout elsewhere so that exiting stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)
