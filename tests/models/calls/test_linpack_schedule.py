"""HPL's schedule: its arithmetic and messages by the algorithm, its critical path, that it ends."""

from __future__ import annotations

import pytest

from assay.models.calls.linpack import LinpackSchedule, linpack_schedule
from assay.models.calls.linpack_work import DgemmCurve, RankWork
from assay.trace.exports.simgrid import SPEED
from call_schedules import executed, timed

RATE = 1e9


def work(panel: float = 1.0) -> RankWork:
    """DGEMM with the same rate for all orders, and panels at a share of it; no copies."""
    return RankWork(DgemmCurve(RATE, 0.0), panel * RATE)


PLAIN = work()
GRIDS = [(1, 1), (1, 2), (2, 2), (2, 3), (3, 2), (4, 4), (1, 5), (2, 6)]


def computed(made: LinpackSchedule) -> float:
    """Seconds of all ranks."""
    words = (line.split() for lines in made.schedule.lines for line in lines)
    return sum(float(rest[0]) for _, kind, *rest in words if kind == "compute") / SPEED


@pytest.mark.parametrize(("p", "q"), GRIDS)
def test_the_arithmetic_is_that_of_an_elimination(p: int, q: int) -> None:
    n, nb = 3_840, 64
    made = linpack_schedule(n, nb, p, q, PLAIN)
    # Each row of the grid computes all rows of U that it needs.
    flops = 2 * n**3 / 3 + (p - 1) * nb * n**2 / 2
    assert computed(made) * made.factor == pytest.approx(flops / 1e9, rel=0.005)


@pytest.mark.parametrize(("p", "q"), GRIDS)
def test_all_ranks_end(p: int, q: int) -> None:
    # Panels of several pieces where rows of the grid are long.
    assert executed(linpack_schedule(1_600, 64, p, q, PLAIN).schedule) == p * q


def test_messages_of_a_small_case_are_those_counted_by_hand() -> None:
    made = linpack_schedule(32, 8, 2, 2, PLAIN)
    assert made.factor == 1.0
    sizes = made.schedule.passed
    # 4 panels of 8 columns: both ranks of the column send once per column, 2 rows and 4 numbers.
    assert sizes[8 * (2 * 8 + 4)] == 4 * 8 * 2
    # A head of 8, 8 pivots, and 8 columns of the triangles and of a grid row's rows, each an odd
    # number of cache lines: 16 rows take 3, 8 or none 1. Rows by panel: 16, 16; 16, 8; 8, 8; 8, 0.
    long, short = 8 * (16 + (8 + 24) * 8), 8 * (16 + (8 + 8) * 8)
    assert (sizes[long], sizes[short]) == (3, 5)
    # Right of the panels are 25, 17, 9 and 1 columns, with the right-hand side. Each row of U goes
    # to the other grid row, and the panel's grid row returns the share of them that came from
    # there: 16 of 32, 8 of 24, 8 of 16, 0 of 8.
    words = 8 * (25 * (1 + 16 / 32) + 17 * (1 + 8 / 24) + 9 * (1 + 8 / 16) + 1)
    others = 64 * 160 + 3 * long + 5 * short
    total = sum(size * number for size, number in sizes.items())
    swaps = sizes.total() - 64 - 8
    assert total - others == pytest.approx(8 * words, abs=0.5 * swaps)
    # Both columns of the grid; the one of the next panel first exchanges for that alone. The last
    # panel has the right-hand side only, and nothing below it: one message.
    updates = [3, 3, 2]
    assert swaps == sum(3 * number for number in updates) + 1


