"""Absurd specifications and catalogues: one sentence each with file, line and reason; mutations."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.design.candidates import Builder
from assay.design.search import search
from assay.design.spec.reading import spec_of
from assay.errors import AssayError
from assay.subjects.design.findings import find
from assay.toml import parse_toml
from design_specs import BOTH, FULL, PARTS, SPEC

# Change of the specification: old text, new text, part of the sentence, the line's beginning.
SPECS = [
    ('objective = "rate per cost"', 'objective = "speed"', "'objective' can't be", "objective"),
    ("date = 2026-11-28", 'date = "soon"', "'date' is not a day", "date"),
    ("date = 2026-11-28", "date = 20261128", "'date' is not a day", "date"),
    ("total_cost = 200000", "total_cost = 0", "'total_cost' can't be 0", "total_cost"),
    ("budget = 90000", "budget = 1e400", "'inf' is not a quantity", "budget"),
    ("budget = 90000", "budget = nan", "'nan' is not a quantity", "budget"),
    ("budget = 90000", "budget = 5", "'budget' excludes", "budget"),
    ("nodes = [1, 12]", "nodes = [0, 12]", "Nodes can't be from 0", "nodes"),
    ('capacity = "5 TB"', "capacity = 5", "'capacity' has no unit", "capacity"),
    ('capacity = "5 TB"', 'capacity = "-5 TB"', "'capacity' can't be -5 TB", "capacity"),
    ('bandwidth = "100 MB/s"', 'bandwidth = "100 MB"', "in MB, but", "bandwidth"),
    ('bandwidth = "100 MB/s"', 'bandwidth = "9 TB/s"', "'budget' excludes", "budget"),
    ("inodes = 1000", "inodes = 0", "'inodes' can't be 0", "inodes"),
    ('scratch = "1 TB"', 'scratch = "9 PB"', "'scratch' excludes", "scratch"),
    (
        'scratch_bandwidth = "100 MB/s"',
        'scratch_bandwidth = "1 PB/s"',
        "'scratch_bandwidth' excludes",
        "scratch_bandwidth",
    ),
    (
        'accelerators = ["device"]',
        'accelerators = ["divice"]',
        "No catalogue has 'divice'",
        "accelerators",
    ),
    (
        'spare_accelerators = "10%"',
        'spare_accelerators = "-1%"',
        "can't be -1%",
        "spare_accelerators",
    ),
    ('spare_accelerators = "10%"', 'unbalanced = "yes"', "must be true or false", "unbalanced"),
    ("years = 5", "years = 0", "'years' can't be 0", "years"),
    ("years = 5", "years = 500", "'years' can't be 500", "years"),
    ("years = 5", "", "[costs] has no 'years'", "[costs]"),
    ("energy = 0.2", 'energy = "0.2 EUR"', "'energy' can't be '0.2 EUR'", "energy"),
    ("energy = 0.2", "energy = -0.2", "'energy' can't be -0.2", "energy"),
    ("pue = 1.4", "pue = 0.7", "'pue' can't be 0.7", "pue"),
    ("pue = 1.4", "pue = 40", "'pue' can't be 40", "pue"),
    ('load = "70%"', 'load = "170%"', "'load' can't be 170%", "load"),
    ('load = "70%"', "", "needs either a load or the accounts", "[costs]"),
    ('load = "70%"', 'load = "70%"\naccounts = "log"', "needs either a load", "accounts"),
    ('load = "70%"', 'accounts = "nowhere"', "can't be read", "accounts"),
    ('idle = "40%"', 'idle = "140%"', "'idle' can't be 140%", "idle"),
    ('maintenance = "5%"', 'maintenance = "500%"', "'maintenance' can't be 500%", "maintenance"),
    ("staff = 500", 'staff = "many"', "'staff' can't be 'many'", "staff"),
    ('discount = "3%"', 'discount = "-3%"', "'discount' can't be -3%", "discount"),
    ("after = 1", "after = 5", "The second lot can't come after 5 of 5 years", "after"),
    ("after = 1", "after = -1", "The second lot can't come after -1", "after"),
    ('prices = "-10%"', 'prices = "-100%"', "'prices' can't be -100%", "prices"),
    ('rates = "+10%"', 'rates = "fast"', "is not a quantity", "rates"),
    ('node = "large"', 'node = "larch"', "No catalogue has 'larch'", "node"),
    ("ranks = 32", "ranks = 0", "'ranks' can't be 0", "ranks"),
]
# The same of the catalogue.
CATALOGUES = [
    ("slots = 4", "slots = 0", "'slots' can't be 0", "slots"),
    ('dgemm = "900 Gflop/s"', 'dgemm = "9 Tflop/s"', "'device' is 9 times its peak", "dgemm"),
    ('link = "60 MB/s"', 'link = "60 us"', "in us, but a quantity in B/s", "link"),
    ('link = "60 MB/s"', "", "The accelerator 'device' has no 'link'", "[[accelerator]]"),
    ("inodes = 1_000_000", 'inodes = "many"', "'inodes' can't be 'many'", "inodes"),
    ("inodes = 1_000_000", "inodes = -1", "'inodes' can't be -1", "inodes"),
    ("units = 4\n\n[[cloud]]", "units = 44\n\n[[cloud]]", "is 44 units high", "price"),
    ("hour = 0.5", "hour = 0", "'hour' can't be 0", "hour"),
    ('node = "large"\nnetwork', 'node = "lagre"\nnetwork', "names the node 'lagre'", "hour"),
    ('network = "ethernet"', 'network = "internet"', "names the interconnect 'internet'", "hour"),
    ("most = 30", "most = 0", "'most' can't be 0", "most"),
    ("server = 3000", 'server = 3000\nair = "-1 kW"', "'air' can't be -1 kW", "air"),
    ("server = 3000", 'server = 3000\nair = "1 W"\nliquid = "1 W"', "excludes", None),
    ("slots = 4", 'slots = 4\ncooling = "water"', "can't be 'water'", "cooling"),
    ('currency = "USD"', 'currency = "USD"\nexpires = "never"', "is not a day", "expires"),
    ('currency = "USD"', 'currency = "USD"\nexpires = 2020-01-01', "expired on", "expires"),
    ('nodes = ["host"]', 'nodes = ["hots"]', "names the node 'hots'", "price"),
]


def refused(folder: Path, spec: str, parts: str) -> AssayError:
    """The error that reading and searching raises."""
    (folder / "parts.toml").write_text(parts, encoding="utf-8")
    (folder / "cluster.toml").write_text(spec, encoding="utf-8")
    with pytest.raises(AssayError) as raised:
        wanted = spec_of(parse_toml(spec, folder / "cluster.toml"))
        search(wanted, Builder(wanted))
    return raised.value


def check(error: AssayError, text: str, begins: str | None, content: str) -> None:
    assert text in error.what
    assert error.what.count(". ") == 0
    assert error.fix or "must be" in error.what
    if begins is not None:
        line = int(error.where.rpartition(":")[2])
        assert content.splitlines()[line - 1].strip().startswith(begins)


@pytest.mark.parametrize(("old", "new", "text", "begins"), SPECS)
def test_an_absurd_specification_is_one_sentence(tmp_path, old, new, text, begins):
    assert old in FULL
    spec = FULL.replace(old, new, 1)
    error = refused(tmp_path, spec, BOTH)
    check(error, text, begins, spec)


@pytest.mark.parametrize(("old", "new", "text", "begins"), CATALOGUES)
def test_an_absurd_catalogue_is_one_sentence(tmp_path, old, new, text, begins):
    assert old in BOTH
    parts = BOTH.replace(old, new, 1)
    error = refused(tmp_path, FULL, parts)
    check(error, text, begins, parts if begins else FULL)


def test_what_the_absurd_ones_are_made_of_can_be_designed(tmp_path):
    (tmp_path / "parts.toml").write_text(BOTH, encoding="utf-8")
    found = find(spec_of(parse_toml(FULL, tmp_path / "cluster.toml")))
    assert found.lots
    assert found.rented
    assert found.needs


def damaged(text: str, generator: random.Random) -> str:
    """One to four changes: characters, lines, numbers."""
    for _ in range(generator.randint(1, 4)):
        lines = text.splitlines()
        at = generator.randrange(max(len(lines), 1))
        kind = generator.randrange(6)
        if kind == 0 and lines:
            del lines[at]
        elif kind == 1 and lines:
            lines.insert(generator.randrange(len(lines)), lines[at])
        elif kind == 2 and lines:
            lines[at] = lines[at].replace("1", generator.choice(["-1", "1e400", "nan", "", "x"]))
        elif kind == 3:
            place = generator.randrange(len(text) + 1)
            text = text[:place] + generator.choice('"[]{}=\n#.,-0é\x00') + text[place:]
            continue
        elif kind == 4 and lines:
            lines[at] = lines[at][: generator.randrange(len(lines[at]) + 1)]
        elif lines:
            lines[at] = lines[at].replace('"', "", 1)
        text = "\n".join(lines) + "\n"
    return text


def try_damaged(folder: Path, seed: int, number: int) -> int:
    """How many of ``number`` damaged pairs of files could still be used; none raises anything but
    AssayError, and none is used without numbers that make sense.
    """
    generator = random.Random(seed)
    usable = 0
    for _ in range(number):
        which = generator.randrange(2)
        spec, parts = (SPEC, PARTS) if generator.randrange(2) else (FULL, BOTH)
        spec = damaged(spec, generator) if which else spec
        parts = parts if which else damaged(parts, generator)
        (folder / "parts.toml").write_text(parts, encoding="utf-8")
        try:
            document = parse_toml(spec, folder / "cluster.toml")
            wanted = spec_of(document)
            if wanted.limits.most > 300:
                continue
            found = search(wanted, Builder(wanted))
            if usable % 25 == 0:
                best = find(replace(wanted, draws=100)).best[0]
                assert 0.0 < best.price <= wanted.limits.budget
                assert best.total is None or best.total >= best.price
        except AssayError as error:
            assert error.what.endswith((".", "?", "…")), error.what
            assert "\n" not in error.what
            assert error.where.startswith(str(folder)) or "[room]" in error.what, error.what
        else:
            usable += 1
            assert np.all(found.score > 0)
            assert np.all(np.isfinite(found.price))
    return usable


def test_damaged_files_are_sentences_or_used(tmp_path):
    assert try_damaged(tmp_path, 1, 120) > 5


@pytest.mark.long
def test_many_damaged_files(tmp_path):
    assert try_damaged(tmp_path, 2, 8_000) > 400
