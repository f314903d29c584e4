"""Explains terms on a terminal, below the text in which they occur."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.report.terms.terms import terms_in

if TYPE_CHECKING:
    from rich.console import Console

# Code and commands, whose words are not terms.
_COMMANDS = re.compile(r"`[^`]*`|\bassay [a-z]+(?: [a-z-]+)?")


def print_explained(console: Console, print_text: Callable[[], None]) -> None:
    """Print a text, and the terms in it.

    Pipes and files get no explanations: programs read them.
    """
    if not console.is_terminal:
        print_text()
        return
    console.record = True
    try:
        print_text()
    finally:
        text = console.export_text()
        console.record = False
    print_terms(console, text)


def print_terms(console: Console, text: str) -> None:
    """Print a line for each term of a text."""
    from rich.table import Table
    from rich.text import Text

    found = terms_in(_COMMANDS.sub(" ", " ".join(text.split())))
    if not found:
        return
    console.print()
    console.print(Text("Terms", style="dim bold"))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for term in found:
        grid.add_row(Text(f"  {term.name}", style="dim"), Text(term.text, style="dim"))
    console.print(grid)
