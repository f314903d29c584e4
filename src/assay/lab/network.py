"""The system objects of a virtual cluster: namespaces, bridges, links and rates.

All are created by iproute2's ``ip`` and ``tc``, in batches, because starting a process takes longer
than creating a link; the contents of a namespace are one batch. ``keep``: file descriptors that the
programs started here inherit, so that a lock on a descriptor lasts until the last program ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import ip_interface
from pathlib import Path

from assay.errors import AssayError
from assay.lab.names import is_orphaned
from assay.lab.spec import Wire
from assay.lab.topologies import ClusterShape, End

# Where iproute2 keeps the names of namespaces.
NAMES = Path("/run/netns")
# Bits of capabilities(7).
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
# Seconds to wait for killed processes to end, and for adapters to come up.
_PATIENCE = 10.0
# Length of an adapter's queue in seconds at its rate, and its minimum in bytes: enough for the data
# in flight of the four connections that share a slow trunk in the shipped labs, so that the bucket
# delays packets instead of dropping them.
_QUEUE, _SHORTEST_QUEUE = 0.05, 1024 * 1024
# TCP's congestion control, if the kernel has it, so that labs behave the same on all machines. BBR,
# the default of some machines, leaves a slow trunk idle: of 5 MB/s, the worst bisection of lab
# ``switches`` reaches 4.1 MB/s with BBR and 4.7 MB/s with this algorithm.
_CONGESTION_CONTROL = "cubic"
_CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_LINKS_AT_ONCE = 32
# Maximum number of packets in flight on one wire.
_MOST_DELAYED = 100_000

Progress = Callable[[int, int], None]

# Settings for routed clusters. Forward and return paths may differ, which rp_filter would treat as
# spoofing; hosts must not learn shorter routes by redirects; ICMP errors, which show a packet's
# path, must not be rate-limited. Without IPv6, adapters have no link-local addresses.
_ROUTED = """
cd /proc/sys/net/ipv4
for which in all default; do
  echo 0 >conf/$which/rp_filter
  echo 0 >conf/$which/send_redirects
  echo 0 >conf/$which/accept_redirects
done
echo 0 >icmp_ratelimit
test ! -e ../ipv6/conf || echo 1 >../ipv6/conf/all/disable_ipv6
test ! -e ../ipv6/conf || echo 1 >../ipv6/conf/default/disable_ipv6
echo {forward} >ip_forward
"""


def why_not() -> str | None:
    """A sentence on why no virtual cluster can be created here; None if it can."""
    if os.geteuid() != 0:
        return "A virtual cluster needs root: only root may make network namespaces."
    status = Path("/proc/self/status").read_text()
    rights = next(int(x[8:], 16) for x in status.splitlines() if x.startswith("CapEff:"))
    if not all(rights >> right & 1 for right in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN)):
        return "A virtual cluster needs root's full rights, but here root has none over networks."
    missing = [
        program for program in ("ip", "tc", "unshare", "taskset") if shutil.which(program) is None
    ]
    if missing:
        return f"A virtual cluster needs the program '{missing[0]}'."
    return None


def build(
    shape: ClusterShape,
    prefix: str,
    *,
    delayed: bool = False,
    progress: Progress | None = None,
    keep: Sequence[int] = (),
) -> None:
    """Create the namespaces of a shape, named ``prefix`` + node, with their contents.

    ``delayed``: whether the kernel has to delay packets. ``progress`` is called with the number of
    steps done and their total. Raises AssayError; parts that exist by then stay.
    """
    steps = 3 * len(shape.nodes) + len(shape.links)
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, steps)

    for node in shape.nodes:
        add_namespace(prefix + node, keep=keep)
        if delayed:
            check_delay(prefix + node, keep=keep)
            delayed = False
        if not shape.bridges:
            settings = _ROUTED.format(forward=int(node in shape.forwarding))
            run("ip", "netns", "exec", prefix + node, "sh", "-ec", settings, keep=keep)
        advance(1)
    for bridge in shape.bridges:
        add_bridge(prefix + shape.switches[0], bridge, keep=keep)
    for first in range(0, len(shape.links), _LINKS_AT_ONCE):
        some = [
            (link, number)
            for number, link in enumerate(shape.links[first : first + _LINKS_AT_ONCE], first)
        ]
        lines = [
            f"link add {link.one.adapter} netns {prefix}{link.one.node} address {_mac(number, 0)} "
            f"type veth peer name {link.other.adapter} netns {prefix}{link.other.node} "
            f"address {_mac(number, 1)}"
            for link, number in some
        ]
        batch(["ip"], lines, keep=keep)
        advance(len(some))
    macs = {
        (end.node, end.adapter): _mac(number, side)
        for number, link in enumerate(shape.links)
        for side, end in enumerate((link.one, link.other))
    }
    for node in shape.nodes:
        adapters = shape.adapters(node)
        batch(["ip", "-n", prefix + node], _inside(shape, node, adapters, macs), keep=keep)
        # Both ends are limited, because a switch sends to a host at no more than the link's rate.
        limit(prefix + node, [(end.adapter, wire) for end, _, wire in adapters], keep=keep)
        advance(1)
    for node in shape.nodes:
        _await_links(prefix + node, keep)
        advance(1)


def _inside(
    shape: ClusterShape,
    node: str,
    adapters: Sequence[tuple[End, End, Wire]],
    macs: dict[tuple[str, str], str],
) -> list[str]:
    """The ``ip`` commands for a node's namespace once its links exist."""
    congestion_control = _congestion_control()
    lines = []
    for end, other, _ in adapters:
        if end.bridge:
            lines.append(f"link set {end.adapter} master {end.bridge} up")
            continue
        lines.append(f"address add {end.address}/{shape.prefix} dev {end.adapter}")
        lines.append(f"link set {end.adapter} up")
        if shape.bridges:
            near = ip_interface(f"{end.address}/{shape.prefix}").network
            lines.append(
                f"route replace {near} dev {end.adapter} proto kernel scope link "
                f"src {end.address}{congestion_control}"
            )
        else:
            lines.append(_neighbour(other, end.adapter, macs))
    if shape.bridges and node in shape.hosts:
        # All namespaces share the kernel's neighbour table, and learned entries (hosts × hosts) may
        # fill it; permanent ones don't count.
        lines += [
            _neighbour(link.one, link.one.adapter, macs)
            for link in shape.links
            if link.one.node != node
        ]
    for route in shape.routes.get(node, ()):
        gateway = shape.addresses[route.via][0]
        way = "" if gateway == route.to else f"via {gateway} onlink "
        lines.append(f"route add {route.to}/32 {way}dev {route.adapter}{congestion_control}")
    return lines


