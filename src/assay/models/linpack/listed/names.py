"""Facts in the names of a listed system: families of processor and interconnect, clock, words.

The first pattern that matches determines the family. Patterns are tried in order, newer and more
specific ones first. A family only groups systems; its effect is fitted.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace

# Family, pattern, latency in s and rate in B/s per node. Latency and rate are assumed, typical MPI
# figures of the network: they set the order of magnitude of communication, and fitted effects
# correct them.
_NETWORKS: tuple[tuple[str, str, float, float], ...] = (
    ("omni-path", r"omni-?\s?path", 1.2e-6, 1.2e10),
    ("slingshot", r"slingshot", 2e-6, 1.2e10),
    ("aries", r"\baries|xc30|xc40|xc50", 1.5e-6, 1e10),
    ("gemini", r"gemini|xe6|xk6|xk7", 1.5e-6, 5e9),
    ("seastar", r"xt3|xt4|xt5|seastar", 6e-6, 2e9),
    ("blue-gene", r"blue\s?gene", 3e-6, 3e9),
    ("tofu", r"tofu|fx10|fx100|\bk computer|a64fx", 1.5e-6, 2e10),
    ("th-express", r"th express|tianhe|arch interconnect", 1.5e-6, 1.4e10),
    ("ib-hdr", r"hdr", 1.2e-6, 2.4e10),
    ("ib-edr", r"edr\b", 1.2e-6, 1.2e10),
    ("ib-fdr", r"fdr", 1.3e-6, 6.5e9),
    ("ib-qdr", r"qdr|truescale", 1.6e-6, 3.2e9),
    ("ib-ddr", r"\bddr\b", 2e-6, 1.5e9),
    ("infiniband", r"infini\s?-?band|\bifb\b|\bib\b|infinipath", 3e-6, 1.2e9),
    ("100g", r"100 ?g(ig|b|ethernet|e)?\b", 1e-5, 1.2e10),
    ("50g", r"\b50 ?g(b|e|\b)", 1e-5, 6e9),
    ("40g", r"\b40 ?g(ig|b|ethernet|e|\b)", 1e-5, 4.5e9),
    ("25g", r"\b25 ?g(ig|b|ethernet|e|\b)", 1e-5, 3e9),
    ("20g", r"\b20 ?g", 1e-5, 2.4e9),
    ("10g", r"\b10 ?g(ig|b|ethernet|e|\b)|10gbase|\b10ge?\b", 1.5e-5, 1.1e9),
    ("gigabit", r"gig(abit)?[ -]?e|gigabit|gb ethernet|\bge\b|1 ?g ethernet|gbit", 4e-5, 1e8),
    ("fast-ethernet", r"fast ?ether|ethernet|100baset", 8e-5, 1.1e7),
    ("myri-10g", r"myri-?10g|myrinet 10g", 3e-6, 1.2e9),
    ("myrinet", r"myri", 9e-6, 2.3e8),
    ("quadrics", r"quadrics|qsnet|qsw|elan", 5e-6, 3e8),
    ("sci", r"\bsci\b|wulfkit|dolphin", 5e-6, 2.5e8),
    ("numalink", r"numalink|numaflex|altix|origin", 3e-6, 1e9),
    ("hyperplex", r"hyper\s?plex|hplex", 2e-5, 4e8),
    ("sp-switch", r"sp switch|\bsp\b|\bsp2|colony|federation", 3e-5, 1e8),
    ("crossbar", r"crossbar|ixs", 8e-6, 8e9),
    ("custom", r"custom|proprietary", 3e-6, 3e9),
)
UNKNOWN = "unknown"
_UNKNOWN_NETWORK = (2e-5, 3e8)
_ACCELERATORS: tuple[tuple[str, str], ...] = (
    ("v100", r"v100"),
    ("a100", r"a100"),
    ("p100", r"p100"),
    ("k80", r"\bk80"),
    ("k40", r"\bk40"),
    ("k20", r"\bk20"),
    ("fermi", r"(nvidia|tesla|gpu)\D{0,12}20[579]\d|[cms]20[579]\d"),
    ("xeon-phi", r"xeon phi (3|5|7[01]|se10)"),
    ("pezy", r"pezy"),
    ("matrix", r"matrix-2000"),
    ("radeon", r"firepro|radeon|hd 4870|s9150|s10000"),
    ("cell", r"powerxcell|qs22"),
    ("clearspeed", r"clearspeed"),
)
_PROCESSORS: tuple[tuple[str, str], ...] = (
    ("knights-landing", r"xeon phi 7[2]|phi 72"),
    ("ice-lake", r"83[568]0|platinum 8358|63[34]\d|gold 53\d\d"),
    ("cascade-lake", r"82\d\d\w? |62\d\d|platinum 92|silver 42"),
    ("skylake", r"gold|platinum|silver 41|81\d\d|61\d\d"),
    ("broadwell", r"e[57]-\d+\w? ?v4"),
    ("haswell", r"e[357]-\d+\w? ?v3"),
    ("ivy-bridge", r"e[357]-\d+\w? ?v2"),
    ("sandy-bridge", r"e5-\d+"),
    ("xeon-e7", r"e7-"),
    ("rome", r"epyc 7[0-9a-z]{2}2|7h12|rome"),
    ("milan", r"epyc 7\w+3|milan"),
    ("naples", r"epyc|hygon|dhyana"),
    ("westmere", r"x56|e56|l56|\(wm\)|\bwm\b|6-core|6c "),
    ("nehalem", r"x55|e55|l55|qc gt|x57|ec 2|nehalem"),
    ("harpertown", r"54xx|e54|x54|l54|qc ht|harpertown"),
    ("clovertown", r"53xx|e53|x53|l53|clovertown"),
    ("woodcrest", r"51xx|51[4-6]0|woodcrest"),
    ("tigerton", r"73xx|e73|x73|74xx|x74|e74|7[45]\d0|x75"),
    ("quad-core", r"quad|\bqc\b"),
    ("dual-core", r"dual|\bdc\b"),
    ("nocona", r"em64t|irwindale|nocona|3\.[246] ?ghz|3\.40 ghz"),
    ("xeon", r"p4|pentium ?4|xeon"),
    ("pentium", r"piii|pentium|p3"),
    ("interlagos", r"opteron 6[23]|interlagos|16c"),
    ("magny-cours", r"opteron 61|12-core|12 core|magny|12c|8-core"),
    ("istanbul", r"six core|opteron 24|opteron 84|6 core"),
    ("opteron", r"opteron"),
    ("athlon", r"athlon|\bamd\b|duron"),
    ("itanium", r"itanium|altix|integrity|rx\d"),
    ("blue-gene-p", r"gene/?p"),
    ("blue-gene-q", r"gene/?q|bqc"),
    ("blue-gene-l", r"blue ?gene"),
    ("power9", r"power9"),
    ("power8", r"power8"),
    ("power7", r"power ?7|p7"),
    ("power6", r"power ?6|575"),
    ("power5", r"power5|p5|p575|eserver pseries"),
    ("ppc970", r"ppc|970|js2|apple|g5"),
    ("power4", r"power4|p690|p655|regatta"),
    ("power3", r"power3"),
    ("ppc604", r"604e"),
    ("power2", r"p2sc|sp2|sp1|\bsp\b"),
    ("sparc", r"sparc|fx10|k computer|primepower|enterprise|\bhpc ?\d|fire|a64fx"),
    ("sunway", r"sunway|sw26010|sw1600"),
    ("alpha", r"alpha|es4|ev6|t3e|t3d"),
    ("mips", r"origin|onyx|challenge|r1[0-9]000"),
    ("pa-risc", r"superdome|spp|exemplar|n4000|v2\d00|x-class|pa-"),
    (
        "vector",
        r"\bsx|sr\d|vpp|y-mp|t9\d|c9\d|c90|j9|x1|sv1|3500|vector|earth|s-3|ymp",
    ),
    ("connection-machine", r"cm-?[25]"),
    ("i860", r"paragon|ipsc|xp/?s|asci red|delta"),
)
_MAKERS = (
    *("ibm", "hewlett", "hpe", "lenovo", "sgi", "cray", "dell", "sun", "fujitsu", "nec"),
    *("hitachi", "bull", "atos", "inspur", "sugon", "dawning", "huawei", "nvidia", "intel"),
    *("self", "linux networx", "appro", "supermicro", "megware", "t-platforms", "thinking"),
    *("kendall", "parsytec", "maspar", "meiko", "atipa", "pezy", "penguin", "digital", "convex"),
)


@dataclass(frozen=True)
class ListedSystem:
    """A system as the TOP500 describes it. ``peak`` in flop/s."""

    cores: int
    peak: float
    year: int
    #: Name of the system. On lists before 2012 it also names processor and interconnect.
    computer: str
    #: Order of the run (Nmax); None if unknown.
    order: int | None = None
    manufacturer: str = ""
    processor: str = ""
    interconnect: str = ""
    accelerator: str = ""

    @property
    def text(self) -> str:
        """All names except the manufacturer's, in lower case."""
        names = (self.computer, self.processor, self.interconnect, self.accelerator)
        return " ".join(name for name in names if name).lower()


