"""Create a lab; it stays until it is removed.

Examples::

    assay lab up  # four hosts on one switch
    assay lab up switches --name grid  # a grid of switches, called grid
    assay lab up my-cluster.toml --json
"""

from __future__ import annotations

from assay.cli.options import Flag, Json


def up(
    spec: str = "single",
    *,
    name: str | None = None,
    slurm: Flag = False,
    slurm_accounts: Flag = False,
    json: Json = False,
) -> None:
    """Create a lab; it stays until it is removed or the machine restarts. Needs root.

    Parameters
    ----------
    spec
        A TOML file (docs/formats/config.md), or one shipped with assay: single, two-rails,
        switches, helix, torus-2d, torus-3d, fat-tree. Up to 250 hosts.
    name The name of the lab [default: the spec's name]. slurm
        Also start Slurm on the hosts; `assay lab run NAME -- sbatch JOB` submits to it.
    slurm_accounts
        Also start slurmdbd, so that sacct, limits and QOS work, and create ordinary users, who
        submit with `assay lab run NAME --user USER`.
    json
        Print one JSON object on stdout.
    """
    from dataclasses import replace

    from assay.cli.lab.describe import facts, in_words, watched
    from assay.console import console, print_json
    from assay.lab.spec import find_spec, load_spec
    from assay.lab.store import bring_up, check_name, check_root, labs

    path = find_spec(spec)
    wanted = load_spec(path)
    wanted = replace(wanted, slurm=wanted.slurm or slurm or slurm_accounts)
    if slurm_accounts:
        wanted = replace(wanted, site=replace(wanted.site, accounts=True, users=True))
    called = name if name is not None else path.stem
    check_name(called)
    check_root()
    with watched(f"making {called}") as progress:
        bring_up(wanted, called, progress)
    started = next(lab for lab in labs() if lab.name == called)
    if json:
        print_json(facts(started))
        return
    out = console()
    out.print(f"{called}: {in_words(started)}", markup=False, soft_wrap=True)
    out.print(
        f"`assay lab run {called} -- COMMAND` runs on it, `assay run network --lab {called}` "
        f"measures it, `assay lab down {called}` removes it.",
        markup=False,
        soft_wrap=True,
    )
