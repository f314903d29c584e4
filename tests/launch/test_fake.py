"""The fake executor: planted values appear in the stream, and failures are as named."""

from __future__ import annotations

import math
import statistics
import time
from pathlib import Path

import msgspec
import pytest

from assay.errors import AssayError
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import (
    Behaviour,
    NoiseModel,
    Scenario,
    Warmup,
    compile_scenario,
    load_scenario,
)
from assay.model.placement import Placement
from assay.records.schema import MeasurementRecord, Progress
from assay.records.stream import decode_line, read_stream
from fake_launches import behave, entry, measure, order, run, values

DATA = Path(__file__).parents[1] / "data" / "plans"


# --- Planted values ---


def test_a_stream_is_whole_and_in_order(tmp_path):
    work = order(
        tmp_path, entry("a-0"), entry("b-0"), placement=Placement(nodes=2, ppn=2, order="cyclic")
    )
    record, stream = run(Scenario(utc=5000.0, seed=3), work)
    assert (record.outcome, record.exit, record.blamed) == ("complete", 0, None)
    kinds = [
        decode_line(line, where="").__class__.__name__
        for line in work.stream.read_bytes().splitlines()
    ]
    assert kinds == [
        "StreamStart",
        *["RankRecord"] * 4,
        *["MeasurementBegin", "MeasurementRecord"] * 2,
        "StreamEnd",
    ]
    assert stream.start.utc == 5000.0
    assert [rank.host for rank in stream.ranks] == ["fake0", "fake1", "fake0", "fake1"]
    assert [rank.local_rank for rank in stream.ranks] == [0, 0, 1, 1]
    assert [m.measurement for m in stream.measurements] == ["a-0", "b-0"]
    first, second = stream.measurements
    assert second.start == pytest.approx(first.start + first.wall)
    assert record.wall == pytest.approx(first.wall + second.wall + 0.1)


def test_phases_are_shares_of_each_sample(tmp_path):
    scenario = behave(
        time=2.0,
        noise=NoiseModel(sigma=0.1),
        phases={"compute": "0.9 / ppn", "halo": 0.25, "gather": "ppn > 2"},
    )
    record = measure(tmp_path, scenario, max_samples=20)
    values_of = {series.metric: series.values for series in record.series}
    assert list(values_of) == ["time", "compute", "halo"]  # a share of 0 is not reported
    assert values_of["compute"] == pytest.approx([0.45 * value for value in values(record)])
    assert values_of["halo"] == pytest.approx([0.25 * value for value in values(record)])


def test_median_spread_and_correlation(tmp_path):
    """Of 20000 samples: standard errors are sigma/sqrt(n) and similar; five of them are allowed."""
    noise = NoiseModel(sigma=0.05, phi=0.6)
    scenario = behave(time="latency + bytes / bandwidth", noise=noise, constants=CONSTANTS)
    found = values(measure(tmp_path, scenario, parameters={"bytes": 1000}, max_samples=20000))
    assert len(found) == 20000
    truth = 1e-6 + 1000 / 1e10
    assert statistics.median(found) == pytest.approx(truth, rel=5 * 1.25 * 0.05 * 2 / 20000**0.5)
    logs = [math.log(value) for value in found]
    assert statistics.stdev(logs) == pytest.approx(0.05, rel=0.05)
    assert statistics.correlation(logs[1:], logs[:-1]) == pytest.approx(0.6, abs=0.03)
    assert statistics.correlation(logs[2:], logs[:-2]) == pytest.approx(0.36, abs=0.05)


CONSTANTS = {"latency": "1 us", "bandwidth": "10 GB/s"}


def test_launches_differ_as_planted(tmp_path):
    scenario = behave(time="1 ms", noise=NoiseModel(launch_sigma=0.1))
    entries = [entry(f"m-{i}", max_samples=5) for i in range(2000)]
    _, stream = run(scenario, order(tmp_path, *entries))
    assert all(len(set(values(m))) == 1 for m in stream.measurements)
    medians = [values(m)[0] for m in stream.measurements]
    assert statistics.median(medians) == pytest.approx(1e-3, rel=0.015)
    assert statistics.stdev(medians) / 1e-3 == pytest.approx(0.1, rel=0.08)