@dataclass(frozen=True)
class SystemNames:
    """Families, clock (Hz; None if not named), cores per processor and words of a listed system."""

    network: str
    #: ``latency``, ``rate``: assumed latency (s) and rate (B/s) of the network.
    latency: float
    rate: float
    processor: str
    accelerator: str
    maker: str
    clock: float | None
    cores_per_chip: int | None
    words: frozenset[str]


def read_names(system: ListedSystem) -> SystemNames:
    """The facts in the names of a system."""
    text = system.text
    network = _first_network(system.interconnect.lower())
    if network in (UNKNOWN, "custom", "infiniband", "fast-ethernet"):
        by_text = _first_network(text)
        network = by_text if by_text != UNKNOWN else network
    latency, rate = next(
        ((lat, bw) for name, _, lat, bw in _NETWORKS if name == network), _UNKNOWN_NETWORK
    )
    named = system.accelerator.lower()
    maker = system.manufacturer.lower()
    return SystemNames(
        network=network,
        latency=latency,
        rate=rate,
        processor=_first(_PROCESSORS, text),
        accelerator=_first(_ACCELERATORS, named if named not in ("", "none") else text),
        maker=next((name for name in _MAKERS if name in maker), UNKNOWN),
        clock=_clock(text),
        cores_per_chip=_cores_per_chip(text),
        words=frozenset(re.findall(r"[a-z]+[a-z0-9/-]*|\d+(?:\.\d+)?[a-z0-9]*", f"{maker} {text}")),
    )


