"""Where reports land, as users ask for them: format by suffix, one rule for all commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import prepared_assay
from acceptance_runs import filed_run, normal_times
from assay.cli.app import app
from assay.design.example import EXAMPLE
from assay.errors import AssayError
from assay.report.destination import Destination, destination
from assay.simulation.example import EXAMPLE as CLUSTER
from native_build import TOOLS
from profiles import header, profiled_program, write_profile
from quick_part import first_quickly
from records_builder import make_cell
from usage_logs import SWF

MACHINE = """
schema = 1
seed = 3
nodes = 1
cores = 4
launch_time = "1 ms"
[toolchain.embedded]
cxx = "g++"
mpi_flavour = "mpich"
[[kernel]]
time = 0.001
noise = { sigma = 0.02, launch_sigma = 0.01 }
"""
PLAN = """
schema = 1
title = "A barrier with a title that is longer than any line of a terminal of eighty columns has"
[[measure]]
kernel = "network.barrier"
ppn = 2
"""
CONTRACT = """
schema = 1
title = "A machine with fast barriers"
[[commitment]]
cells = "network.barrier"
at_most = "2 ms"
"""
# Each command that reports, and the usual stem of its file.
COMMANDS = {
    "report": ("report", "old"),
    "usage": ("usage machine.swf", "usage"),
    "profile": ("profile --read app.profile", "profile"),
    "why": ("why --read app.why", "why"),
    "history": ("history", "history"),
    "compare": ("compare old new", "comparison"),
    "design": ("design cluster.toml", "design"),
    "simulate": (
        "simulate npb.ep.S --on seth.toml --ranks 4 --rate 1Mop/s --draws 1",
        "simulate",
    ),
    "accept": ("accept contract.toml --run promised --runs accepted", "acceptance"),
}


def assay(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words],
        cwd=cwd, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
        env={**{k: v for k, v in os.environ.items() if k != "COLUMNS"}, **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands report: runs, a log, specifications, a contract and a profile."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "machine.toml").write_text(MACHINE)
    (folder / "plan.toml").write_text(PLAN)
    (folder / "machine.swf").write_text(SWF)
    (folder / "contract.toml").write_text(CONTRACT)
    (folder / "cluster.toml").write_text(EXAMPLE)
    (folder / "seth.toml").write_text(CLUSTER)
    write_profile(folder / "app.profile", {"0": [header(0)], "1": [header(1)]})
    launched = ("--", str(TOOLS / "mpirun"), "-n", "2", str(profiled_program()), "20")
    done = assay("why", "--budget", "1 s", "--folder", "app.why", *launched, cwd=folder)
    assert done.returncode == 0, done.stderr
    for name in ("old", "new"):
        words = ("run", "plan.toml", "--fake", "machine.toml", "--launches", "2", "--seed", "1")
        done = assay(*words, cwd=folder)
        assert done.returncode == 0, done.stderr
        (latest,) = (path for path in (folder / "runs").iterdir() if path.name[0] == "2")
        latest.rename(latest.with_name(name))
    times = normal_times(seed=1, median=1e-3)
    promised = filed_run(folder / "accepted", [(make_cell(), times)])
    promised.path.rename(folder / "accepted" / "promised")
    return folder


@pytest.fixture
def place(folder: Path, tmp_path: Path) -> Path:
    """A working directory with links to these, so that new files show."""
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def new_files(place: Path) -> set[str]:
    return {path.name for path in place.iterdir() if not path.is_symlink()}


def begins_like(form: str, path: Path) -> bool:
    text = path.read_text("utf-8")
    if form == "json":
        return isinstance(json.loads(text), dict)
    return text.startswith({"html": "<!", "markdown": "# "}[form])


@pytest.mark.parametrize("name", first_quickly(COMMANDS, 3))
def test_output_is_written_in_the_format_of_its_suffix(name: str, place: Path) -> None:
    """Also beside --json on stdout: a file that was asked for is never left out."""
    words = COMMANDS[name][0].split()
    for i, (suffix, form) in enumerate((("md", "markdown"), ("json", "json"))):
        extra = ["--json"] if i else []
        done = assay(*words, *extra, "-o", f"out/x.{suffix}", cwd=place)
        assert done.returncode == 0, done.stderr
        assert begins_like(form, place / "out" / f"x.{suffix}")
        if extra:
            json.loads(done.stdout)
        else:
            assert f"out/x.{suffix}" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_html_is_an_option_of_every_command(name: str, place: Path, folder: Path) -> None:
    words, stem = COMMANDS[name][0].split(), COMMANDS[name][1]
    done = assay(*words, "--html", cwd=place)
    assert done.returncode == 0, done.stderr
    if name == "report":  # about one run: in its folder
        assert begins_like("html", folder / "runs" / stem / "report.html")
        assert new_files(place) == set()
    else:
        assert begins_like("html", place / f"{stem}.html")
    (place / "folder").mkdir()
    done = assay(*words, "-o", "folder", cwd=place)
    stem = "report" if name == "report" else stem
    assert begins_like("html", place / "folder" / f"{stem}.html"), done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_contradictions_are_refused_before_anything_is_done(name: str, place: Path) -> None:
    words = COMMANDS[name][0].split()
    done = assay(*words, "--format", "terminal", "-o", "x.html", cwd=place)
    assert done.returncode == 2
    assert "--format terminal writes no file" in done.stderr
    assert new_files(place) == set()


@pytest.mark.parametrize(
    "words, missing",
    [
        ("--html --format json", "contradict each other"),
        ("--format html -o x.md", "ends in .html"),
        ("-o x.docx", "suffix .docx belongs to no format"),
    ],
)
def test_an_unknown_or_other_format_is_refused(words: str, missing: str, place: Path) -> None:
    done = assay("compare", "old", "new", *words.split(), cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert missing in done.stderr
    assert new_files(place) == set()


def test_a_history_for_programs_goes_to_stdout_or_to_its_file(place: Path) -> None:
    assert assay("history", "--format", "csv", cwd=place).stdout.startswith('"system","kernel"')
    assert assay("history", "-o", "h.prom", cwd=place).returncode == 0
    assert (place / "h.prom").read_text().endswith("# EOF\n")
    assert assay("history", "--format", "csv", "-o", "here", cwd=place).returncode == 0
    assert (place / "here.csv").read_text().startswith('"system","kernel"')


def test_an_export_has_the_format_of_its_suffix(place: Path) -> None:
    assert assay("export", "old", "--out", "x.json", cwd=place).returncode == 0
    json.loads((place / "x.json").read_text())
    assert assay("export", "old", "-o", "x.parquet", cwd=place).returncode == 0
    assert (place / "x.parquet").read_bytes()[:4] == b"PAR1"
    done = assay("export", "old", "-o", "x.xls", cwd=place)
    assert done.returncode == 2 and "suffix .xls belongs to no format" in done.stderr


def test_every_command_with_an_output_has_the_same_options() -> None:
    with_output = set()
    for name in app:
        if name.startswith("-") or name == "lab":
            continue
        names = {each for one in app[name].assemble_argument_collection() for each in one.names}
        # A site is a folder, and what export writes is not a report.
        if "--output" in names and name not in ("export", "site"):
            with_output.add(name)
            assert {"-o", "--format", "--html", "--json"} <= names, name
    assert with_output == set(COMMANDS)


@pytest.mark.parametrize(
    "form, output, html, expected",
    [
        (None, None, False, None),
        ("terminal", None, False, None),
        (None, None, True, ("html", "usual.html")),
        ("markdown", None, False, ("markdown", "usual.md")),
        (None, "x", False, ("html", "x.html")),
        ("json", "x", False, ("json", "x.json")),
        (None, "X.MD", False, ("markdown", "X.MD")),
        ("json", "x.txt", False, ("json", "x.txt")),
        (None, "a.b/x.htm", False, ("html", "a.b/x.htm")),
    ],
)
def test_the_rule(form, output, html, expected) -> None:
    found = destination(form, output and Path(output), Path("usual.html"), html=html)
    assert found == (expected and Destination(expected[0], Path(expected[1])))


def test_terminal_with_a_file_is_an_error() -> None:
    with pytest.raises(AssayError, match="writes no file"):
        destination("terminal", Path("x.html"), Path("usual.html"))


# ---- output that is no terminal ---------------------------------------------------------------

PIPED: dict[str, Callable[[str], bool]] = {
    "report --format terminal": lambda text: "A barrier with a title that is longer" in text,
    "runs": lambda text: "old" in text,
    "kernels": lambda text: "far larger than the caches" in text,
    "system": lambda text: "Processor" in text,
    "compare old new": lambda text: "Whether B is faster" in text,
    "history": lambda text: "barrier" in text,
    "references": lambda text: "Edmundsson et al. (2004)" in text,
    "usage machine.swf --verbose": lambda text: "Utilisation" in text or "busy" in text,
    "accept contract.toml --run promised --runs accepted": lambda text: (
        "Accepted: 1 commitment" in text
    ),
    "design cluster.toml": lambda text: "nodes" in text,
}


@pytest.mark.parametrize("words", first_quickly(PIPED, 4))
def test_piped_output_is_neither_wrapped_nor_padded(words: str, place: Path) -> None:
    narrow = assay(*words.split(), cwd=place)
    assert narrow.returncode == 0, narrow.stderr
    assert PIPED[words](narrow.stdout)
    assert [line for line in narrow.stdout.splitlines() if line != line.rstrip()] == []
    wide = assay(*words.split(), cwd=place, COLUMNS="9000")
    assert len(narrow.stdout.splitlines()) == len(wide.stdout.splitlines())


def test_columns_still_set_a_width(place: Path) -> None:
    done = assay("kernels", cwd=place, COLUMNS="60")
    assert max(map(len, done.stdout.splitlines())) <= 60
