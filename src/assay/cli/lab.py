"""``assay lab``: clusters on this machine, out of network namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from assay.lab.network import Progress
    from assay.lab.store import Lab


def up(
    spec: str = "single",
    *,
    name: str | None = None,
    slurm: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Make a lab, which stays until it is taken down or the machine starts anew. Needs root.

    Parameters
    ----------
    spec
        A TOML file (docs/formats.md), or one that comes with assay: single, two-rails, switches,
        helix, torus-2d, torus-3d, fat-tree. Up to 250 hosts.
    name
        What the lab is called [default: as the spec].
    slurm
        Start a Slurm over the hosts, too; `assay lab run NAME -- sbatch JOB` submits to it.
    json
        Print one JSON object on stdout.
    """
    from dataclasses import replace

    from assay.cli.output import console, print_json
    from assay.lab.spec import find_spec, load_spec
    from assay.lab.store import bring_up, check_name, check_root, labs

    path = find_spec(spec)
    wanted = load_spec(path)
    wanted = replace(wanted, slurm=wanted.slurm or slurm)
    called = name if name is not None else path.stem
    check_name(called)
    check_root()
    with _watched(f"making {called}") as progress:
        bring_up(wanted, called, progress)
    made = next(lab for lab in labs() if lab.name == called)
    if json:
        print_json(_facts(made))
        return
    out = console()
    out.print(f"{called}: {_in_words(made)}", markup=False, soft_wrap=True)
    out.print(
        f"`assay lab run {called} -- COMMAND` runs on it, `assay run network --lab {called}` "
        f"measures it, `assay lab down {called}` removes it.",
        markup=False,
        soft_wrap=True,
    )


def list_labs(*, json: Annotated[bool, Parameter(negative=())] = False) -> None:
    """List the labs there are, also what is left of one whose making was cut short.

    Parameters
    ----------
    json
        Print a list of objects on stdout.
    """
    from assay.cli.output import console, print_json
    from assay.lab.spec import shipped
    from assay.lab.store import labs

    found = labs()
    if json:
        print_json([_facts(lab) for lab in found])
        return
    out = console()
    if not found:
        specs = ", ".join(shipped())
        out.print(f"No labs. `assay lab up SPEC` makes one; SPEC can be: {specs}.", soft_wrap=True)
        return

    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("lab", "state", "what it is"):
        table.add_column(column, overflow="fold")
    for lab in found:
        table.add_row(lab.name, lab.state, _in_words(lab))
    out.print(table)


def run(name: str, *command: str, host: str | None = None) -> None:
    """Run a command on a lab's host; it ends with the command's exit status.

    Parameters
    ----------
    name
        The lab's name.
    command
        The command and its words, after --.
    host
        The host's name [default: the first, node1].
    """
    from assay.lab.entering import run_on

    run_on(name, host, command)


def down(
    name: str | None = None,
    *,
    every: Annotated[bool, Parameter(name="--all", negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """End what runs on a lab and remove it, or what is left of it.

    Parameters
    ----------
    name
        The lab's name.
    every
        Remove all labs.
    json
        Print the removed labs' names on stdout.
    """
    from assay.cli.output import console, print_json
    from assay.errors import AssayError
    from assay.lab.store import check_root, labs, take_down

    check_root()
    if (name is None) != every:
        raise AssayError("Which lab?", mend="Name one, or give --all: `assay lab list` has them.")
    names = [lab.name for lab in labs()] if name is None else [name]
    for each in names:
        take_down(each)
    if json:
        print_json(names)
    else:
        console().print(f"Removed: {', '.join(names) or 'nothing'}.", soft_wrap=True)


def _facts(lab: Lab) -> dict[str, object]:
    cluster = lab.cluster
    spec = cluster.spec if cluster else None
    return {
        "name": lab.name,
        "state": lab.state,
        "utc": lab.utc,
        "title": spec.title if spec else None,
        "topology": spec.topology if spec else None,
        "adapters": spec.adapters if spec else None,
        "trunk": spec.trunk if spec else None,
        "slurm": spec.slurm if spec else None,
        "remote_shell": str(cluster.remote_shell) if cluster else None,
        "hosts": [
            {"name": h.name, "namespace": h.namespace, "addresses": h.addresses, "cores": h.cores}
            for h in (cluster.hosts if cluster else ())
        ],
    }


def _in_words(lab: Lab) -> str:
    from assay.units import format_quantity

    if lab.cluster is None:
        return ""
    spec = lab.cluster.spec
    title = spec.title or f"a topology of kind '{spec.topology.kind}'"
    rates = " and ".join(
        "no limit" if wire.rate is None else format_quantity(wire.rate, "B/s")
        for wire in spec.adapters
    )
    slurm = ", with a Slurm" if spec.slurm else ""
    return f"{title} ({len(lab.cluster.hosts)} hosts, {rates} each way{slurm})"


def _watched(what: str) -> AbstractContextManager[Progress | None]:
    """A bar on a terminal; nothing elsewhere."""
    from contextlib import contextmanager, nullcontext

    from assay.cli.output import console

    err = console(stderr=True)
    if not err.is_terminal:
        return nullcontext()
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    @contextmanager
    def shown() -> Iterator[Progress]:
        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        with Bars(*columns, console=err, transient=True) as bars:
            task = bars.add_task(what, total=None)
            yield lambda done, steps: bars.update(task, completed=done, total=steps)

    return shown()