def test_outliers_and_warmup(tmp_path):
    scenario = behave(
        time=1e-3,
        noise=NoiseModel(outliers=0.1, outlier_factor=20.0),
        warmup=Warmup(samples=10, factor=3.0),
    )
    record = measure(tmp_path, scenario, max_samples=5000)
    found = values(record)
    assert record.warmup == 10
    assert all(value >= 2.9e-3 for value in found[:10])
    late = sum(value > 1e-2 for value in found[10:]) / 4990
    assert late == pytest.approx(0.1, abs=0.02)
    assert sorted(set(found[10:])) == pytest.approx([1e-3, 2e-2])


def test_slowest_rank_drift_and_work(tmp_path):
    slow = behave(time="1e-3 * (1 + 0.5 * (rank == 2)) * (1 + 0.01 * t)", launch_time=0)
    work = order(tmp_path, entry(max_samples=100), placement=Placement(ppn=4))
    _, stream = run(slow, work)
    record = stream.measurements[0]
    for start, value in zip(record.series[0].starts, values(record), strict=True):
        assert value == pytest.approx(1.5e-3 * (1 + 0.01 * start))
    fast, _, worst, _ = record.rank_medians
    assert worst / fast == pytest.approx(1.5)
    flops = behave(match="compute.*", time="work_flops / ranks / speed", constants={"speed": 1e9})
    dgemm = measure(tmp_path, flops, kernel="compute.dgemm", parameters={"n": 100})
    assert values(dgemm)[0] == pytest.approx(2e6 / 1e9)


def test_simulated_time_continues_between_launches(tmp_path):
    executor = FakeExecutor(behave(time="1e-3 * (1 + t)"))
    first = executor.start(order(tmp_path, entry(max_samples=5), launch="L1")).wait(1)
    assert executor.now == pytest.approx(first.wall)
    work = order(tmp_path, entry(max_samples=5), launch="L2")
    second = executor.start(work).wait(1)
    assert second.utc == pytest.approx(first.utc + first.wall)
    value = values(read_stream(work.stream).measurements[0])[0]
    assert value == pytest.approx(1e-3 * (1 + first.wall))


def test_first_match_counts_and_toolchains_differ(tmp_path):
    scenario = Scenario(
        kernel=(
            Behaviour(match="network.*", toolchain="slow", time=3.0),
            Behaviour(match="network.*", time=2.0),
            Behaviour(time=1.0),
        )
    )
    for toolchain, kernel, seconds in [
        ("slow", "network.barrier", 3.0),
        ("embedded", "network.barrier", 2.0),
        ("slow", "npb.ep", 1.0),
    ]:
        work = order(
            tmp_path,
            entry(kernel=kernel, parameters={"class": "S"}, max_samples=5),
            toolchain=toolchain,
            launch=f"{toolchain}{kernel}",
        )
        _, stream = run(scenario, work)
        assert values(stream.measurements[0])[0] == pytest.approx(seconds)


def test_chosen_parameters_covariates_and_facts(tmp_path):
    scenario = behave(
        time="work_bytes / 1e10",
        resolved={"elements": 1000, "stores": "ordinary", "op": "copy"},
        covariates={"steal": "0.01 * ranks", "load": 3},
        facts={"mode": "test"},
    )
    given = {"op": "triad", "elements": 0, "stores": "auto"}
    record = measure(tmp_path, scenario, kernel="memory.stream", parameters=given)
    assert record.parameters == {"op": "triad", "elements": 1000, "stores": "ordinary"}
    assert values(record)[0] == pytest.approx(8 * 3 * 1000 * 2 / 1e10)
    assert record.covariates == {"steal": 0.02, "load": 3}
    assert record.facts == {"mode": "test"}


# --- Orders ---


def test_a_coarse_clock_increases_the_batch_or_rounds_samples(tmp_path):
    scenario = Scenario(
        kernel=(Behaviour(match="npb.*", time=0.0256, max_batch=1), Behaviour(time=1e-6)),
        clock_resolution="10 ms",
    )
    batched = measure(tmp_path, scenario)
    assert batched.batch == 2**20
    whole = order(tmp_path, entry(kernel="npb.ep", parameters={"class": "S"}), launch="L2")
    _, stream = run(scenario, whole)
    record = stream.measurements[0]
    assert record.batch == 1
    assert values(record) == pytest.approx([0.03] * 1000)


