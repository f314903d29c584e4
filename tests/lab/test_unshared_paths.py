"""Storage on hosts that don't share a directory: said with the host, and nothing else is lost."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.lab import network
from assay.lab.entering import environment
from patient_ranks import patient
from virtual_cluster import VirtualCluster

reason = network.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
]


@contextmanager
def two_hosts(folder: Path, *apart: Path) -> Iterator[VirtualCluster]:
    """A lab whose second host has an empty file system of its own at each of these folders."""
    with VirtualCluster(2) as cluster:
        mounts = "".join(f"mount -t tmpfs none {shlex.quote(str(path))} && " for path in apart)
        shell = folder / "shell"
        inner = f'{mounts}exec {shlex.quote(str(cluster.remote_shell))} "$@"'
        shell.write_text(f'#!/bin/sh\nexec unshare -m sh -c {shlex.quote(inner)} sh "$@"\n')
        shell.chmod(0o700)
        config = cluster.config().replace(str(cluster.remote_shell), str(shell))
        (folder / "assay.toml").write_text(config)
        yield cluster


def measured(folder: Path, cluster: VirtualCluster, *words: str) -> list[dict[str, Any]]:
    """The cells of ``assay measure`` on the first host, by directory."""
    done = subprocess.run(
        cluster.command(
            cluster.hosts[0], sys.executable, "-m", "assay", "measure", *words,
            *("--nodes", "2", "--launches", "1", "--samples", "1..1", "--budget", "60 s", "--json"),
        ),
        cwd=folder, env=patient(environment(cluster, os.environ)), capture_output=True, text=True,
        timeout=500, check=False,
    )  # fmt: skip
    cells = json.loads(done.stdout)
    failed = any(cell["status"] == "failed" for cell in cells)
    assert done.returncode == int(failed), done.stderr
    return cells


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    """A shared folder, one that each host has by itself, and one that only the first host has."""
    found = [tmp_path / "shared", tmp_path / "own", tmp_path / "parent" / "first"]
    for place in found:
        place.mkdir(parents=True)
    return found


def test_io500_names_the_host_that_does_not_see_the_files(
    tmp_path: Path, places: list[Path]
) -> None:
    shared, own, first = places
    words = [
        "storage.io500",
        "seconds=0.1",
        "space=64 MiB",
        "transfer=64 KiB",
        f"directory={shared},{own},{first}",
    ]
    with two_hosts(tmp_path, own, first.parent) as cluster:
        one, other = (host.name for host in cluster.hosts)
        good, apart, missing = measured(tmp_path, cluster, *words)
    assert (good["error"], good["verified"]) == (None, True)
    assert good["metrics"]["score"]["median"] > 0
    assert apart["error"] == (
        f"storage.io500 needs a file system that all nodes share, but the host '{other}' doesn't "
        f"see what the host '{one}' creates in '{own}'; name a directory of a shared file system "
        f"as 'directory'"
    )
    assert (
        f"there is no directory '{first}' to write in on the host '{other}': No such file"
        in missing["error"]
    )
    assert "\n" not in missing["error"]
    assert [list(place.iterdir()) for place in places] == [[], [], []]


@pytest.mark.long
def test_files_of_their_own_are_measured_and_a_common_one_is_refused(
    tmp_path: Path, places: list[Path]
) -> None:
    _, own, _ = places
    sizes = ["bytes=1 MiB", "record=64 KiB"]
    with two_hosts(tmp_path, own) as cluster:
        words = ["storage.parallel", f"directory={own}", "layout=own,shared,strided", *sizes]
        each, *common = measured(tmp_path, cluster, *words)
        words = ["storage.metadata", f"directory={own}", "layout=own,shared", "files=10"]
        files, crowded = measured(tmp_path, cluster, *words)
    assert (each["verified"], files["verified"]) == (True, True)
    for cell in (*common, crowded):
        layout = cell["cell"]["parameters"]["layout"]
        assert cell["error"].startswith(
            f"layout={layout} needs a file system that all nodes share, but the host "
        )
    assert list(own.iterdir()) == []
