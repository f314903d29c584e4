"""The variables that restrict each MPI library to network adapters.

Interfaces (eth0, ib0) carry TCP; ports of fabric devices (mlx5_0:1) carry the fabric's protocol.
Sources: the manuals of UCX (``UCX_NET_DEVICES``), libfabric (fi_tcp(7), fi_verbs(7)), Open MPI (the
TCP BTL's ``btl_tcp_if_include``) and Intel MPI (``I_MPI_OFI_PROVIDER``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from assay.errors import AssayError
from assay.kernels.builds.toolchain import Flavour

_PORT = re.compile(r".+:\d+", re.ASCII)


@dataclass(frozen=True)
class AdapterChoice:
    """Environment variables for the ranks, and further options for mpirun."""

    environment: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def choose_adapters(flavour: Flavour, adapter: str | None) -> AdapterChoice:
    """Settings that restrict an MPI of this flavour to adapters ("eth0", "eth0,eth1"; None: any).

    Whether an MPICH uses UCX or libfabric can't be seen from outside, so the variables of both are
    set; libfabric's TCP takes one interface only. Raises AssayError if the library has no setting
    for these adapters.
    """
    if adapter is None:
        return AdapterChoice()
    names = adapter.split(",")
    ports = [name for name in names if _PORT.fullmatch(name)]
    interfaces = [name for name in names if name not in ports]
    match flavour:
        case "mpich":
            return AdapterChoice({**_ucx(names), **_libfabric(interfaces, ports)})
        case "intel":
            return AdapterChoice(_intel(adapter, interfaces, ports))
        case "openmpi":
            return _open_mpi(names, interfaces, ports)
        case "other":
            raise AssayError(
                f"No way is known to hold this MPI to the network adapter '{adapter}'.",
                fix="Leave 'adapter' out, and set the library's own variables in its toolchain's "
                "environment.",
            )


def _ucx(names: list[str]) -> dict[str, str]:
    rails = {"UCX_MAX_RNDV_RAILS": str(len(names))} if len(names) > 1 else {}
    return {"UCX_NET_DEVICES": ",".join(names), **rails}


def _libfabric(interfaces: list[str], ports: list[str]) -> dict[str, str]:
    if len(interfaces) == 1 and not ports:
        # Without a provider's name libfabric may choose another one without such a variable.
        return {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": interfaces[0]}
    if len(ports) == 1 and not interfaces:
        device = ports[0].rpartition(":")[0]
        return {"FI_PROVIDER": "verbs;ofi_rxm", "FI_VERBS_DEVICE_NAME": device}
    return {}


def _intel(adapter: str, interfaces: list[str], ports: list[str]) -> dict[str, str]:
    if ports and not interfaces:
        return {"I_MPI_OFI_PROVIDER": "mlx", **_ucx(ports)}
    if len(interfaces) == 1 and not ports:
        return {"I_MPI_OFI_PROVIDER": "tcp", "FI_TCP_IFACE": interfaces[0]}
    raise AssayError(
        f"Intel MPI can't be held to the network adapters '{adapter}': it takes one interface, or "
        "ports of one fabric.",
        fix="Name one interface, or only ports, or use an MPI with UCX.",
    )


def _open_mpi(names: list[str], interfaces: list[str], ports: list[str]) -> AdapterChoice:
    if ports:
        return AdapterChoice(_ucx(names), ("--mca", "pml", "ucx"))
    # ob1 over the TCP BTL: other layers would use a fabric if there is one.
    transports = ("--mca", "pml", "ob1", "--mca", "btl", "^openib,uct,ofi,usnic")
    return AdapterChoice({}, (*transports, "--mca", "btl_tcp_if_include", ",".join(interfaces)))
