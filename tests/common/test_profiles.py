"""Profiles: which applies, what it changes, and the lines of its errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.campaign.jobs.submission import JobOptions
from assay.config import load_config
from assay.errors import AssayError

TEXT = """\
[defaults]
runs = "runs"
[toolchains.gcc]
cxx = "g++"
flags = "-O3"
[scheduler]
account = "p7"
walltime = "1 h"
[profiles.seth]
hosts = ["login[1-2]", "seth-*"]
[profiles.seth.scheduler]
partition = "cpu"
walltime = "2-00:00:00"
[profiles.seth.scheduler.partitions.gpu]
partition = "gpu-a100"
directives = ["--gres=gpu:4"]
exclusive = false
[profiles.seth.toolchains.gcc]
modules = ["gcc/13"]
[profiles.baldr]
hosts = "baldr"
[profiles.baldr.system]
name = "Baldr"
[profiles.baldr.scheduler]
walltime = "soon"
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_SITE", "x")  # so that it is restored
    monkeypatch.delenv("ASSAY_SITE")
    (tmp_path / "assay.toml").write_text(TEXT)
    return tmp_path / "assay.toml"


def on_host(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    system = os.uname()
    changed = os.uname_result((system.sysname, name, *system[2:]))
    monkeypatch.setattr(os, "uname", lambda: changed)


@pytest.mark.parametrize(
    ("host", "profile"),
    [
        ("login2", "seth"),
        ("login2.site.org", "seth"),
        ("seth-login", "seth"),
        ("login3", None),
        ("myseth-1", None),
    ],
)
def test_the_host_selects_the_profile(
    path: Path, monkeypatch: pytest.MonkeyPatch, host: str, profile: str | None
) -> None:
    on_host(monkeypatch, host)
    config = load_config(path)
    assert config.profile == profile
    assert os.environ.get("ASSAY_SITE") == profile


def test_a_profile_changes_what_it_names_and_nothing_else(path: Path) -> None:
    config = load_config(path, "seth")
    assert config.scheduler is not None
    assert (config.scheduler.account, config.scheduler.partition) == ("p7", "cpu")
    assert config.scheduler.longest == 2 * 86400
    assert config.toolchains["gcc"].flags == "-O3"
    assert config.toolchains["gcc"].modules == ("gcc/13",)
    assert config.system.name == "seth"
    plain = load_config(path.with_name("assay.toml"))
    assert plain.profile == "seth"  # by the variable, as in a job on any node


def test_without_a_profile_the_files_own_sections_apply(path: Path) -> None:
    config = load_config(path)
    assert config.scheduler is not None
    assert (config.profile, config.scheduler.partition) == (None, None)
    assert config.toolchains["gcc"].modules == ()


def test_errors_are_at_the_profiles_lines(path: Path) -> None:
    with pytest.raises(AssayError, match="soon") as caught:
        load_config(path, "baldr")
    line = TEXT.splitlines().index('walltime = "soon"') + 1
    assert caught.value.where == f"{path}:{line}"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ('[profiles.new]\nhosts = ["n[1"]', "list of hosts is invalid"),
        ("[profiles.new]\nhosts = 3", "must be a list of host names"),
        ("[profiles.new.profiles.x]", "A profile can.t contain profiles"),
    ],
)
def test_a_wrong_profile_is_refused(path: Path, change: str, what: str) -> None:
    path.write_text(f"{TEXT}\n{change}\n")
    with pytest.raises(AssayError, match=what):
        load_config(path, "new")


def test_an_unknown_profile_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssayError, match="There is no profile 'set'") as caught:
        load_config(path, "set")
    assert "seth" in caught.value.fix
    monkeypatch.setenv("ASSAY_SITE", "other")
    with pytest.raises(AssayError, match="There is no profile 'other'"):
        load_config(path)


def test_a_partitions_options_replace_the_schedulers(path: Path) -> None:
    config = load_config(path, "seth")
    usual = JobOptions().applied(config.scheduler)
    assert (usual.partition, usual.directives, usual.partitions) == ("cpu", (), {})
    gpu = JobOptions(partition="gpu").applied(config.scheduler)
    assert (gpu.partition, gpu.directives) == ("gpu-a100", ("--gres=gpu:4",))
    assert (gpu.exclusive, gpu.account, gpu.walltime) == (False, "p7", "2-00:00:00")
    other = JobOptions(partition="long", account="p8").applied(config.scheduler)
    assert (other.partition, other.account, other.exclusive) == ("long", "p8", True)