def _congestion_control() -> str:
    """The end of a route's ``ip`` command that chooses TCP's congestion control."""
    known = _CONGESTION_CONTROLS.read_text().split() if _CONGESTION_CONTROLS.exists() else []
    return f" congctl {_CONGESTION_CONTROL}" if _CONGESTION_CONTROL in known else ""


def _await_links(namespace: str, keep: Sequence[int]) -> None:
    """Wait until the adapters are up.

    The kernel brings them up asynchronously, and until then they drop packets; on a busy machine
    this may take a second. Raises AssayError.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        found = json.loads(run("ip", "-n", namespace, "-j", "link", keep=keep))
        down = [
            link["ifname"]
            for link in found
            if "LOOPBACK" not in link["flags"] and link["operstate"] != "UP"
        ]
        if not down:
            return
        if time.monotonic() > deadline:
            raise AssayError(
                f"The virtual cluster's adapters don't come up: {', '.join(down)} in {namespace}.",
                fix="The machine is too busy; try again later.",
            )
        time.sleep(0.01)


def _neighbour(end: End, adapter: str, macs: dict[tuple[str, str], str]) -> str:
    mac = macs[end.node, end.adapter]
    return f"neighbour add {end.address} lladdr {mac} dev {adapter} nud permanent"


def _mac(link: int, side: int) -> str:
    """A locally administered MAC address (second bit of the first byte)."""
    return f"02:00:00:{link >> 8:02x}:{link & 255:02x}:{side:02x}"


def add_namespace(namespace: str, *, keep: Sequence[int] = ()) -> None:
    """Create a namespace with its loopback up. Raises AssayError."""
    run("ip", "netns", "add", namespace, keep=keep)
    run("ip", "-n", namespace, "link", "set", "lo", "up", keep=keep)


def add_bridge(namespace: str, bridge: str, *, keep: Sequence[int] = ()) -> None:
    """Create a bridge in a namespace."""
    lines = [f"link add {bridge} type bridge", f"link set {bridge} up"]
    batch(["ip", "-n", namespace], lines, keep=keep)


def limit(
    namespace: str, adapters: Sequence[tuple[str, Wire]], *, keep: Sequence[int] = ()
) -> None:
    """Apply the rates and delays of their wires to adapters."""
    lines = []
    for adapter, wire in adapters:
        delay_below = "root"
        if wire.rate is not None:
            burst = burst_of(wire.rate)
            queue = burst + max(round(wire.rate * _QUEUE), _SHORTEST_QUEUE)
            bucket = f"tbf rate {wire.rate:.0f}bps burst {burst} limit {queue}"
            lines.append(f"qdisc add dev {adapter} root handle 1: {bucket}")
            delay_below = "parent 1:1"
        if wire.delay > 0:
            delay = f"netem delay {wire.delay * 1e6:.1f}us limit {_MOST_DELAYED}"
            lines.append(f"qdisc add dev {adapter} {delay_below} {delay}")
    batch(["tc", "-n", namespace], lines, keep=keep)


def burst_of(rate: float) -> int:
    """Token bucket size (bytes) of an adapter with this rate (B/s): its burst after a pause.

    Two Ethernet frames, or the data of 25 µs if that is more. This is the minimum that sustains a
    Gigabit despite the delays of the kernel's timer. A message of n bytes takes at least (n -
    burst) / rate, so messages shorter than a burst are not delayed.
    """
    return max(3200, round(rate * 25e-6))


def check_delay(namespace: str, *, keep: Sequence[int] = ()) -> None:
    """Raises AssayError if the kernel can't delay packets (it has no netem)."""
    loopback = ["dev", "lo", "root"]
    try:
        run("tc", "-n", namespace, "qdisc", "add", *loopback, "netem", "delay", "1us", keep=keep)
    except AssayError as error:
        raise AssayError(
            "This kernel can't delay packets: it has no netem.",
            detail=error.detail,
            fix="Leave 'delay' out of the spec, or install the kernel's module sch_netem.",
        ) from None
    run("tc", "-n", namespace, "qdisc", "del", *loopback, keep=keep)


