"""List the labs.

Examples::

    assay lab list
    assay lab list --json  # with addresses, cores and namespaces
"""

from __future__ import annotations

from assay.cli.options import Json


def list_labs(*, json: Json = False) -> None:
    """List the labs, including the remains of one whose creation was interrupted.

    Parameters
    ----------
    json
        Print a list of objects on stdout.
    """
    from assay.cli.lab.describe import facts, in_words
    from assay.console import console, print_json
    from assay.lab.spec import shipped
    from assay.lab.store import labs

    found = labs()
    if json:
        print_json([facts(lab) for lab in found])
        return
    out = console()
    if not found:
        specs = ", ".join(shipped())
        out.print(
            f"No labs. `assay lab up SPEC` makes one; SPEC can be: {specs}.",
            soft_wrap=True,
            markup=False,
        )
        return

    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("lab", "state", "what it is"):
        table.add_column(column, overflow="fold")
    for lab in found:
        table.add_row(Text(lab.name), lab.state, Text(in_words(lab)))
    out.print(table)
