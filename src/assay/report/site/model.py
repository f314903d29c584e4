"""What a site knows between two builds: runs, histories, nodes and pages.

A file name may have bytes that are not UTF-8. Names are therefore stored as ``stored`` writes them.
"""

from __future__ import annotations

import os

import msgspec

from assay.console import harmless
from assay.records.directory import RunDirectory
from assay.records.listing import RunListing

SITE_SCHEMA = 1
# Times and sizes that change with a run: of its folder (ns), and of its seal (ns, bytes).
Stamp = tuple[int, int, int]


class SiteRun(msgspec.Struct, frozen=True):
    """A run as it was last seen."""

    stamp: Stamp
    #: ``listing.run`` and ``listing.path`` can be shown, but may not be the names of the files.
    listing: RunListing
    #: Whether it has a report.
    report: bool = False
    #: Why its results are not in the history; empty if they are.
    left_out: str = ""


class SiteNodes(msgspec.Struct, frozen=True):
    """What a group of runs says about its nodes."""

    #: What changes with the group's members.
    seen: str
    verdict: str
    #: Where, what, change and text of each line (``questions.common.lines``).
    lines: list[tuple[str, str, str, str]] = []


class SiteMachine(msgspec.Struct, frozen=True):
    """One machine of one store."""

    #: The store's path, as ``stored`` writes it, and the system's name.
    store: str
    system: str
    #: The folder of its pages.
    folder: str
    #: Digest of its runs at the last build.
    runs: str
    #: Number of runs in the history.
    in_history: int = 0
    verdict: str = ""
    #: Number of cells by state.
    states: dict[str, int] = {}
    #: The newest changes: Unix time (s), cell, sentence, remark, whether it is worse.
    changes: list[tuple[float, str, str, str, bool]] = []
    #: Labels of its cells.
    cells: list[str] = []


class SiteState(msgspec.Struct):
    """The content of the site's file."""

    schema: int
    #: Digest of everything that makes pages: version, templates, program.
    version: str
    #: Runs by store and name, both as ``stored`` writes them.
    stores: dict[str, dict[str, SiteRun]] = {}
    machines: list[SiteMachine] = []
    #: By store and name, as for runs.
    nodes: dict[str, dict[str, SiteNodes]] = {}
    #: Digest of each page, by its path in the site.
    pages: dict[str, str] = {}
    #: Digest of what a page of runs follows from, by its path.
    inputs: dict[str, str] = {}


def stored(name: str) -> str:
    """A path or name as text that can be encoded; ``named`` is the inverse."""
    return os.fsencode(name).decode("latin-1")


def named(text: str) -> str:
    """The path or name that ``stored`` wrote."""
    return os.fsdecode(text.encode("latin-1"))


def shown(text: str) -> str:
    """A text that a page can show: one line, without control characters."""
    return " ".join(harmless(text).split())


def shown_listing(run: RunDirectory, listing: RunListing) -> RunListing:
    """The listing of a run with texts that can be shown and encoded.

    The system keeps its name, because the history is selected by it.
    """
    return msgspec.structs.replace(
        listing,
        run=shown(run.name),
        path=shown(str(run.path)),
        suite=None if listing.suite is None else shown(listing.suite),
        problem=None if listing.problem is None else shown(listing.problem),
    )
