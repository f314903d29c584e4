"""How busy a machine is: each number equals a count by brute force, and gaps are said."""

from __future__ import annotations

import datetime
import math
import random
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.subjects.usage.answer import answer
from assay.subjects.usage.findings import find
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.words import quantile
from assay.usage.analysis.model import LEVELS
from assay.usage.analysis.query import UsageQuery
from usage_logs import (
    FLUX,
    LSF,
    MONDAY,
    PBS,
    SLURM,
    SLURM_EVENTS,
    SWF,
    PlantedJob,
    read_text,
    swf_of,
)

HOUR, DAY = 3600, 86400
EXCERPT = Path(__file__).parents[2] / "data" / "usage" / "seth-2002-excerpt.swf"


def planted(seed: int, jobs: int = 60, processors: int = 16) -> list[PlantedJob]:
    """Random jobs on whole seconds, never more at once than the machine has."""
    rng = random.Random(seed)
    free = [0] * processors  # when each processor becomes free
    found = []
    submit = 0
    for job in range(1, jobs + 1):
        submit += rng.randrange(1, 4000)
        size, run = rng.randrange(1, processors + 1), rng.choice((0, 3, 50, 3000, 20000))
        order = sorted(range(processors), key=free.__getitem__)[:size]
        start = max(submit, *(free[index] for index in order))
        for index in order:
            free[index] = start + run
        found.append((job, submit, start - submit, run, size))
    return found


def in_use(jobs: list[PlantedJob], begin: float, end: float) -> int:
    """Processor seconds of a period, counted job by job."""
    total = 0.0
    for _, submit, wait, run, size in jobs:
        start = MONDAY + submit + wait
        total += size * max(min(start + run, end) - max(start, begin), 0)
    return round(total)


def of(folder: Path, *texts: str, **options: object) -> UsageFindings:
    return find(read_text(folder, *texts), UsageQuery(**options))  # type: ignore[arg-type]


def exact_quantile(values: list[float], level: float) -> float:
    """Linear interpolation between the ordered values (Hyndman & Fan, 1996, type 7)."""
    ordered = sorted(values)
    at = level * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


@pytest.mark.parametrize("seed", range(4))
def test_all_numbers_equal_a_brute_force_count(tmp_path: Path, seed: int) -> None:
    jobs = planted(seed)
    found = of(tmp_path, swf_of(jobs, processors=16, users=5))
    period = found.period
    use = in_use(jobs, period.begin, period.end)
    assert found.utilisation.value == pytest.approx(use / (16 * (period.end - period.begin)))
    waits = [float(wait) for _, _, wait, _, _ in jobs]
    slowdowns = [max((w + r) / max(r, 10), 1.0) for _, _, w, r, _ in jobs]
    ratios = [r / (2 * r + 60) for _, _, _, r, _ in jobs]
    for spread, values in (
        (found.wait, waits),
        (found.slowdown, slowdowns),
        (found.run, [float(r) for _, _, _, r, _ in jobs]),
        (found.limits.time, ratios),
    ):
        assert spread is not None
        assert spread.n == len(jobs)
        assert spread.mean == pytest.approx(sum(values) / len(values))
        for level in LEVELS:
            assert quantile(spread, level) == pytest.approx(exact_quantile(values, level))
    # Days are in UTC, which the log's header names.
    for day in found.days:
        begin = max(
            datetime.datetime.fromisoformat(day.name + "T00+00:00").timestamp(), period.first
        )
        end = min(begin - begin % DAY + DAY, period.last)
        assert day.busy == pytest.approx(in_use(jobs, begin, end))
        assert day.available == pytest.approx(16 * (end - begin))
        assert day.submitted == sum(begin <= MONDAY + job[1] <= end for job in jobs)
    assert sum(week.busy for week in found.weeks) == pytest.approx(
        in_use(jobs, period.first, period.last)
    )
    for hour in found.hours:
        parts = [
            (max(t, period.begin), min(t + HOUR, period.end))
            for t in range(
                MONDAY + (24 * hour.weekday + hour.hour) * HOUR, int(period.end), 7 * DAY
            )
        ]
        parts = [(low, high) for low, high in parts if low < high]
        whole = 16 * sum(high - low for low, high in parts)
        expected = sum(in_use(jobs, low, high) for low, high in parts) / whole if whole else None
        assert hour.utilisation == (None if expected is None else pytest.approx(expected, abs=1e-6))


