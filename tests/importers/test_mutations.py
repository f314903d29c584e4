"""Damaged outputs: no importer fails, and none invents a number.

Outputs are cut, bytes flipped, lines lost, doubled and swapped, and two outputs spliced. Every
value that is then read occurs in its line (``importing_probe.Probe.check``).
"""

from __future__ import annotations

import os
import random
import zlib
from pathlib import Path

import pytest

from assay import importers
from importing_probe import OUTPUTS, probe

MODULES = [name.rpartition(".")[2] for name in importers.NAMES]
TEXTS = {path.name: path.read_bytes() for path in sorted(OUTPUTS.iterdir())}
# Mutations of each importer's outputs: in make test, and in make test-long; 20,000 take 7 to 20 s.
FEW, MANY = 200, int(os.environ.get("ASSAY_TEST_MUTATIONS", "500"))
SEED = os.environ.get("ASSAY_TEST_SEED", "")


def outputs_of(module: str) -> list[bytes]:
    """The recorded outputs of an importer: files are named after its module."""
    return [text for name, text in TEXTS.items() if name.split(".")[0].split("-")[0] == module]


def mutated(text: bytes, random_: random.Random) -> bytes:
    """The text with one to four kinds of damage."""
    for _ in range(random_.randint(1, 4)):
        kind = random_.randrange(8)
        if kind == 0:
            text = text[: random_.randrange(len(text) + 1)]
        elif kind == 1:
            text = _flipped(text, random_)
        elif kind == 2:
            other = random_.choice(list(TEXTS.values()))
            text = text[: random_.randrange(len(text) + 1)] + other[random_.randrange(len(other)) :]
        elif kind == 3:
            place = random_.randrange(len(text) + 1)
            text = text[:place] + random_.randbytes(random_.randint(1, 8)) + text[place:]
        else:
            text = _lines_changed(text, random_, kind)
    return text


def _flipped(text: bytes, random_: random.Random) -> bytes:
    changed = bytearray(text)
    for _ in range(random_.randint(1, 20) if changed else 0):
        changed[random_.randrange(len(changed))] ^= 1 << random_.randrange(8)
    return bytes(changed)


def _lines_changed(text: bytes, random_: random.Random, kind: int) -> bytes:
    lines = text.splitlines(keepends=True)
    for _ in range(random_.randint(1, 5) if lines else 0):
        place = random_.randrange(len(lines))
        if kind == 4:
            lines.insert(random_.randrange(len(lines)), lines[place])
        elif kind == 5 and len(lines) > 1:
            del lines[place]
        elif kind == 6:
            other = random_.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        elif lines[place]:
            # A field of one line is lost, or replaced by another line's.
            fields = lines[place].split(b" ")
            fields[random_.randrange(len(fields))] = random_.choice(
                [b"", b"nan", b"-", b"****", b"1e999", b"9" * 40, b"inf", b"0x10", "٣".encode()]
            )
            lines[place] = b" ".join(fields)
    return b"".join(lines)


def _try(module: str, count: int, folder: Path) -> None:
    random_ = random.Random(zlib.crc32((module + SEED).encode()))
    texts = outputs_of(module)
    for number in range(count):
        text = mutated(random_.choice(texts), random_)
        try:
            probe(text, folder / "output")
        except Exception as error:  # what is to be kept is the text
            kept = folder / f"failed-{number}"
            kept.write_bytes(text)
            raise AssertionError(f"{kept}: {error!r}") from error


@pytest.mark.parametrize("module", MODULES)
def test_every_importer_has_an_output(module: str) -> None:
    assert outputs_of(module)


def test_every_output_has_an_importer() -> None:
    assert {name.split(".")[0].split("-")[0] for name in TEXTS} == set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_a_damaged_output_invents_no_number(module: str, tmp_path: Path) -> None:
    _try(module, FEW, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("module", MODULES)
def test_many_damaged_outputs_invent_no_number(module: str, tmp_path: Path) -> None:
    _try(module, MANY, tmp_path)
