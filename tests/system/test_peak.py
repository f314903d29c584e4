"""Peaks against published ones, and the ladder of clocks."""

from __future__ import annotations

import msgspec
import pytest

from assay.reference.microarchitectures import identify, microarchitectures
from assay.system.detect import detect
from assay.system.model import Frequency, Processor, System
from assay.system.peak import flops_per_cycle, peak_flops
from system_trees import unpack


def system_of(vendor, family, model, name="", *, bits=512, fma=True, base=None, **frequency):
    processor = Processor(
        vendor=vendor,
        family=family,
        model=model,
        name=name,
        vector_bits=bits,
        fma=fma,
        frequency=Frequency(base=base, **frequency),
    )
    return System(processor=processor)


# Rpeak as the TOP500 lists have it: list and rank, cores, nominal clock (Hz), Rpeak (Gflop/s).
PUBLISHED = [
    ("202011 #1 Fugaku", ("Fujitsu", None, 0x001), 7630848, 2.2e9, 537212000.0),
    ("201906 #5 Frontera, Platinum 8280", ("GenuineIntel", 6, 85), 448448, 2.7e9, 38745907.0),
    ("201511 #8 Hazel Hen, E5-2680v3", ("GenuineIntel", 6, 63), 185088, 2.5e9, 7403520.0),
    ("201206 #4 SuperMUC, E5-2680", ("GenuineIntel", 6, 45), 147456, 2.7e9, 3185050.0),
    ("201406 #10, E5-2697v2", ("GenuineIntel", 6, 62), 225984, 2.7e9, 4881254.4),
    ("201806 #28, Gold 6148", ("GenuineIntel", 6, 85), 127520, 2.4e9, 9793536.0),
    ("202106 #79, Platinum 8360Y", ("GenuineIntel", 6, 106), 114624, 2.4e9, 8803120.0),
    ("202011 #16, EPYC 7742", ("AuthenticAMD", 23, 0x31), 698880, 2.25e9, 25159680.0),
    ("202106 #157, EPYC 7763", ("AuthenticAMD", 25, 1), 92160, 2.45e9, 3612670.0),
    ("201611 #5 Cori, Xeon Phi 7250", ("GenuineIntel", 6, 87), 622336, 1.4e9, 27880653.0),
    ("201906 #156 Astra, ThunderX2", ("Cavium", None, 0x0AF), 138096, 2e9, 2209536.0),
    ("201111 #3 Jaguar, Opteron", ("AuthenticAMD", 16, 8), 224162, 2.6e9, 2331000.0),
    ("201111 #66, X5670", ("GenuineIntel", 6, 44), 16320, 2.93e9, 191270.4),
    ("201111 #107, X5450", ("GenuineIntel", 6, 23), 11680, 3e9, 140160.0),
]


@pytest.mark.parametrize(
    ("processor", "cores", "clock", "gflops"),
    [row[1:] for row in PUBLISHED],
    ids=[row[0] for row in PUBLISHED],
)
def test_published_peaks(processor, cores, clock, gflops):
    peak = peak_flops(system_of(*processor, base=clock), cores)
    # The lists round Rpeak to a few digits, in Jaguar's case to four.
    assert peak.value == pytest.approx(gflops * 1e9, rel=2e-4)
    assert (peak.clock_source, peak.assumed) == ("base", False)


def test_bulldozer_counts_modules():
    """TOP500 201111 #20 (Opteron 6276, 77,824 integer cores): the kernel's cores are modules."""
    peak = peak_flops(system_of("AuthenticAMD", 21, 1, bits=256, base=2.3e9), 77824 // 2)
    assert peak.value == pytest.approx(715981e9, rel=1e-4)


def test_papers_old_processors():
    flops = {
        "Athlon MP": flops_per_cycle(system_of("AuthenticAMD", 6, 6, bits=None).processor),
        "Pentium 4": flops_per_cycle(system_of("GenuineIntel", 15, 2, bits=128).processor),
        "Opteron": flops_per_cycle(system_of("AuthenticAMD", 15, 5, bits=128).processor),
    }
    assert {name: found[0] for name, found in flops.items()} == dict.fromkeys(flops, 2)


@pytest.mark.parametrize(
    ("name", "flops"),
    [
        ("Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz", 16),
        ("Intel(R) Xeon(R) Bronze 3104 CPU @ 1.70GHz", 16),
        ("Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz", 16),
        ("Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", 32),
        ("Intel(R) Xeon(R) Gold 5222 CPU @ 3.80GHz", 32),
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 32),
        ("Intel Xeon Processor (Cascadelake)", 32),
    ],
)
def test_skylake_servers_differ_by_name(name, flops):
    assert flops_per_cycle(system_of("GenuineIntel", 6, 85, name).processor)[0] == flops


