"""Reads and writes lists of host names: schedulers' bracket notation, lists in sentences, natural
order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from assay.errors import AssayError

MOST_HOSTS = 100_000
_PIECE = re.compile(r"\[([0-9,\s-]*)\]|([^\[\],\s]+)", re.ASCII)
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)


def expand_hosts(text: str) -> tuple[str, ...]:
    """The hosts of ``"n[1-3,07-09],m4"``, in the written order.

    Names may have several brackets; the leftmost bracket varies slowest. A range whose first number
    begins with 0 keeps its width. White space around commas is ignored. Raises AssayError for text
    in another notation, and for more than ``MOST_HOSTS`` hosts.
    """
    hosts: list[str] = []
    for name in _names(text):
        found = [""]
        for values in _pieces(name, text):
            if len(found) * len(values) + len(hosts) > MOST_HOSTS:
                raise _too_many(text)
            found = [head + value for head in found for value in values]
        hosts += found
    return tuple(hosts)


def short_names(names: Iterable[str], most: int = 12) -> dict[str, str]:
    """Short names for figures: without the common end after a dot, and only the end of longer
    names.

    Names stay if two short names would be the same.
    """
    known = list(dict.fromkeys(names))
    ends = {name.partition(".")[2] for name in known}
    bare = [name.partition(".")[0] for name in known] if len(ends) == 1 else known
    short = [name if len(name) <= most else f"…{_end(name, most - 1)}" for name in bare]
    if len(set(short)) < len(short):
        short = bare
    return dict(zip(known, short, strict=True))


def _end(name: str, most: int) -> str:
    """The end of a name, starting at a separator if there is one."""
    end = name[-most:]
    return re.sub(r"^[^-_.]*[-_.]+(?=.)", "", end) or end


def _names(text: str) -> Iterator[str]:
    """The names, split at the commas outside brackets."""
    name, depth = "", 0
    for letter in text.strip():
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield name.strip()
            name = ""
        else:
            name += letter
    yield name.strip()


def _pieces(name: str, text: str) -> Iterator[list[str]]:
    """The possible values of each part of a name: one word, or the numbers of a bracket."""
    place = 0
    while place < len(name) or place == 0:
        match = _PIECE.match(name, place)
        if match is None:
            raise _misread(text)
        place = match.end()
        if match[2] is not None:
            yield [match[2]]
        else:
            numbers: list[str] = []
            for part in match[1].split(","):
                numbers += _numbers(part.strip(), text)
                if len(numbers) > MOST_HOSTS:
                    raise _too_many(text)
            yield numbers


def _numbers(part: str, text: str) -> list[str]:
    match = _RANGE.fullmatch(part)
    if match is None:
        raise _misread(text)
    first, last = match[1], match[2] or match[1]
    count = int(last) - int(first) + 1
    if count < 1:
        raise AssayError(
            f"The range {first}-{last} ends before it begins.",
            where=text,
            fix=f"Write {last}-{first}.",
        )
    if count > MOST_HOSTS:
        raise _too_many(text)
    width = len(first) if first.startswith("0") else 0
    return [f"{number:0{width}d}" for number in range(int(first), int(last) + 1)]


def _misread(text: str) -> AssayError:
    return AssayError(
        "The list of hosts is invalid.",
        where=text,
        fix='Write it like "n[1-3,07-09],m4": numbers and ranges in brackets.',
    )


def _too_many(text: str) -> AssayError:
    return AssayError(
        f"This list names more than {MOST_HOSTS:,} hosts.",
        where=text,
        fix="Check the numbers in its brackets.",
    )


def compress_hosts(hosts: Iterable[str]) -> str:
    """The hosts in bracket notation, in order. Consecutive numbers become ranges."""
    groups: list[tuple[str, list[list[str]]]] = []  # prefix before the number, its ranges
    for host in hosts:
        match = re.fullmatch(r"(.*?)(\d{1,18})", host, re.ASCII)
        if match is None or "[" in host:
            groups.append((host, []))
            continue
        head, number = match[1], match[2]
        if groups and groups[-1][0] == head and groups[-1][1]:
            ranges = groups[-1][1]
            if _follows(ranges[-1][0], ranges[-1][1], number):
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        else:
            groups.append((head, [[number, number]]))
    return ",".join(_written(head, ranges) for head, ranges in groups)


def _follows(first: str, last: str, number: str) -> bool:
    """Whether ``number`` continues the range from ``first`` to ``last``, including zero padding."""
    width = len(first) if first.startswith("0") else 0
    return number == f"{int(last) + 1:0{width}d}"


def _written(head: str, ranges: Sequence[Sequence[str]]) -> str:
    if not ranges:
        return head
    parts = [first if first == last else f"{first}-{last}" for first, last in ranges]
    if len(parts) == 1 and "-" not in parts[0]:
        return head + parts[0]
    return f"{head}[{','.join(parts)}]"


def names_text(hosts: Sequence[str]) -> str:
    """Hosts in a sentence: up to four by name (``"a, b and c"``), more in bracket notation."""
    if len(hosts) == 1:
        return hosts[0]
    if len(hosts) <= 4:
        return f"{', '.join(hosts[:-1])} and {hosts[-1]}"
    return compress_hosts(hosts)


def natural(host: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key that puts n10 after n9."""
    parts = re.findall(r"\d{1,18}|\D+", host, re.ASCII)
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in parts)
