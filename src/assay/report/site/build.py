"""Builds a site: reads what is new, updates the machines that it belongs to, writes their pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.records.model import name_part
from assay.report.site.first_page import MachineEntry, first_page
from assay.report.site.folder import FIRST_PAGE, SiteFolder, page_digest
from assay.report.site.machine_pages import machine_pages
from assay.report.site.machines import MachineRuns, folder_of, update, with_left_out
from assay.report.site.model import SiteMachine, SiteNodes, SiteRun, SiteState, shown, stored
from assay.report.site.nodes import read_nodes
from assay.report.site.rendering import Renderer, assets, search_index
from assay.report.site.stores import check_stores, read_store
from assay.report.site.version import site_version

_BROKEN = ("damaged", "unreadable")


class BuiltSite(msgspec.Struct, frozen=True):
    """What a build did; ``assay site --json`` prints it."""

    #: The first page.
    page: str
    machines: int
    runs: int
    #: Numbers of runs that are new or changed, and that no longer exist.
    new: int
    removed: int
    #: Numbers of pages and other files that were written, and removed.
    written: int
    deleted: int
    #: Damaged runs, and what is wrong with each.
    left_out: list[tuple[str, str]] = []


def build_site(stores: Sequence[Path], output: Path, *, rebuild: bool = False) -> BuiltSite:
    """Build the site of these stores, or bring it up to date.

    ``rebuild``: build everything, as if the site were new. Raises AssayError if a store is not a
    folder, if the output is something other than a site, or if it can't be written.
    """
    paths = check_stores(stores)
    folder = SiteFolder(output)
    with folder.opened():
        version = site_version()
        # No file of the data has this version, so that all are read again.
        state = folder.state("" if rebuild else version)
        return _Build(paths, folder, state, version, rebuild=rebuild).built()


class _Build:
    def __init__(
        self,
        stores: Sequence[Path],
        folder: SiteFolder,
        before: SiteState,
        version: str,
        *,
        rebuild: bool,
    ) -> None:
        self.folder = folder
        self.before = before
        self.version = version
        self.rebuild = rebuild
        self.runs = {
            store: read_store(store, before.stores.get(stored(str(store)), {})) for store in stores
        }
        self.render = Renderer()
        self.pages: dict[str, str] = {}
        self.kept: list[str] = []
        self.inputs: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.nodes: dict[str, dict[str, SiteNodes]] = {}

    def built(self) -> BuiltSite:
        new, removed = self._differences()
        entries = [self._entry(own, alone=alone) for own, alone in self._machines()]
        left_out = self._left_out()
        self.pages |= assets()
        self.pages[FIRST_PAGE] = first_page(
            self.render, entries, left_out, self.folder.path.resolve()
        )
        files = sorted(name for name in (*self.pages, *self.kept) if name.startswith("search/"))
        self.pages["search/index.js"] = search_index([name[len("search/") :] for name in files])
        written, deleted = self._write([each.machine for each in entries])
        return BuiltSite(
            page=str(self.folder.path / FIRST_PAGE),
            machines=len(entries),
            runs=sum(map(len, self.runs.values())),
            new=new,
            removed=removed,
            written=written,
            deleted=deleted,
            left_out=left_out,
        )

    def _differences(self) -> tuple[int, int]:
        """Numbers of runs that are new or changed, and of runs that are gone."""
        new = removed = 0
        present = {stored(str(store)): runs for store, runs in self.runs.items()}
        for store, runs in present.items():
            known = self.before.stores.get(store, {})
            new += sum(known.get(name) != run for name, run in runs.items())
        for store, known in self.before.stores.items():
            removed += sum(name not in present.get(store, {}) for name in known)
        return new, removed

    def _machines(self) -> list[tuple[MachineRuns, bool]]:
        """The machines of all stores, and whether no other store has a machine of this name."""
        found = [
            MachineRuns(store, system, runs)
            for store, runs_of_store in self.runs.items()
            for system, runs in _by_system(runs_of_store).items()
        ]
        times = Counter(each.system for each in found)
        return [(each, times[each.system] == 1) for each in found]

    def _entry(self, own: MachineRuns, *, alone: bool) -> MachineEntry:
        """A machine of the first page; its own pages are made if something of it changed."""
        store = stored(str(own.store))
        name = folder_of(own.system, own.store, alone=alone)
        title = shown(own.system) or "Unnamed machine"
        title += "" if alone else f" ({shown(own.store.name)})"
        nodes = read_nodes(own.store, own.runs, self.before.nodes.get(store, {}))
        self.nodes.setdefault(store, {}).update(nodes)
        seen = own.digest()
        for known in self.before.machines:
            if (known.store, known.system, known.folder, known.runs) == (
                store,
                own.system,
                name,
                seen,
            ):
                same = [page for page in self.before.pages if _is_of(page, name)]
                self.kept += same
                inputs = self.before.inputs
                self.inputs |= {page: inputs[page] for page in same if page in inputs}
                return MachineEntry(title, known, own, next(iter(nodes.values()), None))
        data = self.folder.data
        updated = update(own, name, data, self.version, again=self.rebuild)
        for run, why in updated.left_out.items():
            self.runs[own.store][run] = with_left_out(own.runs[run], why)
        if updated.left_out:
            runs = {run: self.runs[own.store][run] for run in own.runs}
            own = MachineRuns(own.store, own.system, runs)
        machine = msgspec.structs.replace(updated.machine, runs=own.digest())
        self.files[updated.values[0]] = updated.values[1]
        pages = machine_pages(
            self.render,
            own,
            updated,
            nodes=nodes,
            site=self.folder.path.resolve(),
            title=title,
            known={} if self.rebuild else self.before.inputs,
        )
        for path, text, digest in pages:
            if text is None:
                self.kept.append(path)
            else:
                self.pages[path] = text
            if digest:
                self.inputs[path] = digest
        return MachineEntry(title, machine, own, next(iter(nodes.values()), None))

    def _left_out(self) -> list[tuple[str, str]]:
        return [
            (run.listing.run, (run.listing.problem or run.left_out).rstrip("."))
            for runs in self.runs.values()
            for run in runs.values()
            if run.listing.state in _BROKEN or run.left_out
        ]

    def _write(self, machines: list[SiteMachine]) -> tuple[int, int]:
        """Write the pages that changed. Returns their number and the number of removed ones."""
        before = self.before.pages
        digests = {name: before[name] for name in self.kept}
        digests |= {name: page_digest(page) for name, page in self.pages.items()}
        changed: dict[str, str | None] = {
            name: page
            for name, page in self.pages.items()
            if before.get(name) != digests[name] or not (self.folder.path / name).is_file()
        }
        gone = [name for name in before if name not in digests]
        state = SiteState(
            schema=self.before.schema,
            version=self.version,
            stores={stored(str(store)): runs for store, runs in self.runs.items()},
            machines=machines,
            nodes=self.nodes,
            pages=digests,
            inputs=self.inputs,
        )
        name, content = self.folder.encoded(state)
        unneeded = [f"{each.folder}.values" for each in self.before.machines]
        current = {f"{each.folder}.values" for each in machines}
        self.folder.replace(changed | dict.fromkeys(gone), self.files | {name: content})
        self.folder.forget([each for each in unneeded if each not in current])
        return len(changed), len(gone)


def _is_of(page: str, folder: str) -> bool:
    """Whether a page belongs to a machine's folder; so does its file of the search."""
    return page.startswith((f"machines/{folder}/", f"search/{folder}."))


def _by_system(runs: Mapping[str, SiteRun]) -> dict[str, dict[str, SiteRun]]:
    """The runs of each system, oldest first.

    Groups and unreadable runs know their system only by their name, in which special characters
    are replaced.
    """
    written = {
        name_part(run.listing.system): run.listing.system
        for run in runs.values()
        if run.listing.system is not None
        and run.listing.utc is not None
        and run.listing.members is None
    }
    found: dict[str, dict[str, SiteRun]] = {}
    for name, run in runs.items():
        system = run.listing.system
        if system is not None:
            found.setdefault(written.get(system, system), {})[name] = run
    return found
