"""Groups of nodes that share something, such as a rack or a switch: stated, or from host names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Ints
from assay.hostnames import expand_hosts
from assay.stats.fleet.node_groups import MIN_GROUP, MIN_GROUPS

# Kind of groups from host names if the name has no word for it.
UNNAMED = "node group"
# Words before a number in a host name that describe what the number counts.
_WORDS = frozenset({"blade", "cabinet", "chassis", "enclosure", "island", "rack", "row", "switch"})
# A single number of at least this many digits is divided before its last two digits, unless these
# exceed the number of nodes that a rack may have: consecutive numbers use all values.
_DIGITS, _LAST, _MOST_PLACE = 4, 2, 89
_ADDRESS = re.compile(r"[0-9.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*", re.ASCII)


@dataclass(frozen=True)
class Grouping:
    """A partition of nodes into groups."""

    #: Kind of the groups, such as ``rack``.
    what: str
    #: Names of the groups. ``numbers`` [node]: index of the group in ``names``; -1 for none.
    names: tuple[str, ...]
    numbers: Ints


def groupings(
    hosts: Sequence[str], stated: Mapping[str, Mapping[str, str]] | None = None
) -> list[Grouping]:
    """The partitions of hosts. ``hosts``: names, empty where unknown.

    ``stated``: hosts in bracket notation, by kind of group and name (``[system.groups]``). If none
    of them names one of the hosts, partitions are derived from host names. Only partitions with
    enough groups of enough nodes are returned.
    """
    found = [_stated(hosts, what, groups) for what, groups in (stated or {}).items()]
    if all((each.numbers < 0).all() for each in found):
        found = _by_name(hosts)
    return [each for each in found if _usable(each.numbers)]


def _usable(numbers: Ints) -> bool:
    _, sizes = np.unique(numbers[numbers >= 0], return_counts=True)
    return int((sizes >= MIN_GROUP).sum()) >= MIN_GROUPS


def _stated(hosts: Sequence[str], what: str, groups: Mapping[str, str]) -> Grouping:
    """Hosts match by their full name or by the part before the first dot."""
    group_of = {
        name: place
        for place, listed in enumerate(groups.values())
        for host in expand_hosts(listed)
        for name in (host, _short(host))
    }
    numbers = [group_of.get(host, group_of.get(_short(host), -1)) for host in hosts]
    return Grouping(what, tuple(groups), np.array(numbers, dtype=np.int64))


def _short(host: str) -> str:
    return host if _ADDRESS.fullmatch(host) else host.partition(".")[0]


def _by_name(hosts: Sequence[str]) -> list[Grouping]:
    """A partition for each number in the names except the last, by the name up to this number.

    Only names with the same text between the numbers are compared.
    """
    fields = [_fields(host) for host in hosts]
    places = _single_number(fields)
    found: list[Grouping] = []
    for level in range(max((len(each) for each in places), default=0)):
        heads = [each[: level + 1] if len(each) > level + 1 else [] for each in places]
        names = tuple(dict.fromkeys(_written(head) for head in heads if head))
        place_of = {name: place for place, name in enumerate(names)}
        numbers = np.array([place_of[_written(head)] if head else -1 for head in heads])
        words = {re.sub(r"[^a-z]", "", head[level][0].lower()) for head in heads if head}
        word = words.pop() if len(words) == 1 else ""
        fresh = Grouping(word if word in _WORDS else UNNAMED, names, numbers)
        if not any(np.array_equal(fresh.numbers, other.numbers) for other in found):
            found.append(fresh)
    return found


def _written(fields: Sequence[tuple[str, str]]) -> str:
    return "".join(text + number for text, number in fields)


def _fields(host: str) -> list[tuple[str, str]]:
    """The numbers of a host's name, each with the text before it; none for an address."""
    if _ADDRESS.fullmatch(host):
        return []
    return [(text, number) for text, number in re.findall(r"(\D*)(\d+)", _short(host), re.ASCII)]


def _single_number(fields: list[list[tuple[str, str]]]) -> list[list[tuple[str, str]]]:
    """Single numbers of the same width, divided before their last two digits.

    For example, ``cn0312`` becomes ``cn03`` and ``12``, if the last two digits restart in each
    group.
    """
    single = [each[0][1] for each in fields if each]
    if not single or any(len(each) != 1 for each in fields if each):
        return fields
    widths = {len(number) for number in single}
    if len(widths) != 1 or min(widths) < _DIGITS:
        return fields
    if max(int(number[-_LAST:]) for number in single) > _MOST_PLACE:
        return fields
    return [
        [part for text, number in each for part in ((text, number[:-_LAST]), ("", number[-_LAST:]))]
        for each in fields
    ]
