"""``assay lab``: labs that stay, are found again, used, and removed without leftovers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import prepared_assay
from assay.errors import AssayError
from assay.lab import network, slurm
from assay.lab.slurm_accounts import why_no_accounts
from assay.lab.spec import find_spec, load_spec, shipped
from assay.lab.store import (
    FOLDER_VARIABLE,
    bring_up,
    check_name,
    find_lab,
    labs,
    labs_prefix,
)
from lab_probe import machine

reason = network.why_not()
needs_a_lab = pytest.mark.skipif(reason is not None, reason=reason or "")
_SECONDS = 60


@pytest.fixture
def folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The labs of one test, separate from any others of this machine; all are ended afterwards."""
    path = tmp_path_factory.mktemp("l")  # sockets of Slurm need a short path
    monkeypatch.setenv(FOLDER_VARIABLE, str(path / "labs"))
    yield path
    if reason is None:
        left = [lab.name for lab in labs()]
        assay("lab", "down", "--all")
        assert labs() == []
        assert left == []  # each test removes its labs


def assay(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", *words]
    return prepared_assay.run(
        command, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL
    )


def said(*words: str) -> str:
    done = assay(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def unchanged(folder: Path) -> Iterator[None]:
    """The machine must be unchanged afterwards. A namespace is created first, for iproute2's
    folder.
    """
    if reason:
        pytest.skip(reason)
    network.add_namespace(f"assay-lab-test-{os.getpid()}")
    network.remove_namespaces([f"assay-lab-test-{os.getpid()}"])
    prefix = labs_prefix()
    before = machine(prefix)
    yield
    assert machine(prefix) == before


@needs_a_lab
@pytest.mark.long
def test_a_lab_stays_until_it_is_taken_down(unchanged: None, folder: Path) -> None:
    lab = json.loads(said("lab", "up", "torus-2d", "--name", "t", "--json"))
    assert lab["state"] == "up"
    assert lab["topology"] == {"kind": "torus", "dimensions": [4, 4]}
    assert lab["adapters"] == [{"rate": 12.5e6, "delay": 0.0}]
    assert [host["name"] for host in lab["hosts"]] == [f"node{n}" for n in range(1, 17)]
    assert json.loads(said("lab", "list", "--json")) == [lab]
    assert stat.S_IMODE((folder / "labs" / "t").stat().st_mode) == 0o700
    table = said("lab", "list")
    assert "4 x 4 torus" in table.replace("\n", " ")
    # Its hosts have their names, know each other by name, and have their own cores.
    assert said("lab", "run", "t", "--", "uname", "-n") == "node1\n"
    ask = "import os, socket; print(os.uname().nodename, socket.gethostbyname('node16'))"
    last = lab["hosts"][15]
    words = ["lab", "run", "t", "--host", "node7", "--", sys.executable, "-c", ask]
    assert said(*words) == f"node7 {last['addresses'][0]}\n"
    allowed = "import os; print(sorted(os.sched_getaffinity(0)))"
    words = ["lab", "run", "t", "--host", "node16", "--", sys.executable, "-c", allowed]
    assert json.loads(said(*words)) == last["cores"]
    speeds = "cat /sys/class/net/eth?/speed"
    assert said("lab", "run", "t", "--", "sh", "-c", speeds).split() == ["100"] * 4
    assert said("lab", "down", "t") == "Removed: t.\n"
    assert json.loads(said("lab", "list", "--json")) == []
    assert list((folder / "labs").iterdir()) == []


@pytest.mark.long
@needs_a_lab
def test_two_concurrent_labs_are_both_removed(unchanged: None, folder: Path) -> None:
    said("lab", "up", "two-rails")
    # "a" and "a-b" have a common prefix; removing one must not affect the other.
    said("lab", "up", "single", "--name", "a")
    said("lab", "up", "single", "--name", "a-b")
    listed = json.loads(said("lab", "list", "--json"))
    assert [(lab["name"], lab["state"]) for lab in listed] == [
        *(("a", "up"), ("a-b", "up"), ("two-rails", "up"))
    ]
    said("lab", "down", "a")
    for name in ("a-b", "two-rails"):
        assert said("lab", "run", name, "--", "uname", "-n") == "node1\n"
    again = assay("lab", "up", "single", "--name", "a-b")
    assert again.returncode == 2
    assert "There is a lab 'a-b' already: it is up" in again.stderr
    assert json.loads(said("lab", "down", "--all", "--json")) == ["a-b", "two-rails"]


@needs_a_lab
def test_a_command_on_a_lab_keeps_words_status_and_signals(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said("lab", "up", "single", "--name", "s")
    words = ["a b", "$HOME", "--host", "'", '"; echo', "*", ""]
    echo = "import json, sys; print(json.dumps(sys.argv[1:]))"
    heard = said("lab", "run", "s", "--", sys.executable, "-c", echo, *words)
    assert json.loads(heard) == words
    assert assay("lab", "run", "s", "--", "sh", "-c", "exit 7").returncode == 7
    monkeypatch.setenv("SLURM_JOB_ID", "1")  # of a surrounding job, whose nodes are not the lab's
    assert said("lab", "run", "s", "--", "sh", "-c", "echo $SLURM_JOB_ID") == "\n"
    assert assay("lab", "run", "s", "--", "sh", "-c", "kill -9 $$").returncode == -9
    sleeping = [sys.executable, "-m", "assay", "lab", "run", "s", "--", "sleep", "1000"]
    (first,) = [h for lab in labs() if lab.cluster for h in lab.cluster.hosts if h.name == "node1"]
    with started(sleeping) as asleep:
        wait_for(lambda: is_asleep(asleep.pid, first.namespace))
        asleep.send_signal(signal.SIGINT)
        assert asleep.wait(60) == -signal.SIGINT
    with started(sleeping) as asleep:
        wait_for(lambda: is_asleep(asleep.pid, first.namespace))
        said("lab", "down", "s")  # ends what runs on it
        assert asleep.wait(60) == -signal.SIGKILL


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is ended afterwards in any case."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def is_alive(pid: int) -> bool:
    """Whether it runs; a zombie doesn't."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def is_asleep(pid: int, namespace: str) -> bool:
    running = Path(f"/proc/{pid}/comm").read_text().strip()
    return running == "sleep" and pid in network.processes_in(namespace)


def wait_for(there: Callable[[], bool], complaint: Callable[[], str] = str) -> None:
    """Wait; ``complaint``: what is said if it takes too long."""
    until = time.monotonic() + _SECONDS
    while not there():
        assert time.monotonic() < until, complaint()
        time.sleep(0.01)


@needs_a_lab
@pytest.mark.parametrize(
    "after", [10, *(pytest.param(each, marks=pytest.mark.long) for each in (1, 70, 100))]
)
def test_a_lab_killed_during_creation_is_found_and_removed(
    unchanged: None, folder: Path, after: int
) -> None:
    spec = folder / "big.toml"
    spec.write_text('schema = 1\n[topology]\nkind = "torus"\ndimensions = [8, 8]\n')
    command = [sys.executable, "-m", "assay", "lab", "up", str(spec)]
    with started(command) as making:

        def far_enough() -> bool:
            (lab,) = labs() or [None]
            if lab is None or lab.cluster is None:
                return False
            there = [n for n in lab.cluster.namespaces if (network.NAMES / n).exists()]
            return len(there) >= min(after, 64) and (after <= 64 or has_links(there[0], after))

        wait_for(far_enough)
        making.kill()
    listed = json.loads(said("lab", "list", "--json"))
    assert [lab["name"] for lab in listed] == ["big"]
    assert listed[0]["state"] in ("half made", "being made")  # by its last step
    used = assay("lab", "run", "big", "--", "true")
    assert used.returncode == 2
    assert "can't be used" in used.stderr
    said("lab", "down", "big")


def has_links(namespace: str, after: int) -> bool:
    """Past the creation of namespaces: with links, or with routes."""
    what = "link" if after < 100 else "route"
    return "eth" in network.run("ip", "-n", namespace, what)


@pytest.mark.long
@needs_a_lab
def test_a_lab_without_its_folder_or_namespaces_is_found_too(unchanged: None, folder: Path) -> None:
    said("lab", "up", "single", "--name", "lost")
    kept = (folder / "labs" / "lost").rename(folder / "kept")
    assert [(lab.name, lab.state) for lab in labs()] == [("lost", "half made")]
    again = assay("lab", "up", "single", "--name", "lost")
    assert again.returncode == 2
    assert "already" in again.stderr
    said("lab", "down", "lost")
    # After a reboot, or cleaning by another program.
    kept.rename(folder / "labs" / "lost")
    assert [(lab.name, lab.state) for lab in labs()] == [("lost", "gone")]
    said("lab", "down", "lost")
    said("lab", "up", "single", "--name", "lost")
    (lab,) = labs()
    assert lab.cluster is not None
    network.remove_namespaces([lab.cluster.hosts[3].namespace])
    assert [(lab.name, lab.state) for lab in labs()] == [("lost", "half made")]
    said("lab", "down", "lost")
    (folder / "labs" / "lost").mkdir()  # one that was killed immediately
    assert [(lab.name, lab.state) for lab in labs()] == [("lost", "gone")]
    assert "it is gone" in assay("lab", "run", "lost", "--", "true").stderr
    said("lab", "down", "lost")


@pytest.mark.long
@needs_a_lab
def test_clusters_of_ended_owners_are_removed_but_labs_are_not(folder: Path) -> None:
    from assay.lab.cluster import remove_leftovers

    said("lab", "up", "single", "--name", "s")
    with contextlib.suppress(Exception):
        remove_leftovers()
    assert said("lab", "run", "s", "--", "uname", "-n") == "node1\n"
    said("lab", "down", "s")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a b", "a;b", "$(a)", "a\nb", "A", "1", "-a", "a.b", "a" * 32]
)
def test_hostile_names_are_refused(folder: Path, name: str) -> None:
    for refuse in (check_name, find_lab):
        with pytest.raises(AssayError, match="can't be a lab's name"):
            refuse(name)


@pytest.mark.long
@needs_a_lab
def test_hostile_names_are_refused_on_the_command_line(folder: Path) -> None:
    for name in ("../a", "a\nb; echo"):
        for words in (
            ["lab", "up", "single", f"--name={name}"],
            ["lab", "down", name],
            ["lab", "run", name, "--", "true"],
            ["measure", "network.barrier", "--lab", name],
        ):
            done = assay(*words)
            assert done.returncode == 2, done
            assert "can't be a lab's name" in done.stderr, done.stderr
    assert not (folder / "labs").exists()


def test_without_root_it_is_refused(folder: Path) -> None:
    plain = (
        "import os, sys; os.geteuid = lambda: 1000\n"
        "from assay.cli.app import main; main(sys.argv[1:])"
    )
    for words in (["up"], ["down", "a"], ["run", "a", "--", "true"]):
        done = subprocess.run(
            [sys.executable, "-c", plain, "lab", *words], capture_output=True, text=True
        )
        assert done.returncode == 2, done.stderr
        assert "needs root" in done.stderr
        assert "Run as root" in done.stderr


@needs_a_lab
def test_a_folder_of_another_user_is_not_used(folder: Path) -> None:
    (folder / "labs").mkdir(mode=0o777)
    (folder / "labs").chmod(0o777)
    done = assay("lab", "up")
    assert done.returncode == 2
    assert "Users other than root can write to the labs' folder" in done.stderr
    (folder / "labs").rmdir()
    (folder / "labs").symlink_to(folder)
    assert "Users other than root can write to the labs' folder" in assay("lab", "up").stderr
    (folder / "labs").unlink()


@needs_a_lab
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["up", "torus"], "There is no spec 'torus'"),
        (["down"], "No lab is named."),
        (["down", "nowhere"], "There is no lab 'nowhere'"),
        *(
            pytest.param(words, what, marks=pytest.mark.long)
            for words, what in (
                (["run", "nowhere", "--", "true"], "There is no lab 'nowhere'"),
                (["run", "nowhere"], "There is no lab 'nowhere'"),
                (["down", "a", "--all"], "No lab is named."),
            )
        ),
    ],
)
def test_a_missing_lab_is_reported(folder: Path, words: list[str], what: str) -> None:
    done = assay("lab", *words)
    assert done.returncode == 2
    assert what in done.stderr


@needs_a_lab
def test_a_missing_host_is_reported(folder: Path) -> None:
    said("lab", "up", "single", "--name", "s")
    done = assay("lab", "run", "s", "--host", "node9", "--", "true")
    assert (done.returncode, "no host 'node9'" in done.stderr) == (2, True)
    none = assay("lab", "run", "s")
    assert (none.returncode, "There is no command to run" in none.stderr) == (2, True)
    said("lab", "down", "s")


def test_help_has_examples_and_names_the_shipped_specs() -> None:
    assert "assay lab up torus-2d" in said("lab", "--help")
    up = said("lab", "up", "--help")
    assert all(name in " ".join(up.split()) for name in shipped())
    for below in ("up", "list", "run", "down"):
        assert f"assay lab {below}" in said("lab", below, "--help").partition("Examples:")[2]


# ---- with a Slurm ----------------------------------------------------------------------------


@needs_a_lab
@pytest.mark.cluster
def test_a_lab_with_slurm(unchanged: None, folder: Path) -> None:
    if without := slurm.why_not():
        pytest.skip(without)
    lab = json.loads(said("lab", "up", "single", "--name", "s", "--slurm", "--json"))
    assert lab["slurm"] is True
    on_it = ["lab", "run", "s", "--"]
    nodes = said(*on_it, "sinfo", "--noheader", "--Node", "--format=%N %t").splitlines()
    assert sorted(nodes) == [f"node{n} idle" for n in range(1, 5)]
    # From any host, and with a job that still exists when the lab is removed.
    output = folder / "said"
    submit = ["sbatch", "--parsable", "--nodes=4", f"--output={output}", "--wrap"]
    said("lab", "run", "s", "--host", "node3", "--", *submit, "srun uname -n; sleep 1000")
    wait_for(
        lambda: output.exists() and len(output.read_text().split()) == 4,
        lambda: "\n".join(
            [
                output.read_text() if output.exists() else "no output yet",
                said(*on_it, "squeue", "--steps"),
                said(*on_it, "scontrol", "show", "job"),
            ]
        ),
    )
    assert sorted(output.read_text().split()) == [f"node{n}" for n in range(1, 5)]
    spaces = [host["namespace"] for host in lab["hosts"]]
    running = network.processes_in(*spaces)
    assert len(running) >= 6  # a munged, a controller, and four nodes
    said("lab", "down", "s")
    assert [pid for pid in running if is_alive(pid)] == []


@pytest.mark.cluster
@needs_a_lab
def test_a_slurm_with_accounts(unchanged: None, folder: Path) -> None:
    """What an ordinary user does with it: test_slurm_accounts.py."""
    if without := slurm.why_not() or why_no_accounts(slurm._find):
        pytest.skip(without)
    said("lab", "up", "single", "--name", "s", "--slurm-accounts")
    on_it = ["lab", "run", "s", "--"]
    job = said(*on_it, "sbatch", "--parsable", "--wait", "--output=/dev/null", "--wrap=true")
    asked = ["sacct", f"--jobs={job.strip()}", "--noheader", "-X", "--format=state"]
    wait_for(lambda: said(*on_it, *asked).split() == ["COMPLETED"])
    assert said("lab", "run", "s", "--user", "nobody", "--", "id", "-un").strip() == "nobody"
    # Users find the files of Slurm, and can't list the labs.
    for path in (folder / "labs", folder / "labs" / "s"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o711
    said("lab", "down", "s")
    assert processes_in(folder) == []


@needs_a_lab
def test_an_unknown_user_is_named(folder: Path) -> None:
    said("lab", "up", "single", "--name", "u")
    wrong = assay("lab", "run", "u", "--user", "nobodi", "--", "true")
    assert wrong.returncode == 2 and "no user 'nobodi'" in wrong.stderr
    assert "nobody" in wrong.stderr
    said("lab", "down", "u")


@pytest.mark.cluster
@needs_a_lab
def test_a_slurm_half_made(unchanged: None, folder: Path) -> None:
    if without := slurm.why_not():
        pytest.skip(without)
    command = [sys.executable, "-m", "assay", "lab", "up", "single", "--name", "k", "--slurm"]
    munged = folder / "labs" / "k" / "slurm" / "munge.socket"
    with started(command) as making:
        wait_for(munged.exists)
        making.kill()
    wait_for(lambda: labs()[0].state != "being made")
    assert [(lab.name, lab.state) for lab in labs()] == [("k", "half made")]
    assert processes_in(folder) != []
    assert "can't be used: it is half made" in assay("lab", "run", "k", "--", "true").stderr
    said("lab", "down", "k")
    assert processes_in(folder) == []


def processes_in(folder: Path) -> list[str]:
    """The processes that were started with a path in this folder."""
    found = []
    for process in psutil.process_iter(["name", "cmdline"]):
        if any(str(folder / "labs") in word for word in process.info["cmdline"] or ()):
            found.append(process.info["name"])
    return found


@needs_a_lab
def test_an_impossible_slurm_is_reported_before_anything_is_created(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "why_not", lambda: "A Slurm needs the program 'munged'.")
    with pytest.raises(AssayError, match="needs the program 'munged'"):
        bring_up(replace(load_spec(find_spec("single")), slurm=True), "s")
    assert not (folder / "labs").exists()


# ---- measuring -------------------------------------------------------------------------------


@pytest.mark.long
@needs_a_lab
@pytest.mark.slow
def test_a_lab_is_measured_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.records.directory import list_runs
    from assay.records.reading import read_run

    (folder / "assay.toml").write_text(
        '[system]\nname = "mine"\n[cluster]\nhosts = ["nowhere.invalid"]\n'
        '[scheduler]\nkind = "slurm"\n'
    )
    monkeypatch.chdir(folder)
    said("lab", "up", "single", "--name", "s")
    few = ["--nodes", "4", "--launches", "1", "--samples", "5", "--keep", "--json"]
    done = assay("measure", "network.barrier", "--lab", "s", *few)
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["verified"] is True
    (run,) = list_runs(folder / "runs")
    assert "-lab_s-" in run.name
    data = read_run(run.path)
    (measurement,) = data.measurements
    assert [rank.host for rank in measurement.ranks] == [f"node{n}" for n in range(1, 5)]
    assert data.manifest.command[1:4] == ["measure", "network.barrier", "--lab"]
    (launch,) = data.launches
    assert "nowhere" not in " ".join(launch.command)
    # An impossible request has its status, too.
    wrong = assay("measure", "network.barrier", "--lab", "s", "--nodes", "5")
    assert (wrong.returncode, "there are 4 nodes" in wrong.stderr) == (2, True)
    missing = assay("measure", "network.barrier", "--lab", "t")
    assert (missing.returncode, "There is no lab 't'" in missing.stderr) == (2, True)
    said("lab", "down", "s")


@needs_a_lab
@pytest.mark.slow
@pytest.mark.long
def test_an_interrupted_run_on_a_lab_resumes_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.records.directory import list_runs
    from assay.records.reading import read_run

    monkeypatch.chdir(folder)
    plan = folder / "plan.toml"
    plan.write_text(
        "schema = 1\n[replication]\nmin_launches = 4\nmax_launches = 4\nmax_samples = 5\n"
        'budget = "60 s"\n[[measure]]\nkernel = "network.barrier"\nnodes = [2, 3, 4]\nppn = 1\n'
    )
    said("lab", "up", "single", "--name", "s")
    command = [sys.executable, "-m", "assay", "run", str(plan), "--lab", "s", "--no-report"]
    with started(command) as running:
        wait_for(lambda: any(run.launches() for run in list_runs(folder / "runs")))
        running.send_signal(signal.SIGINT)
        assert running.wait(_SECONDS) == 130
    (run,) = list_runs(folder / "runs")
    assert not run.complete
    done = assay("run", "--resume", "--lab", "s", "--no-report")
    assert done.returncode in (0, 1), done.stderr
    assert run.complete
    assert {launch.outcome for launch in run.launches()} <= {"complete", "interrupted"}
    assert all("-hosts 10.87.0.1,10.87.0.2" in " ".join(each.command) for each in run.launches())
    data = read_run(run.path)
    assert len({m.cell.id for m in data.measurements}) == 3
    assert len([m for m in data.measurements if m.record.status == "ok"]) == 12
    said("lab", "down", "s")
