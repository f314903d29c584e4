"""Finds names among the words of commands: ``--account=hpc42``, ``--host n1,n2``, paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.report.anonymous.patterns import common_path

_LONG = {
    "--account": "account",
    "--project": "account",
    "--partition": "partition",
    "--queue": "partition",
    "--qos": "partition",
    "--reservation": "reservation",
    "--user": "user",
    "--host": "host",
    "--hosts": "host",
    "--nodelist": "host",
    "--exclude": "host",
    "-host": "host",
    "-hosts": "host",
}
# Used only for schedulers' commands and directives: elsewhere these letters have other meanings.
_SHORT = {
    "-A": "account",
    "-P": "account",
    "-q": "partition",
    "-p": "partition",
    "-w": "host",
    "-m": "host",
}
_SCHEDULERS = ("srun", "sbatch", "salloc", "qsub", "bsub", "jsrun")


def argument_names(
    words: Sequence[str], *, directives: bool = False
) -> Iterator[tuple[int, int, str, str]]:
    """The names in a command: index of the word, offset of the name in it, kind, name.

    ``directives``: the words come from a job script's directives.
    """
    program = words[0].rpartition("/")[2] if words else ""
    known = _LONG | (_SHORT if directives or program in _SCHEDULERS else {})
    for place, word in enumerate(words):
        option, equals, value = word.partition("=")
        path = value if equals else word
        if path.startswith("/") and not common_path(path):  # the whole word, even if it has spaces
            yield place, len(word) - len(path), "path", path
            continue
        if option in known and equals and value:
            yield place, len(option) + 1, known[option], value
        elif word in known and place + 1 < len(words) and not words[place + 1].startswith("-"):
            yield place + 1, 0, known[word], words[place + 1]
