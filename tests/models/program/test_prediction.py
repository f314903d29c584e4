"""Networks estimated from traces, and run times on others: against the simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from msgspec import structs

from assay.errors import AssayError
from assay.models.program.calibration import calibrate
from assay.models.program.efficiency import computing_times
from assay.models.program.excerpt import common_repetitions, excerpt
from assay.models.program.prediction import (
    demand,
    model_run,
    network_of,
    predict,
    sensitivity,
    spread_over,
)
from assay.models.program.repetition import iterations
from assay.models.program.waits import wait_states
from assay.reference.interconnects import InterconnectClass, interconnects
from assay.trace.matching import match
from assay.trace.model import LaunchTime
from simulated_mpi import LinkCost, Net, Script, simulate
from traces import ETHERNET, FAST, repeated, ring, stencil

GIGABIT = Net(ETHERNET, FAST)


def _ping_pong(rank: Script) -> None:
    for size in (8, 1000, 30_000, 500_000):
        for _ in range(10):
            rank.compute(1e-4)
            if rank.rank == 0:
                rank.send(1, size)
                rank.recv(1, size)
            else:
                rank.recv(0, size)
                rank.send(0, size)


def _model(trace):
    matched = match(trace)
    return model_run(matched, wait_states(matched))


@pytest.mark.parametrize("eager", [float("inf"), 65536])
def test_the_network_is_found_from_messages(eager) -> None:
    trace = simulate(2, _ping_pong, Net(ETHERNET, FAST, eager))
    matched = match(trace)
    found = calibrate(matched, wait_states(matched))
    between = found.between.parameters
    assert between.overhead == pytest.approx(ETHERNET.overhead)
    if eager == 65536:
        assert between.latency == pytest.approx(ETHERNET.latency, rel=0.01)
    assert between.gap == pytest.approx(ETHERNET.gap, rel=0.05)
    assert found.between.separated
    assert found.within.observations == 0


def test_the_network_is_found_from_collectives() -> None:
    def program(rank: Script) -> None:
        for size in (8, 100_000):
            rank.compute(1e-3)
            rank.collective("Alltoall", size)
            rank.barrier()

    matched = match(simulate(4, program, Net(LinkCost(5e-5, 1e-8), FAST)))
    found = calibrate(matched, wait_states(matched)).between
    assert found.parameters.latency == pytest.approx(5e-5, rel=0.02)
    assert found.parameters.gap == pytest.approx(1e-8, rel=0.02)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("pause", [0.0, 2e-4, 2e-2])
def test_messages_one_behind_the_other_count_once(reverse: bool, pause: float) -> None:
    """Two to a rank that waits, with or without a pause between, taken in either order."""

    def program(rank: Script) -> None:
        for size in (8, 1_000, 20_000, 60_000):
            if rank.rank == 0:
                coming = [rank.irecv(1, size, tag) for tag in (0, 1)]
                for request in reversed(coming) if reverse else coming:
                    rank.wait(request)
            else:
                rank.compute(0.01)
                for tag in (0, 1):
                    rank.send(0, size, tag)
                    rank.compute(pause)
            rank.barrier()

    net = Net(LinkCost(5e-5, 8e-8), FAST)
    matched = match(simulate(2, program, net))
    found = calibrate(matched, wait_states(matched)).between
    assert found.parameters.gap == pytest.approx(8e-8, rel=0.03)
    assert _model(simulate(2, program, net)).misfit == pytest.approx(0.0, abs=0.02)


def _kind(net: Net) -> InterconnectClass:
    """As an interconnect: with a tenth of its latency as overhead."""
    link = net.between
    latency = link.latency + 2 * link.overhead
    return InterconnectClass("x", latency, (latency / 1.2, latency * 1.2), 1 / link.gap, "")


def _like(latency: float, gap: float) -> Net:
    return Net(LinkCost(0.8 * latency, gap, 0.1 * latency), FAST)


@pytest.mark.parametrize("net", [_like(2e-4, 8e-8), _like(2e-6, 1e-10), _like(4e-5, 8e-10)])
def test_run_times_on_other_networks(net) -> None:
    """Within 3% of the simulation, and within the range that is stated."""
    for ran in (stencil(4, 20, GIGABIT, size=20_000), ring(4, 50_000, 10, GIGABIT)):
        many = len(ran.ranks[0].events) > 50
        real = (stencil(4, 20, net, size=20_000) if many else ring(4, 50_000, 10, net)).end
        run = _model(ran)
        assert run.misfit == pytest.approx(0.0, abs=0.02)
        found = predict(run, _kind(net))
        assert found.seconds == pytest.approx(real, rel=0.03)
        assert found.low <= real * 1.03
        assert found.high >= real / 1.03
        assert "modelled" not in found.doubtful


def test_what_the_model_lacks_here_is_not_carried_over() -> None:
    """The run took 60%, or twice, of its model on its network; on the other it takes the same."""
    run = _model(ring(4, 50_000, 10, GIGABIT))
    fast = _kind(_like(2e-6, 1e-10))
    exact = predict(run, fast)
    for factor, word in ((0.6, "longer"), (2.0, "shorter")):
        other = replace(run, whole=factor * run.seconds, seconds=factor * run.seconds)
        found = predict(other, fast)
        assert found.seconds == pytest.approx(exact.seconds)
        assert word in found.doubtful
        assert found.high - found.low > 2 * abs(other.misfit) * found.seconds > 0.0


def test_doubts_of_a_run_and_of_a_network() -> None:
    run = _model(ring(4, 50_000, 10, GIGABIT))
    whole = replace(run, whole=1.2, seconds=1.2, modelled=replace(run.modelled, seconds=1.2))
    assert whole.doubt == ""
    assert "took 400 ms" in replace(whole, whole=0.4).doubt
    assert "17% longer" in replace(whole, seconds=1.2 / 1.17).doubt
    assert "under a third" in predict(whole, _kind(_like(2e-6, 1e-10))).doubtful


def test_the_range_and_a_doubt_follow_from_several_launches() -> None:
    """Computing takes as long on any network: what it differs by counts more on a fast one."""
    ran = stencil(4, 20, GIGABIT, size=20_000)
    seconds, computing = ran.end, float(computing_times(ran).mean())

    def of_launches(*factors: tuple[float, float]):
        times = [LaunchTime(seconds * one, computing * other) for one, other in factors]
        return _model(replace(ran, run=structs.replace(ran.run, launches=times)))

    def width(run, net: Net) -> float:
        kind = replace(_kind(net), latencies=(_kind(net).latency,) * 2)
        found = predict(run, kind)
        return (found.high - found.low) / 2 / found.seconds

    steady = of_launches((1.0, 1.0), (1.01, 1.001), (1.0, 1.0))
    unsteady = of_launches((1.0, 1.0), (1.1, 1.3), (1.0, 0.9))
    slow, fast = _like(2e-4, 8e-8), _like(2e-6, 1e-10)
    for net in (slow, fast):
        misfit = abs(steady.misfit)
        assert width(_model(ran), net) == pytest.approx(math.hypot(0.05, misfit))
    assert width(steady, slow) == pytest.approx(math.hypot(0.01, steady.misfit), rel=1e-6)
    share = 0.4 * computing / predict(unsteady, _kind(fast)).seconds
    assert share > 0.3
    assert width(unsteady, fast) == pytest.approx(math.hypot(share, unsteady.misfit), rel=1e-6)
    enough = {"whole": 2.0, "seconds": 2.0, "modelled": replace(unsteady.modelled, seconds=2.0)}
    doubted = predict(replace(unsteady, **enough), _kind(GIGABIT)).doubtful
    assert doubted.startswith("Launches differ by")
    assert "differ" not in predict(replace(steady, **enough), _kind(GIGABIT)).doubtful


@pytest.mark.parametrize(
    ("sends", "latency", "overhead"),
    [(0.0, 1e-5, 1e-6), (3e-6, 1e-5, 3e-6), (3e-6, 4e-6, 2e-6), (1e-7, 1e-5, 1e-6)],
)
def test_the_overhead_is_that_of_the_run_within_the_latency(
    sends: float, latency: float, overhead: float
) -> None:
    run = _model(ring(2, 1000, 2, GIGABIT))
    link = replace(run.calibrated.between.parameters, overhead=sends)
    between = replace(run.calibrated.between, parameters=link)
    run = replace(run, calibrated=replace(run.calibrated, between=between))
    found = network_of(run, latency, 1e9).between
    assert found.overhead == pytest.approx(overhead)
    assert found.latency + 2 * found.overhead == pytest.approx(latency)


def test_exchanges_of_all_hosts_are_doubted() -> None:
    def program(rank: Script) -> None:
        for _ in range(5):
            rank.compute(0.25)
            rank.collective("Alltoall", 1_200_000)
            rank.collective("Allreduce", 8)

    slow = _kind(_like(1e-4, 8e-8))
    assert "all at once" in predict(_model(simulate(4, program, GIGABIT)), slow).doubtful
    # Between two hosts they are single messages.
    assert predict(_model(simulate(2, program, GIGABIT)), slow).doubtful == ""


def test_the_demand_is_a_network_that_costs_as_much() -> None:
    run = _model(stencil(4, 20, GIGABIT, size=20_000))
    found = demand(run, (0.1,))
    latency = found.latencies[0.1]
    assert latency is not None
    from assay.models.program.adapters import with_adapters
    from assay.models.program.replay import replay

    network = run.calibrated.network
    times = [
        replay(with_adapters(run.graph, one), one).seconds
        for one in (network.changed(latency=0.0), network.changed(latency=latency))
    ]
    assert times[1] / times[0] == pytest.approx(1.1, rel=0.01)
    messages, size = sensitivity(run)
    assert messages >= 20 * 3
    assert size >= 20 * 20_000


def test_a_run_on_one_host_is_predicted_on_several() -> None:
    """Ranks in memory of one host, then on a host each, with Gigabit Ethernet between them."""
    together = stencil(4, 20, GIGABIT, hosts=["a"] * 4)
    net = _like(4e-5, 8e-9)
    run = spread_over(_model(together), ["a", "b", "c", "d"])
    assert predict(run, _kind(net)).seconds == pytest.approx(stencil(4, 20, net).end, rel=0.03)


def test_a_model_that_doesn_t_give_its_own_run_is_doubtful() -> None:
    from dataclasses import replace

    trace = stencil(4, 20, GIGABIT)
    ranks = tuple(replace(rank, end=rank.end) for rank in trace.ranks)
    run = replace(_model(replace(trace, ranks=ranks)), seconds=trace.end * 1.5)
    assert "shorter than the traced run's" in predict(run, interconnects()[0]).doubtful


def test_a_burst_passes_without_delay() -> None:
    """Of messages in a row, each of s bytes is faster by min(s, burst) G."""
    run = _model(simulate(2, _ping_pong, Net(ETHERNET, FAST)))
    plain = InterconnectClass("plain", 3e-5, (3e-5, 3e-5), 12.5e6, "")
    shaped = replace(plain, burst=3200.0)
    saved = 2 * 10 * (8 + 1000 + 3200 + 3200) / 12.5e6
    difference = predict(run, plain).seconds - predict(run, shaped).seconds
    assert difference == pytest.approx(saved, rel=1e-6)


def test_runs_without_enough_cpus_are_doubted() -> None:
    trace = stencil(4, 20)

    def waiting(share: float | None) -> str:
        ranks = tuple(
            replace(rank, cpu_wait=None if share is None else share * rank.wall)
            for rank in trace.ranks
        )
        return predict(_model(replace(trace, ranks=ranks)), interconnects()[0]).doubtful

    assert "waited for a CPU for 10% of their time" in waiting(0.1)
    assert waiting(0.04) == waiting(None)
    assert "CPU" not in waiting(0.04)


def test_classes_are_in_order_and_have_sources() -> None:
    every = interconnects()
    assert [one.bandwidth for one in every] == sorted(one.bandwidth for one in every)
    for one in every:
        assert one.source
        assert one.latencies[0] < one.latency < one.latencies[1]
    run = _model(ring(2, 1000, 2, GIGABIT))
    network = network_of(run, 1e-5, 1e9)
    between = network.between
    assert between.latency + 2 * between.overhead == pytest.approx(1e-5)


@pytest.mark.parametrize("net", [_like(2e-4, 8e-8), _like(2e-6, 1e-10)])
@pytest.mark.parametrize(("most", "modelled"), [(600, 25), (20, 3)])
def test_an_excerpt_of_the_iterations_predicts_as_the_whole(net, most: int, modelled: int) -> None:
    """Three iterations if each has more calls than an excerpt usually has."""
    ran = stencil(4, 100, GIGABIT, size=20_000)
    matched = match(ran)
    found = [iterations(rank) for rank in ran.ranks]
    run = model_run(matched, wait_states(matched), found, most=most)
    assert run.iterations == modelled
    assert run.factor == 100 / modelled
    real = stencil(4, 100, net, size=20_000).end
    assert predict(run, _kind(net)).seconds == pytest.approx(real, rel=0.03)
    whole = _model(ran)
    assert sensitivity(run) == pytest.approx(sensitivity(whole), rel=0.03)
    assert run.ideal == pytest.approx(whole.ideal, rel=0.01)


def test_an_excerpt_has_as_many_iterations_as_its_calls_allow() -> None:
    ran = stencil(4, 100, GIGABIT)  # 24 calls per iteration
    common = common_repetitions(ran, [iterations(rank) for rank in ran.ranks])
    assert common is not None
    parts = [excerpt(ran, common, 20, most) for most in (80, 50, 24, 23)]
    assert [None if one is None else one.times for one in parts] == [3, 2, 1, None]
    assert [None if one is None else len(one.trace) for one in parts] == [72, 48, 24, None]


def test_a_long_trace_without_iterations_is_not_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = stencil(4, 100, GIGABIT)
    matched = match(repeated(ran, 90))
    waits = wait_states(matched)
    with pytest.raises(AssayError, match="no common iterations"):
        model_run(matched, waits, [None] * 4)
    monkeypatch.setattr("assay.models.program.prediction.MOST_MODELLED", 20)
    matched = match(ran)
    found = [iterations(rank) for rank in ran.ranks]
    with pytest.raises(AssayError, match="an iteration of its ranks has too many of them"):
        model_run(matched, wait_states(matched), found, most=20)
