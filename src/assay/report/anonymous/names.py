"""The private names of runs, and their replacements: ``host-1``, ``user-1``, ``/path-1``.

Replacements are numbers in the natural order of a run's names. Digests would not hide names: host
names are short and follow patterns, so a program can guess the name behind a digest. The numbers of
a run depend only on its files. Numbers of different exports aren't comparable.
"""

from __future__ import annotations

import re
from pathlib import Path

from assay.errors import AssayError
from assay.hostnames import compress_hosts, expand_hosts, natural
from assay.report.anonymous.patterns import (
    PATTERN,
    common_path,
    found_in,
    job_number,
    private_address,
)
from assay.report.anonymous.words import distinctive

# In order of precedence: a name that has several kinds is replaced as the first of these kinds.
KINDS = (
    "host",
    "group",
    "user",
    "account",
    "partition",
    "reservation",
    "system",
    "domain",
    "job",
    "address",
    "file",
    "path",
)
# Words joined by dots, hyphens and underscores, and the maximum number of words in such a name.
_WORD = r"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*"
_MOST_PIECES = 15
_NOBODY = frozenset(("", "-", "root", "localhost", "none", "None", "unknown", "system"))


class FoundNames:
    """The private names of one run, by kind; ``aliases``: texts that name the run itself."""

    def __init__(self) -> None:
        self.by_kind: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self.runs: list[tuple[str, str, str]] = []  # names of a run, its system and its suite

    def put(self, kind: str, name: str) -> None:
        """Add a name. A host name is split at its first dot into host and domain."""
        name = name.strip()
        if name in _NOBODY:
            return
        if kind == "host":
            if private_address(name):
                kind = "address"
            else:
                name, _, domain = name.partition(".")
                if domain:
                    self.by_kind["domain"].add(domain)
        if kind == "path":
            name = name.rstrip("/")
            if common_path(name):
                return
        if name not in _NOBODY:
            self.by_kind[kind].add(name)

    def hosts(self, text: str) -> None:
        """Add the hosts of a list such as ``n[1-4],m2``. Any other text counts as one name."""
        try:
            listed = expand_hosts(text)
        except AssayError:
            listed = (text,)
        for host in listed:
            self.put("host", host.partition(":")[0] if host.count(":") == 1 else host)

    def text(self, text: str) -> None:
        """Add the names that a text reveals by its form, such as paths and addresses."""
        for kind, part in found_in(text):
            self.put(kind, part)