def test_samples_precision_and_budget_stop_it(tmp_path):
    steady, noisy = behave(time=1.0), behave(time=1.0, noise=NoiseModel(sigma=0.1))
    first = measure(tmp_path, steady, precision=0.01)
    assert first.stop == "precision"
    assert len(values(first)) < 20
    loose = measure(tmp_path, noisy, precision=0.05, measurement="x-1")
    tight = measure(tmp_path, noisy, precision=0.02, measurement="x-2")
    assert loose.stop == tight.stop == "precision"
    assert loose.half_width <= 0.05
    assert tight.half_width <= 0.02
    assert len(values(tight)) > len(values(loose))
    most = measure(tmp_path, noisy, max_samples=50)
    assert (most.stop, len(values(most))) == ("samples", 50)
    short = measure(tmp_path, noisy, budget=20.0)
    assert short.stop == "budget"
    assert 15 <= len(values(short)) <= 22
    assert short.wall <= 20.0
    one = measure(tmp_path, steady, budget=0.5)  # the first sample is always taken
    assert (one.stop, len(values(one))) == ("budget", 1)


def test_autocorrelated_samples_count_for_fewer(tmp_path):
    plain = measure(tmp_path, behave(time=1.0, noise=NoiseModel(sigma=0.1)), precision=0.02)
    sticky = measure(
        tmp_path, behave(time=1.0, noise=NoiseModel(sigma=0.1, phi=0.8)), precision=0.02
    )
    assert len(values(sticky)) > 3 * len(values(plain))


def test_same_seed_same_samples_wherever_it_runs(tmp_path):
    def samples(seed, name, launch, others):
        scenario = msgspec.structs.replace(
            behave(time=1e-3, noise=NoiseModel(sigma=0.1, launch_sigma=0.1)), seed=seed
        )
        work = order(tmp_path, *others, entry(name), launch=launch)
        work.stream.unlink(missing_ok=True)
        _, stream = run(scenario, work)
        return values(stream.measurements[-1])

    first = samples(1, "m-0", "L1", [])
    assert samples(1, "m-0", "L7", [entry("other-0")]) == first
    assert samples(2, "m-0", "L1", []) != first
    assert samples(1, "m-1", "L1", []) != first


# --- Real time ---


def test_delay_is_real_and_progress_is_reported(tmp_path):
    work = order(tmp_path, entry(max_samples=100))
    launch = FakeExecutor(behave(time=1e-3, delay="600 ms")).start(work)
    assert launch.poll() is None
    assert read_stream(work.stream).begun == "m-0"
    assert launch.wait(0.01) is None
    began = time.monotonic()
    assert launch.wait(10).outcome == "complete"
    assert time.monotonic() - began >= 0.5
    lines = work.stream.read_bytes().splitlines()
    seen = [r for line in lines if isinstance(r := decode_line(line, where=""), Progress)]
    assert [progress.samples for progress in seen] == [33, 66]


def test_stop_keeps_complete_records(tmp_path):
    work = order(tmp_path, entry("a-0"), entry("b-0"))
    scenario = Scenario(
        kernel=(Behaviour(time=1.0, noise=NoiseModel(sigma=0.1), delay="50 ms"),), seed=1
    )
    launch = FakeExecutor(scenario).start(work)
    while not read_stream(work.stream).measurements:
        launch.poll()
    record = launch.stop()
    assert (record.outcome, launch.stop()) == ("interrupted", record)
    assert launch.poll() == record
    stream = read_stream(work.stream)
    assert (stream.end.reason, stream.finished) == ("signal", True)
    first, second = stream.measurements
    assert (first.stop, len(values(first))) == ("samples", 1000)
    assert second.stop == "signal"
    assert second.status in ("interrupted", "ok")
    assert second.status == "interrupted" or len(values(second)) >= 5


# --- Scenario files ---


