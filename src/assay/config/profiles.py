"""``[profiles.NAME]`` of ``assay.toml``: sections that apply to one of several systems.

A profile has the same sections as the file. They are merged into the file's own sections: tables
key by key, so that a profile names only differences. Lists and values are replaced.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from assay.errors import AssayError, nearest
from assay.hostnames import expand_hosts
from assay.toml import TomlDocument

PROFILES = "profiles"
# The variable that names a profile for this process and for processes that it starts anywhere.
SITE = "ASSAY_SITE"
_HOSTS = "hosts"


@dataclasses.dataclass(frozen=True)
class _ProfiledDocument(TomlDocument):
    """A file with a profile merged into it. If both have a key, its line is the profile's line."""

    profile: str

    @cached_property
    def lines(self) -> Mapping[tuple[str | int, ...], int]:
        lines = super().lines
        prefix = (PROFILES, self.profile)
        own = {path[2:]: line for path, line in lines.items() if path[:2] == prefix}
        return {**lines, **own}


def with_profile(document: TomlDocument, named: str | None) -> tuple[TomlDocument, str | None]:
    """The file merged with the profile that applies, and the profile's name.

    The profile is the one ``named``, else the one in ``$ASSAY_SITE``, else the first whose
    ``hosts`` match this machine's name. Without a profile, the file's own sections apply. Raises
    AssayError for an unknown name and for hosts that can't be read.
    """
    profiles = document.data.get(PROFILES, {})
    if not isinstance(profiles, dict) or not all(isinstance(p, dict) for p in profiles.values()):
        raise document.error([PROFILES], "'profiles' must be a table of profiles.")
    known = {name: _hosts(document, name, table) for name, table in profiles.items()}
    asked = named or os.environ.get(SITE)
    if asked and asked not in profiles and (named or profiles):
        raise AssayError(
            f"There is no profile '{asked}'.",
            where="--site" if named else SITE,
            fix=nearest(asked, profiles) or f"{document.path} has none.",
        )
    host = os.uname().nodename
    chosen = asked if asked in profiles else None
    if chosen is None:
        chosen = next((name for name, hosts in known.items() if _matches(host, hosts)), None)
    data = {name: value for name, value in document.data.items() if name != PROFILES}
    if chosen is None:
        return dataclasses.replace(document, data=data), None
    own = {name: value for name, value in profiles[chosen].items() if name != _HOSTS}
    if PROFILES in own:
        raise document.error(
            [PROFILES, chosen, PROFILES],
            "A profile can't contain profiles.",
            "Move them to the file's own [profiles].",
        )
    merged = _merged(data, own)
    if "name" not in (system := merged.setdefault("system", {})):
        merged["system"] = {**system, "name": chosen}
    return _ProfiledDocument(document.path, document.text, merged, profile=chosen), chosen


def _hosts(document: TomlDocument, name: str, table: Mapping[str, Any]) -> Sequence[str]:
    """A profile's patterns of host names: "login*" or "n[001-400]"."""
    written = table.get(_HOSTS, [])
    path = [PROFILES, name, _HOSTS]
    if isinstance(written, str):
        written = [written]
    if not isinstance(written, list) or not all(isinstance(each, str) for each in written):
        raise document.error(
            path,
            f"'{'.'.join(path)}' must be a list of host names.",
            'Such as ["login*", "n[001-400]"].',
        )
    patterns: list[str] = []
    for each in written:
        try:
            patterns += [each] if "*" in each or "?" in each else expand_hosts(each)
        except AssayError as error:
            raise document.error(path, error.what, error.fix) from None
    return patterns


def _matches(host: str, patterns: Sequence[str]) -> bool:
    """Whether a host is one of a profile's, by its full name or by the part before the domain."""
    return any(
        fnmatch.fnmatchcase(name, pattern)
        for name in {host, host.partition(".")[0]}
        for pattern in patterns
    )


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        known = merged.get(name)
        both = isinstance(known, dict) and isinstance(value, dict)
        merged[name] = _merged(known, value) if both and isinstance(known, dict) else value
    return merged
