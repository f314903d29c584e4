"""Networks that a user states, and what is refused."""

from __future__ import annotations

import pytest

from assay.errors import AssayError
from assay.reference.interconnects import interconnects, stated_networks


def test_latency_and_bandwidth_are_read_with_their_units() -> None:
    ours, other = stated_networks(
        ["latency=1.5us, bandwidth=25GB/s", "NAME = ours,bandwidth=100 Gbit/s ,latency=2e-3 ms"]
    )
    assert (ours.latency, ours.bandwidth) == pytest.approx((1.5e-6, 25e9))
    assert (other.name, other.latency, other.bandwidth) == ("ours", 2e-6, 12.5e9)
    assert ours.name == "latency 1.50 µs, 25.0 GB/s"
    assert ours.own and not any(one.own for one in interconnects())


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["latency=1us"], "has no bandwidth"),
        (["name=x"], "has no latency and no bandwidth"),
        (["fast"], "'fast' doesn't have the form KEY=VALUE"),
        ([""], "doesn't have the form KEY=VALUE"),
        (["latency=1us, bandwidth=1GB/s,"], "doesn't have the form KEY=VALUE"),
        (["latency=1us, bandwith=1GB/s"], "'bandwith' is not a property of a network"),
        (["latency=1us, latency=2us, bandwidth=1GB/s"], "two values of latency"),
        (["latency=1.5, bandwidth=1GB/s"], "The latency '1.5' has no unit"),
        (["latency=1us, bandwidth=25"], "The bandwidth '25' has no unit"),
        (["latency=1GB, bandwidth=1GB/s"], "is in GB, but a quantity in s is required"),
        (["latency=0 s, bandwidth=1GB/s"], "A latency of '0 s' is impossible"),
        (["latency=2 h, bandwidth=1GB/s"], "A latency of '2 h' is impossible"),
        (["latency=1us, bandwidth=-1 GB/s"], "A bandwidth of '-1 GB/s' is impossible"),
        (["latency=1us, bandwidth=nan"], "not a quantity"),
        (["latency=1us, bandwidth=1GB/s"] * 2, "There are two networks"),
        (["name=InfiniBand HDR, latency=1us, bandwidth=1GB/s"], "two networks 'InfiniBand HDR'"),
    ],
)
def test_what_states_no_network_is_refused(texts: list[str], says: str) -> None:
    with pytest.raises(AssayError) as error:
        stated_networks(texts, "--network")
    assert says in error.value.what and error.value.where == "--network"
    assert error.value.fix
