"""Schedulers by name and from TOML files; wrong files are refused with line and fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.usage.queue.policies import POLICIES, WORDS, model_of
from assay.usage.scheduler.machine import EqualNodes, Machine, Partition

FILE = """\
name = "our Slurm"

[policy]
order = "multifactor"
backfill = "conservative"

[policy.multifactor]
age = 500
fair_share = 2000
shares = { ann = 2.5 }

[policy.timing]
main = 60.0

[machine]
[[machine.nodes]]
count = 10
processors = 16

[[machine.nodes]]
count = 2
gpus = 4

[[machine.partitions]]
name = "short"
last = 3
longest = 3600
"""


def test_a_file_describes_policy_and_machine(tmp_path: Path) -> None:
    (tmp_path / "ours.toml").write_text(FILE)
    model = model_of(str(tmp_path / "ours.toml"))
    assert (model.name, model.words) == ("our Slurm", "as ours.toml describes")
    assert model.policy.multifactor.shares == {"ann": 2.5}
    assert model.policy.timing.main == 60.0 and model.policy.kill
    assert model.machine == Machine(
        nodes=(EqualNodes(count=10, processors=16), EqualNodes(count=2, gpus=4)),
        partitions=(Partition(name="short", last=3, longest=3600.0),),
    )
    (tmp_path / "short.toml").write_text('[policy]\nbackfill = "none"\n')
    assert model_of(str(tmp_path / "short.toml")).name == "short"


def test_each_name_has_words() -> None:
    assert WORDS.keys() == POLICIES.keys()
    assert model_of("maui").policy.order == "maui"


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('order = "multifactor"', 'order = "multifaktor"', 4, "Did you mean 'multifactor'?"),
        ("age = 500", "ages = 500", 8, "Did you mean 'age'?"),
        ("age = 500", 'age = "x"', 8, "must be a number"),
        ("age = 500", "age = -1", 8, "negative"),
        ("main = 60.0", "main = -60.0", 13, "negative"),
        ("count = 10\n", "", 16, "has no 'count'"),
        ("count = 10", "count = 0", 17, "must be at least 1"),
        ("last = 3", "last = 12", 26, "not in the machine, which has 12"),
        ("[policy.timing]", "[policy.timing", 12, "not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    path = tmp_path / "ours.toml"
    assert old in FILE
    path.write_text(FILE.replace(old, new))
    with pytest.raises(AssayError) as caught:
        model_of(str(path))
    assert caught.value.where == f"{path}:{line}"
    assert said in f"{caught.value.what} {caught.value.fix}"


@pytest.mark.parametrize("name", ["esay", "easy.tom", "absent.toml"])
def test_neither_a_name_nor_a_file(name: str) -> None:
    with pytest.raises(AssayError) as caught:
        model_of(name)
    assert caught.value.where and caught.value.fix
