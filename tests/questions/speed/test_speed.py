from __future__ import annotations

import msgspec
import pytest

from asking import answer_all, figures_of, reply_to
from assay.kernels.naming import parameters_text
from assay.questions.common.answer import QUESTIONS
from assay.questions.common.findings import findings_json
from assay.questions.speed.arithmetic import findings as arithmetic
from assay.questions.speed.memory import bandwidth
from report_builder import (
    CLOCK,
    SYSTEM,
    make_cell,
    make_failure,
    make_measurement,
    make_run,
    make_summary,
    quick_cells,
    with_launches,
)


def speed(cells, run=None, history=()):
    return reply_to("speed", cells, run or make_run(cells), history).answer


def rows(answer):
    return {row.label: row for row in answer.evidence}


def stream(values, op="triad", **kwargs):
    """STREAM at the rates of the mapping from ranks."""
    return [
        make_summary(make_cell("memory.stream", ppn=ppn, op=op), rate, elements=1000, **kwargs)
        for ppn, rate in values.items()
    ]


def dgemm(values, **placement):
    return [
        make_summary(make_cell("compute.dgemm", n=n, **placement), rate)
        for n, rate in values.items()
    ]


def test_the_verdict_holds_the_planted_numbers():
    answer = speed(quick_cells())
    assert answer.verdict == (
        "2 cores sustain 35.1 GB/s [34.9, 35.3] from memory (STREAM triad) and 154.0 Gflop/s "
        "[153.1, 154.9] in DGEMM, 93% of the theoretical peak; from 1 to 2 cores memory bandwidth "
        "grows 1.80-fold, DGEMM 1.98-fold, EP 1.98-fold, CG 1.68-fold."
    )
    assert answer.confidence == "low"  # eight launches
    assert speed(with_launches(quick_cells(), 30)).confidence == "high"
    assert answer.status == "answered"


def test_dgemm_is_set_against_the_peak_at_the_measured_clock():
    answer = speed(quick_cells())
    row = rows(answer)["DGEMM N = 2000, 2 cores"]
    # Two 512-bit pipes: 8 lanes x 2 pipes x 2 flops = 32 flops per cycle.
    assert row.limit == pytest.approx(2 * 32 * CLOCK)
    assert row.share == pytest.approx(154.0e9 / (64 * CLOCK))
    assert "measured while it ran" in row.limit_source
    assert rows(answer)["DGEMM N = 2000, 1 core"].limit == pytest.approx(32 * CLOCK)


def test_the_clock_is_that_of_the_cells_in_question():
    cells = dgemm({1000: 70e9})
    (measured,) = cells
    other = make_cell("npb.ep", **{"class": "S"})
    slow = make_measurement(measured.cell, [])
    slow = msgspec_replace_clock(slow, 2.0e9)
    run = make_run(cells, measurements=[slow, make_measurement(other, [])])
    row = rows(speed(cells, run))["DGEMM N = 1000, 1 core"]
    assert row.limit == pytest.approx(32 * 2.0e9)


def msgspec_replace_clock(measurement, clock):
    from dataclasses import replace

    record = msgspec.structs.replace(measurement.record, covariates={"clock_rate": clock})
    return replace(measurement, record=record)


def test_hardware_threads_beyond_the_cores_add_nothing_to_the_peak():
    cells = dgemm({1000: 150e9}, threads=4)  # the planted machine has two cores
    assert rows(speed(cells))["DGEMM N = 1000, 4 cores"].limit == pytest.approx(64 * CLOCK)


def test_the_order_that_arrives_is_the_first_within_five_percent():
    row = rows(speed(dgemm({100: 47.45e9, 200: 47.55e9, 400: 50e9, 800: 49.5e9})))[
        "DGEMM N = 400, 1 core"
    ]
    assert row.note == "1 rank; 95% of its best at N = 200; best of 2 comparable cells"


def test_a_low_share_with_openblas_forced_names_the_variable():
    cells = dgemm({2000: 40e9})
    system = {**SYSTEM.to_dict(), "tuning": {"OPENBLAS_CORETYPE": "Haswell"}}
    (sentence,) = [a for a in speed(cells, make_run(cells, system=system)).advice if "DGEMM" in a]
    assert "unset the variable" in sentence
    assert "OPENBLAS_CORETYPE=Haswell" in sentence
    (plain,) = [a for a in speed(cells).advice if "DGEMM" in a]
    assert "CORETYPE" not in plain