# Families whose generations differ in rate, the slowest first.
_GENERATIONS = (
    ("fast-ethernet", "gigabit", "10g", "25g", "40g", "50g", "100g"),
    ("infiniband", "ib-ddr", "ib-qdr", "ib-fdr", "ib-edr", "ib-hdr"),
)


def described_network(text: str, rate: float) -> str:
    """The family of a described network, from its names and the rate of a node's adapters (B/s).

    Of Ethernet and InfiniBand, the generation is the one whose rate is nearest.
    """
    family = _first_network(text.lower())
    for generations in _GENERATIONS:
        if family in (*generations, "20g"):
            typical = {name: each for name, _, _, each in _NETWORKS}
            return min(generations, key=lambda name: abs(math.log(typical[name] / rate)))
    return family


def without_names(names: SystemNames) -> SystemNames:
    """What a description states without naming parts: network, cores per processor, accelerators.

    ``accelerator`` is then ``UNKNOWN`` if there is none, else empty.
    """
    return replace(
        names,
        processor="",
        accelerator=UNKNOWN if names.accelerator == UNKNOWN else "",
        maker="",
        clock=None,
        words=frozenset(),
    )


def _first(table: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for name, pattern in table if _compiled(pattern).search(text)), UNKNOWN)


def _first_network(text: str) -> str:
    return _first(tuple((name, pattern) for name, pattern, _, _ in _NETWORKS), text)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _clock(text: str) -> float | None:
    found = re.search(r"(\d+(?:\.\d+)?)\s*(?:/[\d.]+)*\s*-?ghz", text)
    if found:
        return float(found[1]) * 1e9
    found = re.search(r"(\d{2,4})\s*mhz", text)
    return float(found[1]) * 1e6 if found else None


def _cores_per_chip(text: str) -> int | None:
    found = re.search(r"(?<![\d.])(\d{1,3})[- ]?c(?:ore)?\b", text)
    if found:
        return int(found[1])
    if re.search(r"quad|\bqc\b", text):
        return 4
    return 2 if re.search(r"dual|\bdc\b", text) else None
