"""Attacks by another user of a shared file system, through the commands that the victim types.

Each leaves something in a folder that others can write to, and the victim works there: nothing that
was left is executed, nothing is written elsewhere, and nothing from elsewhere is shown.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from attacks import (
    ASSAY,
    ATTACKER,
    Scratch,
    give,
    opened_in,
    plant_modules,
    stand_in_slurm,
    state_of,
    unfinish,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
long = pytest.mark.long


@pytest.fixture(scope="module")
def made() -> Iterator[Scratch]:
    """A complete run and one that lacks all its launches, once for all tests."""
    with tempfile.TemporaryDirectory(prefix="assay-attacks-") as folder:
        scratch = Scratch(Path(folder))
        scratch.run().rename(Path(folder) / "complete")
        shutil.copytree(Path(folder) / "complete", Path(folder) / "unfinished")
        unfinish(Path(folder) / "unfinished")
        yield scratch


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def left(made: Scratch, scratch: Scratch, kind: str, name: str = "20260101T000000Z-x-plan") -> Path:
    """A copy of the complete or the unfinished run."""
    run = scratch.runs / name
    shutil.copytree(made.path / kind, run)
    return run


def refused(scratch: Scratch, *words: str, says: str) -> str:
    """The sentence with which a command is refused; nothing was executed."""
    done = scratch.prepared(*words)
    assert done.returncode != 0, done.stdout
    assert not scratch.ran.exists()
    assert says in done.stderr, done.stderr
    assert "Please report" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3, done.stderr
    return done.stderr


# ---- runs of others --------------------------------------------------------------------------


@as_root
@pytest.mark.parametrize("named", [False, pytest.param(True, marks=long)])
@pytest.mark.long
def test_the_run_of_another_user_is_not_gone_on_with(
    made: Scratch, scratch: Scratch, named: bool
) -> None:
    run = left(made, scratch, "unfinished")
    give(run)
    for path in (run, *run.rglob("*")):
        path.chmod(0o777)
    before = state_of(scratch.path)
    words = [run.name] if named else []
    said = refused(scratch, "run", "--resume", *words, "--here", says="belongs to the user with")
    assert f"assay report {Path('runs') / run.name}" in said
    assert state_of(scratch.path) == before


@long
@as_root
def test_ones_own_run_is_chosen_among_those_of_others(made: Scratch, scratch: Scratch) -> None:
    left(made, scratch, "unfinished", "20260101T000000Z-x-mine")
    give(left(made, scratch, "unfinished", "20270101T000000Z-x-newer"))
    scratch.runs.chmod(0o1777)
    done = scratch.prepared("run", "--resume", "--here", "--no-report")
    assert done.returncode == 0, done.stderr
    assert scratch.ran.read_text() == "\n\n"
    assert (scratch.runs / "20260101T000000Z-x-mine" / "seal.json").exists()


@long
@pytest.mark.parametrize("place", ["", "..", "raw", "manifest.json", "launches.jsonl", "../.."])
def test_what_everybody_may_write_is_not_gone_on_with(
    made: Scratch, scratch: Scratch, place: str
) -> None:
    run = left(made, scratch, "unfinished")
    (run / "launches.jsonl").touch()
    scratch.environment["HOME"] = str(scratch.path)
    (run / place).resolve().chmod(0o777)
    said = refused(scratch, "run", "--resume", "--here", says="may be written by all users")
    inside = place not in ("..", "../..")
    assert ("chmod -R go-w" if inside else "--runs") in said


@long
@as_root
@pytest.mark.parametrize("name", ["manifest.json", "raw", "launches.jsonl", ".lock"])
def test_a_single_part_of_another_user_is_enough(
    made: Scratch, scratch: Scratch, name: str
) -> None:
    run = left(made, scratch, "unfinished")
    (run / "launches.jsonl").touch()
    (run / ".lock").touch()
    os.lchown(run / name, ATTACKER, ATTACKER)
    refused(scratch, "run", "--resume", "--here", says="belongs to the user with the number 54321")


def test_a_link_in_a_run_creates_nothing_elsewhere(made: Scratch, scratch: Scratch) -> None:
    _no_link(made, scratch, ".lock")


@long
@pytest.mark.parametrize(
    "name",
    ["launches.jsonl", "raw", "nodes.jsonl", "jobs", "jobs.jsonl", "sessions.jsonl", "seal.json"],
)
def test_no_link_in_a_run_is_written_through(made: Scratch, scratch: Scratch, name: str) -> None:
    _no_link(made, scratch, name)


def _no_link(made: Scratch, scratch: Scratch, name: str) -> None:
    run = left(made, scratch, "unfinished")
    elsewhere = scratch.path / "elsewhere"
    elsewhere.mkdir()
    path = run / name
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)
    path.symlink_to(elsewhere if name in ("raw", "jobs") else elsewhere / "file")
    said = refused(scratch, "run", "--resume", "--here", says="is a link")
    assert name in said and "Remove the link" in said
    assert list(elsewhere.iterdir()) == []


@as_root
def test_a_job_does_nothing_for_the_run_of_another_user(made: Scratch, scratch: Scratch) -> None:
    run = scratch.requested("20260101T000000Z-x-plan", [{"job": "5"}], app={"command": "touch ran"})
    give(run)
    before = state_of(scratch.path)
    refused(scratch, "job", str(run), "--number", "1", says="belongs to the user with")
    refused(scratch, "job", str(run), "--together", says="belongs to the user with")
    assert state_of(scratch.path) == before


@long
@as_root
@pytest.mark.parametrize("words", [["runs", "--follow"], ["run", "--resume", "--submit"]])
def test_no_job_is_submitted_or_followed_for_another_user(
    made: Scratch, scratch: Scratch, words: list[str]
) -> None:
    scratch.environment |= stand_in_slurm(scratch.path / "bin")
    give(scratch.requested("20260101T000000Z-x-plan", [{"job": "5"}]))
    before = state_of(scratch.runs)
    refused(scratch, *words, says="belongs to the user with")
    assert not (scratch.path / "bin" / "log").exists()
    assert state_of(scratch.runs) == before


@long
def test_nothing_is_submitted_from_a_folder_in_which_others_can_replace_the_run(
    scratch: Scratch,
) -> None:
    scratch.environment |= stand_in_slurm(scratch.path / "bin")
    (scratch.path / "assay.toml").write_text('[scheduler]\nkind = "slurm"\n')
    scratch.runs.mkdir()
    scratch.runs.chmod(0o777)
    refused(scratch, "run", "plan.toml", "--submit", says="may be written by all users")
    assert scratch.names() == []


@as_root
def test_a_link_of_another_user_does_not_choose_where_a_run_is_written(scratch: Scratch) -> None:
    victims = scratch.path / "victims"
    victims.mkdir()
    scratch.runs.symlink_to(victims)
    os.lchown(scratch.runs, ATTACKER, ATTACKER)
    refused(scratch, "run", "plan.toml", "--app", "true", says="is a link that belongs to")
    assert list(victims.iterdir()) == []


@long
def test_ones_own_link_to_the_folder_of_runs_is_followed(made: Scratch, scratch: Scratch) -> None:
    real = scratch.path / "real"
    real.mkdir()
    scratch.runs.symlink_to(real)
    done = scratch.prepared("run", "plan.toml", "--app", "true", "--no-report")
    assert done.returncode == 0, done.stderr
    run = left(made, scratch, "unfinished", "20990101T000000Z-x-plan")
    (scratch.path / "linked").symlink_to(run)
    for words in ([], ["linked"]):
        done = scratch.prepared("run", "--resume", *words, "--here", "--no-report")
        assert done.returncode == 0, done.stderr
        (run / "seal.json").unlink()
        (run / "launches.jsonl").unlink(missing_ok=True)
    assert scratch.prepared("report", "linked").returncode == 0


# ---- reading ---------------------------------------------------------------------------------


@long
@as_root
def test_the_run_of_another_user_can_be_read(made: Scratch, scratch: Scratch) -> None:
    run = left(made, scratch, "complete")
    give(run)
    before = state_of(run)
    done = scratch.prepared("report", "--format", "markdown")
    assert done.returncode == 0, done.stderr
    assert "another user's" in done.stdout
    assert len(list(scratch.path.glob("*.md"))) == 1
    for words in (["runs"], ["runs", "--check"], ["export", "--output", "out.csv"], ["history"]):
        done = scratch.prepared(*words)
        assert done.returncode == 0, (words, done.stderr)
    assert state_of(run) == before


_READERS = (
    ["report", "--format", "terminal"], ["report", "--format", "markdown"], ["runs", "--check"],
    ["runs"], ["export", "--output", "out.csv"], ["history"], ["compare", "A", "B"],
    ["runs", "--follow"], ["report", "--anonymize"],
)  # fmt: skip


def _read(scratch: Scratch, words: list[str]) -> None:
    """Run a command that reads; it ends within its time, and with a sentence if with an error."""
    named = {"A": scratch.names()[0], "B": scratch.names()[-1]}
    done = scratch.prepared(*(named.get(word, word) for word in words))
    assert "Please report" not in done.stderr, (words, done.stderr)
    assert done.returncode >= 0


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        pytest.param(name, reader, marks=[] if (name, reader) == ("raw", _READERS[0]) else long)
        for name in ("manifest.json", "launches.jsonl", "raw", "stream", "seal.json", "parquet")
        for reader in _READERS
    ],
)
def test_nothing_is_read_through_a_link(
    made: Scratch, scratch: Scratch, name: str, reader: list[str]
) -> None:
    left(made, scratch, "complete", "20260101T000000Z-x-plan")
    run = left(made, scratch, "complete", "20260102T000000Z-x-plan")
    hidden = scratch.path / "hidden"
    hidden.mkdir()
    place = {"stream": min(run.glob("raw/*.jsonl")), "parquet": run / "measurements.parquet"}.get(
        name, run / name
    )
    place.rename(hidden / place.name)
    place.symlink_to(hidden / place.name)
    with opened_in(hidden) as opened:
        _read(scratch, reader)
        assert opened() == []


@long
@pytest.mark.parametrize("name", ["manifest.json", "launches.jsonl", "raw/0.jsonl", "seal.json"])
@pytest.mark.parametrize("reader", _READERS, ids=" ".join)
def test_a_pipe_in_a_run_is_not_waited_for(
    made: Scratch, scratch: Scratch, name: str, reader: list[str]
) -> None:
    left(made, scratch, "complete", "20260101T000000Z-x-plan")
    run = left(made, scratch, "complete", "20260102T000000Z-x-plan")
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    _read(scratch, reader)


@long
@pytest.mark.parametrize("name", ["members", "00000", "packs"])
def test_a_member_of_a_group_is_no_link(made: Scratch, scratch: Scratch, name: str) -> None:
    group = scratch.requested("20260101T000000Z-x-plan", [{"members": [0]}], members=1)
    (group / "raw").rmdir()
    hidden = scratch.path / "hidden" / "members"
    hidden.mkdir(parents=True)
    shutil.copytree(made.path / "complete", hidden / "00000")
    if name == "members":
        (group / "members").symlink_to(hidden)
    else:
        (group / "members").mkdir()
        (group / "members" / name).symlink_to(hidden / "00000")
    with opened_in(hidden) as opened:
        for reader in _READERS[:6]:
            _read(scratch, reader)
            assert opened() == [], reader
    if name != "00000":  # of which the seal seems to be there: nothing is left to measure
        refused(scratch, "run", "--resume", "--here", says="is a link")


# ---- Python's modules in the current folder --------------------------------------------------


@pytest.mark.parametrize("path", ["", pytest.param(":", marks=long), pytest.param(".", marks=long)])
def test_modules_in_the_folder_of_a_job_are_not_imported(scratch: Scratch, path: str) -> None:
    """A real job script, which the stand-in for sbatch runs in the shared folder."""
    mark = scratch.path / "mark"
    scratch.environment |= stand_in_slurm(scratch.path / "bin")
    (scratch.path / "assay.toml").write_text(
        '[scheduler]\nkind = "slurm"\n'
        f'setup = ["export PYTHONPATH={path}"]\n'  # as a site's module may leave it
    )
    planted = list(plant_modules(scratch.path, mark))
    done = scratch.assay(
        *("run", "plan.toml", "--submit", "--detach", "--no-report"),
        *("--app", "sh -c 'echo >>ran'"),
    )
    assert done.returncode == 0, done.stderr
    (run,) = scratch.runs.iterdir()
    said = (run / "jobs" / "0001.out").read_text()
    assert not mark.exists(), said
    assert (run / "seal.json").exists(), said
    assert scratch.ran.read_text() == "\n\n"
    script = (run / "jobs" / "0001.sh").read_text()
    assert " -I " in script and f"cd -- {scratch.path}" in script
    assert all(path.exists() for path in planted)


@long
def test_modules_in_the_folder_are_not_imported_on_other_hosts(scratch: Scratch) -> None:
    """The survey, members of a group, and the reader of results, by a remote shell."""
    mark = scratch.path / "mark"
    shell = scratch.path / "shell"
    shell.write_text('#!/bin/sh\nshift\nexport PYTHONPATH=:.\nexec sh -c "$*"\n')
    shell.chmod(0o755)
    (scratch.path / "assay.toml").write_text(
        f'[cluster]\nhosts = ["localhost"]\nremote_shell = "{shell}"\n'
    )
    list(plant_modules(scratch.path, mark))
    done = scratch.assay(
        *("run", "plan.toml", "--per-node", "--here", "--no-report"),
        *("--app", "sh -c 'echo >>ran'"),
    )
    assert not mark.exists(), done.stderr
    assert done.returncode == 0, done.stderr
    assert scratch.ran.exists()


# ---- groups and access control lists ---------------------------------------------------------


def _with_groups(scratch: Scratch, group: str, passwd: str, *words: str) -> str:
    """What a command says where these lines are the group database, and ``passwd`` are added."""
    (scratch.path / "group").write_text(group)
    known = Path("/etc/passwd").read_text()
    (scratch.path / "passwd").write_text(known + passwd)
    binds = "mount --bind group /etc/group && mount --bind passwd /etc/passwd && "
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{binds}exec "$@"', "sh", *words],
        cwd=scratch.path,
        env=scratch.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


@as_root
@pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0,
    reason="no mount namespaces here",
)
def test_who_is_in_a_group_decides_whether_it_is_ones_own(scratch: Scratch) -> None:
    config = scratch.path / "assay.toml"
    config.write_text('[system]\nname = "alba"\n')
    config.chmod(0o664)
    mallory = "mallory:x:54321:54321::/:/bin/sh\n"
    words = [str(ASSAY), "runs"]
    alone = ("root:x:0:\n", mallory), ("root:x:0:root\n", mallory)
    shared = (
        ("root:x:0:mallory\n", mallory),  # a member
        ("root:x:0:root,mallory\n", mallory),
        ("root:x:0:\n", mallory.replace(":54321::", ":0::")),  # it is the primary group
        ("root:x:0:nobody_knows\n", mallory),  # a member without an entry
        ("wheel:x:0:\n", mallory),  # not the user's private group
    )
    for group, passwd in alone:
        assert "There are no runs in" in _with_groups(scratch, group, passwd, *words)
    for group, passwd in shared:
        said = _with_groups(scratch, group, passwd, *words)
        assert "may be written by the group" in said, (group, said)
    assert "mallory" in _with_groups(scratch, *shared[0], *words)
    # The same for the cache, and for a group that is trusted by name.
    config.unlink()
    cache = scratch.path / "cache"
    cache.mkdir()
    cache.chmod(0o775)
    scratch.environment["ASSAY_CACHE"] = str(cache)
    build = [str(ASSAY), "kernels", "--build"]
    said = _with_groups(scratch, *shared[0], *build)
    assert "may be written by the group" in said and "runs programs from its cache" in said
    scratch.environment["ASSAY_TRUSTED_GROUPS"] = "other, root"
    assert "may be written" not in _with_groups(scratch, *shared[0], *words)


def test_an_access_control_list_is_seen(made: Scratch, scratch: Scratch) -> None:
    run = left(made, scratch, "unfinished")
    entries = [(1, 7, -1), (2, 7, ATTACKER), (4, 5, -1), (16, 7, -1), (32, 5, -1)]
    content = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, permissions, number & 0xFFFFFFFF)
        for tag, permissions, number in entries
    )
    try:
        os.setxattr(run, "system.posix_acl_access", content)
    except OSError:
        pytest.skip("no access control lists here")
    assert run.stat().st_mode & stat.S_IWGRP  # the mask
    said = refused(scratch, "run", "--resume", "--here", says="an access control list")
    assert str(ATTACKER) in said


# ---- job ids and tags ------------------------------------------------------------------------


def _cleaned(scratch: Scratch, names: str, states: str) -> tuple[str, str]:
    """What ``runs --clean --yes`` prints, and the commands of Slurm that it ran."""
    variables = stand_in_slurm(scratch.path / "bin")
    variables |= {"STAND_IN_NAMES": names, "STAND_IN_STATES": states}
    done = scratch.prepared("runs", "--clean", "--yes", **variables)
    assert "Please report" not in done.stderr
    log = Path(variables["SLURM_LOG"])
    return done.stdout + done.stderr, log.read_text() if log.exists() else ""


def test_an_own_job_that_is_left_is_cancelled(scratch: Scratch) -> None:
    scratch.requested("20260101T000000Z-x-plan", [{"job": "123"}])
    said, log = _cleaned(scratch, "123|assay-a1b2c3-1", "123|N/A|RUNNING|None")
    assert "scancel -Q -- 123\n" in log
    assert "job 123 of 20260101T000000Z-x-plan: ended" in said


@pytest.mark.parametrize(
    ("tag", "job", "name"),
    [
        ("", "123", "assay-ffffff-1"),
        ("a1b2c3", "--user=root", "assay-a1b2c3-1"),
        pytest.param("a", "123", "assay-abcdef-1", marks=long),
        pytest.param("a1b2c3", "123", "assay-a1b2c3-12", marks=long),
        pytest.param("a1b2c3", "123", "assay-a1b2c3", marks=long),
        pytest.param("a1b2c3", "123", "", marks=long),
        pytest.param(".*", "123", "assay-ffffff-1", marks=long),
        pytest.param("-", "123", "assay--1", marks=long),
        pytest.param("a1b2c3", "-u root", "assay-a1b2c3-1", marks=long),
        pytest.param("a1b2c3", "1 2", "assay-a1b2c3-1", marks=long),
        pytest.param("a1b2c3", "1,2", "assay-a1b2c3-1", marks=long),
        pytest.param("a1b2c3", "1\n2", "assay-a1b2c3-1", marks=long),
        pytest.param("a1b2c3", "١٢٣", "assay-a1b2c3-1", marks=long),
    ],
)
def test_other_jobs_are_not_cancelled(scratch: Scratch, tag: str, job: str, name: str) -> None:
    scratch.requested("20260101T000000Z-x-plan", [{"job": job}], tag=tag)
    said, log = _cleaned(scratch, f"{job}|{name}", f"{job}|N/A|RUNNING|None")
    assert "scancel" not in log
    assert "--user" not in log and "-u root" not in log
    # What killed labs of this machine left may be ended.
    assert not re.search("(?m)^job .*: ended", said)


@as_root
@long
def test_the_jobs_of_a_planted_request_are_left_alone(scratch: Scratch) -> None:
    run = scratch.requested("20260101T000000Z-x-plan", [{"job": "123"}])
    give(run)
    said, log = _cleaned(scratch, "123|assay-a1b2c3-1", "123|N/A|RUNNING|None")
    assert log == ""
    assert "Not touched" in said and "belongs to the user with" in said


@long
def test_a_planted_host_is_no_option_of_the_remote_shell(scratch: Scratch) -> None:
    scratch.requested(
        "20260101T000000Z-x-plan",
        [{"members": [0]}],
        members=1,
        hosts=[f"-oProxyCommand=touch {scratch.ran}"],
    )
    refused(scratch, "run", "--resume", "--here", says="is not the name of a host")


# ---- permissions -----------------------------------------------------------------------------


@long
@pytest.mark.parametrize(
    ("mask", "unwanted", "wanted"),
    [
        ("077", 0o077, 0o600),
        ("002", 0o002, 0o664),
        ("022", 0o022, 0o644),
        ("027", 0o027, 0o640),
    ],
)
def test_the_umask_is_respected(scratch: Scratch, mask: str, unwanted: int, wanted: int) -> None:
    commands = [
        'run plan.toml --app "true"',
        "report --format markdown",
        "report --format json --output other.json",
        "export --output out.csv",
        "export --output out.parquet",
        "history --output history.html",
    ]
    before = os.umask(int(mask, 8))
    try:
        for command in commands:
            done = scratch.prepared(*shlex.split(command))
            assert done.returncode == 0, done.stderr
    finally:
        os.umask(before)
    made = [p for p in scratch.path.rglob("*") if p.name != "plan.toml" and not p.is_symlink()]
    assert {"manifest.json", "report.html", "out.csv", "seal.json", "raw", "history.html"} <= {
        path.name for path in made
    }
    for path in made:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert not mode & unwanted, (path, oct(mode))
        assert mode & wanted == wanted, (path, oct(mode))


# ---- races -----------------------------------------------------------------------------------


@long
@pytest.mark.parametrize("kind", ["raw", "run"])
def test_a_run_that_is_replaced_while_it_is_measured_is_left(scratch: Scratch, kind: str) -> None:
    """A member of the group that shares the folder puts a link in place of the run's."""
    victims = scratch.path / "victims"
    (victims / "raw").mkdir(parents=True)
    process = subprocess.Popen(
        [
            *(ASSAY, "run", "plan.toml", "--launches", "40", "--no-report"),
            *("--app", "sh -c 'echo >>ran; sleep 0.2'"),
        ],
        cwd=scratch.path,
        env=scratch.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not scratch.ran.exists():
            assert process.poll() is None
        (run,) = (path for path in scratch.runs.iterdir() if not path.name.startswith("."))
        place = run / "raw" if kind == "raw" else run
        place.rename(scratch.path / "aside")
        place.symlink_to(victims / "raw" if kind == "raw" else victims)
        _, said = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert process.returncode not in (0, None)
    assert any(words in said for words in ("is a link", "replaced by", "lost its manifest")), said
    assert len(list((victims / "raw").iterdir())) <= 4  # of the launch under way