def test_a_low_share_of_peak_brings_advice_and_a_high_one_none():
    low = speed(dgemm({1000: 0.5 * 32 * CLOCK}))
    assert any("BLAS" in sentence and "50.0%" in sentence for sentence in low.advice)
    assert speed(with_launches(dgemm({1000: 0.9 * 32 * CLOCK}), 30)).advice == []


def test_a_share_above_peak_is_called_impossible():
    answer = speed(dgemm({1000: 1.1 * 32 * CLOCK}))
    [found] = answer.impossible
    assert found.kind == "above" and found.sentence in answer.caveats
    assert "110% of its limit" in found.sentence
    assert "%" not in answer.verdict and answer.confidence == "low"


def peak(values):
    return [
        make_summary(make_cell("compute.peak", ppn=ppn, width=width), rate, width=width)
        for (ppn, width), rate in values.items()
    ]


def test_dgemm_is_set_against_the_peak_that_was_measured():
    measured = peak({(1, 64): 10e9, (1, 512): 80e9, (2, 512): 160e9, (2, 256): 81e9})
    answer = speed([*dgemm({2000: 144e9}, ppn=2), *dgemm({2000: 76e9}), *measured])
    row = rows(answer)["Multiply-adds in registers, 2 cores"]
    assert row.value == 160e9
    assert row.note.startswith("512-bit vectors")
    assert rows(answer)["Multiply-adds in registers, 1 core"].value == 80e9
    (sentence,) = (s for s in answer.limits if s.startswith("Measured peak of 2 cores: 160"))
    assert "DGEMM reaches 90.0% [" in sentence


def test_efficiency_is_taken_at_the_largest_order_measured_on_both():
    cells = [*dgemm({100: 50e9, 1000: 80e9, 2000: 82e9}), *dgemm({100: 60e9, 1000: 120e9}, ppn=2)]
    row = rows(speed(cells))["DGEMM N = 1000, 1 → 2 cores"]
    assert (row.value, row.share) == (pytest.approx(1.5), pytest.approx(0.75))


def test_an_unknown_machine_has_no_peak_and_the_verdict_claims_none():
    cells = dgemm({1000: 70e9})
    answer = speed(cells, make_run(cells, system={"hostname": "box"}))
    assert "peak" not in answer.verdict
    assert rows(answer)["DGEMM N = 1000, 1 core"].share is None
    assert any("unknown" in sentence for sentence in answer.limits)


def test_a_guessed_peak_is_called_assumed():
    processor = msgspec.structs.replace(
        SYSTEM.processor, vendor="Nobody", family=None, model=None, name="Unheard of"
    )
    system = msgspec.structs.replace(SYSTEM, processor=processor)
    cells = dgemm({1000: 70e9})
    answer = speed(cells, make_run(cells, system=system.to_dict()))
    assert "of the assumed peak" in answer.verdict
    assert any("assumption" in sentence for sentence in answer.caveats)


def test_stream_is_set_against_the_best_sample_of_any_operation():
    cells = stream({1: 19.5e9, 2: 35.1e9}) + stream({2: 38.0e9}, op="copy")
    row = rows(speed(cells))["STREAM triad, 2 cores"]
    best_sample = cells[-1].metrics["bandwidth"].max
    assert row.limit == best_sample > 38.0e9
    assert row.share == pytest.approx(35.1e9 / best_sample)
    assert "copy on 2 cores" in row.limit_source


def test_history_raises_the_limit_and_is_named():
    cells = stream({2: 35.0e9})
    # 24 B per element of triad on two ranks of 1000: 48 kB per pass; the first sample is warm-up.
    old_cell = make_cell("memory.stream", ppn=2, op="triad", elements=1000)
    old = make_run(
        [],
        name="20250101T000000Z-box-old",
        measurements=[make_measurement(old_cell, [2e-6, 1e-6])],
    )
    assert bandwidth.best_bandwidth(old) == pytest.approx(48e9)
    row = rows(speed(cells, history=[old]))["STREAM triad, 2 cores"]
    assert row.limit == pytest.approx(48e9)
    assert row.share == pytest.approx(35 / 48)
    assert "20250101T000000Z-box-old" in row.limit_source


