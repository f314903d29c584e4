"""Remove a lab and end all its processes.

Examples::

    assay lab down grid
    assay lab down --all
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from assay.cli.options import Json


def down(
    name: str | None = None,
    *,
    every: Annotated[bool, Parameter(name="--all", negative=())] = False,
    json: Json = False,
) -> None:
    """Remove a lab, or the remains of one, and end all its processes.

    Parameters
    ----------
    name
        The lab's name.
    every
        Remove all labs.
    json
        Print the removed labs' names on stdout.
    """
    from assay.console import console, print_json
    from assay.errors import AssayError
    from assay.lab.store import check_root, labs, take_down

    check_root()
    if (name is None) != every:
        raise AssayError(
            "No lab is named.", fix="Name one (`assay lab list` lists them), or give --all."
        )
    names = [lab.name for lab in labs()] if name is None else [name]
    for each in names:
        take_down(each)
    if json:
        print_json(names)
    else:
        console().print(f"Removed: {', '.join(names) or 'nothing'}.", soft_wrap=True, markup=False)