class Names:
    """Replacements of names. The same name always has the same replacement."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}  # lower case for all kinds except paths and files
        self._counts: dict[str, int] = {}
        self._reserved: set[str] = set()  # real names, which no replacement may equal
        self._aliases: set[str] = set()
        self._literals: dict[str, str] = {}  # longer texts, such as names of runs
        self._compiled: dict[bool, re.Pattern[str]] = {}
        self._words: dict[str, str] = {}
        self._unusual: dict[str, str] = {}

    def add(self, found: FoundNames) -> None:
        """Number those names of a run that have no number yet, in natural order."""
        self._reserved |= {name.lower() for names in found.by_kind.values() for name in names}
        for kind in KINDS:
            names = found.by_kind[kind]
            for name in sorted(names, key=lambda name: (natural(name.lower()), name)):
                alias = self._number(kind, name)
                if kind == "file":  # reports show the file's name without its folder
                    self._by_name.setdefault(name.rpartition("/")[2], alias)
        self._compiled = {}
        aliases: dict[str, str] = {}
        for run, system, suite in found.runs:
            parts = re.fullmatch(rf"(\w+)-{re.escape(system)}-[^-]*(-\d+)?", run)
            if parts is not None:
                # A common word, such as "unknown", is not private and has no replacement.
                alias = self._by_name.get(system.lower(), system)
                aliases[run] = f"{parts[1]}-{alias}-{self.text(suite)}{parts[2] or ''}"
        self._literals |= aliases
        self._compiled = {}

    def _number(self, kind: str, name: str) -> str:
        key = name if kind in ("path", "file") else name.lower()
        if name in self._aliases:
            return name
        if key not in self._by_name:
            alias = self._next(kind)
            while alias in self._reserved:
                alias = self._next(kind)
            self._by_name[key] = alias
            self._aliases.add(alias)
            if self._in_sentences(key, alias):
                self._words[key] = alias
        return self._by_name[key]

    def _next(self, kind: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{'/' if kind == 'path' else ''}{kind}-{self._counts[kind]}"

    def name(self, kind: str, name: str) -> str:
        """The replacement of a value known to be a name of this kind."""
        return name if name.strip() in _NOBODY else self._number(kind, name.strip())

    def run(self, run: str) -> str:
        """The replacement of a run's name, for any name of its system."""
        return self._literals.get(run) or self.text(run)

    def host(self, text: str) -> str:
        """The replacement of a host, or of a list of hosts in bracket notation."""
        if not text or text in _NOBODY:
            return text
        try:
            hosts = expand_hosts(text)
        except AssayError:
            return self.text(text)
        return compress_hosts(self._host(host) for host in hosts)

    def _host(self, host: str) -> str:
        if private_address(host):
            return self._number("address", host)
        short = host.partition(".")[0]
        return short if short in _NOBODY else self._number("host", short)

    def text(self, text: str, *, patterns: bool = True) -> str:
        """A text with every private name in it replaced.

        ``patterns``: also replace unknown paths, addresses, logins and job ids. A name that is an
        ordinary word, a single letter or a number stays, since a sentence may use it as a word.
        ``name`` and ``host`` replace values that are known to be names.
        """
        if patterns not in self._compiled:
            self._compiled[patterns] = self._compile(patterns)
        return self._compiled[patterns].sub(self._replace, text) if text else text

    def _compile(self, patterns: bool) -> re.Pattern[str]:
        # A run may have thousands of names, so most are found by looking up the words of the text.
        # Names with other characters, such as paths with spaces, are searched for one by one.
        self._words = {
            name: alias for name, alias in self._by_name.items() if self._in_sentences(name, alias)
        }
        unusual = [
            *(run for run in self._literals),
            *(p for p in self._by_name if p.startswith("/") and not re.fullmatch(PATTERN, p)),
            *(name for name in self._words if not re.fullmatch(_WORD, name)),
        ]
        self._unusual = {
            name.lower(): self._literals.get(name) or self._by_name[name] for name in unusual
        }
        listed = "|".join(re.escape(name) for name in sorted(unusual, key=len, reverse=True))
        edges = r"(?<![A-Za-z0-9])(?:{})(?![A-Za-z0-9])"
        parts = [f"(?P<unusual>{edges.format(listed)})"] if unusual else []
        parts += [PATTERN] if patterns else []
        parts.append(f"(?P<words>{_WORD})")
        return re.compile("|".join(parts), re.IGNORECASE)

    @staticmethod
    def _in_sentences(name: str, alias: str) -> bool:
        return not alias.startswith("/") and distinctive(name)

    def _replace(self, match: re.Match[str]) -> str:
        kind, part = match.lastgroup, match[0]
        if kind == "words":
            return self._known_words(part)
        if kind == "unusual":
            return self._unusual[part.lower()]
        if kind == "path":
            return self._path(part)
        if kind == "mac":
            return self._number("address", part)
        if kind in ("ipv4", "ipv6"):
            return self._number("address", part) if private_address(part) else part
        if kind == "login":
            user, _, host = part.partition("@")
            return f"{self.name('user', user)}@{self._host(host)}"
        if kind == "job":
            number = job_number(part)
            return part.removesuffix(number) + self._number("job", number)
        return self._listed(part)

    def _known_words(self, text: str) -> str:
        """Words joined by dots, hyphens and underscores, with the longest known names replaced."""
        pieces = re.split(r"([._-]+)", text)
        done: list[str] = []
        place = 0
        while place < len(pieces):
            for end in range(min(len(pieces), place + _MOST_PIECES), place, -2):
                alias = self._words.get("".join(pieces[place:end]).lower())
                if alias is not None:
                    done.append(alias)
                    place = end
                    break
            else:
                done.append(pieces[place])
                place += 1
                continue
            if alias.startswith("host-"):  # with any domain
                while place + 1 < len(pieces) and pieces[place] == "." and pieces[place + 1]:
                    place += 2
        return "".join(done)

    def _path(self, part: str) -> str:
        if common_path(part) or part in self._aliases:
            return part
        return self._number("path", part.rstrip("/"))

    def _listed(self, part: str) -> str:
        """Replace hosts in bracket notation. Text in brackets that names no known host stays."""
        try:
            hosts = expand_hosts(part)
        except AssayError:
            return part
        known = any(host.partition(".")[0].lower() in self._by_name for host in hosts)
        return self.host(part) if known else self._known_words(part)


def owner_of(path: Path) -> str | None:
    """The user who owns a file; None if the owner is unknown."""
    try:
        return path.owner()
    except (KeyError, OSError, NotImplementedError):
        return None