def test_warm_up_and_wrong_results_of_history_do_not_count():
    cell = make_cell("memory.stream", op="triad", elements=1000)
    from dataclasses import replace

    good = make_measurement(cell, [1e-9, 1e-6])
    warm = replace(good, record=msgspec.structs.replace(good.record, warmup=1))
    assert bandwidth.best_bandwidth(make_run([], measurements=[warm])) == pytest.approx(24e9)
    wrong = replace(good, record=msgspec.structs.replace(good.record, verified=False))
    assert bandwidth.best_bandwidth(make_run([], measurements=[wrong])) is None


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({1: 10e9, 2: 19e9, 4: 36e9, 8: 37e9}, "; memory bandwidth saturates at 4 of 8 cores"),
        ({1: 10e9, 2: 19e9, 4: 19.1e9}, "memory bandwidth saturates at 2 of 4 cores"),
    ],
)
def test_saturation_is_where_bandwidth_stops_growing(rates, expected):
    assert expected in speed(stream(rates)).verdict


def test_no_saturation_is_claimed_while_bandwidth_grows():
    answer = speed(stream({1: 10e9, 2: 19e9}))
    assert "saturates" not in answer.verdict
    assert "from 1 to 2 cores memory bandwidth grows 1.90-fold" in answer.verdict
    assert any("gain at most about 90% [" in sentence for sentence in answer.advice)


@pytest.mark.parametrize(
    ("rates", "options"),
    [
        ({1: 10e9, 2: 10.47e9}, {"spread": 0.18}),  # 4.7% more, from -19% to +35%
        ({1: 10e9, 2: 10.2e9}, {"n": 1}),
        ({1: 10e9, 2: 19e9, 4: 36e9, 8: 37e9}, {"n": 5}),
    ],
)
def test_saturation_and_advice_need_intervals_that_show_them(rates, options):
    cells = [
        make_summary(
            make_cell("memory.stream", ppn=ppn, op="triad"), rate, elements=1000, **options
        )
        for ppn, rate in rates.items()
    ]
    answer = speed(cells)
    assert "saturates" not in answer.verdict
    reported = " ".join(answer.advice)
    for words in ("Beyond", "nearly exhausted", "gain at most about"):
        assert words not in reported
    found = reply_to("speed", cells, make_run(cells)).findings
    assert found.memory.bandwidth.saturated == max(rates)
    for figure in figures_of("speed", cells, make_run(cells)):
        assert "saturates" not in figure.alt and "Saturated" not in figure.caption


def test_little_gain_is_advice_to_use_fewer_ranks():
    answer = speed(stream({1: 10e9, 2: 10.5e9}))
    assert any("fewer ranks" in sentence for sentence in answer.advice)


def test_parallel_efficiency_and_the_rate_per_core():
    cells = [
        make_summary(make_cell("npb.cg", ppn=ppn, **{"class": "A"}), rate)
        for ppn, rate in ((1, 1000e6), (4, 2000e6))
    ]
    answer = speed(cells)
    scaling = rows(answer)["CG class A, 1 → 4 cores"]
    assert scaling.value == pytest.approx(2.0)
    assert scaling.share == pytest.approx(0.5)
    assert rows(answer)["CG class A, 4 cores"].note == (
        "4 ranks; 500.0 Mop/s per core; 2.07 Gflop/s done"
    )
    assert any("50.0%" in sentence for sentence in answer.advice)
    rate = "With 4 ranks CG class A runs at 2000 Mop/s [1988, 2012]"
    assert answer.verdict == f"{rate}; from 1 to 4 cores CG grows 2.00-fold."


def test_a_loss_is_called_a_loss():
    cells = [
        make_summary(make_cell("npb.cg", ppn=ppn, **{"class": "A"}), rate)
        for ppn, rate in ((1, 1000e6), (2, 400e6))
    ]
    answer = speed(cells)
    assert answer.verdict.endswith("; from 1 to 2 cores CG drops by 60%.")
    assert any("slower on 2 cores" in sentence for sentence in answer.advice)


def test_low_confidence_asks_for_another_measurement_first():
    assert "Measure again" in speed(stream({1: 10e9}, n=3)).advice[0]
    assert not any("Measure again" in s for s in speed(stream({1: 10e9}, n=30)).advice)


def test_an_unsteady_bandwidth_is_detected_by_its_best_pass():
    unsteady = speed(stream({1: 10e9}, spread=0.1))  # its best pass is 20% above its median
    assert any("its best pass" in sentence for sentence in unsteady.advice)
    # Another operation that is faster does not show unsteadiness.
    steady = speed(stream({1: 10e9}) + stream({1: 20e9}, op="copy"))
    assert not any("its best pass" in sentence for sentence in steady.advice)


