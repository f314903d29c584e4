"""assay-check: messages between two nodes, here network namespaces joined by a cable."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from assay.check.components import MESSAGE_BANDWIDTH, MESSAGE_LATENCY, WITH_PARTNER
from assay.check.measuring.answers import read_answer
from assay.check.model import Reading
from check_programs import VirtualNode, answers, faulty, plain, sanitized, two_nodes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make network namespaces"),
]
Nodes = tuple[VirtualNode, VirtualNode]
ORDERS = tuple(f"measure {component} 0.2" for component in WITH_PARTNER)


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    with two_nodes() as both:
        yield both


def by_both(
    program: Path, nodes: Nodes, *orders: str, wait: float = 60.0
) -> tuple[list[Reading], list[Reading]]:
    """The readings of both nodes, which measure at one time."""
    started = []
    for own, partner in (nodes, nodes[::-1]):
        command = own.inside(program, "--partner", partner.address, "--wait", str(wait))
        started.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
    said: list[list[Reading]] = [[], []]

    def ask(which: int) -> None:
        out, _ = started[which].communicate("".join(f"{order}\n" for order in orders), 300)
        for order, line in zip(orders, out.splitlines()[1:], strict=True):
            found = read_answer(line.encode(), order.split()[1])
            assert isinstance(found, Reading), found
            said[which].append(found)

    threads = [threading.Thread(target=ask, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.returncode for process in started] == [0, 0]
    return said[0], said[1]


def test_both_nodes_get_the_same_verified_values(nodes: Nodes) -> None:
    first, second = by_both(plain(), nodes, *ORDERS, *ORDERS)
    assert len(first) == len(second) == 4
    for one, other in zip(first, second, strict=True):
        assert one.failed == other.failed == ""
        assert one.verified and other.verified
        assert one.values == other.values
    assert len(first[0].values) == 2  # repetitions of 0.1 s
    assert len(first[1].values) == 1  # a repetition is one in each direction


@pytest.mark.parametrize("slow", [0, 1])
def test_an_adapter_at_a_low_rate_shows_in_one_direction_alone(nodes: Nodes, slow: int) -> None:
    limit = 5e6  # B/s, of what one node sends
    nodes[slow].run(
        *("tc", "qdisc", "add", "dev", "cable", "root", "tbf"),
        *("rate", "40mbit", "burst", "32kb", "latency", "20ms"),
    )
    (first,), (second,) = by_both(plain(), nodes, f"measure {MESSAGE_BANDWIDTH} 0.4")
    assert first.failed == second.failed == ""
    assert first.verified and second.verified
    # The bucket's burst passes at once; nothing passes faster than that and the rate.
    assert all(value < 1.5 * limit for value in first.values)


def test_a_delay_shows_in_the_latency(nodes: Nodes) -> None:
    # A message with its headers has 82 bytes: 10 ms at this rate, after the burst.
    nodes[0].run(
        *("tc", "qdisc", "add", "dev", "cable", "root", "tbf"),
        *("rate", "64kbit", "burst", "1600", "latency", "400ms"),
    )
    (first,), _ = by_both(plain(), nodes, f"measure {MESSAGE_LATENCY} 0.8")
    assert first.verified
    assert median(first.values) >= 0.004  # half of a round trip


@pytest.mark.parametrize("component", WITH_PARTNER)
@pytest.mark.sanitizable
def test_a_damaged_message_is_found(nodes: Nodes, component: str) -> None:
    (first,), (second,) = by_both(faulty(), nodes, f"measure {component} 0.2 byte")
    assert first.values and second.values
    assert not (first.verified and second.verified)


@pytest.mark.sanitized
@pytest.mark.sanitizable
def test_messages_run_clean_under_the_sanitizers(nodes: Nodes) -> None:
    for each in by_both(sanitized(), nodes, *ORDERS):
        assert all(one.verified and not one.failed for one in each)


def test_a_partner_that_does_not_come_is_no_slow_adapter(nodes: Nodes) -> None:
    first, second = nodes
    for own, partner in ((first, second), (second, first)):
        command = own.inside(plain(), "--partner", partner.address, "--wait", "0.3")
        for answer in answers(command, *ORDERS):
            assert answer["values"] == []
            assert answer["failed"].startswith(f"the partner '{partner.address}' didn't ")
            assert " within 0.3 s" in answer["failed"]


def test_a_partner_that_measures_something_else_is_no_slow_adapter(nodes: Nodes) -> None:
    found = []
    for own, partner, component in (
        (nodes[0], nodes[1], MESSAGE_LATENCY),
        (nodes[1], nodes[0], MESSAGE_BANDWIDTH),
    ):
        command = own.inside(plain(), "--partner", partner.address, "--wait", "60")
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        process.stdin.write(f"measure {component} 0.1\n")
        process.stdin.flush()
        found.append(process)
    for process in found:
        out, _ = process.communicate(timeout=120)
        answer = json.loads(out.splitlines()[1])
        assert answer["values"] == []
        assert "measures something else" in answer["failed"]


def test_without_a_partner_it_says_so() -> None:
    (answer,) = answers(plain(), ORDERS[0])
    assert answer["failed"] == "messages need a partner node"


def test_an_unknown_name_is_said() -> None:
    options = ["--partner", "no-such-host.invalid"]
    (answer,) = answers(plain(), ORDERS[0], options=options)
    assert answer["failed"].startswith(
        "the address of the partner 'no-such-host.invalid' is unknown"
    )


STRANGER = """
import socket, sys, time
from_address, to, port = sys.argv[1:]
limit = time.monotonic() + 60
while time.monotonic() < limit:
    try:
        one = socket.create_connection((to, int(port)), 1, (from_address, 0))
        break
    except OSError:
        time.sleep(0.01)
