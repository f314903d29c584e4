"""The printed scripts, run with stand-ins for assay and for the schedulers' commands."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
import types
from pathlib import Path

import pytest

from assay.check import hooks
from assay.errors import AssayError

REASON = "unhealthy: memory bandwidth 21.3 GB/s, expected 24.9 GB/s (p < 1e-6): check DIMMs"
SHELL = [name for name in hooks.NAMES if name != "pbs"]
SLURM = [name for name in SHELL if name.startswith("slurm")]
# Scripts that start before a job, and keep it off the node.
BEFORE = ("slurm-prolog", "slurm-epilog", "lsf")
_CLIENT = """\
#!/bin/sh
echo "${{0##*/}} $*" >>'{log}'
[ {status} = 0 ] || exit {status}
case "$*" in
  *'show node'*) echo "NodeName=n1 CoresPerSocket=1 State={state} ThreadsPerCore=1" ;;
  -w*) printf 'HOST_NAME STATUS JL/U\\nn1  {state}  -\\n' ;;
esac
"""


class Node:
    """A node with an assay and a scheduler that answer as told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a folder with 'quotes' and $HOME"
        self.folder.mkdir()
        self.assay = self.folder / "assay"
        self.log = self.folder.parent / "calls"
        self.scheduler("IDLE")

    def check(self, body: str) -> Node:
        self.assay.write_text(f'#!/bin/sh\necho "assay $*" >>{self.log}\n{body}\n')
        self.assay.chmod(0o755)
        return self

    def says(self, status: int, line: str) -> Node:
        return self.check(f"echo '{line}'\nexit {status}")

    def scheduler(self, state: str, status: int = 0) -> Node:
        for name in ("scontrol", "bhosts", "badmin"):
            client = self.folder / name
            client.write_text(_CLIENT.format(log=self.log, state=state, status=status))
            client.chmod(0o755)
        return self

    def text(self, name: str, deadline: float = 8.0) -> str:
        return hooks.script(
            name,
            executable=self.assay,
            folder=self.folder / "checks",
            deadline=deadline,
            scratch=Path("/scratch of/jobs"),
            scontrol=self.folder / "scontrol",
        )

    def run(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        path = self.folder / name
        path.write_text(self.text(name, 0.5))
        return subprocess.run(
            ["sh", str(path), *words],
            env={"SLURMD_NODENAME": "n1", "LSF_BINDIR": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def calls(self) -> list[str]:
        """The calls of the scheduler's commands."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if not line.startswith("assay ")]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for has ended, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _drains(calls: list[str]) -> list[str]:
    return [call for call in calls if " update " in call or " hclose " in call]


@pytest.mark.parametrize("name", SHELL)
@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
def test_shellcheck_has_no_complaints(name: str) -> None:
    text = hooks.script(
        name, executable=Path("/opt/assay/bin/assay"), folder=Path("/shared/the gate")
    )
    done = subprocess.run(
        ["shellcheck", "-s", "sh", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name", hooks.NAMES)
def test_a_script_has_no_placeholder_and_fits_a_terminal(name: str) -> None:
    text = hooks.script(name, executable=Path("/opt/assay/bin/assay"), folder=Path("/shared/gate"))
    assert re.search("@[A-Z]+@", text) is None
    assert "/opt/assay/bin/assay" in text and "/shared/gate" in text
    assert max(len(line) for line in text.splitlines()) <= 103
    # Only an administrator returns a node to service.
    assert not any(word in text.upper() for word in ("STATE=RESUME", "UNDRAIN", "ND_FREE"))


@pytest.mark.parametrize("name", SHELL)
def test_an_unhealthy_node_is_drained_with_the_printed_reason(name: str, node: Node) -> None:
    done = node.says(1, REASON).run(name)
    (drain,) = _drains(node.calls())
    assert REASON in drain
    assert name == "lsf" or "NodeName=n1 " in drain
    assert done.returncode == (1 if name in BEFORE else 0)
    asked = node.log.read_text().splitlines()[0]
    assert f"--folder {node.folder}/checks --deadline 0.5" in asked
    assert ("--facts" in asked) == (name == "slurm-health")
    assert ("--idle" in asked) == (name != "slurm-health")
    assert "--scratch /scratch of/jobs" in asked


@pytest.mark.parametrize("name", SHELL)
@pytest.mark.parametrize(
    ("status", "line"),
    [
        (0, "healthy: 7 measurements, 112 facts"),
        (2, "assay: unknown option"),
        (3, "undecided: the node is busy"),
        # The interpreter failed: it ends with 1, too.
        (1, "Traceback (most recent call last):"),
        (1, ""),
        (139, "unhealthy: so it says, but it crashed"),
    ],
)
def test_nothing_else_drains(name: str, status: int, line: str, node: Node) -> None:
    done = node.says(status, line).run(name)
    assert done.returncode == 0
    # A healthy or undecided node doesn't burden the scheduler at all.
    assert node.calls() == []
    assert (status == 0) == (done.stderr == "")


@pytest.mark.parametrize("name", SHELL)
def test_a_missing_assay_does_not_drain(name: str, node: Node) -> None:
    done = node.run(name)
    assert (done.returncode, node.calls()) == (0, [])
    assert "can't be run" in done.stderr


@pytest.mark.parametrize("name", ["slurm-prolog"])  # the others have it from the same part
def test_a_check_that_hangs_is_ended_and_does_not_drain(name: str, node: Node) -> None:
    node.check(f"echo '{REASON}'; echo $$ >{node.log}.pid; trap '' TERM; sleep 60 & wait; sleep 60")
    done = node.run(name)
    assert (done.returncode, node.calls()) == (0, [])
    assert "undecided" in done.stderr
    pid = int(Path(f"{node.log}.pid").read_text())
    assert not _runs(pid)


@pytest.mark.parametrize("name", SLURM)
@pytest.mark.parametrize("state", ["IDLE+DRAIN", "MIXED+DRAIN", "DOWN*", "DOWN+DRAIN", "FAIL"])
def test_a_drained_node_keeps_its_reason(name: str, state: str, node: Node) -> None:
    done = node.scheduler(state).says(1, REASON).run(name)
    assert _drains(node.calls()) == []
    assert REASON in done.stderr and state in done.stderr


def test_a_closed_host_keeps_its_comment(node: Node) -> None:
    node.scheduler("closed_Adm").says(1, REASON).run("lsf")
    assert _drains(node.calls()) == []
    node.scheduler("closed_Full").says(1, REASON).run("lsf")
    assert len(_drains(node.calls())) == 1


@pytest.mark.parametrize("name", SHELL)
def test_a_scheduler_that_does_not_answer_is_logged(name: str, node: Node) -> None:
    done = node.scheduler("", 1).says(1, REASON).run(name)
    assert _drains(node.calls()) == []
    assert REASON in done.stderr
    # Slurm then drains the node itself after a prolog or an epilog.
    assert done.returncode == (1 if name in BEFORE else 0)


def test_a_health_check_knows_slurms_configuration(node: Node) -> None:
    """Of Slurm's variables, slurmd gives it the name of the node alone."""
    node.says(1, REASON)
    client = node.folder / "scontrol"
    client.write_text(f'#!/bin/sh\necho "conf $SLURM_CONF" >>{node.log}\n')
    text = hooks.script(
        "slurm-health",
        executable=node.assay,
        folder=node.folder,
        scontrol=client,
        slurm_conf=Path("/shared/my slurm.conf"),
    )
    for given, expected in (({}, "/shared/my slurm.conf"), ({"SLURM_CONF": "/given"}, "/given")):
        node.log.unlink(missing_ok=True)
        subprocess.run(["sh", "-c", text], env=given, check=True, capture_output=True)
        assert f"conf {expected}" in node.log.read_text()


def test_after_a_job_lsf_gets_no_failure(node: Node) -> None:
    assert node.says(1, REASON).run("lsf", "post").returncode == 0
    assert len(_drains(node.calls())) == 1


def test_only_one_line_of_plain_characters_becomes_a_reason(node: Node) -> None:
    line = "unhealthy: " + "x" * 200
    node.check(f"echo first; printf '{line}\\033[31m\\342\\202\\254\\n'; exit 1").run(
        "slurm-prolog"
    )
    (drain,) = _drains(node.calls())
    assert drain.endswith("Reason=" + line[:100])


def _folders_of_scripts() -> set[Path]:
    return {
        path
        for folder in ("/run", "/dev/shm", "/tmp")
        for path in Path(folder).glob("assay-check.*")
    }


def _assert_none_stays(before: set[Path]) -> None:
    """Scripts of other tests have a folder for a moment, too."""
    new = _folders_of_scripts() - before
    deadline = time.monotonic() + 20
    while any(path.exists() for path in new) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [path for path in new if path.exists()]


def test_a_script_leaves_nothing_behind(node: Node) -> None:
    before = _folders_of_scripts()
    node.says(0, "healthy").run("slurm-prolog")
    _assert_none_stays(before)
    # Nor its timer.
    time.sleep(0.2)
    sleeping = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 9" not in sleeping.stdout.splitlines()


def test_a_killed_script_leaves_no_file(node: Node) -> None:
    # As Slurm ends a prolog whose time is over.
    started = Path(f"{node.log}.pid")
    node.check(f"echo $$ >'{started}'; exec sleep 60")
    path = node.folder / "slurm-prolog"
    path.write_text(node.text("slurm-prolog"))
    before = _folders_of_scripts()
    script = subprocess.Popen(["sh", str(path)], start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        while not (started.exists() and started.read_text().endswith("\n")):
            assert script.poll() is None
            time.sleep(0.02)
    finally:
        os.killpg(script.pid, signal.SIGKILL)
        script.wait()
        # `timeout` gave the check a process group of its own.
        if started.exists():
            os.kill(int(started.read_text()), signal.SIGKILL)
    _assert_none_stays(before)


class _Stop(SystemExit):
    """What accept() and reject() of PBS raise."""


class _Vnode(types.SimpleNamespace):
    pass


class Pbs(types.ModuleType):
    """A stand-in for the module that PBS gives its hooks."""

    ND_OFFLINE, ND_FREE, EVENT_DEBUG = 1, 0, 2
    EXECJOB_BEGIN, EXECJOB_END = 4, 8

    def __init__(self, kind: int, states: dict[str, int]) -> None:
        super().__init__("pbs")
        self.logged: list[str] = []
        self.ended: list[str] = []
        self.states = states
        self.vnodes = {name: _Vnode(state=None, comment=None) for name in states}
        self._event = types.SimpleNamespace(
            type=kind,
            vnode_list=self.vnodes,
            job=types.SimpleNamespace(rerun=lambda: self.ended.append("rerun")),
            accept=lambda: self._end("accept"),
            reject=lambda why: self._end(f"reject {why}"),
        )

    def _end(self, how: str) -> None:
        self.ended.append(how)
        raise _Stop

    def event(self) -> types.SimpleNamespace:
        return self._event

    def get_local_nodename(self) -> str:
        return "n1"

    def server(self) -> types.SimpleNamespace:
        return types.SimpleNamespace(vnode=lambda name: _Vnode(state=self.states[name]))

    def logmsg(self, _: int, text: str) -> None:
        self.logged.append(text)


def _hook(node: Node, pbs: Pbs, monkeypatch: pytest.MonkeyPatch) -> Pbs:
    import sys

    monkeypatch.setitem(sys.modules, "pbs", pbs)
    with pytest.raises(_Stop):
        exec(compile(node.text("pbs", 0.5), "assay_gate.py", "exec"), {})
    return pbs


def test_pbs_takes_an_unhealthy_host_offline(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.says(1, REASON)
    states = {"n1": 0, "n1[0]": 16, "n10": 0, "n2": 0}
    pbs = _hook(node, Pbs(Pbs.EXECJOB_BEGIN, states), monkeypatch)
    offline = {name for name, vnode in pbs.vnodes.items() if vnode.state == Pbs.ND_OFFLINE}
    assert offline == {"n1", "n1[0]"}
    assert pbs.vnodes["n1"].comment == REASON
    assert pbs.ended == ["rerun", f"reject {REASON}"]
    pbs = _hook(node, Pbs(Pbs.EXECJOB_END, states), monkeypatch)
    assert pbs.ended == ["accept"] and pbs.vnodes["n1"].comment == REASON


def test_pbs_keeps_the_comment_of_an_offline_host(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.says(1, REASON)
    pbs = _hook(node, Pbs(Pbs.EXECJOB_BEGIN, {"n1": Pbs.ND_OFFLINE | 16}), monkeypatch)
    assert pbs.vnodes["n1"].comment is None and pbs.vnodes["n1"].state is None
    assert pbs.ended[-1].startswith("reject")


@pytest.mark.parametrize(
    "body",
    [
        "echo healthy",
        "echo 'undecided: busy'; exit 3",
        "echo Traceback; exit 1",
        f"echo '{REASON}'; exit 139",
        f"echo '{REASON}'; trap '' TERM; sleep 60 & wait; sleep 60",
    ],
)
def test_nothing_else_makes_pbs_take_a_host_offline(
    body: str, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    pbs = _hook(node.check(body), Pbs(Pbs.EXECJOB_BEGIN, {"n1": 0}), monkeypatch)
    assert pbs.vnodes["n1"].state is None and pbs.ended == ["accept"]
    assert (body == "echo healthy") == (pbs.logged == [])


def test_a_hook_without_assay_or_server_accepts_the_job(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    pbs = _hook(node, Pbs(Pbs.EXECJOB_BEGIN, {"n1": 0}), monkeypatch)
    assert pbs.ended == ["accept"] and pbs.vnodes["n1"].state is None


def test_unknown_hooks_and_relative_paths_are_refused() -> None:
    assay, folder = Path("/bin/assay"), Path("/shared/checks")
    with pytest.raises(AssayError, match="no hook 'slurm-prologue'") as error:
        hooks.script("slurm-prologue", executable=assay, folder=folder)
    assert "slurm-prolog" in str(error.value.fix)
    with pytest.raises(AssayError, match="absolute"):
        hooks.script("lsf", executable=assay, folder=Path("checks"))
    with pytest.raises(AssayError, match="deadline of 50 s"):
        hooks.script("slurm-health", executable=assay, folder=folder, deadline=50.0)


def test_the_templates_are_those_that_have_names() -> None:
    folder = Path(hooks.__file__).parent / "templates"
    assert {path.name for path in folder.iterdir()} == {*hooks.NAMES, "common.sh", "slurm.sh"}