def test_parameters_left_to_the_kernel_are_not_mentioned():

    cell = make_cell("memory.stream", op="triad", elements=0, stores="auto")
    assert parameters_text(cell) == "op=triad"
    cell = make_cell("network.pingpong", ppn=2, bytes=0, to=-1)
    assert parameters_text(cell) == "bytes=0"


def test_the_largest_class_leads():
    cells = [
        make_summary(make_cell("npb.ep", ppn=ppn, **{"class": size}), ppn * rate)
        for size, rate in (("S", 9e6), ("W", 8e6))
        for ppn in (1, 2)
    ]
    answer = speed(cells)
    assert answer.evidence[0].label == "EP class W, 2 cores"
    assert answer.verdict.count("EP class W") == 1 and "class S" not in answer.verdict


def test_messages_alone_are_context_and_earn_little_confidence():
    cells = [
        make_summary(make_cell("network.pingpong", ppn=2, bytes=size), latency)
        for size, latency in ((0, 0.4e-6), (1 << 20, 100e-6))
    ]
    answer = speed(cells)
    assert answer.verdict == "A message of 0 B takes 400 ns (within a node)."
    assert answer.confidence == "low"
    assert rows(answer)["Ping-pong bandwidth, 1 MiB"].value == pytest.approx((1 << 20) / 100e-6)


def test_too_few_launches_give_no_interval_and_low_confidence():
    answer = speed(stream({1: 10e9}, n=3))
    assert "10.0 GB/s (3 launches)" in answer.verdict
    assert answer.confidence == "low"
    assert "too few launches" in answer.confidence_why


def test_caveats_are_medium_confidence_and_missed_precision_is_stated():
    missed = speed(stream({1: 10e9}, n=30, stop="budget", spread=0.04))
    assert missed.confidence == "high"
    assert "±4%" in missed.confidence_why
    touched = speed(stream({1: 10e9}, n=30, caveats=["The clock is coarse."]))
    assert touched.confidence == "medium"
    assert touched.caveats == ["The clock is coarse. (memory.stream op=triad)"]


def test_an_incomplete_run_is_not_of_high_confidence():
    cells = stream({1: 10e9}, n=30)
    assert speed(cells).confidence == "high"
    answer = speed(cells, make_run(cells, complete=False))
    assert answer.confidence == "medium"
    assert "incomplete" in answer.confidence_why


def test_failures_are_named_and_lower_the_confidence():
    cells = [
        *stream({1: 10e9}),
        make_failure(make_cell("compute.dgemm", n=10), "The BLAS crashed."),
        make_failure(make_cell("npb.cg", **{"class": "S"}), wrong=True),
    ]
    answer = speed(cells)
    assert answer.confidence == "low"
    assert "compute.dgemm n=10: The BLAS crashed." in answer.caveats
    assert any(c.startswith("CG class S: its result was wrong") for c in answer.caveats)
    assert "DGEMM" not in answer.verdict


def test_a_run_without_usable_results_says_so():
    empty = speed([])
    assert empty.status == "unmeasured"
    assert empty.confidence is None and empty.evidence == []
    failed = speed([make_failure(make_cell("compute.dgemm", n=10))])
    assert (
        failed.verdict
        == "Not measured: the only cell that measures speed failed or was interrupted."
    )
    assert failed.caveats == ["compute.dgemm n=10: out of memory"]


def test_scaling_never_mixes_toolchains_and_the_other_is_shown():
    cells = [
        make_summary(make_cell("compute.dgemm", n=100, ppn=ppn, toolchain=name), rate)
        for name, ppn, rate in (("a", 1, 60e9), ("a", 2, 90e9), ("b", 1, 50e9), ("b", 2, 99e9))
    ]
    answer = speed(cells)
    assert [(row.value, row.note) for row in answer.evidence] == [
        (99e9, "2 ranks · b"),
        (50e9, "1 rank · b"),
        (90e9, "2 ranks · a"),
        (pytest.approx(1.98), "parallel efficiency"),
    ]
    cells = [
        make_summary(make_cell("npb.ep", ppn=ppn, toolchain=name, **{"class": "S"}), rate)
        for name, ppn, rate in (("a", 1, 60e6), ("a", 2, 90e6), ("b", 1, 50e6), ("b", 2, 99e6))
    ]
    assert rows(speed(cells))["EP class S, 1 → 2 cores"].value == pytest.approx(99 / 50)
    cells = [
        make_summary(make_cell("memory.stream", ppn=ppn, toolchain=name, op="triad"), rate)
        for name, ppn, rate in (("a", 1, 60e9), ("a", 2, 90e9), ("b", 1, 50e9), ("b", 2, 99e9))
    ]
    answer = speed(cells)
    assert rows(answer)["STREAM triad, 1 → 2 cores"].value == pytest.approx(99 / 50)
    assert "2 ranks · a" in [row.note for row in answer.evidence]


