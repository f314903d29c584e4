"""What a log doesn't state and its numbers show: epochs, units, sites, fields of a site's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.subjects.usage.answer import answer
from assay.subjects.usage.findings import find
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.words import verdict_of
from assay.usage.analysis.query import UsageQuery
from usage_logs import MONDAY, SAMPLES, WITHOUT_JOBS, read_text, swf_of

# Jobs of an hour on 1 to 4 processors, one after the other, half of them after a wait.
JOBS = [(n, 3600 * n, 60 * (n % 2), 3600, 1 + n % 4) for n in range(1, 200)]
HEADLESS = "".join(swf_of(JOBS).splitlines(keepends=True)[2:])


def usage(folder: Path, text: str, **query: int) -> UsageFindings:
    return find(read_text(folder, text), UsageQuery(**query))


def changed(text: str, **fields: str) -> str:
    """A log with other texts in fields, which are named by their number: ``f16="7"``."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        words = line.split()
        if not line.startswith(";"):
            for name, value in fields.items():
                words[int(name[1:]) - 1] = value.format(n=number)
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("more", ["7 8 9", "7 n[1-4] a_text"])
@pytest.mark.parametrize("head", ["", "; UnixStartTime: 0\n"])
def test_fields_of_a_sites_own_are_named_and_not_read(tmp_path: Path, more: str, head: str) -> None:
    """In blocks of plain numbers, and line by line."""
    plain = usage(tmp_path, head + HEADLESS)
    longer = usage(tmp_path, head + "".join(f"{line} {more}\n" for line in HEADLESS.splitlines()))
    assert longer.jobs == len(JOBS) and longer.problems == []
    assert longer.utilisation == plain.utilisation and longer.users == plain.users
    (sentence,) = set(longer.unknown) - set(plain.unknown)
    assert "field 19, field 20 and field 21" in sentence
    names = "; job submit wait run size cpu mem s t m x u g e q p b k energy site tag\n"
    named = usage(
        tmp_path, head + names + "".join(f"{line} {more}\n" for line in HEADLESS.splitlines())
    )
    assert any("energy, site and tag were not read" in each for each in named.unknown)


def test_a_line_of_another_width_is_malformed(tmp_path: Path) -> None:
    lines = [f"{line} 7\n" for line in HEADLESS.splitlines()]
    lines[5] = lines[5].replace(" 7\n", "\n")  # has the format's fields
    lines[7] = lines[7].replace(" 7\n", " 7 7\n")
    lines[9] = lines[9].replace(" -1 7\n", "\n")
    found = usage(tmp_path, "".join(lines))
    assert found.jobs == len(JOBS) - 2
    assert [(each.kind, each.count) for each in found.problems] == [("malformed", 2)]


@pytest.mark.parametrize("words", ["", " 1 2 3"])
def test_unix_times_without_a_begin_are_dates(tmp_path: Path, words: str) -> None:
    text = "".join(
        " ".join([job, str(MONDAY + int(submit)), *rest]) + words + "\n"
        for job, submit, *rest in map(str.split, HEADLESS.splitlines())
    )
    found = usage(tmp_path, text)
    dated = usage(tmp_path, swf_of(JOBS))
    assert found.period.calendar and found.period.first == dated.period.first
    assert "2024-07-0" in verdict_of(found) and found.hours == dated.hours != []
    assert any("seconds since 1970" in each for each in answer(found).caveats)
    # Times that count from an unknown day still do.
    from_zero = usage(tmp_path, HEADLESS)
    assert not from_zero.period.calendar and "from day 0.1 to" in verdict_of(from_zero)
    assert answer(from_zero).caveats == answer(dated).caveats


def test_the_log_of_a_grids_broker_has_no_known_capacity(tmp_path: Path) -> None:
    header = "; MaxProcs: 24515\n"
    text = "".join(
        " ".join([*line.split()[:15], str(1 + number % 170), "-1", "-1"]) + "\n"
        for number, line in enumerate(HEADLESS.splitlines())
    )
    found = usage(tmp_path, header + text)
    reply = answer(found)
    assert found.utilisation.value is None and reply.confidence is None
    assert "its jobs ran at 170 sites or partitions" in reply.verdict
    assert all(part.utilisation is None for part in found.users)
    # If the user states the size, it is a lower bound.
    stated = usage(tmp_path, header + text, processors=24515)
    assert stated.utilisation.value is not None and stated.utilisation.high == 1.0
    assert answer(stated).confidence == "low"
    assert "170 sites" in answer(stated).confidence_why
    # Serial jobs in as many queues are such a log, too; jobs of several processors aren't.
    for size, known in (("1", False), ("2", True)):
        queues = changed(HEADLESS, f5=size, f8=size, f15="{n}")
        assert (usage(tmp_path, header + queues).utilisation.value is not None) == known
    few = "".join(
        " ".join([*line.split()[:15], str(1 + number % 10), "-1", "-1"]) + "\n"
        for number, line in enumerate(HEADLESS.splitlines())
    )
    assert usage(tmp_path, header + few).utilisation.value is not None


@pytest.mark.parametrize(
    ("used", "asked", "said"),
    [
        # Bytes where KiB are defined: requests of 4 TiB.
        ("1024", "4294967296", "per processor, more than any machine has"),
        # A use of one page, and 0.0000238% of the request.
        ("1", "4194304", "the median use would be 1.02 kB per processor"),
        ("2048", "8", "would use 25600% of its request"),
    ],
)
def test_implausible_units_of_memory(tmp_path: Path, used: str, asked: str, said: str) -> None:
    found = usage(tmp_path, changed(HEADLESS, f7=used, f10=asked))
    assert found.limits.memory is None
    reply = answer(found)
    assert not any("memory" in each for each in (*reply.advice, *(e.label for e in reply.evidence)))
    (caveat,) = [each for each in reply.caveats if each.startswith("Memory")]
    assert said in caveat and "KiB per processor" in caveat


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - WITHOUT_JOBS))
def test_plausible_units_are_not_doubted(tmp_path: Path, name: str) -> None:
    doubted = usage(tmp_path, SAMPLES[name]).limits.memory_doubt
    # The sample of JSON has 5 bytes.
    assert bool(doubted) == (name == "slurm_json")


def test_memory_of_sleeping_jobs_is_plausible(tmp_path: Path) -> None:
    found = usage(tmp_path, changed(HEADLESS, f7="600", f10=str(16 * 2**20)))
    assert found.limits.memory is not None
    assert found.limits.memory.mean == pytest.approx(600 / 2**24)
    assert np.isfinite(found.limits.memory.quantiles).all()
