"""Mixes of jobs as workloads: shares and rates that are known beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.design.architecture import architectures
from assay.design.candidates import Builder
from assay.design.jobs import read_mix
from assay.design.saturation import JobMix, busy_shares
from assay.design.search import scores
from assay.design.spec.reading import read_spec
from assay.errors import AssayError
from assay.subjects.design.findings import find
from design_specs import SPEC, write_files

JOBS = '[[jobs]]\nname = "ours"\naccounts = "log.swf"\nnode = "small"\n'
WITH_JOBS = SPEC.replace("integer = 1", '"jobs.ours" = 1') + JOBS


def mix(processors: list[int], run: list[float]) -> JobMix:
    times = np.array(run, dtype=float)
    return JobMix(np.array(processors, dtype=np.int64), times, times)


def swf(jobs: list[tuple[int, float]]) -> str:
    """A log of jobs (processors, run time) that are submitted a second apart."""
    lines = [
        f"{n} {n} 0 {run:g} {size} -1 -1 {size} {run:g} -1 1 1 1 1 1 1 -1 -1"
        for n, (size, run) in enumerate(jobs, 1)
    ]
    return "; MaxProcs: 64\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("jobs", "machine", "share"),
    [
        (mix([1], [10.0]), 8, 1.0),  # nothing is ever idle
        (mix([3], [10.0]), 4, 3 / 4),  # one at a time
        (mix([3], [10.0]), 7, 6 / 7),
        (mix([3], [10.0]), 6, 1.0),
        (mix([16], [5.0]), 4, 1.0),  # larger than the machine: on all of it
        (mix([3, 1], [10.0, 10.0]), 4, 1.0),  # they fill each other's gaps
    ],
)
def test_shares_that_follow_from_the_sizes(jobs: JobMix, machine: int, share: float) -> None:
    found = busy_shares(jobs, machine, machine)
    assert found.share == pytest.approx([share], abs=2e-3)


def test_the_share_is_interpolated_and_stays_on_much_larger_machines() -> None:
    found = busy_shares(mix([3], [10.0]), 3, 100_000)
    assert found.processors[-1] == 32 * 3
    assert found.at(np.array([3.0, 1e6])) == pytest.approx([1.0, found.share[-1]])
    assert 0.0 <= found.spread < 1e-9  # all draws are the same jobs


def test_machines_for_which_no_queue_is_deep_are_not_tried() -> None:
    """One job in a thousand is large: 32 times its size would hold all of 8,000 jobs at once."""
    jobs = mix([1] * 999 + [5000], [10.0] * 1000)
    found = busy_shares(jobs, 100, 10_000_000)
    assert 1000 < found.processors[-1] < 32 * 5000
    assert np.all(found.share < 1.0 + 1e-9)


def test_the_rate_is_cores_times_share_times_speed(tmp_path: Path) -> None:
    """A core of "large" has the memory bandwidth and DGEMM of one of "small": 10 GB/s, 20 Gflop/s.

    With a third of the time bound by memory and a faster DGEMM a core takes 1/3 + 2/3 / 2 = 2/3.
    """
    (tmp_path / "log.swf").write_text(swf([(1, 100.0)] * 300))
    spec = read_spec(write_files(tmp_path, WITH_JOBS))
    rates = rates_on(spec, 10)
    assert rates["small"] == pytest.approx(10 * 4)
    assert rates["large"] == pytest.approx(10 * 8)
    jobs = JOBS + f"memory = {1 / 3}\n"
    path = write_files(tmp_path, WITH_JOBS.replace(JOBS, jobs))
    parts = (tmp_path / "parts.toml").read_text()
    faster = parts.replace('"160 Gflop/s"', '"320 Gflop/s"').replace(
        '"200 Gflop/s"', '"400 Gflop/s"'
    )
    (tmp_path / "parts.toml").write_text(faster)
    assert rates_on(read_spec(path), 10)["large"] == pytest.approx(10 * 8 * 1.5)


def test_a_design_says_what_accounts_do_not_tell(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(swf([(1, 100.0)] * 50 + [(64, 10.0)]))
    spec = WITH_JOBS.replace("[1, 40]", "[1, 3]")
    found = find(read_spec(write_files(tmp_path, spec)))
    said = " ".join(found.unknown)
    assert "Accounts don't record messages, so the rate of the 51 jobs of jobs.ours" in said
    assert "The largest job of jobs.ours has 64 processors" in said
    assert {rate.unit for one in found.best for rate in one.rates} == {"processors"}


def rates_on(spec, nodes: int) -> dict[str, float]:
    builder = Builder(spec)
    return {
        one.node.name: float(scores(spec, builder, one, np.array([nodes]))[0])
        for one in architectures(spec)
    }


def test_a_summary_has_the_sizes_and_the_use_of_its_classes(tmp_path: Path) -> None:
    quantiles = [float(k) for k in range(52)]
    sizes = [
        {"name": "1", "jobs": 300, "use": 300 * 40.0},
        {"name": "3 to 4", "jobs": 100, "use": 100 * 900.0},
        {"name": "5 to 8", "jobs": 0, "use": 0.0},
    ]
    path = tmp_path / "usage.json"
    data = {"run": {"quantiles": quantiles}, "sizes": sizes, "utilisation": {}}
    path.write_text(json.dumps(data))
    found, summary = read_mix(path)
    assert summary and found.largest == 4
    alone = found.processors == 1
    assert float(alone.mean()) == pytest.approx(0.75, abs=0.01)
    assert float(found.work[alone].mean()) == pytest.approx(40.0)
    assert float(found.work[~alone].mean()) == pytest.approx(900.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ((JOBS, JOBS + JOBS), "There are two mixes of jobs 'ours'"),
        (('"jobs.ours" = 1', '"jobs.our" = 1'), "There is no mix of jobs 'our'"),
        (('node = "small"', 'node = "smal"'), "No catalogue has 'smal'"),
        (("log.swf", "none.swf"), "can't be read"),
        (('node = "small"', 'node = "small"\nmemory = "150%"'), "'memory' must be a share"),
        (("log.swf", "empty.json"), "no sizes and run times of jobs"),
        ((JOBS, ""), "There is no mix of jobs 'ours'"),
    ],
)
def test_a_wrong_mix_is_one_sentence_with_its_place(
    tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    (tmp_path / "log.swf").write_text(swf([(1, 100.0)] * 10))
    (tmp_path / "empty.json").write_text('{"run": null, "sizes": [], "utilisation": 1}')
    path = write_files(tmp_path, WITH_JOBS.replace(*change))
    with pytest.raises(AssayError) as caught:
        read_spec(path)
    assert says in caught.value.what
    assert str(path) in caught.value.where
