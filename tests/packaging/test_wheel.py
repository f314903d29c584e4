"""The wheel and the sdist, installed in a new environment without a checkout and used there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
MACHINE = """
schema = 1
[[kernel]]
match = "*"
time = "1 ms"
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel built from it as pip does."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
        text=True,
    )
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A new environment with the wheel. Its dependencies are those of the tests' environment."""
    place = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
    options = ("--no-deps", "--no-index", "--no-compile", "--quiet")
    subprocess.run([*pip, "install", *options, str(built[1])], check=True)
    site = next((place / "lib").glob("python*/site-packages"))
    # Paths named here are searched after the environment's own, and their .pth files are not read:
    # a checkout that is installed for editing is not found.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return place


def run(installed: Path, folder: Path, *words: str) -> str:
    names = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [str(installed / "bin" / words[0]), *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_all_sources_of_the_kernels(built):
    listed = subprocess.run(
        ["git", "ls-files", "native"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    sources = set(listed.stdout.split())
    assert len(sources) > 100
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
    assert sources <= {name.removeprefix("assay/") for name in names}
    assert any(name.endswith("share/man/man1/assay.1") for name in names)
    with tarfile.open(built[0]) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    assert sources <= inside and {"CITATION.cff", "LICENSE", "README.md"} <= inside


def test_it_works_without_a_checkout(installed, tmp_path):
    where = run(installed, tmp_path, "python", "-c", "import assay; print(assay.__file__)")
    assert where.startswith(str(installed))
    assert run(installed, tmp_path, "assay", "--version").strip() == "1.0.0"
    assert "triad" in run(installed, tmp_path, "assay", "kernels", "memory.stream")
    (tmp_path / "machine.toml").write_text(MACHINE)
    words = ("run", "quick", "--fake", "machine.toml", "--launches", "1", "--whole")
    assert "How fast is it" in run(installed, tmp_path, "assay", *words)
    (page,) = tmp_path.glob("runs/*/report.html")
    assert page.stat().st_size > 100_000
    assert (installed / "share/man/man1/assay.1").is_file()
    assert (installed / "share/bash-completion/completions/assay").is_file()
