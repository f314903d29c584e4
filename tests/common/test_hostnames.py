"""Host lists in schedulers' notation, tested against brute force and Slurm's own parser."""

from __future__ import annotations

import itertools
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.hostnames import compress_hosts, expand_hosts, names_text, natural, short_names

WORDS = st.text("abcxyz-.", min_size=1, max_size=4).filter(lambda word: word[0] not in "-.")
# A range: first, number of further ones, and minimum width of its numbers.
RANGES = st.tuples(st.integers(0, 1200), st.integers(0, 12), st.integers(1, 5))


@st.composite
def names(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A name with up to two brackets, and the hosts that it expands to."""
    text, places = draw(WORDS), []
    places.append([text])
    for _ in range(draw(st.integers(0, 2))):
        written, numbers = [], []
        for first, more, width in draw(st.lists(RANGES, min_size=1, max_size=3)):
            # Only leading zeros make a width; a number of that natural width has none.
            head = f"{first:0{width}d}"
            width = len(head) if head.startswith("0") else 0
            written.append(head if more == 0 else f"{head}-{first + more:0{width}d}")
            numbers += [f"{number:0{width}d}" for number in range(first, first + more + 1)]
        text += f"[{','.join(written)}]"
        places.append(numbers)
        tail = draw(st.text("abcz", max_size=2))
        text += tail
        places.append([tail])
    return text, ["".join(parts) for parts in itertools.product(*places)]


@given(st.lists(names(), min_size=1, max_size=3))
def test_brackets_are_expanded_as_by_brute_force(found: list[tuple[str, list[str]]]) -> None:
    text = ",".join(name for name, _ in found)
    assert expand_hosts(text) == tuple(host for _, hosts in found for host in hosts)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n[1-3,07-09],m4", "n1 n2 n3 n07 n08 n09 m4"),
        ("rack[1-2]n[01-02]", "rack1n01 rack1n02 rack2n01 rack2n02"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("n[098-101]-ib", "n098-ib n099-ib n100-ib n101-ib"),
        ("login", "login"),
    ],
)
def test_the_forms_that_the_manuals_show(text: str, hosts: str) -> None:
    assert expand_hosts(text) == tuple(hosts.split())
    if shutil.which("scontrol"):
        done = subprocess.run(
            ["scontrol", "show", "hostnames", text], capture_output=True, text=True, timeout=20
        )
        if done.returncode == 0:
            assert done.stdout.split() == hosts.split()


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "n[1-",
        "n1]",
        "n[3-1]",
        "n[a-b]",
        "n[1-2",
        "a b",
        "n[]",
        "n[1,,2]",
        "n[1-999999999]",
    ],
)
def test_invalid_lists_are_refused(text: str) -> None:
    with pytest.raises(AssayError) as error:
        expand_hosts(text)
    assert error.value.fix


def test_an_endless_list_is_refused() -> None:
    with pytest.raises(AssayError, match="more than 100,000 hosts"):
        expand_hosts("a[1-1000]b[1-1000]")


@given(st.lists(st.from_regex(r"[a-c]{1,2}-?[0-9]{0,4}", fullmatch=True), max_size=30))
def test_a_compressed_list_expands_to_the_same(hosts: list[str]) -> None:
    assert (expand_hosts(compress_hosts(hosts)) if hosts else ()) == tuple(hosts)


def test_compression_and_words() -> None:
    assert compress_hosts([f"n{i}" for i in range(1, 41)]) == "n[1-40]"
    assert compress_hosts(["n08", "n09", "n10", "n12"]) == "n[08-10,12]"
    assert names_text(["a"]) == "a"
    assert names_text(["a", "b"]) == "a and b"
    assert names_text(["n1", "n2", "n3", "m"]) == "n1, n2, n3 and m"
    assert names_text(["n1", "n2", "n3", "n5", "m"]) == "n[1-3,5],m"
    assert sorted(["n10", "n9", "m", "n1"], key=natural) == ["m", "n1", "n9", "n10"]


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["n1", "n2"], ["n1", "n2"]),
        (["n1.example.org", "n2.example.org"], ["n1", "n2"]),
        (["n1.a", "n2.b"], ["n1.a", "n2.b"]),
        (["cluster-rack3-node0027.x", "c.x"], ["…node0027", "c"]),
        # The ends are the same: the names are kept.
        (["one-cluster-rack3-node0027", "two-cluster-rack3-node0027"], None),
    ],
)
def test_short_names_for_figures(names: list[str], short: list[str] | None) -> None:
    assert short_names(names) == dict(zip(names, short or names, strict=True))
