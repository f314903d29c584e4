"""Learning from the folder of a fleet's checks: planted fleets, mixed programs, damage."""

from __future__ import annotations

import errno
import hashlib
import json
import threading
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.check.baseline.file import read_baseline
from assay.check.components import ALONE, BY_NAME
from assay.check.learning.learning import learn_fleet, learned_lines
from assay.check.learning.program import cannot_write, program_for, sealed_program
from assay.check.learning.records import LearningRecord, add_record, prepare, read_records
from assay.check.model import CheckRecord, Fact, Reading
from assay.check.state.file_names import file_name
from assay.check.state.header import NodeHeader
from assay.check.state.node_file import NODES, open_node_file
from assay.errors import AssayError
from assay.records.files import append_line
from assay.subjects.nodes.findings import slow_nodes
from fleet_builder import CELLS, make_group

LEVELS: Mapping[str, float] = {
    "core": 55e9,
    "product": 3.1e12,
    "stream": 350e9,
    "latency": 95e-9,
    "random": 2.1e9,
    "storage": 2.4e9,
}
EPYC = "AMD EPYC 7763 64-Core Processor"
XEON = "Intel(R) Xeon(R) Platinum 8480+"


def drawn_for(*what: object) -> np.random.Generator:
    """A generator with a seed of its own for this host, check or cell."""
    return np.random.default_rng(zlib.crc32(repr(what).encode()))


