"""Print the names that complete a command line. The completions of shells call this."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def complete(*words: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> None:
    """Print the names that complete a command line, a line each.

    Parameters
    ----------
    words
        The words of the command line from the program on; the last one is to be completed.
    """
    from assay.cli.completions import candidates
    from assay.errors import AssayError

    try:
        found = candidates(words)
    except (AssayError, OSError):  # an unreadable assay.toml, say: nothing to offer
        return
    for name in found:
        print(name)
