"""Meter: readings of the real program, and sentences about programs that misbehave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.check.components import ALONE, CORE, LATENCY, STORAGE, STREAM
from assay.check.measuring.answers import PROTOCOL, read_answer
from assay.check.measuring.meter import SECONDS, Meter
from assay.check.measuring.program import program_digest
from assay.check.model import Reading
from assay.errors import AssayError
from check_programs import meter, plain

HELLO = json.dumps(
    {
        "program": "assay-check",
        "version": "1",
        "protocol": PROTOCOL,
        "cpus": [0],
        "instructions": "",
        "components": list(ALONE),
    }
)
QUIET = {"others": 0.0, "steal": 0.0, "held_back": 0.0, "throttled": None}
CORE_ANSWER = json.dumps(
    {
        "component": CORE,
        "values": [1e9],
        "cpus": [0],
        "seconds": 0.1,
        "verified": True,
        "failed": "",
        "quiet": QUIET,
    }
)


def stand_in(folder: Path, body: str) -> Path:
    """A shell script that greets as the program does, then runs ``body``."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\necho '{HELLO}'\n{body}\n")
    path.chmod(0o755)
    return path


def of_stand_in(folder: Path, body: str, *components: str, deadline: float = 60.0) -> list[str]:
    """What the readings of a script say."""
    with meter(stand_in(folder, body), deadline=deadline) as one:
        readings = one.measure(components or (CORE,))
    assert list(readings) == list(components or (CORE,))
    assert all(each.values == [] for each in readings.values())
    return [each.failed for each in readings.values()]


def is_gone(process: int) -> bool:
    """Whether a process has ended; waits for it for half a minute at most."""
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # its new parent hasn't waited for it yet
            return True
        time.sleep(0.01)
    return False


@pytest.mark.slow
def test_it_measures_in_order_and_twice(tmp_path: Path) -> None:
    with meter(plain(), scratch=tmp_path) as one:
        assert one.hello is not None and one.hello.cpus
        for seconds in (None, {STORAGE: 0.1}):
            found = one.measure((LATENCY, CORE, STORAGE), seconds)
            assert list(found) == [LATENCY, CORE, STORAGE]
            assert all(each.values and each.verified for each in found.values())
    assert list(tmp_path.iterdir()) == []


def test_every_component_has_its_seconds() -> None:
    from assay.check.components import BY_NAME

    assert SECONDS.keys() == BY_NAME.keys()
    assert all(value > 0.0 for value in SECONDS.values())


def test_an_answer_becomes_a_reading(tmp_path: Path) -> None:
    with meter(stand_in(tmp_path, f"read order; echo '{CORE_ANSWER}'; read order")) as one:
        found = one.measure([CORE])[CORE]
    assert (found.values, found.cpus, found.verified, found.failed) == ([1e9], [0], True, "")


def test_a_program_that_hangs_is_killed_at_the_deadline(tmp_path: Path) -> None:
    path = stand_in(tmp_path, f"echo $$ > {tmp_path}/id; read order; sleep 1000")
    with meter(path, deadline=1.0) as one:
        found = one.measure((STREAM, CORE))
        assert one.hung == STREAM
    said = "The measuring program hung in memory bandwidth: 1 s passed."
    assert [each.failed for each in found.values()] == [said, said]
    assert is_gone(int((tmp_path / "id").read_text()))


