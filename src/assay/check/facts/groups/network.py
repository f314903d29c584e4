"""Network interfaces: state, speed, duplex, MTU, errors. Interfaces of containers and virtual
machines come and go, and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.check.model import Fact
from assay.system.files import Tree

_FOLDER = "/sys/class/net"
_PASSING = re.compile(
    r"(lo|bonding_masters|veth|docker|br-|virbr|vnet|tap|cali|flannel|cni|lxc|lxd|kube|ifb|dummy|"
    r"tunl|sit|gre|gretap|erspan|ip6|ip_vti|teql|wg|tailscale|podman|nerdctl|vxlan|geneve|cilium)"
)
_ERRORS = ("rx_crc_errors", "rx_errors", "tx_errors")


def facts(tree: Tree) -> Iterator[Fact]:
    """Speeds in bit/s; counters since boot."""
    for name in tree.names(_FOLDER):
        folder = f"{_FOLDER}/{name}"
        physical = tree.exists(f"{folder}/device")
        if not physical and _PASSING.match(name):
            continue
        yield from _interface(tree, f"net.{name}", folder)


def _interface(tree: Tree, name: str, folder: str) -> Iterator[Fact]:
    yield Fact(
        name=f"{name}.state", value=tree.word(f"{folder}/operstate"), look_at="check cable, switch"
    )
    megabits = tree.integer(f"{folder}/speed")
    if megabits is not None and megabits > 0:
        yield Fact(
            name=f"{name}.speed",
            value=megabits * 10**6,
            unit="bit/s",
            rule="not below",
            look_at="check cable, switch port",
        )
    duplex = tree.word(f"{folder}/duplex")
    if duplex in ("full", "half"):
        yield Fact(name=f"{name}.duplex", value=duplex, look_at="check switch port")
    mtu = tree.integer(f"{folder}/mtu")
    if mtu is not None:
        yield Fact(name=f"{name}.mtu", value=mtu, look_at="check configuration")
    changes = tree.integer(f"{folder}/carrier_changes")
    if changes is not None:
        yield Fact(
            name=f"{name}.carrier_changes",
            value=changes,
            rule="counter",
            look_at="check cable, switch",
        )
    for file in _ERRORS:
        count = tree.integer(f"{folder}/statistics/{file}")
        if count is not None:
            yield Fact(
                name=f"{name}.{file}", value=count, rule="counter", look_at="check cable, adapter"
            )