def put_program(folder: Path, content: bytes = b"#!/bin/sh\n") -> str:
    digest = hashlib.sha256(content).hexdigest()
    path = sealed_program(folder, digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return digest


def add(
    folder: Path,
    host: str,
    program: str,
    *,
    checks: int = 3,
    model: str = EPYC,
    factors: Mapping[str, float] | None = None,
    began: float = 1.79e9,
    memory: int = 512 << 30,
    virtual: bool = False,
) -> None:
    """Learning checks of a host; ``factors``: how much slower it is, by component."""
    drawn = drawn_for(host, began)
    facts = [
        Fact(name="cpu.model", value=model),
        Fact(name="cpu.virtual", value=virtual, rule="shown"),
        Fact(name="cpu.sockets", value=2),
        Fact(name="cpu.present", value=128),
        Fact(name="cpu.online", value=128, rule="not below"),
        Fact(name="memory.total", value=memory, unit="B", rule="not below"),
    ]
    prepare(folder, host)
    for check in range(checks):
        rounds = []
        for _ in range(3):
            found = {}
            for name in ALONE:
                scatter = float(np.exp(0.005 * drawn.standard_normal()))
                slower = (factors or {}).get(name, 1.0) * scatter
                more = BY_NAME[name].better == "more"
                value = LEVELS[name] / slower if more else LEVELS[name] * slower
                values = [value] * (8 if name == "core" else 3)
                cpus = list(range(8)) if name == "core" else []
                found[name] = Reading(component=name, values=values, cpus=cpus, seconds=0.3)
            rounds.append(found)
        add_record(
            folder,
            LearningRecord(
                assay="1",
                host=host,
                utc=began + 7200.0 * check,
                program=program,
                facts=facts,
                rounds=rounds,
            ),
        )


def add_checks(folder: Path, host: str, kind: str, slower: float, outcome: str = "healthy") -> None:
    """Recent checks of a host, whose values are slower by a factor."""
    drawn = drawn_for(host)
    (folder / NODES).mkdir(exist_ok=True)
    header = NodeHeader(host=host, kind=kind, since=time.time(), healthy=4)
    for check in range(4):
        factor = slower * float(np.exp(0.003 * drawn.standard_normal()))
        values = {
            name: LEVELS[name] / factor if BY_NAME[name].better == "more" else LEVELS[name] * factor
            for name in ALONE
        }
        record = CheckRecord(
            utc=time.time() + 3600 * check,
            outcome=outcome,  # type: ignore[arg-type]
            seconds=4.0,
            values=values,
        )
        with open_node_file(folder, host) as file:
            assert file.write(header, record) == ""


HOSTS = [f"n{number:02d}" for number in range(12)]


def test_it_says_when_slowness_cant_drain_yet(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    add(tmp_path, "n1", program, checks=1)
    kinds, problems = learn_fleet(tmp_path, {})
    text = " ".join(learned_lines(kinds, problems))
    assert "Slowness can't drain yet: the baseline covers 0 s, 1 session on 1 day." in text
    for session in range(1, 8):
        add(tmp_path, "n1", program, checks=1, began=time.time() + 36000.0 * session)
    kinds, problems = learn_fleet(tmp_path, {})
    assert "Slowness can't drain" not in " ".join(learned_lines(kinds, problems))
    assert all(each.covers_time for each in kinds[0].baseline.components.values())


def test_checks_complete_what_the_records_began(tmp_path: Path) -> None:
    """Healthy ones, and those that were slow and undecided for too few sessions alone."""
    program = put_program(tmp_path)
    for host in ("n1", "n2"):
        add(tmp_path, host, program, checks=2)
    kind = learn_fleet(tmp_path, {})[0][0].baseline
    now = time.time()
    (tmp_path / NODES).mkdir()
    for host in ("n1", "n2"):
        header = NodeHeader(host=host, kind=kind.kind, since=now)
        for check in range(9):
            slow = check % 3 == 0
            record = CheckRecord(
                utc=now + 36000.0 * check,
                outcome="undecided" if slow else "healthy",
                seconds=4.0,
                values={"product": 3.1e12 * (0.9 if slow else 1.0)},
                slow=["product"] if slow else [],
                reason="DGEMM 10% slow; too few sessions to decide (2 of 8)" if slow else "",
            )
            with open_node_file(tmp_path, host) as file:
                assert file.write(header, record) == ""
    learned = learn_fleet(tmp_path, {})[0][0].baseline
    usual = learned.components["product"]
    assert learned.version == 2 and usual.covers_time and usual.moving
    assert len(usual.sessions) == 11
    # The others have no further values.
    assert not learned.components["stream"].covers_time


def test_virtual_machines_are_fleets_that_move(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    for virtual in (False, True):
        folder = tmp_path / str(virtual)
        folder.mkdir()
        program = put_program(folder)
        for number in range(10):
            for session in range(8):
                began = 1.79e9 + 36000.0 * session
                add(folder, f"n{number}", program, checks=1, began=began, virtual=virtual)
        baseline = learn_fleet(folder, {})[0][0].baseline
        assert baseline.virtual is virtual
        assert {each.moving for each in baseline.components.values()} == {virtual}


def test_a_fleet_of_two_kinds_with_a_slow_node(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    for host in HOSTS:
        add(tmp_path, host, program, factors={"stream": 1.3} if host == "n05" else None)
    for host in ("x1", "x2", "x3"):
        add(tmp_path, host, program, model=XEON, factors=dict.fromkeys(ALONE, 2.0))
    kinds, problems = learn_fleet(tmp_path, {})
    assert problems == []
    epyc, xeon = (each.baseline for each in kinds)
    assert "7763" in epyc.kind and "8480" in xeon.kind
    assert list(epyc.left_out) == ["n05"]
    assert (epyc.nodes, xeon.nodes) == (11, 3)
    usual = np.exp(-epyc.components["stream"].level)
    assert usual == pytest.approx(LEVELS["stream"], rel=0.01)
    assert np.exp(-xeon.components["stream"].level) == pytest.approx(LEVELS["stream"] / 2, rel=0.02)
    for each in kinds:
        assert read_baseline(each.path, each.baseline.kind) == each.baseline
    text = "\n".join(learned_lines(kinds, problems))
    assert "n05 left out" in text
    assert "33 checks of 11 nodes" in text


def test_nodes_that_lost_memory_differ_and_are_no_kind(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    for host in HOSTS:
        add(tmp_path, host, program, memory=(448 if host == "n03" else 512) << 30)
    kinds, _ = learn_fleet(tmp_path, {})
    assert len(kinds) == 1
    assert {each.host for each in kinds[0].facts.different} == {"n03"}
    assert "n03 differs" in "\n".join(learned_lines(kinds, []))


def test_known_slow_nodes_are_left_out_with_the_reason(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    for host in HOSTS:
        add(tmp_path, host, program)
    kinds, _ = learn_fleet(tmp_path, {"n02": "-7% in CG", "elsewhere": "slow"})
    assert kinds[0].baseline.left_out == {"n02": "-7% in CG"}


def test_records_of_an_earlier_program_are_left_out(tmp_path: Path) -> None:
    old, new = put_program(tmp_path, b"old"), put_program(tmp_path, b"new")
    for host in HOSTS:
        add(tmp_path, host, old, factors=dict.fromkeys(ALONE, 1.5), began=1.7e9)
        add(tmp_path, host, new, checks=2)
    kinds, _ = learn_fleet(tmp_path, {})
    baseline = kinds[0].baseline
    assert (baseline.program, baseline.checks) == (new, 24)
    assert np.exp(-baseline.components["stream"].level) == pytest.approx(LEVELS["stream"], rel=0.01)
    assert "36 learning checks of an earlier measuring program left out" in str(kinds[0].sentences)


@pytest.mark.parametrize("content", [None, b"changed"])
def test_a_missing_or_changed_program_is_not_learned(tmp_path: Path, content: bytes | None) -> None:
    program = put_program(tmp_path)
    add(tmp_path, "n1", program)
    path = sealed_program(tmp_path, program)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AssayError):
        learn_fleet(tmp_path, {})
    assert not (tmp_path / "baselines").exists()


def test_damaged_lines_cost_themselves_alone(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    add(tmp_path, "n/1", program)
    path = tmp_path / "learning" / file_name("n/1", ".jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    later = {**json.loads(lines[0]), "schema": "assay-check-learning-2"}
    torn = [lines[0][:-50] + b"\n", lines[1], b"\n", json.dumps(later).encode() + b"\n", b"{}\n"]
    path.write_bytes(b"".join(torn) + lines[2][:40])
    records, problems = read_records(tmp_path)
    assert [record.utc for record in records] == [1.79e9 + 7200.0]
    assert "2 damaged lines" in problems[0]
    assert "2 lines of another schema" in problems[1]


def test_records_that_others_can_write_are_left_out(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    for host in ("n1", "n2"):
        add(tmp_path, host, program)
    path = tmp_path / "learning" / file_name("n2", ".jsonl")
    path.chmod(0o666)
    records, problems = read_records(tmp_path)
    assert {record.host for record in records} == {"n1"}
    assert problems == [f"{path.name} left out: it may be written by all users."]


@pytest.mark.parametrize("place", ["/sys", "/proc"])
def test_a_folder_that_takes_no_record_is_found_before_measuring(place: str) -> None:
    with pytest.raises(AssayError, match="can't be written") as found:
        prepare(Path(place), "n1")
    assert "--folder" in found.value.fix


def test_a_decline_of_the_whole_fleet_is_named_and_not_learned(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    for host in HOSTS:
        add(tmp_path, host, program)
    first = learn_fleet(tmp_path, {})[0][0].baseline
    for host in HOSTS:
        add_checks(tmp_path, host, first.kind, 1.10)
        add_checks(tmp_path, f"other-{host}", "another-kind", 2.0)
    second = learn_fleet(tmp_path, {})[0][0]
    assert second.baseline.version == 2
    for name, usual in second.baseline.components.items():
        moved = usual.level - first.components[name].level
        assert 0 < moved < first.components[name].drift + 1e-9 < np.log(1.08)
    assert any("memory bandwidth became" in each for each in second.sentences)
    # Further learning checks are learned as they are.
    for host in HOSTS:
        add(tmp_path, host, program, began=time.time() + 10)
    assert learn_fleet(tmp_path, {})[0][0].baseline.version == 3


def test_unhealthy_checks_move_no_level(tmp_path: Path) -> None:
    program = put_program(tmp_path)
    for host in HOSTS:
        add(tmp_path, host, program)
    first = learn_fleet(tmp_path, {})[0][0]
    before = first.path.read_bytes()
    for host in HOSTS:
        add_checks(tmp_path, host, first.baseline.kind, 1.10, outcome="unhealthy")
    assert learn_fleet(tmp_path, {})[0][0].baseline == first.baseline
    assert first.path.read_bytes() == before


class TestProgram:
    @pytest.fixture(autouse=True)
    def built(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
        """Each build takes a moment and yields another file, as different nodes may build."""
        contents: list[bytes] = []

        def build(progress: object) -> Path:
            content = b"program %d" % len(contents)
            contents.append(content)
            time.sleep(0.05)
            path = tmp_path / f"built-{content.decode()[-1]}"
            path.write_bytes(content)
            return path

        monkeypatch.setattr("assay.kernels.builds.check.build_check", build)
        return contents

    def test_nodes_that_build_at_one_time_use_one_program(
        self, tmp_path: Path, built: list[bytes]
    ) -> None:
        found: list[tuple[Path, str]] = []
        nodes = [
            threading.Thread(target=lambda: found.append(program_for(tmp_path / "checks", "kind")))
            for _ in range(6)
        ]
        for node in nodes:
            node.start()
        for node in nodes:
            node.join()
        assert len(built) > 1
        assert len(found) == 6
        assert len(set(found)) == 1
        path, digest = found[0]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
        assert path.stat().st_mode & 0o777 == 0o755
        assert not list((tmp_path / "checks" / "program").glob(".*"))

    def test_it_is_built_once_per_kind(self, tmp_path: Path, built: list[bytes]) -> None:
        one = program_for(tmp_path / "checks", "kind")
        assert program_for(tmp_path / "checks", "kind") == one
        assert program_for(tmp_path / "checks", "other") != one
        assert len(built) == 2

    @pytest.mark.parametrize("note", ["", "wrong", "0" * 64 + "  assay-check-000000000000\n"])
    def test_a_damaged_note_is_replaced(
        self, tmp_path: Path, built: list[bytes], note: str
    ) -> None:
        path, digest = program_for(tmp_path, "kind")
        (named,) = (tmp_path / "program").glob("*.sha256")
        named.write_text(note)
        again, other = program_for(tmp_path, "kind")
        assert len(built) == 2
        assert program_for(tmp_path, "kind") == (again, other)
        assert other != digest
        assert path.exists()


def test_slow_nodes_of_runs(tmp_path: Path) -> None:
    def cost(host: str, cell: object, launch: int) -> float:
        drawn = drawn_for(host, cell, launch)
        slow = 1.3 if host == "n7" and cell is CELLS[0] else 1.0
        return slow * float(np.exp(0.005 * drawn.standard_normal()))

    group = make_group(tmp_path, [f"n{number}" for number in range(10)], cost)
    found = slow_nodes([group.path])
    assert list(found) == ["n7"]
    assert "%" in found["n7"]
    with pytest.raises(AssayError, match="not a group"):
        slow_nodes([tmp_path])


def test_a_learning_record_survives_its_file() -> None:
    record = LearningRecord(
        assay="1", host="h", utc=1.0, program="p", facts=[Fact(name="a", value=None)], rounds=[]
    )
    assert msgspec.json.decode(msgspec.json.encode(record), type=LearningRecord) == record


def test_a_record_that_cannot_be_appended_names_the_option_of_checks() -> None:
    with pytest.raises(AssayError, match="Can't write") as found:
        append_line(Path("/sys/n1.jsonl"), b"{}", option="--folder DIR")
    assert "--folder DIR" in found.value.fix


def test_a_full_disk_is_not_taken_for_a_missing_permission() -> None:
    full = cannot_write(Path("/checks"), OSError(errno.ENOSPC, "No space left on device"))
    assert "Make room" in full.fix
    assert "owner" in cannot_write(Path("/checks"), OSError(errno.EACCES, "denied")).fix