def test_a_program_that_says_nothing_is_killed_at_the_deadline(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/id\nsleep 1000\n")
    path.chmod(0o755)
    with pytest.raises(AssayError, match="hung before it began: 1 s passed"):
        meter(path, deadline=1.0).__enter__()
    assert is_gone(int((tmp_path / "id").read_text()))


@pytest.mark.parametrize(
    "body",
    [
        "read order; sleep 1000 & echo $! > {0}/id; wait",  # hangs
        "read order; sleep 1000 & echo $! > {0}/id; exit 0",  # ends, its child doesn't
        "read order; (trap '' HUP TERM INT; sleep 1000) & echo $! > {0}/id; echo garbage; wait",
    ],
)
def test_its_children_are_killed_as_well(tmp_path: Path, body: str) -> None:
    of_stand_in(tmp_path, body.format(tmp_path), deadline=2.0)
    assert is_gone(int((tmp_path / "id").read_text()))


def test_its_end_is_said_with_status_and_words(tmp_path: Path) -> None:
    said = of_stand_in(tmp_path, "read order; echo no luck >&2; exit 7", CORE, STREAM)
    assert said == ["The measuring program ended with status 7: no luck."] * 2


def test_the_signal_that_ended_it_is_named(tmp_path: Path) -> None:
    (said,) = of_stand_in(tmp_path, "read order; kill -SEGV $$")
    assert said == "The measuring program was ended by the signal SIGSEGV."


def test_a_program_that_closed_its_output_is_not_waited_for(tmp_path: Path) -> None:
    (said,) = of_stand_in(tmp_path, "read order; exec >&-; sleep 1000")
    assert said == "The measuring program closed its output."


def test_a_program_that_ended_before_an_order(tmp_path: Path) -> None:
    with meter(stand_in(tmp_path, "exit 0")) as one:
        time.sleep(0.2)
        (found,) = one.measure([CORE]).values()
    assert found.failed == "The measuring program ended with status 0."


def test_a_flood_of_words_does_not_block_it(tmp_path: Path) -> None:
    body = f"read order; head -c 3000000 /dev/zero | tr '\\0' x >&2; echo '{CORE_ANSWER}'; read o"
    with meter(stand_in(tmp_path, body)) as one:
        assert one.measure([CORE])[CORE].values == [1e9]


def test_an_endless_line_is_not_read_for_ever(tmp_path: Path) -> None:
    (said,) = of_stand_in(tmp_path, "read order; tr '\\0' x < /dev/zero")
    assert said == "The measuring program's answer is too long."


@pytest.mark.parametrize(
    "line",
    [
        "garbage",
        CORE_ANSWER[:-10],
        CORE_ANSWER.replace("1000000000.0", "NaN"),
        CORE_ANSWER.replace("1000000000.0", "null"),
        CORE_ANSWER.replace("1000000000.0", "1e400"),
        CORE_ANSWER.replace("1000000000.0", "-1.0"),
        CORE_ANSWER.replace("[1000000000.0]", "[]"),
        CORE_ANSWER.replace('"cpus": [0]', '"cpus": [0, 1]'),
        CORE_ANSWER.replace('"seconds": 0.1, ', ""),
        CORE_ANSWER.replace(CORE, STREAM),
        "[]",
        "",
    ],
)
def test_an_answer_that_is_none_fails_and_nothing_more_is_asked(tmp_path: Path, line: str) -> None:
    assert line != CORE_ANSWER
    body = f"read order; echo '{line}'; read order; echo '{CORE_ANSWER}'; read order"
    said = of_stand_in(tmp_path, body, CORE, STREAM)
    assert said[0].startswith("The measuring program")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[1000000000.0]", "[]", "it has no value"),
        ("[0]", "[0, 0]", "its CPUs are not distinct"),
        ("[0]", "[-1]", "its CPUs are not distinct"),
        ('"seconds": 0.1', '"seconds": -0.1', "a duration is negative or infinite"),
        ('"others": 0.0', '"others": -0.5', "a duration is negative or infinite"),
        ('"steal": 0.0', '"steal": 1.5', "a share exceeds 1, or a counter is negative"),
        ("null", "-3", "a share exceeds 1, or a counter is negative"),
    ],
)
def test_impossible_answers_are_said(old: str, new: str, words: str) -> None:
    answer = CORE_ANSWER.replace(CORE, STREAM)
    assert isinstance(read_answer(answer.encode(), STREAM), Reading)
    found = read_answer(answer.replace(old, new, 1).encode(), STREAM)
    assert found == f"The measuring program's answer is impossible: {words}."


def test_a_failed_component_has_a_sentence_and_no_value() -> None:
    answer = CORE_ANSWER.replace('"failed": ""', '"failed": "no\\nspace"')
    found = read_answer(answer.encode(), CORE)
    assert isinstance(found, Reading)
    assert (found.failed, found.values, found.cpus) == ("No space.", [], [])


def test_a_line_that_was_cut_by_its_end_is_no_answer(tmp_path: Path) -> None:
    (said,) = of_stand_in(tmp_path, f"read order; printf '%s' '{CORE_ANSWER}'")
    assert said == "The measuring program ended with status 0."


