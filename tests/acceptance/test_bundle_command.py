"""``assay accept --bundle`` and ``--verify`` by command: measured, archived, sent, verified."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import prepared_assay
from archives import files_in, rewritten
from assay.acceptance.archive.signature import check_signature, sign
from assay.records.directory import RunDirectory, list_runs
from waiting import wait_for

DATA = Path(__file__).parents[1] / "data" / "importers"
PLAN = """
schema = 1
title = "Acceptance"
[replication]
min_launches = 30
max_launches = 30
[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = [8, 64, 512, 4096, 8192, 16384]
"""
SCENARIO = """
schema = 1
seed = 3
delay = "{delay}"
[[kernel]]
time = {time}
noise = {{ sigma = 0.002, launch_sigma = 0.004 }}
"""
CONTRACT = """
schema = 1
title = "Cluster"
[risks]
margin = "5%"
[score]
[penalties]
currency = "EUR"
[[commitment]]
name = "Latency"
cells = "network.pingpong bytes=8"
at_most = "1 ms"
penalty = 1000
"""
needs_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="There is no ssh-keygen."
)


@dataclass(frozen=True)
class Runs:
    """The names of the runs of a site."""

    aborted: str
    worse: str
    best: str


def prepared(folder: Path) -> Path:
    (folder / "plan.toml").write_text(PLAN)
    (folder / "contract.toml").write_text(CONTRACT)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepared(tmp_path)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Runs]:
    folder = prepared(tmp_path_factory.mktemp("site"))
    gone = aborted(folder)
    worse = measured(folder, time=1.2e-3)
    return folder, Runs(gone.name, worse.name, measured(folder).name)


@pytest.fixture
def runs(site: tuple[Path, Runs], folder: Path) -> Runs:
    """Copies of the site's runs in the test's folder."""
    shutil.copytree(site[0] / "runs", folder / "runs")
    return site[1]


def assay(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def scenario(folder: Path, time: float = 0.9e-3, delay: str = "0 s") -> None:
    (folder / "scenario.toml").write_text(SCENARIO.format(time=time, delay=delay))


def measured(folder: Path, *words: str, time: float = 0.9e-3) -> RunDirectory:
    """A run of the simulated machine, complete."""
    scenario(folder, time)
    before = {run.name for run in list_runs(folder / "runs")}
    done = assay(folder, "run", "plan.toml", "--fake", "scenario.toml", "--no-report", *words)
    assert done.returncode == 0, done.stderr
    (run,) = [each for each in list_runs(folder / "runs") if each.name not in before]
    return run


def aborted(folder: Path) -> RunDirectory:
    """A run that was killed after its first launch."""
    scenario(folder, 1.1e-3, "300 ms")
    before = {run.name for run in list_runs(folder / "runs")}
    words = ["run", "plan.toml", "--fake", "scenario.toml", "--no-report", "--runs", "runs"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def begun() -> list[RunDirectory]:
        new = [each for each in list_runs(folder / "runs") if each.name not in before]
        return [run for run in new if run.begun and run.launches()]

    try:
        wait_for(begun)
        (run,) = begun()
    finally:
        process.kill()
        process.wait()
    return run


def accept(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return assay(folder, "accept", "contract.toml", *words)


def key_in(folder: Path, name: str = "key") -> Path:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)],
        check=True,
    )
    return folder / name


def signers(folder: Path, *keys: tuple[str, Path]) -> str:
    path = folder / "signers"
    path.write_text("".join(f"{who} {key.with_suffix('.pub').read_text()}" for who, key in keys))
    return str(path)


def test_a_run_is_measured_archived_and_verified(
    folder: Path, runs: Runs, tmp_path_factory: pytest.TempPathFactory
) -> None:
    done = accept(folder, "--run", runs.best, "--bundle", "lot.tar.gz")
    assert done.returncode == 0, done.stderr
    assert "Accepted: 1 commitment" in done.stdout
    assert (
        "2 runs of this machine measured cells of the contract and were not judged" in done.stdout
    )
    assert f"{runs.aborted} (unfinished)" in done.stdout
    assert "Archive: lot.tar.gz (SHA-256 of its content:" in done.stdout
    again = accept(folder, "--run", runs.best, "--bundle", "again.tar.gz", "--json")
    assert json.loads(again.stdout)["outcome"] == "accepted"
    assert (folder / "again.tar.gz").read_bytes() == (folder / "lot.tar.gz").read_bytes()

    # The other side has only the archive and its own copy of the contract.
    other = tmp_path_factory.mktemp("other")
    for name in ("lot.tar.gz", "contract.toml"):
        shutil.copy(folder / name, other)
    done = accept(other, "--verify", "lot.tar.gz")
    assert done.returncode == 0, done.stdout
    assert "Verified: the archive is intact, and its runs give the same numbers." in done.stdout
    assert f"Not judged: {runs.aborted} and {runs.worse}." in done.stdout
    found = json.loads(assay(other, "accept", "--verify", "lot.tar.gz", "--json").stdout)
    assert (found["verified"], found["outcome"], found["differences"]) == (True, "accepted", [])
    # Without assay, too.
    shutil.unpack_archive(other / "lot.tar.gz", other / "unpacked", filter="data")
    sums = ["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"]
    assert subprocess.run(sums, cwd=other / "unpacked", check=False).returncode == 0


def test_a_rejected_archive_verifies_but_a_changed_one_does_not(folder: Path, runs: Runs) -> None:
    """The status of --verify is about the archive, not about the machine."""
    assert accept(folder, "--run", runs.worse, "--bundle", "lot.tar.gz").returncode == 1
    assert accept(folder, "--verify", "lot.tar.gz").returncode == 0

    def cheaper(files: dict[str, bytes]) -> None:
        files["findings.json"] = files["findings.json"].replace(b'"penalty"', b'"penalties"')

    rewritten(folder / "lot.tar.gz", cheaper)
    done = accept(folder, "--verify", "rewritten.tar.gz")
    assert done.returncode == 1
    assert "Not verified: 4 differences." in done.stdout
    (folder / "contract.toml").write_text(CONTRACT.replace("1000", "2000"))
    done = accept(folder, "--verify", "lot.tar.gz")
    assert done.returncode == 1
    assert "The archive is about another contract" in done.stdout


def test_logs_of_outages_are_evidence(folder: Path) -> None:
    """An availability is judged again from the archive's log, at the archive's time."""
    promise = """
        [machine]
        hosts = "n[1-4]"
        [[steadiness]]
        name = "Availability"
        availability = "98%"
        begin = 2026-09-01
        days = 30
    """
    (folder / "contract.toml").write_text(CONTRACT[: CONTRACT.index("[risks]")] + promise)
    (folder / "outages.csv").write_text("begin,end,nodes\n2026-09-03,2026-09-05,n2\n")
    words = ("--outages", "outages.csv", "--bundle", "lot.tar.gz")
    assert accept(folder, *words).returncode == 0
    assert files_in(folder / "lot.tar.gz")["outages/01"] == (folder / "outages.csv").read_bytes()
    done = accept(folder, "--verify", "lot.tar.gz")
    assert done.returncode == 0, done.stdout

    def shorter(files: dict[str, bytes]) -> None:
        files["outages/01"] = files["outages/01"].replace(b"09-05", b"09-04")

    rewritten(folder / "lot.tar.gz", shorter)
    done = accept(folder, "--verify", "rewritten.tar.gz")
    assert done.returncode == 1
    assert "outages/01 isn't the log outages.csv that was judged." in done.stdout
    assert "availabilities[0]" in done.stdout


@needs_ssh_keygen
def test_a_signature_says_whose_archive_it_is(folder: Path, runs: Runs) -> None:
    site, stranger = key_in(folder), key_in(folder, "stranger")
    signed = ("--run", runs.best, "--bundle", "lot.tar.gz", "--sign", str(site))
    assert accept(folder, *signed).returncode == 0
    first = (folder / "lot.tar.gz").read_bytes()
    assert accept(folder, *signed).returncode == 0
    assert (folder / "lot.tar.gz").read_bytes() == first
    known = ("--allowed-signers", signers(folder, ("site@example.org", site)))

    def state(name: str, *words: str) -> tuple[int, str, str]:
        done = accept(folder, "--verify", name, "--json", *words)
        found = json.loads(done.stdout)["signature"]
        return done.returncode, found["state"], found["signer"]

    assert state("lot.tar.gz", *known) == (0, "valid", "site@example.org")
    assert state("lot.tar.gz") == (0, "unlisted", "")
    others = ("--allowed-signers", signers(folder, ("other@example.org", stranger)))
    assert state("lot.tar.gz", *others) == (1, "unknown", "")
    known = ("--allowed-signers", signers(folder, ("site@example.org", site)))

    # Whoever changes it and every digest has no key, or another one.
    def change(files: dict[str, bytes]) -> None:
        files["archive.json"] += b"\n"

    archive = folder / "lot.tar.gz"
    rewritten(archive, change, keep=True)
    assert state("rewritten.tar.gz", *known) == (1, "invalid", "")
    assert state("rewritten.tar.gz") == (1, "invalid", "")
    rewritten(archive, change)
    assert state("rewritten.tar.gz", *known) == (1, "unsigned", "")
    rewritten(archive, change, key=stranger)
    assert state("rewritten.tar.gz", *known) == (1, "unknown", "")
    # OpenSSH alone verifies it as well.
    files = files_in(archive)
    (folder / "sig").write_bytes(files["SHA256SUMS.sig"])
    command = ["ssh-keygen", "-Y", "verify", "-f", known[1], "-I", "site@example.org"]
    command += ["-n", "assay-acceptance", "-s", "sig"]
    verified = subprocess.run(command, input=files["SHA256SUMS"], cwd=folder, check=False)
    assert verified.returncode == 0


@needs_ssh_keygen
def test_each_byte_of_a_signature_matters(folder: Path) -> None:
    key = key_in(folder)
    signature = sign(b"text", key)
    listed = Path(signers(folder, ("site", key)))
    assert check_signature(b"text", signature, listed).state == "valid"
    assert check_signature(b"other text", signature, listed).state == "invalid"
    for place in range(0, len(signature), 7):
        changed = bytearray(signature)
        changed[place] ^= 2
        assert check_signature(b"text", bytes(changed), listed).state in ("invalid", "unknown")
    assert check_signature(b"text", signature.replace(b"\n", b"\n\n", 3), listed).state == "invalid"


@needs_ssh_keygen
def test_a_key_that_cannot_sign_leaves_no_archive(folder: Path, runs: Runs) -> None:
    done = accept(folder, "--run", runs.best, "--bundle", "lot.tar.gz", "--sign", "nokey")
    assert done.returncode == 2
    assert "ssh-keygen can't sign: " in done.stderr
    assert not (folder / "lot.tar.gz").exists()


def test_without_ssh_keygen_a_sentence_says_so(
    folder: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    done = accept(folder, "--run", runs.best, "--bundle", "lot.tar.gz", "--sign", "key")
    assert done.returncode == 2
    assert "There is no ssh-keygen to sign with." in done.stderr


def test_nodes_measured_one_by_one_are_archived(folder: Path) -> None:
    """A group: its members are runs of their own."""
    text = CONTRACT.replace('at_most = "1 ms"', 'at_most = "1 ms"\nper = "node"')
    (folder / "contract.toml").write_text(text + "\n[machine]\nnodes = 3\n")
    run = measured(folder, "--per-node", "--nodes", "3")
    done = accept(folder, "--run", run.name, "--bundle", "lot.tar.gz")
    assert "Archive: " in done.stdout, done.stderr
    files = files_in(folder / "lot.tar.gz")
    assert f"runs/{run.name}/members/00002/seal.json" in files
    done = accept(folder, "--verify", "lot.tar.gz")
    assert done.returncode == 0, done.stdout

    def edit(files: dict[str, bytes]) -> None:
        files[f"runs/{run.name}/members/00001/launches.jsonl"] += b"\n"

    rewritten(folder / "lot.tar.gz", edit)
    done = accept(folder, "--verify", "rewritten.tar.gz")
    assert f"members/00001/launches.jsonl of run {run.name} isn't as it was sealed." in done.stdout


def test_imported_files_are_in_the_archive(folder: Path) -> None:
    shutil.copy(DATA / "hpl-2.3.out", folder / "HPL.out")
    (folder / "contract.toml").write_text(
        'schema = 1\ntitle = "T"\n[[commitment]]\ncells = "hpl"\nat_most = 1e6\n'
    )
    assert assay(folder, "import", "HPL.out").returncode == 0
    (run,) = list_runs(folder / "runs")
    done = accept(folder, "--run", run.name, "--bundle", "lot.tar.gz")
    assert "Archive: " in done.stdout, done.stderr
    files = files_in(folder / "lot.tar.gz")
    (name,) = [each for each in files if each.startswith("imported/")]
    assert files[name] == (DATA / "hpl-2.3.out").read_bytes()
    assert accept(folder, "--verify", "lot.tar.gz").returncode == 0

    def edit(files: dict[str, bytes]) -> None:
        files[name] += b"\n"

    rewritten(folder / "lot.tar.gz", edit)
    done = accept(folder, "--verify", "rewritten.tar.gz")
    assert f"{name} isn't the file that run {run.name} imported." in done.stdout
    (folder / "HPL.out").write_text("another output")
    accept(folder, "--run", run.name, "--bundle", "lot.tar.gz")
    done = accept(folder, "--verify", "lot.tar.gz")
    assert done.returncode == 0
    assert f"The imported file HPL.out of run {run.name} isn't in the archive" in done.stdout


@pytest.fixture
def small(folder: Path) -> Iterator[Path]:
    """A file system with 16 KiB left."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a file system")
    place = folder / "small"
    place.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        with contextlib.suppress(OSError):
            subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_nothing_behind(folder: Path, runs: Runs, small: Path) -> None:
    done = accept(folder, "--run", runs.best, "--bundle", "small/lot.tar.gz")
    assert done.returncode == 2
    assert "Accepted" in done.stdout
    assert "Can't write: No space left on device." in done.stderr
    assert "--bundle FILE" in done.stderr
    assert list(small.iterdir()) == []
    assert accept(folder, "--run", runs.best, "--bundle", "lot.tar.gz").returncode == 0
    shutil.copy(folder / "lot.tar.gz", folder / "sent.tar.gz")
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "accept", "--verify", "sent.tar.gz"],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(small)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "The archive can't be unpacked: No space left on device." in done.stderr
    assert list(small.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--verify", "none.tar.gz"), "No such file or directory"),
        (("--verify", "plan.toml"), "This isn't an archive of assay accept."),
        (("--verify", "plan.toml", "--run", "x"), "without --run"),
        (("--verify", "plan.toml", "--html"), "without --output, --html and --format"),
        (("--verify", "plan.toml", "--allowed-signers", "none"), "The file can't be read"),
        (("--allowed-signers", "plan.toml", "--run", "x"), "There is no signature to check."),
        (("--sign", "key", "--run", "x"), "There is nothing to sign."),
        (("--plan", "--bundle", "a.tar.gz"), "A plan has no verdict to archive."),
    ],
)
def test_wrong_input_has_status_2(folder: Path, words: tuple[str, ...], what: str) -> None:
    done = accept(folder, *words)
    assert done.returncode == 2
    assert what in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("patient_ranks")
def test_a_real_run_is_archived_and_verified(folder: Path) -> None:
    (folder / "plan.toml").write_text(
        "schema = 1\noversubscribe = true\n[replication]\nmin_launches = 6\nmax_launches = 6\n"
        'budget = "60 s"\ncell_budget = "20 ms"\nmax_samples = 20\n'
        '[[measure]]\nkernel = "memory.stream"\nop = "triad"\nelements = 20000\n'
    )
    text = 'schema = 1\ntitle = "T"\n[[commitment]]\ncells = "memory.stream"\n'
    (folder / "contract.toml").write_text(f'{text}metric = "bandwidth"\nat_least = "1 MB/s"\n')
    done = assay(folder, "run", "plan.toml", "--no-report")
    assert done.returncode == 0, done.stderr
    (run,) = list_runs(folder / "runs")
    done = accept(folder, "--run", run.name, "--bundle", "lot.tar.gz")
    assert "Archive: " in done.stdout, done.stderr
    assert any(name.endswith(".job.json") for name in files_in(folder / "lot.tar.gz"))
    done = accept(folder, "--verify", "lot.tar.gz")
    assert done.returncode == 0, done.stdout
