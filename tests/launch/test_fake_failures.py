"""Failures of the fake executor, each as named."""

from __future__ import annotations

import pytest

from assay.errors import AssayError
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import (
    Failure,
    Scenario,
)
from fake_launches import behave, entry, order, run


def fail(tmp_path, kind, *, timeout=1e9, **options):
    scenario = Scenario(failure=(Failure(kind, **{"measurement": 2, **options}),))
    work = order(tmp_path, *(entry(f"m-{i}", max_samples=9) for i in range(3)), timeout=timeout)
    return *run(scenario, work), work


@pytest.mark.parametrize(("kind", "found"), [("wrong result", 1.0), ("nan", None)])
def test_verification_fails(tmp_path, kind, found):
    record, stream, _ = fail(tmp_path, kind)
    assert (record.outcome, record.exit) == ("complete", 4)
    assert [m.verified for m in stream.measurements] == [True, False, True]
    assert stream.measurements[1].verification.value == found


def test_an_error_fails_one_measurement_and_the_job_continues(tmp_path):
    record, stream, _ = fail(tmp_path, "error", text="no memory")
    assert (record.outcome, record.exit) == ("complete", 4)
    assert [m.status for m in stream.measurements] == ["ok", "failed", "ok"]
    assert (stream.measurements[1].error, stream.measurements[1].series) == ("no memory", [])


def test_crash(tmp_path):
    record, stream, _ = fail(tmp_path, "crash")
    assert (record.outcome, record.exit, record.blamed) == ("crash", -11, "m-1")
    assert [m.measurement for m in stream.measurements] == ["m-0"]
    assert (stream.begun, stream.end) == ("m-1", None)


def test_hang_ends_at_the_timeout_in_simulated_time(tmp_path):
    record, stream, _ = fail(tmp_path, "hang", timeout=30.0)
    assert (record.outcome, record.blamed) == ("timeout", "m-1")
    assert record.wall == pytest.approx(30.1)
    assert len(stream.measurements) == 1


def test_a_hanging_launch_is_killed_by_stop(tmp_path):
    scenario = Scenario(failure=(Failure("hang"),), delay="1 h")
    launch = FakeExecutor(scenario).start(order(tmp_path))
    assert launch.wait(0.02) is None
    record = launch.stop()
    assert (record.outcome, record.exit, record.blamed) == ("interrupted", -9, "m-0")


def test_a_launch_longer_than_the_timeout(tmp_path):
    record, _ = run(behave(time=1.0), order(tmp_path, entry(max_samples=50), timeout=20.0))
    assert (record.outcome, record.blamed) == ("timeout", "m-0")


def test_torn_line(tmp_path):
    record, stream, _ = fail(tmp_path, "torn")
    assert (record.outcome, record.exit, record.blamed) == ("crash", 0, "m-1")
    assert (stream.torn, stream.finished, len(stream.measurements)) == (True, False, 1)


@pytest.mark.parametrize("kind", ["no end", "miscount"])
def test_a_wrong_end_is_no_success_at_exit_0(tmp_path, kind):
    record, stream, _ = fail(tmp_path, kind)
    assert (record.outcome, record.exit, record.blamed) == ("crash", 0, None)
    assert len(stream.measurements) == 3
    assert not stream.finished
    assert (stream.end is None) == (kind == "no end")


def test_full_disk(tmp_path):
    record, stream, work = fail(tmp_path, "disk full", bytes=1500)
    assert (record.outcome, record.exit) == ("crash", 3)
    assert "No space left on device" in record.error
    assert work.stream.stat().st_size == 1500
    assert stream.torn


def test_no_start(tmp_path):
    scenario = Scenario(failure=(Failure("no start", text="no such queue", launch=2),))
    executor = FakeExecutor(scenario)
    assert executor.start(order(tmp_path)).wait(1).outcome == "complete"
    with pytest.raises(AssayError, match="no such queue"):
        executor.start(order(tmp_path, launch="L2"))
    with pytest.raises(AssayError, match="can't be written"):
        executor.start(order(tmp_path / "absent", launch="L3"))


def test_which_measurements_fail(tmp_path):
    scenario = Scenario(
        failure=(
            Failure("error", match="npb.*", where='class == "A"', text="class"),
            Failure("error", match="network.*", times=1, text="once"),
            Failure("error", match="compute.*", share=0.3, text="some"),
        )
    )
    entries = [
        *(entry(f"ep-{c}", "npb.ep", parameters={"class": c}, max_samples=5) for c in "SAW"),
        *(entry(f"ping-{i}", max_samples=5) for i in range(3)),
        *(
            entry(f"gemm-{i}", "compute.dgemm", parameters={"n": 9}, max_samples=5)
            for i in range(300)
        ),
    ]
    _, stream = run(scenario, order(tmp_path, *entries))
    failed = {m.measurement: m.error for m in stream.measurements if m.status == "failed"}
    assert failed.pop("ep-A") == "class"
    assert failed.pop("ping-0") == "once"
    assert set(failed.values()) == {"some"}
    assert 60 <= len(failed) <= 120  # binomial(300, 0.3): mean 90, sigma 8


def test_a_crash_counts_only_where_it_occurs(tmp_path):
    executor = FakeExecutor(Scenario(failure=(Failure("crash", times=2),)))
    outcomes = [
        executor.start(order(tmp_path, entry("a-0"), entry("b-0"), launch=f"L{i}")).wait(5).outcome
        for i in range(3)
    ]
    assert outcomes == ["crash", "crash", "complete"]