one.settimeout(60)
one.send(b"x" * 100)
try:
    print(one.recv(100))
except OSError as error:
    print(b"")
"""


def test_a_stranger_is_not_taken_for_the_partner(nodes: Nodes) -> None:
    first, second = nodes
    stranger = "10.213.7.9"
    second.run("ip", "addr", "add", f"{stranger}/24", "dev", "cable")
    command = first.inside(plain(), "--partner", second.address, "--wait", "60")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as listening:
        assert listening.stdin is not None
        listening.stdin.write(f"{ORDERS[0]}\n")
        listening.stdin.flush()
        said = subprocess.run(
            second.inside(sys.executable, "-c", STRANGER, stranger, first.address, "29743"),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert said == "b''\n"  # refused without a word
        command = second.inside(plain(), "--partner", first.address, "--wait", "60")
        (answer,) = answers(command, ORDERS[0])
        assert answer["verified"] and answer["values"]
        out, _ = listening.communicate(timeout=120)
    assert json.loads(out.splitlines()[1])["values"] == answer["values"]


def test_a_partner_that_becomes_silent_is_not_waited_for_long(nodes: Nodes) -> None:
    """One that connects and then says nothing."""
    first, second = nodes
    command = first.inside(plain(), "--partner", second.address, "--wait", "1")
    silent = (
        "import socket, sys, time\n"
        "limit = time.monotonic() + 60\n"
        "while time.monotonic() < limit:\n"
        "    try:\n"
        f"        one = socket.create_connection(('{first.address}', 29743), 1)\n"
        "        break\n"
        "    except OSError:\n"
        "        time.sleep(0.01)\n"
        "one.settimeout(60)\n"
        "while one.recv(1000): pass\n"
    )
    with subprocess.Popen(second.inside(sys.executable, "-c", silent)) as process:
        time.sleep(0.5)  # it tries before the other listens
        (answer,) = answers(command, ORDERS[0])
        assert process.wait(60) == 0
    assert answer["failed"] in (
        f"the partner '{second.address}' became silent",
        # Where the stand-in came too late.
        f"the partner '{second.address}' didn't come within 1 s",
    )


def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("0.0.0.0", 0)) as used:
        port = used.getsockname()[1]
        options = ["--partner", "localhost.localdomain", "--self", "a", "--port", str(port)]
        (answer,) = answers(plain(), ORDERS[0], options=options)
    if "unknown" not in answer["failed"]:
        assert answer["failed"] == (
            f"listening for the partner at port {port} failed: Address already in use"
        )