def test_another_program_is_not_executed(tmp_path: Path) -> None:
    path = stand_in(tmp_path, f"touch {tmp_path}/executed; read order")
    with pytest.raises(AssayError, match="has the digest") as raised:
        Meter(path, digest="0" * 64, deadline=60).__enter__()
    assert "--learn" in raised.value.fix
    assert not (tmp_path / "executed").exists()


def test_a_program_that_others_may_write_is_not_executed(tmp_path: Path) -> None:
    path = stand_in(tmp_path, f"touch {tmp_path}/executed; read order")
    path.chmod(0o777)
    with pytest.raises(AssayError, match="may be written by all users"):
        meter(path).__enter__()
    path.chmod(0o755)
    tmp_path.chmod(0o777)
    with pytest.raises(AssayError, match="may be written by all users"):
        meter(path).__enter__()
    assert not (tmp_path / "executed").exists()


def test_a_program_that_is_replaced_after_it_was_verified_is_the_verified_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stand_in(tmp_path, f"read order; echo '{CORE_ANSWER}'; read order")
    digest = program_digest(path)
    other = tmp_path / "other"
    other.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\n")
    other.chmod(0o755)
    real = subprocess.Popen

    def replaced(*words: object, **options: object) -> object:
        other.rename(path)
        return real(*words, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", replaced)
    with Meter(path, digest=digest, deadline=60) as one:
        assert one.measure([CORE])[CORE].values == [1e9]
    assert not (tmp_path / "executed").exists()


def test_a_missing_or_unreadable_program_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="can't be read: No such file"):
        program_digest(tmp_path / "missing")
    with pytest.raises(AssayError, match="can't be read: Is a directory"):
        program_digest(tmp_path)


def test_a_program_that_can_not_be_run_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text("no program")
    path.chmod(0o755)
    with pytest.raises(AssayError, match="can't be run: Exec format error"):
        meter(path).__enter__()


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        ("{}", "doesn't say what it is"),
        ("garbage", "doesn't say what it is"),
        (HELLO.replace("assay-check", "other"), "is 'other' with protocol 1"),
        (HELLO.replace('"protocol": 1', '"protocol": 2'), "with protocol 2, not"),
    ],
)
def test_another_protocol_is_refused(tmp_path: Path, hello: str, words: str) -> None:
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\necho '{hello}'\nread order\n")
    path.chmod(0o755)
    with pytest.raises(AssayError, match=words):
        meter(path).__enter__()


def test_measuring_after_the_end_says_so(tmp_path: Path) -> None:
    with meter(stand_in(tmp_path, "read order")) as one:
        pass
    assert one.measure([CORE])[CORE].failed == "The measuring program was ended."
    one.close()


@pytest.mark.slow
def test_a_wrong_component_is_a_failed_reading() -> None:
    with meter(plain()) as one:
        found = one.measure(["cores"], {"cores": 0.1})["cores"]
    assert found.failed == "There is no component 'cores'."


PARENT = """
import sys
from pathlib import Path
from assay.check.measuring.meter import Meter
from assay.check.measuring.program import program_digest
program = Path(sys.argv[1])
with Meter(program, digest=program_digest(program), deadline=600) as one:
    print(one._process.pid, flush=True)
    one.measure(["core"], {"core": 60})
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_program_ends_with_its_parent(how: signal.Signals) -> None:
    command = [sys.executable, "-c", PARENT, str(plain())]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not Path(f"/proc/{child}/status").read_text().startswith("Z")
        parent.send_signal(how)
        parent.wait(60)
    assert is_gone(child)


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, assay.check.measuring.meter\n"
        "heavy = {'numpy', 'scipy', 'polars', 'rich', 'jinja2', 'assay.kernels', 'asyncio'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_job_s_environment_does_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    monkeypatch.setenv("GOMP_CPU_AFFINITY", "0")
    path = stand_in(tmp_path, f"env > {tmp_path}/environment; read order")
    with meter(path) as one:
        one.measure([CORE])
    names = {line.split("=")[0] for line in (tmp_path / "environment").read_text().splitlines()}
    assert names - set(os.environ) <= {"PWD", "OLDPWD", "SHLVL", "_", "LC_ALL"}
    assert not names & {"LD_LIBRARY_PATH", "GOMP_CPU_AFFINITY", "LD_PRELOAD"}
