"""The catalogue's messages and bytes of the NPB kernels against the real ones.

Every NPB kernel of the catalogue is tested.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cache
from itertools import product

import pytest
from _pytest.mark import ParameterSet

from assay.kernels import npb
from assay.kernels.catalogue import Kernel, Peers, Work
from assay.kernels.npb import adi
from assay.kernels.npb.bt import BT_SIZES, BT_SYSTEM
from assay.kernels.npb.common import CODE, PLAIN, TUNED, is_plain
from assay.kernels.npb.sp import SP_SIZES, SP_SYSTEM
from assay.model.placement import Value
from mpi_counts import sent_by

QUANTITIES = {"operations": "op", "flops": "flop", "traffic": "B", "messages": "", "sent": "B"}
# Powers of two divide all classes' problems evenly; otherwise some ranks have more work.
TOLERANCES = {1: 0.01, 2: 0.01, 3: 0.1, 4: 0.01, 6: 0.1}
# Official operations up to which class W is counted too: seconds, for any number of ranks per core.
CHEAP = 1e9

# The lines of these are padded to whole vectors; the catalogue assumes the widest.
PADDED = {"npb.bt": (BT_SIZES, BT_SYSTEM), "npb.sp": (SP_SIZES, SP_SYSTEM)}

each_kernel = pytest.mark.parametrize("kernel", npb.KERNELS, ids=lambda kernel: kernel.name)


def _classes(kernel: Kernel) -> list[str]:
    parameter = kernel.parameter("class")
    assert parameter is not None
    return [str(choice) for choice in parameter.choices]


@each_kernel
def test_work_and_communication_are_complete(kernel: Kernel) -> None:
    """Each quantity, finite and in its unit, for all classes; several ranks communicate."""
    for size in _classes(kernel):
        for ranks, threads in ((1, 1), (2, 1), (3, 2), (97, 4)):
            work = kernel.work({"class": size}, ranks, threads)
            missing = sorted(set(QUANTITIES) - set(work))
            assert not missing, f"{kernel.name} class {size} doesn't tell its {missing[0]}"
            assert all(0 <= value < float("inf") for value in work.values())
            if ranks > 1:
                assert work["messages"] > 0 and work["sent"] > 0
    for quantity, unit in QUANTITIES.items():
        assert kernel.work_units.get(quantity) == unit, f"the unit of {kernel.name}'s {quantity}"
        assert kernel.formulas.get(quantity), f"{kernel.name}'s {quantity} lacks its formula"


@each_kernel
def test_operations_do_not_depend_on_the_number_of_ranks(kernel: Kernel) -> None:
    """The problem is the same; and a larger class has more of everything."""
    for size in _classes(kernel):
        alone = kernel.work({"class": size}, 1, 1)
        assert alone["operations"] == kernel.work({"class": size}, 7, 2)["operations"] > 0
    works = [kernel.work({"class": size}, 2, 1) for size in _classes(kernel)]
    assert [w["operations"] for w in works] == sorted({w["operations"] for w in works})


def _cases() -> list[ParameterSet]:
    cases = [
        pytest.param(kernel, "S", ranks, TUNED, marks=() if ranks in (2, 3) else pytest.mark.long)
        for kernel in npb.KERNELS
        for ranks in TOLERANCES
    ]
    # On one rank IS exchanges its keys with itself.
    cases += [
        pytest.param(kernel, "S", ranks, PLAIN, marks=() if ranks == quick else pytest.mark.long)
        for kernel in npb.KERNELS
        if kernel.parameter(CODE) is not None
        for quick in [1 if kernel.name == "npb.is" else 2]
        for ranks in TOLERANCES
    ]
    for kernel in npb.KERNELS:
        operations = kernel.work({"class": "W"}, 1, 1)["operations"]
        cases += [
            pytest.param(kernel, "W", ranks, TUNED, marks=pytest.mark.long)
            for ranks in (2, 3)
            if operations <= CHEAP
        ]
    return cases


@cache
def lanes_here() -> int:
    """Doubles per vector of code compiled for this machine (native/compute/lanes.hpp)."""
    command = ["c++", "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"]
    macros = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return 8 if " __AVX512F__ " in macros else 4 if " __AVX__ " in macros else 2


def expected(
    kernel: Kernel, parameters: Mapping[str, Value], ranks: int
) -> tuple[Work, Peers | None]:
    """The catalogue's work and peers, with this machine's vectors."""
    work = dict(kernel.work(parameters, ranks, 1))
    peers = kernel.peers and kernel.peers(parameters, ranks, 1)
    if kernel.name in PADDED and not is_plain(parameters):
        size = str(parameters["class"])
        sizes, system = PADDED[kernel.name]
        points, steps = sizes[size]
        messages, sent = adi.communication(points, system, ranks, 1, lanes_here())
        work |= {"messages": steps * messages, "sent": steps * sent}
        by_pair = adi.peers(points, system, ranks, 1, lanes_here())
        peers = {pair: steps * sent for pair, sent in by_pair.items()}
    return work, peers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "size", "ranks", "code"),
    _cases(),
    ids=lambda value: getattr(value, "name", str(value)),
)
@pytest.mark.long
def test_messages_and_bytes_are_the_real_ones(
    kernel: Kernel, size: str, ranks: int, code: str
) -> None:
    """In total; and from each rank to each other, where the catalogue has it."""
    parameters = {"class": size} if code == TUNED else {"class": size, CODE: code}
    formula, peers = expected(kernel, parameters, ranks)
    found = sent_by(kernel.name, parameters, ranks)
    tolerance = TOLERANCES[ranks]
    assert found.messages == pytest.approx(formula["messages"], rel=tolerance), found
    assert found.bytes == pytest.approx(formula["sent"], rel=tolerance), found
    if peers is not None:
        assert found.peers.keys() == peers.keys()
        for pair, sent in peers.items():
            assert sent == pytest.approx(found.peers[pair], rel=1e-9), pair


@each_kernel
def test_bytes_per_receiver_add_up_to_all_bytes(kernel: Kernel) -> None:
    """Collective traffic comes in addition, and is little where peers are known."""
    if kernel.peers is None:
        return
    for size, ranks in product(("S", "A", "C"), (2, 5, 12, 32)):
        peers = kernel.peers({"class": size}, ranks, 1)
        assert all(one != other and max(one, other) < ranks for one, other in peers)
        assert sum(peers.values()) <= kernel.work({"class": size}, ranks, 1)["sent"] * (1 + 1e-9)
