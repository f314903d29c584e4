"""Names of a program, which may hold anything, for people and files."""

from __future__ import annotations


def printable_name(name: str) -> str:
    """A name in which control characters, marks of direction and bytes that aren't UTF-8 are
    replaced by U+FFFD.
    """
    if name.isprintable():
        return name
    return "".join(each if each.isprintable() else "\ufffd" for each in name)