def test_parts_add_up(tmp_path: Path) -> None:
    jobs = planted(7)
    found = of(tmp_path, swf_of(jobs, processors=16, users=5))
    whole = sum(size * run for _, _, _, run, size in jobs)
    for parts in (found.queues, found.classes, found.users, found.sizes, found.lengths):
        assert sum(part.jobs for part in parts) == len(jobs)
        assert sum(part.use for part in parts) == pytest.approx(whole)
        assert sum(part.utilisation or 0.0 for part in parts) == pytest.approx(
            found.utilisation.value
        )
    by_user = {user: [job for job in jobs if job[0] % 5 == user] for user in range(5)}
    uses = sorted((sum(j[3] * j[4] for j in mine) for mine in by_user.values()), reverse=True)
    assert [part.use for part in found.users] == uses
    assert [part.name for part in found.users] == [f"user {rank}" for rank in range(1, 6)]
    # The fewest users who make half of the use.
    fewest = next(n for n in range(1, 6) if sum(uses[:n]) >= whole / 2)
    assert found.classes[0].users == fewest
    (queue, *_) = found.queues
    odd = [job for job in jobs if job[0] % 2 == 1]
    even = [job for job in jobs if job[0] % 2 == 0]
    mine = max(odd, even, key=lambda half: sum(j[3] * j[4] for j in half))
    assert queue.jobs == len(mine)
    assert queue.wait == pytest.approx(exact_quantile([float(j[2]) for j in mine], 0.5))
    assert queue.wait90 == pytest.approx(exact_quantile([float(j[2]) for j in mine], 0.9))


def test_a_queue_alone_uses_its_part_of_the_whole_machine(tmp_path: Path) -> None:
    text = swf_of(planted(3), processors=16)
    found = of(tmp_path, text)
    parts = [of(tmp_path, text, queue=name) for name in ("0", "1")]
    assert sum(part.utilisation.value or 0.0 for part in parts) == pytest.approx(
        found.utilisation.value
    )
    assert sum(part.jobs for part in parts) == found.jobs
    assert parts[0].chosen == "one queue"
    with pytest.raises(AssayError, match="None of the 60 jobs matches") as error:
        of(tmp_path, text, user="nobody")
    assert error.value.where == "--user nobody"


def test_a_period(tmp_path: Path) -> None:
    jobs = planted(5, 200)
    text = swf_of(jobs, processors=16)
    found = of(tmp_path, text, since="2024-07-03", until="2024-07-03T12:00")
    begin, end = MONDAY + 2 * DAY, MONDAY + 2 * DAY + 12 * HOUR
    assert (found.period.begin, found.period.end) == (begin, end)
    assert found.utilisation.value == pytest.approx(in_use(jobs, begin, end) / (16 * (end - begin)))
    began = [job for job in jobs if begin <= MONDAY + job[1] + job[2] < end]
    assert found.jobs == len(began)
    with pytest.raises(AssayError, match="no records in this period"):
        of(tmp_path, text, since="2030-01-01")
    with pytest.raises(AssayError, match="neither a date"):
        of(tmp_path, text, since="yesterday")


def test_a_complete_log_gives_one_number_with_high_confidence(tmp_path: Path) -> None:
    """Two jobs of 6 processors for half of each hour, on 12 processors."""
    jobs = [(n, 1800 * n, 900 * (n % 2), 1800, 6) for n in range(1, 200)]
    found = of(tmp_path, swf_of(jobs, processors=12))
    reply = answer(found)
    assert found.utilisation.value == pytest.approx(0.5, abs=0.005)
    assert found.utilisation.reasons == []
    assert reply.confidence == "high"
    assert reply.verdict.startswith("50.0% of 12 processors were in use from 2024-07-01")


def test_absent_ids_leave_only_a_lower_bound(tmp_path: Path) -> None:
    """The same log without most of its jobs can't confirm or deny a higher utilisation."""
    jobs = [(n, 1800 * n, 900 * (n % 2), 1800, 6) for n in range(1, 200) if n % 5 < 2]
    found = of(tmp_path, swf_of(jobs, processors=12))
    assert found.records.absent == jobs[-1][0] - jobs[0][0] + 1 - len(jobs)
    assert found.utilisation.low == found.utilisation.value == pytest.approx(0.2, abs=0.01)
    assert found.utilisation.high == 1.0
    assert answer(found).confidence == "low"
    assert "can't tell whether utilisation was above" in answer(found).verdict


