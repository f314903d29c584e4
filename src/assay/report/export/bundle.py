"""A bundle for the appendix on artefacts of a paper: runs, plans, environment, how to repeat them.

The archive has the same form as that of an acceptance: the same runs always give the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from assay.acceptance.archive.contents import files_of
from assay.acceptance.archive.layout import SUMS, folder_of
from assay.acceptance.archive.writing import Content, check_target, write_archive
from assay.errors import AssayError
from assay.plain_files import read_plain
from assay.records.directory import SEAL, RunDirectory, find_run
from assay.records.model import Manifest, RunData, name_part
from assay.records.reading import read_run
from assay.report.anonymous.collect import names_of
from assay.report.anonymous.names import Names
from assay.report.anonymous.runs import without_names
from assay.report.export.anonymous_run import files_without_names
from assay.report.export.plan_text import plan_text
from assay.stats.cells.summarise import summarise_cells
from assay.units import counted
from assay.version import VERSION

README = "README.md"
ENVIRONMENT = "environment.json"
PLANS = "plans"
MACHINES = "machines"
_OPTION = "--bundle"


class BundledRun(msgspec.Struct, frozen=True):
    """A run in ``environment.json``."""

    run: str
    suite: str
    #: Start of the run, Unix time, s.
    utc: float
    #: Version of assay that measured it.
    assay: str
    #: Whether it is sealed.
    complete: bool
    seed: int
    #: The command that measured it, and the command that repeats it in the unpacked bundle; the
    #: latter is empty if the bundle lacks what it needs.
    command: list[str]
    repeat: list[str]
    system: dict[str, object]
    toolchains: dict[str, dict[str, object]]


class Environment(msgspec.Struct, frozen=True):
    """``environment.json``."""

    schema: int
    #: Version of assay that wrote the bundle.
    assay: str
    #: Whether private names are replaced.
    anonymous: bool
    runs: list[BundledRun]


@dataclass(frozen=True)
class _Part:
    """A run as it is bundled."""

    data: RunData
    files: Mapping[str, Content]
    #: The scenario of a simulated machine, if it can still be read.
    scenario: bytes | None
    #: The folder of its plan and of its scenario, which have the suite's name.
    place: str = ""

    @property
    def plan(self) -> str:
        """The path of its plan; empty if it has none, because its numbers were imported."""
        return "" if self.data.manifest.imported else f"{PLANS}/{self.place}.toml"

    @property
    def machine(self) -> str:
        """The path of its scenario; empty if it has none."""
        return "" if self.scenario is None else f"{MACHINES}/{self.place}.toml"


def write_bundle(root: Path, wanted: Sequence[str], path: Path, *, anonymous: bool) -> list[str]:
    """Write the archive of these runs (by default the newest); returns the runs' names in it.

    Raises AssayError for an unknown, damaged or grouped run, and if the file can't be written.
    """
    check_target(path)
    directories = {
        run.path.resolve(): run for run in (find_run(root, name) for name in wanted or [""])
    }
    parts = [_read(directory) for directory in directories.values()]
    names = Names() if anonymous else None
    if names is not None:
        for part in sorted(parts, key=lambda each: each.data.manifest.run):
            names.add(names_of(part.data))
        parts = [
            _without_names(part, directory, names)
            for part, directory in zip(parts, directories.values(), strict=True)
        ]
    runs = [part.data.manifest.run for part in parts]
    if len(set(runs)) < len(runs):
        raise AssayError("Two of the runs have this name.", where=runs[0], fix="Rename one.")
    parts = _placed(parts)
    contents: dict[str, Content] = {}
    for part in parts:
        contents |= _contents(part)
    bundled = [_bundled(part) for part in parts]
    environment = Environment(schema=1, assay=VERSION, anonymous=anonymous, runs=bundled)
    contents[ENVIRONMENT] = msgspec.json.format(msgspec.json.encode(environment)) + b"\n"
    contents[README] = _readme(parts, environment).encode()
    _make_folder(path)
    write_archive(path, contents, None)
    return runs


def _placed(parts: Sequence[_Part]) -> list[_Part]:
    """The parts with their places: the suite's name, in a numbered folder if it occurs again."""
    suites = [name_part(part.data.manifest.plan.name) for part in parts]
    return [
        replace(part, place=suite if suites.index(suite) == at else f"{at + 1}/{suite}")
        for at, (part, suite) in enumerate(zip(parts, suites, strict=True))
    ]


def _make_folder(path: Path) -> None:
    from assay.report import make_folder

    make_folder(path.parent, _OPTION)


