"""Contracts: every contradiction is one sentence with file, line and fix."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acceptance_runs import contract
from assay.acceptance.example import EXAMPLE
from assay.acceptance.reading.contracts import contract_of, read_contract
from assay.errors import AssayError
from assay.toml import parse_toml

TRIAD = '[[commitment]]\ncells = "memory.stream op=triad"\n'
KEPT = f'{TRIAD}at_least = "180 GB/s"\n'
STEADY = '[[steadiness]]\ncells = "memory.stream op=triad"\nvariation_at_most = "1%"\n'
UP = '[[steadiness]]\navailability = "98%"\n'
NODES = "[machine]\nnodes = 8\n"


def wrong(text: str) -> AssayError:
    with pytest.raises(AssayError) as caught:
        contract(text)
    return caught.value


# Each contract from its third line on, the line with the error, and words of the sentence.
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 0, "The contract has no commitment"),
        (f'{TRIAD}metric = "banwidth"\nat_least = "1 GB/s"', 3, "have no metric 'banwidth'"),
        (f'{TRIAD}at_least = "1 s"', 3, "quantity in B/s is required"),
        (f'{TRIAD}at_least = "0 GB/s"', 3, "A value can't be 0 GB/s"),
        (f'{KEPT}weight = 0', 6, "'weight' can't be 0"),
        (f'{KEPT}weight = -1.5', 6, "'weight' can't be -1.5"),
        (f'[risks]\nsupplier = "0%"\n{KEPT}', 4, "'supplier' can't be 0%"),
        (f'[risks]\nbuyer = 1.2\n{KEPT}', 4, "'buyer' can't be 1.2"),
        (f'[risks]\nmargin = "60%"\n{KEPT}', 4, "'margin' can't be 60%"),
        (f"[risks]\nlaunches = 3\n{KEPT}", 4, "A decision can't take 3 launches"),
        (f'[machine]\nhosts = "n[1-"\n{KEPT}', 4, "list of hosts is invalid"),
        (KEPT.replace("op=", "opp="), 4, "has no parameter 'opp'"),
        (KEPT.replace("op=triad", "op=trid"), 4, "'op' of 'memory.stream' can't be 'trid'"),
        (
            f"[machine]\nnodes = 3\n{KEPT.replace('op=triad', 'nodes=8')}",
            6,
            "uses 8 nodes, but the machine has 3",
        ),
        (
            f"[machine]\nnodes = 3\n{KEPT.replace('op=triad', 'nodes=2')}per = \"node\"",
            6,
            "is for each node, but its cells use 2 nodes",
        ),
        (
            f'{KEPT}[[commitment]]\ncells = "memory.stream"\nwithin = ["1 GB/s", "2 GB/s"]\n',
            6,
            "no cell of 'memory.stream op=triad' can meet both",
        ),
        (f'{KEPT}at_most = "200 GB/s"', 6, "has both 'at_least' and 'at_most'"),
        (TRIAD, 3, "The commitment has no promised value"),
        (f'{TRIAD}at_most = "200 GB/s"', 3, "'at_most' promises a limit on bandwidth"),
        (f'{TRIAD}within = ["2 GB/s", "1 GB/s"]', 3, "'within' can't be from 2 GB/s to 1 GB/s"),
        (f'{TRIAD}within = ["2 GB/s"]', 5, "'within' needs two ends"),
        (f'{KEPT}{TRIAD}at_least = "170 GB/s"', 6, "contradicts or repeats the one in line 3"),
        (f'{KEPT}per = "node"', 6, "The contract states no nodes"),
        (f"[machine]\nnodes = 0\n{KEPT}", 4, "The machine can't have 0 nodes"),
        (f'[machine]\nnodes = 3\nhosts = "n[1-4]"\n{KEPT}', 4, "can't have 3 nodes"),
        (f'[machine]\nhosts = "n1,n1"\n{KEPT}', 4, "'hosts' names a node twice"),
        (f'{KEPT}share = "98%"', 6, "'share' is a share of nodes"),
        (f'{NODES}{KEPT}per = "node"\nshare = "0%"', 9, "'share' can't be 0%"),
        (f"{KEPT}penalty = 5", 6, "The amount has no currency"),
        (f'[penalties]\ncurrency = "EUR"\n{KEPT}penalty = -5', 8, "'penalty' can't be -5"),
        (f'[penalties]\ncurrency = "EUR"\n{KEPT}penalty_cap = 5', 8, "limits nothing"),
        (f'[penalties]\ncurrency = "EUR"\ncap = 0.0\n{KEPT}', 5, "'cap' can't be 0"),
        (f"{KEPT}nodes_used = 3", 3, "must both be numbers of nodes"),
        (f"[score]\nnodes = 3\n{KEPT}", 3, "must both be numbers of nodes"),
        ('[[commitment]]\ncells = "memory.strem"\nat_least = 1.0', 4, "no kernel 'memory.strem'"),
        ('[[commitment]]\ncells = "memory.stream A"\nat_least = "1 B/s"', 4, "selects no cells"),
        (f'{KEPT}marging = "3%"', 6, "Unknown key 'marging'"),
        (f'{KEPT}per = "rack"', 6, "can't be 'rack'"),
        (f'{KEPT}reference = "3 s"', 3, "quantity in B/s is required"),
        (f"{KEPT}[score]\nat_least = 0.0", 7, "A score can't be 0"),
        (f"{KEPT}[score]\nmargin = 0.1", 7, "no score is promised"),
        (f"{KEPT}[score]\nat_least = 1.0\npenalty = 5", 8, "The amount has no currency"),
        (f"[score]\n{STEADY}", 3, "A score needs commitments"),
        ("[[steadiness]]\n", 3, "The promise of steadiness has no promised value"),
        (f'{STEADY}availability = "98%"', 3, "has both"),
        (f"{STEADY}days = 3", 6, "'days' has no meaning beside 'variation_at_most'"),
        (f'{STEADY}penalty = 3', 6, "'penalty' has no meaning beside"),
        (f'{STEADY}margin = "2000%"', 6, "'margin' can't be 2000%"),
        (f'{STEADY}between = "weeks"', 6, "can't be 'weeks'"),
        ('[[steadiness]]\nvariation_at_most = "1%"', 3, "The variation has no cells"),
        ('[[steadiness]]\ncells = "npb.cg"\nvariation_at_most = "0%"', 5, "can't be 0%"),
        (f"{UP}begin = 2026-06-01\ndays = 3", 4, "The contract states no nodes"),
        (f"{NODES}{UP}days = 3", 5, "The availability has no period"),
        (f"{NODES}{UP}begin = 2026-06-01\ndays = 0", 8, "A period can't have 0 days"),
        (f"{NODES}{UP}begin = 2026-06-01T08:00:00\ndays = 3", 7, "'begin' is not a day"),
        (f'{NODES}{UP}begin = "June"\ndays = 3', 7, "'begin' is not a day: June"),
        (f'{NODES}{UP}between = "days"', 7, "'between' has no meaning beside 'availability'"),
        (f'{NODES}{UP.replace("98%", "101%")}begin = 2026-06-01\ndays = 3', 6, "can't be 101%"),
    ],
)  # fmt: skip
def test_a_contradiction_is_named_with_its_line(text: str, line: int, what: str) -> None:
    error = wrong(text)
    assert what in error.what
    assert error.where == (f"contract.toml:{line}" if line else "contract.toml")
    assert error.fix


def test_an_unknown_schema_says_what_is_read() -> None:
    with pytest.raises(AssayError, match="has schema 9; this version reads 1") as caught:
        contract_of(parse_toml('schema = 9\ntitle = "x"', Path("c.toml")))
    assert caught.value.where == "c.toml:1"


def test_the_example_is_a_contract(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(EXAMPLE)
    found = read_contract(path)
    assert (found.nodes, len(found.hosts), found.mean) == (400, 400, "geometric")
    nodes, linpack, latency = found.commitments
    assert (nodes.per, nodes.share, nodes.margin) == ("node", 0.98, 0.03)
    assert linpack.limits("flop/s").low == 9e14
    assert latency.limits("s").high == pytest.approx(1.5e-6)


def test_programs_that_are_not_in_the_catalogue_are_checked_when_they_are_measured() -> None:
    found = contract('[[commitment]]\ncells = "hpl"\nmetric = "rate"\nat_least = "3 Gflop/s"')
    assert found.commitments[0].limits("flop/s").low == 3e9
    with pytest.raises(AssayError, match="quantity in s is required"):
        found.commitments[0].limits("s")


def test_the_same_cells_with_other_metrics_or_for_nodes_do_not_contradict() -> None:
    text = f'{NODES}{KEPT}{TRIAD}metric = "time"\nat_most = "1 s"\n{KEPT}per = "node"'
    assert len(contract(text).commitments) == 3


_KEYS = (
    "weight",
    "margin",
    "share",
    "penalty",
    "at_least",
    "at_most",
    "within",
    "per",
    "nodes_used",
)
_VALUES = st.one_of(
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=12),
    st.sampled_from(["5%", "180 GB/s", "2 us", "node", "0", "-1", "1e400 GB/s"]),
    st.booleans(),
    st.lists(st.sampled_from(["1 GB/s", "2 GB/s", "x"]), max_size=3),
)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        shown = "".join(f"\\u{ord(each):04x}" if ord(each) < 0x10000 else "?" for each in value)
        return f'"{shown}"'
    return repr(value)


@given(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=5), st.booleans())
def test_any_values_give_a_contract_or_one_sentence_with_its_place(
    values: dict[str, object], has_nodes: bool
) -> None:
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    text = "\n".join(["schema = 1", 'title = "T"', NODES if has_nodes else "", TRIAD, *lines])
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    try:
        found = contract_of(parse_toml(text, Path("c.toml")))
    except AssayError as error:
        assert error.what.rstrip().endswith(".")
        assert error.where.startswith("c.toml")
        return
    (commitment,) = found.commitments
    assert commitment.weight > 0
    assert 0 < commitment.margin < 1
    assert 0 < commitment.share <= 1
    limits = commitment.limits("B/s")
    assert all(end is None or end > 0 for end in (limits.low, limits.high))