def remove_namespaces(namespaces: Sequence[str]) -> None:
    """End the processes in these namespaces and remove those that exist.

    Adapters and bridges are removed with their namespace. Raises AssayError if a process can't be
    ended.
    """
    there = [namespace for namespace in namespaces if (NAMES / namespace).exists()]
    deadline = time.monotonic() + _PATIENCE
    while pids := processes_in(*there):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise AssayError(
                f"Processes of a virtual cluster can't be ended: {sorted(pids)}.",
                fix="They wait for the kernel; try again later.",
            )
        time.sleep(0.01)
    batch(["ip"], [f"netns del {namespace}" for namespace in there])


def processes_in(*namespaces: str) -> list[int]:
    """The ids of the processes in these namespaces."""
    wanted = set()
    for namespace in namespaces:
        with contextlib.suppress(FileNotFoundError):
            wanted.add(_identity(NAMES / namespace))
    found = []
    for entry in os.scandir("/proc") if wanted else ():
        if entry.name.isdigit():
            # Fails for a process that has ended meanwhile and for a zombie.
            with contextlib.suppress(OSError):
                if _identity(Path(entry.path, "ns", "net")) in wanted:
                    found.append(int(entry.name))
    return found


def is_inside(namespace: str) -> bool:
    """Whether this process is in the namespace."""
    with contextlib.suppress(OSError):
        return _identity(NAMES / namespace) == _identity(Path("/proc/self/ns/net"))
    return False


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def namespaces_called(prefix: str) -> list[str]:
    """The names of the namespaces with this prefix."""
    if not NAMES.is_dir():
        return []
    return sorted(path.name for path in NAMES.iterdir() if path.name.startswith(prefix))


def orphaned_namespaces() -> Iterator[str]:
    """The namespaces of virtual clusters whose owners have ended."""
    yield from (name for name in namespaces_called("assay-lab-") if is_orphaned(name))


def batch(command: Sequence[str], lines: Iterable[str], *, keep: Sequence[int] = ()) -> None:
    """Execute the lines, if there are any, with ``ip`` or ``tc``. Raises AssayError."""
    text = "".join(f"{line}\n" for line in lines)
    if text:
        run(*command, "-batch", "-", text=text, keep=keep)


def run(*command: str, text: str = "", keep: Sequence[int] = ()) -> str:
    """The output of a command with ``text`` as input. Raises AssayError with its error output."""
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, pass_fds=keep
    )
    if done.returncode != 0:
        raise AssayError(
            f"The virtual cluster can't be created: `{' '.join(command)}` failed.",
            detail=done.stderr.strip(),
            fix="It needs a kernel with network namespaces, veth, bridge and sch_tbf.",
        )
    return done.stdout
