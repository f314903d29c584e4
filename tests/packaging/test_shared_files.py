"""The manual page and completions are those of the commands, and their programs read them."""

from __future__ import annotations

import ast
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import assay
from assay.cli.app import COMMANDS, SUBCOMMANDS, command_name
from assay.manual import shared_files

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
MANUAL = "share/man/man1/assay.1"


@pytest.fixture(scope="module")
def files():
    """The files as made from the commands; made when a test needs them, as that takes seconds."""
    return shared_files()


def test_the_files_are_those_of_the_commands(files):
    kept = [path for path in (PACKAGING / "share").rglob("*") if path.is_file()]
    assert {str(path.relative_to(PACKAGING)) for path in kept} == files.keys()
    for path, text in files.items():
        assert (PACKAGING / path).read_text("utf-8") == text, f"{path}: run `make docs`"


def test_the_page_names_every_command_and_option(files):
    page = files[MANUAL]
    names = [("assay", command_name(name)) for name in COMMANDS]
    names += [("assay", name, below) for name, group in SUBCOMMANDS.items() for below in group]
    for name in names:
        assert f'.SS "{" ".join(name)}"' in page
    recorded = (ROOT / "tests/data/help/assay-run.txt").read_text("utf-8")
    options = set(re.findall(r"^│ (--[a-z-]+)", recorded, re.MULTILINE)) - {"--help", "--version"}
    assert len(options) > 20
    for option in options:
        assert f".B {option.replace('-', chr(92) + '-')}\n" in page, option


@pytest.mark.skipif(shutil.which("man") is None, reason="There is no man on this machine.")
def test_man_has_nothing_to_say_against_the_page(tmp_path, files):
    page = tmp_path / "assay.1"
    page.write_text(files[MANUAL], encoding="utf-8")
    done = subprocess.run(
        ["man", "--warnings=all", "-l", str(page)], capture_output=True, text=True, check=True,
        env={"MANWIDTH": "80", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.stderr == ""
    assert "Measure this machine with a suite or a plan" in done.stdout


def completed(words: list[str]) -> list[str]:
    """What bash offers for the last word."""
    script = PACKAGING / "share/bash-completion/completions/assay"
    quoted = " ".join(f"'{word}'" for word in words)
    text = f'. "{script}"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _assay; ' \
        'printf "%s\\n" "${COMPREPLY[@]}"'  # fmt: skip
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="There is no bash on this machine.")
def test_bash_completes_commands_and_options():
    assert completed(["assay", "ru"]) == ["run", "runs"]
    assert completed(["assay", "lab", "d"]) == ["down"]
    assert completed(["assay", "run", "--pre"]) == ["--precision"]


@pytest.fixture
def place(tmp_path):
    """A working directory with two runs, and one for `assay` and the completions on PATH."""
    for name in ("20260101T0910-quick", "20260201T0910-npb"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "manifest.json").write_text("{}")
    return tmp_path


ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "TERM": "dumb",
}
# Words before the cursor, and names that every shell offers for the last of them.
COMPLETED = [
    ("assay run n", {"network", "npb", "noise", "nersc-2003"}),
    ("assay measure npb.l", {"npb.lu"}),
    ("assay report 2026", {"20260101T0910-quick", "20260201T0910-npb"}),
    ("assay compare 20260101T0910-quick 202602", {"20260201T0910-npb"}),
    ("assay run --resume 202602", {"20260201T0910-npb"}),
    ("assay history --suite line", set()),
    ("assay history --suite lin", {"linpack"}),
    ("assay lab up torus-2", {"torus-2d"}),
]