def _read(directory: RunDirectory) -> _Part:
    request = directory.request()
    if request is not None and request.members is not None:
        raise AssayError(
            "A bundle holds single runs, and this is a group of runs.",
            where=str(directory.path),
            fix=f"Name its members, such as {directory.path / 'members' / '00000'}.",
        )
    files = files_of(directory)
    if (directory.path / SEAL).exists():
        broken = directory.broken_seal()
        if broken:
            raise AssayError(
                f"The run isn't as it was sealed: {broken[0]}.",
                where=str(directory.path),
                fix="Restore it from a copy, or leave it out.",
            )
    data = read_run(directory.path)
    return _Part(data, files, _scenario(data.manifest))


def _scenario(manifest: Manifest) -> bytes | None:
    try:
        return None if manifest.fake is None else read_plain(Path(manifest.fake).resolve())
    except OSError:
        return None


def _without_names(part: _Part, directory: RunDirectory, names: Names) -> _Part:
    files = files_without_names(directory, part.data, names)
    scenario = part.scenario
    if scenario is not None:
        scenario = names.text(scenario.decode(errors="replace")).encode()
    return _Part(without_names(part.data, names), files, scenario)


def _contents(part: _Part) -> dict[str, Content]:
    manifest = part.data.manifest
    run = manifest.run
    contents = {f"{folder_of(run)}/{name}": each for name, each in part.files.items()}
    if part.plan:
        contents[part.plan] = plan_text(manifest.plan).encode()
    if part.scenario is not None:
        contents[part.machine] = part.scenario
    return contents


def _bundled(part: _Part) -> BundledRun:
    manifest = part.data.manifest
    repeat = ["assay", "run", part.plan] if part.plan else []
    if repeat and part.machine:
        repeat += ["--fake", part.machine]
    return BundledRun(
        run=manifest.run,
        suite=manifest.plan.name,
        utc=manifest.utc,
        assay=manifest.assay,
        complete=part.data.complete,
        seed=manifest.plan.seed,
        command=list(manifest.command),
        repeat=repeat,
        system=manifest.system,
        toolchains=manifest.toolchains,
    )


def _readme(parts: Sequence[_Part], environment: Environment) -> str:
    blocks = [
        "# Artefact",
        f"{counted(len(parts), 'run')}, written by assay {VERSION}."
        + (" Names of hosts, users, paths and sites are replaced." * environment.anonymous),
        "## Contents",
        "\n".join(
            [
                "| path | content |",
                "| --- | --- |",
                "| `runs/` | the runs: manifest, samples, launches, seal |",
                f"| `{PLANS}/` | each run's plan, with every cell |",
                f"| `{ENVIRONMENT}` | machine, toolchains, versions, commands |",
                f"| `{SUMS}` | SHA-256 of every file |",
            ]
        ),
        "## Use",
        "Unpack the archive in an empty folder. There:",
        "\n".join(
            [
                "```",
                f"sha256sum --check --quiet {SUMS}",
                *(f"assay report runs/{part.data.manifest.run} --verbose" for part in parts),
                f"assay export runs/{parts[0].data.manifest.run} --format csv",
                "```",
            ]
        ),
    ]
    for part, bundled in zip(parts, environment.runs, strict=True):
        blocks += _run_text(part, bundled)
    return "\n\n".join([*blocks, ""])


def _run_text(part: _Part, bundled: BundledRun) -> list[str]:
    manifest = part.data.manifest
    cells = summarise_cells(part.data)
    measured = sum(1 for cell in cells if cell.metrics)
    state = "" if bundled.complete else " The run is incomplete."
    blocks = [
        f"## {bundled.run}",
        f"{manifest.plan.title or manifest.plan.name}: {measured} of "
        f"{counted(len(cells), 'cell')} have results, seed {bundled.seed}.{state}",
    ]
    if manifest.imported:
        sources = [f"- `{Path(each.file).name}` {each.digest}" for each in manifest.imported]
        blocks.append("The numbers were imported from the output of other tools (SHA-256):")
        return [*blocks, "\n".join(sources)]
    if manifest.fake is not None:
        blocks.append("The machine was simulated.")
    blocks += [
        "The run was measured by:",
        f"```\n{shlex.join(bundled.command)}\n```",
        "This repeats it on your machine, in the same random order:",
        f"```\n{shlex.join(bundled.repeat)}\n```",
        "Cells that your machine can't run are left out, with a note. Then "
        "`assay compare OLD NEW`, with the names of both runs, shows what differs.",
    ]
    return blocks