@pytest.mark.parametrize(
    ("model", "flops", "name"),
    [
        (0x02, 32, "Zen 5 (server)"),
        (0x11, 32, "Zen 5 (server)"),
        (0x24, 16, "Zen 5 (mobile)"),
        (0x44, 32, "Zen 5"),
        (0x60, 16, "Zen 5 (mobile)"),
        (0x70, 32, "Zen 5"),
    ],
)
def test_zen_5_differs_by_model(model, flops, name):
    processor = system_of("AuthenticAMD", 26, model).processor
    assert flops_per_cycle(processor)[0] == flops
    assert identify("AuthenticAMD", 26, model, None).name == name


def test_hidden_features_are_not_counted():
    full = system_of("GenuineIntel", 6, 143)
    assert flops_per_cycle(full.processor)[0] == 32
    narrow = msgspec.structs.replace(full.processor, vector_bits=256)
    flops, basis, assumed = flops_per_cycle(narrow)
    assert (flops, assumed) == (16, False)
    assert "256-bit vectors here" in basis
    plain = msgspec.structs.replace(full.processor, vector_bits=128, fma=False)
    assert flops_per_cycle(plain)[0] == 4


def test_512_bit_instructions_through_256_bit_pipes():
    assert flops_per_cycle(system_of("AuthenticAMD", 25, 0x11, bits=512).processor)[0] == 16


@pytest.mark.parametrize(
    ("bits", "fma", "flops"), [(512, True, 32), (256, False, 8), (128, True, 8)]
)
def test_unknown_processors_are_guessed_and_marked(bits, fma, flops):
    peak = peak_flops(system_of("Nobody", 99, 1, bits=bits, fma=fma, base=1e9), 1)
    assert (peak.flops_per_cycle, peak.assumed) == (flops, True)
    assert "assumed" in peak.explanation


def test_nothing_known_gives_nothing():
    assert peak_flops(system_of("Nobody", 99, 1, bits=None, base=1e9), 1) is None
    assert peak_flops(system_of("GenuineIntel", 6, 143), 1) is None  # no clock
    with pytest.raises(ValueError, match="positive"):
        peak_flops(System(), 0)


@pytest.mark.parametrize(
    ("measured", "frequency", "clock", "source", "assumed"),
    [
        (3.1e9, {"maximum": 4e9, "base": 2e9}, 3.1e9, "measured", False),
        (None, {"maximum": 4e9, "base": 2e9}, 4e9, "cpufreq maximum", False),
        (None, {"maximum": 4e9, "limit": 3e9, "base": 2e9}, 3e9, "cpufreq maximum", False),
        (None, {"maximum": 4e9, "base": 2e9, "turbo": False}, 2e9, "base", False),
        (None, {"maximum": 4e9, "turbo": False}, 4e9, "cpufreq maximum", False),
        # This driver's maximum leaves turbo out.
        (None, {"maximum": 2e9, "driver": "acpi-cpufreq"}, 2e9, "cpufreq maximum", True),
        (None, {"base": 2e9, "current": 2.6e9}, 2e9, "base", False),
        (None, {"current": 2.6e9}, 2.6e9, "/proc/cpuinfo", True),
        (0.0, {"current": 2.6e9}, 2.6e9, "/proc/cpuinfo", True),
    ],
)
def test_the_ladder_of_clocks(measured, frequency, clock, source, assumed):
    system = system_of("GenuineIntel", 6, 143, **frequency)
    peak = peak_flops(system, 2, measured)
    assert (peak.clock_hz, peak.clock_source, peak.assumed) == (clock, source, assumed)
    assert peak.value == 2 * 32 * clock


def test_hybrid_processors_are_marked():
    processor = msgspec.structs.replace(
        system_of("GenuineIntel", 6, 151, base=3e9).processor, hybrid=True
    )
    assert peak_flops(System(processor=processor), 4).assumed


def test_explanation_can_be_checked_by_hand(tmp_path):
    peak = peak_flops(detect(unpack("xeon", tmp_path)), 4, 2.9e9)
    assert peak.explanation == (
        "4 cores × 32 flops per cycle (Skylake/Cascade Lake (server): 2 512-bit FMA pipes) × "
        "2.90 GHz (measured while it ran) = 371 Gflop/s"
    )
    assert peak.value == pytest.approx(371.2e9)


def test_every_entry_has_its_source_and_is_reachable():
    names = ("Intel Xeon Silver 4110", "POWER8 (raw), altivec supported", "POWER9, altivec")
    table = microarchitectures()
    assert len(table) > 40
    for entry in table:
        assert len(entry.source) > 20, entry.name
        assert entry.pipe_bits in (64, 128, 256, 512)
        assert all(first <= last for first, last in entry.models)
        model = entry.models[-1][-1] if entry.models else None
        found = {identify(entry.vendor, entry.family, model, name) for name in ("", *names)}
        assert entry in found, entry.name


def test_no_model_number_is_claimed_twice():
    """Except entries that are distinguished by name, which come first."""
    claimed = {}
    for entry in microarchitectures():
        if entry.name_matches:
            continue
        for first, last in entry.models or ((0, 0),):
            for model in range(first, last + 1):
                key = (entry.vendor, entry.family, model)
                assert key not in claimed, (entry.name, claimed.get(key))
                claimed[key] = entry.name