def test_all_five_questions_in_their_order():
    cells = quick_cells()
    answers = answer_all(make_run(cells), cells)
    everyones = [name for name in QUESTIONS if name != "papers"]  # that one is of certain suites
    assert [answer.question for answer in answers] == everyones
    assert [answer.status for answer in answers] == ["answered"] * 2 + ["unmeasured"] * 3
    lone = [make_summary(make_cell("network.pingpong", ppn=2, bytes=8), 1e-6)]
    assert "ping-pong within one node" in answer_all(make_run(lone), lone)[1].verdict
    assert "ping-pong" not in answer_all(make_run([]), [])[1].verdict


def json_of(cells, run=None, history=()):
    """The findings as a program reads them."""
    import json

    found = findings_json(reply_to("speed", cells, run or make_run(cells), history).findings)
    return json.loads(json.dumps(found, allow_nan=False))


def test_findings_are_plain_json_with_the_planted_numbers():
    cells = [
        *dgemm({100: 50e9, 1000: 80e9, 2000: 82e9}),
        *dgemm({100: 60e9, 1000: 120e9}, ppn=2),
        *peak({(2, 256): 81e9, (2, 512): 160e9}),
        make_failure(make_cell("npb.cg", **{"class": "S"}), wrong=True),
    ]
    found = json_of(cells, make_run(cells, complete=False))
    floats = found["arithmetic"]["dgemm"]
    assert list(floats["by_cores"]) == ["1", "2"]
    assert floats["by_cores"]["1"]["arrival"] == 1000
    assert floats["by_cores"]["2"]["peak"]["rate"] == pytest.approx(64 * CLOCK)
    assert floats["by_cores"]["2"]["point"] == {"cell": cells[4].id, "metric": "rate"}
    assert (floats["order"], floats["speedup"]["value"]) == (1000, pytest.approx(1.5))
    assert floats["of_measured_peak"]["value"] == pytest.approx(0.75)
    assert set(found["arithmetic"]["measured_peaks"]) == {"2"}
    assert (found["broken"], found["complete"]) == ([cells[-1].id], False)
    assert (found["memory"], found["storage"], found["messages"]) == (None, None, None)


def test_a_stored_run_and_the_peaks_are_read_once(monkeypatch):
    calls = []

    def counting(module, name):
        function = getattr(module, name)

        def call(*arguments):
            calls.append(name)
            return function(*arguments)

        monkeypatch.setattr(module, name, call)

    counting(bandwidth, "best_bandwidth")
    counting(arithmetic, "theoretical_peak")
    cells = stream({1: 10e9, 2: 19e9}) + dgemm({1000: 80e9, 2000: 82e9})
    reply = reply_to("speed", cells, make_run(cells), [make_run([], name="old")])
    assert {figure.id for figure in reply.figures()} == {"stream", "dgemm"}
    assert reply.tables() == []
    # One peak for the row of the answer, one for the line of the figure.
    assert sorted(calls) == ["best_bandwidth", "theoretical_peak", "theoretical_peak"]


def test_cells_requested_by_a_search_alone_are_drawn_and_not_judged():
    from dataclasses import replace

    from assay.model.plan import Search

    cells = stream({1: 10e9, 2: 19e9})
    run = make_run(cells)
    plan = msgspec.structs.replace(
        run.manifest.plan, search=Search((cells[0].id, cells[1].id), (cells[1].id,))
    )
    run = replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
    reply = reply_to("speed", cells, run)
    verdict = "1 core sustains 10.00 GB/s [9.94, 10.06] from memory (STREAM triad)."
    assert reply.answer.verdict == verdict
    (figure,) = reply.figures()
    assert [row["median"] for row in figure.rows] == [10e9, 19e9]