def test_seths_excerpt_finds_out_that_it_is_one() -> None:
    from assay.usage.accounts.reading import read_accounts

    found = find(read_accounts([EXCERPT]), UsageQuery())
    assert (found.capacity.processors, found.capacity.source) == (240, "header")
    assert found.records.stated == 527371
    assert found.records.jobs == 64
    assert found.records.absent_share is not None
    assert found.records.absent_share > 0.98
    assert found.utilisation.high == 1.0
    assert found.period.zone == "Europe/Stockholm"
    reasons = " ".join(found.utilisation.reasons)
    assert "527,371 records, but the log has 64" in reasons
    # The first job's submission, 28 July 2002, 09:04:05 in Umeå.
    assert found.period.first == 1027839845


def test_empty_days_are_named(tmp_path: Path) -> None:
    jobs = [(n, n * DAY // 4, 5, 600, 2) for n in range(1, 41) if not 12 <= n < 20]
    found = of(tmp_path, swf_of(jobs, processors=4))
    assert found.records.empty_days == ["2024-07-04", "2024-07-05"]
    assert found.records.days == 9
    assert found.records.longest_gap == 9 * DAY // 4 - 605
    assert "On 2 of 9 whole days" in " ".join(found.utilisation.reasons)


def test_time_without_a_record_may_have_been_down_time(tmp_path: Path) -> None:
    """Ids are complete, but for half a day nothing happens: two bounds, no false idle time."""
    times = [n * 600 for n in range(1, 400) if not 100 <= n < 172]
    jobs = [(n, t, 1, 300, 8) for n, t in enumerate(times, 1)]
    found = of(tmp_path, swf_of(jobs, processors=8))
    use = found.utilisation
    quiet = 73 * 600 - 301  # from the last end to the next submission
    length = found.period.end - found.period.begin
    assert found.records.quiet == pytest.approx(quiet / length)
    assert use.low == use.value
    assert use.high == pytest.approx(use.low * length / (length - quiet))
    assert "was idle or down while nothing was recorded" in answer(found).verdict


def test_down_time_by_node_events_is_not_idle(tmp_path: Path) -> None:
    """16 processors, 32 from the second day on; 8 of them down on the first day, 8 on the third."""
    jobs = [(n, 1800 * n, 900 * (n % 2), 1800, 6) for n in range(1, 200)]
    found = of(tmp_path, SLURM_EVENTS, swf_of(jobs), since="2024-07-01T03:00", until="2024-07-04")
    begin, end = MONDAY + 3 * HOUR, MONDAY + 3 * DAY
    assert (found.period.begin, found.period.end) == (begin, end)
    use = available = down = 0
    for t in range(begin, end, 900):  # everything changes at quarters of an hour
        busy = in_use(jobs, t, t + 900) // 900
        hours = (t - MONDAY) / HOUR
        size = 16 if hours < 24 else 32
        up = size - 8 * (6 <= hours < 18 or hours >= 48)
        use += busy
        available += max(up, busy)
        down += size - max(up, busy)
    assert found.capacity.source == "node events"
    assert found.utilisation.value == pytest.approx(use / available)
    assert found.capacity.down == pytest.approx(down / (down + available))
    assert found.utilisation.high == found.utilisation.low
    assert {each.kind for each in found.problems} == {"backwards", "unreadable time"}


def test_a_log_without_waits_and_requests_says_so(tmp_path: Path) -> None:
    """As NASA's log of an iPSC, whose submission times are starts."""
    lines = "".join(
        f"{n} {600 * n} -1 300 4 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n" for n in range(1, 50)
    )
    found = of(tmp_path, f"; UnixStartTime: {MONDAY}\n; MaxNodes: 8\n" + lines)
    assert found.wait is None
    assert found.slowdown is None
    assert found.limits.time is None
    assert found.limits.reached is None
    unknown = " ".join(found.unknown)
    for what in ("Waits and slowdowns", "Requested times", "Outcomes", "GPUs", "time zone"):
        assert what in unknown
    # All waits being 0 means the same.
    (tmp_path / "zero").mkdir()
    zero = of(tmp_path / "zero", swf_of([(n, 600 * n, 0, 300, 4) for n in range(1, 50)]))
    assert zero.wait is None


def test_without_a_size_the_most_in_use_is_an_upper_bound(tmp_path: Path) -> None:
    jobs = [(n, 1800 * n, 900 * (n % 2), 1800, 6) for n in range(1, 200)]
    found = of(tmp_path, swf_of(jobs))
    assert found.capacity.source == "most in use"
    assert found.capacity.processors == 12
    assert (found.utilisation.low, found.utilisation.value) == (
        0.0, pytest.approx(0.5, abs=0.005),
    )  # fmt: skip
    assert answer(found).verdict.startswith("At most 50.")
    stated = of(tmp_path, swf_of(jobs), processors=24)
    assert stated.utilisation.low == pytest.approx(0.25, abs=0.005)
    assert answer(stated).confidence == "high"


def test_more_use_than_the_machine_has_is_no_utilisation(tmp_path: Path) -> None:
    """As in a workload model, whose jobs all start when they are submitted."""
    jobs = [(n, 100 * n, -1, 1000, 6) for n in range(1, 300)]
    found = of(tmp_path, swf_of(jobs, processors=8))
    assert found.utilisation.value is None
    assert found.utilisation.load == pytest.approx(6 * 1000 / 100 / 8, rel=0.05)
    assert answer(found).status == "unmeasured"
    assert answer(found).verdict.startswith("The log can't say how busy the machine was")
    assert all(day.utilisation is None for day in found.days)
    assert all(part.utilisation is None for part in found.queues)
    assert found.hours == []


def test_jobs_that_cannot_be_counted_are_named(tmp_path: Path) -> None:
    jobs = [(1, 0, 10, 600, 4), (2, 0, 10, 600, 99), (3, 0, 10, -1, 4), (4, 5000, 10, 600, 4)]
    text = swf_of(jobs, processors=8) + "5 600 9 600 -1 -1 -1 -1 60 -1 1 1 1 -1 1 -1 -1 -1\n"
    found = of(tmp_path, text)
    assert {each.kind: each.places for each in found.problems} == {
        "no size": ["line 8"],
        "no end": ["line 6"],
        "too large": ["line 5"],
    }
    assert sum(part.use for part in found.sizes) == 2 * 4 * 600
    rows = SLURM.splitlines()
    (tmp_path / "slurm").mkdir()
    endless = rows[1].replace("2024-07-01T02:10:00", "Unknown")
    found = of(tmp_path / "slurm", "\n".join([rows[0], endless, rows[4]]))
    assert {each.kind: each.places for each in found.problems} == {"no end": ["line 2"]}
    assert sum(part.use for part in found.sizes) == 3600


def test_limits_failures_arrays_gpus_and_parts_of_nodes(tmp_path: Path) -> None:
    found = of(tmp_path, PBS)
    limits = found.limits
    assert (limits.killed, limits.reached, limits.lost) == (True, 1, 4 * 1800)
    # 8 processors for 1 h, 4 for half an hour, 2 for an hour; the last job has just begun.
    whole = 8 * 3600 + 4 * 1800 + 2 * 3600
    assert limits.lost_share == pytest.approx(4 * 1800 / whole)
    assert {part.name: part.jobs for part in found.states} == {
        "completed": 1, "timed out": 1, "cancelled": 1, "preempted": 1, "running": 1,
    }  # fmt: skip
    assert found.arrays is not None
    assert (found.arrays.arrays, found.arrays.jobs) == (1, 1)
    assert found.gpus is not None
    assert (found.gpus.most_in_use, found.gpus.jobs, found.gpus.use) == (2, 1, 2 * 3600)
    assert found.nodes is not None
    # Nodes have 4 processors, by the greatest number per node; job 12 uses 2 of one.
    assert (found.nodes.per_node, found.nodes.jobs) == (4, 2)
    assert limits.memory is not None
    assert quantile(limits.memory, 0.5) == pytest.approx(1 / 16)


@pytest.mark.parametrize("text", [SWF, SLURM, PBS, LSF, FLUX])
def test_names_are_replaced_unless_asked_for(tmp_path: Path, text: str) -> None:
    import msgspec

    hidden = msgspec.json.encode(of(tmp_path, text, user=None)).decode()
    for name in ("ann", "bob", "phys", "chem", "batch", "normal", "work", "log0"):
        assert f'"{name}' not in hidden
    shown = of(tmp_path, text, identify=True)
    if text is not SWF:
        assert any(part.name in ("ann", "bob") for part in shown.users)
    for each in shown.problems:
        assert each.places[0].startswith("log0:")