@pytest.mark.parametrize("q", [2, 3, 4, 6])
def test_a_panel_goes_to_the_next_column_and_then_in_pieces_through_the_others(q: int) -> None:
    made = linpack_schedule(1_000, 100, 1, q, PLAIN)
    # By panel: 1,000, 900 … rows take 125, 113 … cache lines, an odd number; 100 rows take 13.
    lines = [-(-(1_000 - 100 * k) // 8) | 1 for k in range(10)]
    words = [8 + 104 + (104 + 8 * each) * 100 for each in lines]
    sent = sum(size * number for size, number in made.schedule.passed.items())
    assert sent == pytest.approx((q - 1) * 8 * sum(words), rel=1e-6)
    first = [line.split() for line in made.schedule.lines[0] if " isend " in line]
    assert first[0] == ["0", "isend", "1", "0", str(8 * words[0])]
    # One rank after the second needs no pieces. More have pieces of up to 2^15 words: 110,512 of
    # the first panel are 4, which each but the last of them passes on.
    pieces = 4 if q > 3 else 1
    size = 8 * words[0] // pieces
    assert made.schedule.passed[size] == {2: 1, 3: 2, 4: 4 * 2, 6: 4 * 4}[q]
    if q > 2:
        assert [line[4] for line in first if line[2] == "2"][:pieces] == [str(size)] * pieces


def test_on_a_network_without_cost_the_time_is_that_of_the_critical_path() -> None:
    n, nb, rate = 1_280, 128, RATE
    alone = linpack_schedule(n, nb, 1, 1, PLAIN)
    assert timed(alone.schedule) == pytest.approx(computed(alone))

    panel_share = 0.25
    made = linpack_schedule(n, nb, 1, 2, work(panel_share))
    count = n // nb
    # The right-hand side is a column behind the last block.
    columns = [[b for b in range(count + 1) if b % 2 == c] for c in (0, 1)]

    def update(k: int, blocks: list[int]) -> float:
        below = n - (k + 1) * nb
        width = sum(1 if b == count else nb for b in blocks)
        return (nb**2 + 2 * nb * below) * width / rate

    def panel(k: int) -> float:
        return (n - k * nb) * nb**2 / (panel_share * rate)

    clocks = [panel(0), 0.0]
    arrived = panel(0)
    for k in range(count):
        clocks = [max(clock, arrived) for clock in clocks]
        posted = list(clocks)
        rest = [[b for b in columns[c] if b > k] for c in (0, 1)]
        if k + 1 < count:
            owner = (k + 1) % 2
            clocks[owner] += update(k, [k + 1]) + panel(k + 1)
            rest[owner].remove(k + 1)
            arrived = max(clocks[owner], posted[1 - owner])
        clocks = [clock + update(k, rest[c]) for c, clock in enumerate(clocks)]
    assert timed(made.schedule) == pytest.approx(max(clocks), rel=1e-6)


def test_without_look_ahead_nothing_is_hidden() -> None:
    """A panel, its message, and the update of the wider part follow each other."""
    n, nb, panel_share, latency = 1_280, 128, 0.25, 0.01
    made = linpack_schedule(n, nb, 1, 2, work(panel_share), look_ahead=False)
    count = n // nb
    columns = [[b for b in range(count + 1) if b % 2 == c] for c in (0, 1)]
    clocks = [0.0, 0.0]
    for k in range(count):
        owner = k % 2
        clocks[owner] += (n - k * nb) * nb**2 / (panel_share * RATE)
        # The sender waits until its message is there.
        clocks = [max(clocks) + latency] * 2
        for c, blocks in enumerate(columns):
            width = sum(1 if b == count else nb for b in blocks if b > k)
            clocks[c] += (nb**2 + 2 * nb * (n - (k + 1) * nb)) * width / RATE
    assert timed(made.schedule, latency) == pytest.approx(max(clocks), rel=1e-6)
    ahead = linpack_schedule(n, nb, 1, 2, work(panel_share))
    assert timed(made.schedule, latency) > timed(ahead.schedule, latency)


@pytest.mark.parametrize(("p", "q"), GRIDS)
def test_all_ranks_end_without_look_ahead(p: int, q: int) -> None:
    made = linpack_schedule(1_600, 64, p, q, PLAIN, look_ahead=False)
    assert executed(made.schedule) == p * q


def test_copies_of_panels_and_rows_take_their_time() -> None:
    n, nb, copy = 1_280, 128, 1e-9
    plain = linpack_schedule(n, nb, 1, 1, PLAIN)
    copied = linpack_schedule(n, nb, 1, 1, RankWork(PLAIN.dgemm, PLAIN.panel_rate, copy))
    count = n // nb
    panels = sum((n - k * nb) * nb for k in range(count))
    rows = sum((n + 1 - (k + 1) * nb) * nb for k in range(count))
    assert computed(copied) - computed(plain) == pytest.approx(8 * (panels + rows) * copy, rel=1e-6)


def test_look_ahead_hides_panels_and_their_messages_under_a_longer_update() -> None:
    n, nb, rate, panel_share = 6_400, 128, RATE, 0.1
    made = linpack_schedule(n, nb, 1, 2, work(panel_share))
    count = n // nb
    fast = timed(made.schedule)
    busiest = max(
        sum(float(line.split()[2]) for line in lines if " compute " in line) / SPEED
        for lines in made.schedule.lines
    )
    # Without look-ahead each rank would wait for the other's panels, too.
    others = nb * n**2 / 2 / (panel_share * rate) / 2
    assert busiest <= fast < busiest + 0.1 * others
    # A message takes a tenth of the mean update: hidden but for the first and those of the last
    # panels, whose updates are short.
    latency = 0.1 * 2 * n**3 / 3 / 2 / rate / count
    assert latency <= timed(made.schedule, latency) - fast < 0.25 * count * latency
    # One that takes twice the mean update determines the time.
    latency *= 20
    assert timed(made.schedule, latency) > count * latency


@pytest.mark.parametrize(("p", "q"), GRIDS[1:])
def test_a_slower_network_never_makes_it_faster(p: int, q: int) -> None:
    made = linpack_schedule(1_600, 64, p, q, PLAIN).schedule
    by_latency = [timed(made, latency) for latency in (0.0, 1e-5, 1e-4, 1e-3, 1e-2)]
    assert by_latency == sorted(by_latency)
    by_rate = [timed(made, 1e-5, rate) for rate in (1e10, 1e9, 1e8, 1e7)]
    assert by_rate == sorted(by_rate)


def test_a_few_panels_stand_for_all() -> None:
    few = linpack_schedule(64_000, 64, 2, 2, PLAIN)
    assert few.factor > 10
    flops = 2 * 64_000**3 / 3
    assert computed(few) * few.factor == pytest.approx(flops / 1e9, rel=0.01)


@pytest.mark.parametrize(("p", "q"), [(2, 2), (4, 8), (16, 16)])
def test_actions_are_bounded(p: int, q: int) -> None:
    made = linpack_schedule(200_000, 96, p, q, PLAIN)
    steps = -(-200_000 // 96) / made.factor
    actions = sum(map(len, made.schedule.lines))
    assert actions < 150_000 or round(steps) == 8


def test_an_order_below_a_panel_is_refused() -> None:
    with pytest.raises(ValueError, match="below a panel"):
        linpack_schedule(32, 64, 1, 1, PLAIN)