def test_a_scenario_file(tmp_path):
    scenario = load_scenario(DATA / "two-core-node.toml")
    given = {"op": "triad", "elements": 0, "stores": "auto"}
    work = order(
        tmp_path, entry("s-0", "memory.stream", parameters=given, max_samples=500), entry("p-0")
    )
    _, stream = run(scenario, work)
    triad, ping = stream.measurements
    assert isinstance(triad, MeasurementRecord)
    truth = 3 * 8 * 8e6 * 2 / 35e9
    assert statistics.median(values(triad)) == pytest.approx(truth, rel=0.02)
    assert ping.warmup == 3
    assert [rank.oversubscribed for rank in stream.ranks] == [False, False]


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("sed = 1", 1, "Unknown key 'sed'"),
        ("seed = 1\n[[kernel]]\ntme = 1", 3, "Unknown key 'tme'"),
        ("[[kernel]]\ntime = 'latency +'", 2, "ends too early"),
        ("[[kernel]]\ntime = true", 2, "must be"),
        ("[[kernel]]\nconstants = { a = '3 parsecs' }", 2, "parsecs"),
        ("[[kernel]]\n[kernel.noise]\nphi = 1.5", 3, "'phi' must be between -1 and 1"),
        ("[[kernel]]\nnoise = { sigma = -0.1 }", 2, "'sigma' must be at least 0"),
        ("[[failure]]\nkind = 'explode'", 2, "can't be 'explode'"),
        ("[[failure]]\nkind = 'crash'\nshare = 2", 3, "'share' must be between 0 and 1"),
        ("[[failure]]\nkind = 'crash'\nwhere = '1 1'", 3, "is unexpected"),
        ("[[failure]]\nmatch = 'npb.*'", 1, "no 'kind'"),
        ("schema = 2", 1, "schema 2"),
        ("delay = '-1 s'", 1, "below 0"),
    ],
)
def test_wrong_scenarios_are_reported_with_their_line(tmp_path, text, line, complaint):
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    with pytest.raises(AssayError) as caught:
        load_scenario(path)
    assert complaint in caught.value.what
    assert caught.value.where == f"{path}:{line}"


def test_an_impossible_time_is_an_error_not_a_result(tmp_path):
    with pytest.raises(AssayError, match="is -1 s"):
        run(behave(time="bytes - 9"), order(tmp_path))
    with pytest.raises(AssayError, match="uses 'byts'"):
        run(behave(time="byts"), order(tmp_path))


# --- Slow launches, tails, and dependence on the placement ---


def test_slow_launches_make_a_mode_and_a_tail(tmp_path):
    noise = NoiseModel(slow_launches=0.3, slow_factor=1.5, slow_tail=0.2)
    scenario = behave(time="1 ms", noise=noise, covariates={"steal_seconds": "0.5 * slow"})
    entries = [entry(f"m-{i}", max_samples=5) for i in range(2000)]
    _, stream = run(scenario, order(tmp_path, *entries))
    medians = [values(m)[0] / 1e-3 for m in stream.measurements]
    slow = [each for each in medians if each > 1.0001]
    assert 520 <= len(slow) <= 680  # binomial(2000, 0.3): mean 600, sigma 20
    assert min(slow) >= 1.5 * (1 - 1e-5)
    # 1.5 times 1 + an exponential of mean 0.2, whose standard error is 0.3 / sqrt(600).
    assert statistics.fmean(slow) == pytest.approx(1.8, abs=5 * 0.3 / 600**0.5)
    assert [m.covariates["steal_seconds"] for m in stream.measurements] == [
        0.5 if each > 1.0001 else 0.0 for each in medians
    ]


def test_scenarios_without_slow_launches_are_unchanged(tmp_path):
    one = behave(time="1 ms", noise=NoiseModel(sigma=0.1, launch_sigma=0.1))
    other = behave(time="1 ms", noise=NoiseModel(sigma=0.1, launch_sigma=0.1, slow_tail=5.0))
    assert values(measure(tmp_path, one)) == values(measure(tmp_path, other))


def test_behaviours_depend_on_placements_and_parameters(tmp_path):
    scenario = Scenario(
        kernel=(
            Behaviour(match="npb.*", where="adapters == 2 and node_set == 0", time=3.0),
            Behaviour(match="npb.*", where='class == "W" or order == "cyclic"', time=2.0),
            Behaviour(time=1.0),
        )
    )
    machine = compile_scenario(scenario)

    def seconds(size="S", **placement):
        found = machine.behaviour("npb.ep", "any", {"class": size}, Placement(**placement))
        return found.written.time

    assert seconds(nodes=2, adapter="a,b") == 3.0
    assert seconds(nodes=2, adapter="a,b", node_set=1) == 1.0
    assert seconds(nodes=2, adapter="a") == 1.0
    assert seconds("W") == seconds(nodes=2, order="cyclic") == 2.0