@pytest.mark.parametrize(("line", "names"), COMPLETED)
def test_names_are_completed(line, names, place):
    done = subprocess.run(
        ["assay", "complete", "--", *line.split()], cwd=place, env=ENVIRONMENT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(done.stdout.split()) == names


@pytest.mark.parametrize(("line", "names"), COMPLETED[:4])
def test_bash_offers_the_names(line, names, place):
    script = PACKAGING / "share/bash-completion/completions/assay"
    words = " ".join(line.split())
    text = f'. "{script}"; COMP_WORDS=({words}); COMP_CWORD={len(line.split()) - 1}; ' \
        '_assay_with_names; printf "%s\\n" "${COMPREPLY[@]}"'  # fmt: skip
    done = subprocess.run(["bash", "-c", text], cwd=place, env=ENVIRONMENT, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert set(done.stdout.split()) == names


@pytest.mark.skipif(shutil.which("fish") is None, reason="There is no fish on this machine.")
@pytest.mark.parametrize(("line", "names"), COMPLETED[:4])
def test_fish_offers_the_names(line, names, place):
    script = PACKAGING / "share/fish/vendor_completions.d/assay.fish"
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=place,
        env={**ENVIRONMENT, "HOME": str(place)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert names <= {row.split("\t")[0] for row in done.stdout.splitlines()}


@pytest.mark.skipif(shutil.which("zsh") is None, reason="There is no zsh on this machine.")
def test_zsh_offers_the_names(place):
    """In an interactive zsh: the only unambiguous name is inserted by the Tab key."""
    (place / "typed").write_text(
        f"fpath=({PACKAGING}/share/zsh/site-functions $fpath); autoload -Uz compinit; "
        "compinit -u -D; PS1=PROMPT\n"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(place)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**ENVIRONMENT, "TERM": "xterm"})
    try:
        read_until(terminal, b"", 0.5)
        os.write(terminal, b". ./typed\n")
        assert b"PROMPT" in read_until(terminal, b"PROMPT\x1b[K", 20)
        os.write(terminal, b"assay measure npb.l\t")
        # The typed text is echoed; after it comes what was missing.
        seen = read_until(terminal, b"npb.l\x07u", 20)
        assert b"assay measure npb.lu" in re.sub(rb"[^a-z. ]", b"", seen)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def read_until(terminal, wanted, patience):
    """What a terminal shows, up to the wanted bytes or for so many seconds."""
    seen, end = b"", time.monotonic() + patience
    while time.monotonic() < end and not (wanted and wanted in seen):
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536)
    return seen


@pytest.mark.parametrize(("shell", "path"), [
    ("zsh", "share/zsh/site-functions/_assay"),
    ("fish", "share/fish/vendor_completions.d/assay.fish"),
])  # fmt: skip
def test_other_shells_accept_theirs(shell, path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"There is no {shell} on this machine.")
    subprocess.run([program, "-n", str(PACKAGING / path)], check=True)


def test_the_version_is_the_same_everywhere():
    for path in ("CITATION.cff", "packaging/spack/spack_repo/assay/packages/assay/package.py"):
        found = re.search(r'(?:^version: |version\(")([\d.]+)', (ROOT / path).read_text("utf-8"),
                          re.MULTILINE)  # fmt: skip
        assert found is not None and found[1] == assay.__version__, path


def test_the_recipe_of_spack_requires_what_the_project_requires():
    text = (PACKAGING / "spack/spack_repo/assay/packages/assay/package.py").read_text("utf-8")
    ast.parse(text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    python = project["project"]["requires-python"].removeprefix(">=")
    assert f'"python@{python}:"' in text
    for name in ("cmake", "ninja"):
        (least,) = (re.search(r">=([\d.]+)", each)[1] for each in project["project"]["dependencies"]
                    if each.startswith(f"{name}>"))  # fmt: skip
        assert re.search(rf'"{name}@{least.removesuffix(".0")}:"', text), name


def test_the_definition_of_apptainer_is_a_sequence_of_valid_scripts():
    text = (PACKAGING / "apptainer/assay.def").read_text("utf-8")
    sections = dict(re.findall(r"^%(\w+)\n((?:(?: .*)?\n)*)", text, re.MULTILINE))
    assert set(sections) >= {"post", "environment", "runscript", "test"}
    for name in ("post", "environment", "runscript", "test"):
        subprocess.run(["sh", "-n"], input=sections[name], text=True, check=True)
    assert "hpc_assay-*.whl" in sections["post"]
