"""Places among one's own kind: by brute force over the table, and as a paper states them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.reference import top500_kinds
from assay.reference.top500 import top_lists
from assay.reference.top500_kinds import (
    NETWORKS,
    PROCESSORS,
    SELF_MADE,
    network_kind,
    place_among,
    processor_kind,
)

GIGA = 1e9
KINDS = (*PROCESSORS, *NETWORKS, SELF_MADE)
LISTS = {found.date: found for found in top_lists()}
JUNE = LISTS["2002-06"]
AMD, SCI = PROCESSORS[0], network_kind("WulfKit3 SCI")
PLACE = {"processor": 1, "interconnect": 2, "self-made": 3}
TABLE = Path(top500_kinds.__file__).with_name("top500_kinds.txt.gz")


def lines() -> dict[str, list[str]]:
    text = gzip.decompress(TABLE.read_bytes()).decode()
    words = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {f"{one[0][:4]}-{one[0][4:]}": one for one in words}


TEXTS = lines()


def test_every_entry_of_every_list_has_a_letter_of_its_kind() -> None:
    assert TEXTS.keys() == LISTS.keys()
    for name, column in PLACE.items():
        known = {kind.letter for kind in KINDS if kind.aspect == name} | {"?", "."}
        for words in TEXTS.values():
            assert len(words[column]) == 500 and set(words[column]) <= known
    assert len({(kind.aspect, kind.letter) for kind in KINDS}) == len(KINDS)
    assert TABLE.stat().st_size < 30_000


@settings(max_examples=100)
@given(
    st.sampled_from(sorted(LISTS)),
    st.sampled_from(KINDS),
    st.floats(-1.0, 9.0).map(lambda power: GIGA * 10**power),
)
def test_a_place_is_one_more_than_the_faster_ones_of_the_kind(date, kind, rate) -> None:
    found = place_among(LISTS[date], kind, rate)
    letters = TEXTS[date][PLACE[kind.aspect]]
    entries = list(zip(LISTS[date].rmax, letters, strict=True))
    assert found.rank == 1 + sum(letter == kind.letter for rmax, letter in entries if rmax > rate)
    assert found.of == letters.count(kind.letter)
    assert found.unknown == sum(letter == "?" for rmax, letter in entries if rmax > rate)


def test_seth_s_place_among_its_own_kind_as_the_paper_states_it() -> None:
    """Edmundsson et al. (2004), 5.4: third of seven AMD-based clusters; 14 self-made, three SCI.

    Its own entry, 481.0 Gflop/s, is left out, since 480.7 would be one place behind it.
    """
    alone = place_among(JUNE, AMD, 480.7 * GIGA)
    found = place_among(JUNE, AMD, 480.7 * GIGA, own=481.0 * GIGA)
    assert (found.rank, alone.rank) == (3, 4)
    assert found.of == alone.of - 1
    # As far as the kinds are known: none is counted that the paper does not.
    assert found.of + 1 <= 7
    assert place_among(JUNE, SELF_MADE, 480.7 * GIGA).of <= 14
    assert SCI is not None and place_among(JUNE, SCI, 480.7 * GIGA, own=481.0 * GIGA).rank == 1
    assert place_among(JUNE, SCI, 480.7 * GIGA).of <= 3
    with pytest.raises(ValueError, match="no such entry on the list of June 2002"):
        place_among(JUNE, AMD, 480.7 * GIGA, own=480.7 * GIGA)


@pytest.mark.parametrize(
    ("names", "processor", "network"),
    [
        ("AMD 1.66 GHz - SCI 3D-torus", "AMD", "SCI"),
        ("Cray XT4 QuadCore 2.3 GHz", "AMD", None),
        ("Pentium Xeon Cluster 2.2 GHz - Myrinet", "Intel x86", "Myrinet"),
        ("Xeon E5-2670 8C 2.6GHz Infiniband FDR", "Intel x86", "InfiniBand"),
        ("BlueGene/L", "POWER", None),
        ("AlphaServer SC45, 1 GHz, Quadrics", "Alpha", "Quadrics"),
        ("eserver, Xeon 2.8 GHz, GigEth", "Intel x86", "Gigabit Ethernet"),
        ("EPYC 7742 64C 2.25GHz, 100Gigabit Ethernet", "AMD", "Ethernet of 10 Gbit/s and more"),
        ("SX-6/128M16", "vector", None),
        ("something else", None, None),
    ],
)
def test_kinds_by_names(names: str, processor: str | None, network: str | None) -> None:
    found, connected = processor_kind(names), network_kind(names)
    assert (found and found.name) == processor
    assert (connected and connected.name) == network
