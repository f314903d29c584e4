"""The PCI Express link of a device, and its maximum bandwidth.

A lane transfers one bit per transfer. Up to 5 GT/s ten bits on the wire carry eight (8b/10b), at 8
to 32 GT/s 130 carry 128 (128b/130b; PCI Express Base Specification 3.0, 4.2.2), and from 64 GT/s on
256 bytes carry 242, as the rest of each flit is for correction and checks (6.0, 4.2.3). Headers of
packets take some more, so that no adapter reaches this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.system.files import Tree

_BITS = 8
# Share of data in the wire's bits, by the lowest transfer rate of a lane from which it applies.
_ENCODINGS = ((64e9, 242 / 256), (8e9, 128 / 130), (0.0, 8 / 10))


@dataclass(frozen=True)
class PciLink:
    """A link as it was negotiated."""

    #: Number of lanes.
    width: int
    #: Transfers per second of a lane; ``bandwidth``: B/s in one direction after the encoding of the
    #: line.
    rate: float

    @property
    def bandwidth(self) -> float:
        """Maximum bandwidth of the link in one direction, B/s."""
        share = next(share for least, share in _ENCODINGS if self.rate >= least)
        return self.width * self.rate * share / _BITS


def pci_link(tree: Tree, device: str) -> PciLink | None:
    """The link of a device's folder in sysfs; None if the system does not report it.

    Virtual devices and the old parallel bus have no link.
    """
    width = tree.integer(f"{device}/current_link_width")
    rate = transfer_rate(tree.text(f"{device}/current_link_speed"))
    if rate is None or width is None or not 0 < width <= 32:
        return None
    return PciLink(width, float(rate))


def transfer_rate(text: str | None) -> int | None:
    """``16.0 GT/s PCIe`` in transfers per second; None if unknown."""
    match = re.match(r"(\d{1,3})(?:\.(\d))? GT/s", (text or "").strip(), re.ASCII)
    if match is None:
        return None
    return int(match[1]) * 10**9 + int(match[2] or 0) * 10**8 or None
