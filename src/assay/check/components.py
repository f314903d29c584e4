"""The measurements of a check, one per part of a node that can be slow by itself."""

from __future__ import annotations

from typing import Literal, NamedTuple

CORE = "core"
PRODUCT = "product"
STREAM = "stream"
LATENCY = "latency"
RANDOM = "random"
STORAGE = "storage"
MESSAGE_LATENCY = "message_latency"
MESSAGE_BANDWIDTH = "message_bandwidth"
DEVICE_TRIAD = "device_triad"
DEVICE_FMA = "device_fma"
DEVICE_LINK = "device_link"


class NodeComponent(NamedTuple):
    """One measurement of a check."""

    #: Its name in records, baselines and orders to the measuring program.
    name: str
    #: Its name in sentences.
    title: str
    unit: str
    better: Literal["more", "less"]
    #: What a slow value suggests to look at, as the end of a drain reason.
    look_at: str
    #: The kernel that measures the same part in a run, and its metric; empty if there is none.
    kernel: str = ""
    metric: str = ""


COMPONENTS = (
    NodeComponent(
        name=CORE,
        title="slowest core",
        unit="flop/s",
        better="more",
        look_at="check clocks",
        kernel="compute.peak",
        metric="rate",
    ),
    NodeComponent(
        name=PRODUCT,
        title="DGEMM",
        unit="flop/s",
        better="more",
        look_at="check power, cooling",
        kernel="compute.dgemm",
        metric="rate",
    ),
    NodeComponent(
        name=STREAM,
        title="memory bandwidth",
        unit="B/s",
        better="more",
        look_at="check DIMMs",
        kernel="memory.stream",
        metric="rate",
    ),
    NodeComponent(
        name=LATENCY,
        title="memory latency",
        unit="s",
        better="less",
        look_at="check DIMMs",
        kernel="memory.latency",
        metric="time",
    ),
    NodeComponent(
        name=RANDOM,
        title="random access",
        unit="update/s",
        better="more",
        look_at="check huge pages",
        kernel="memory.random",
        metric="rate",
    ),
    NodeComponent(
        name=STORAGE,
        title="local storage",
        unit="B/s",
        better="more",
        look_at="check disk",
        kernel="storage.file",
        metric="rate",
    ),
    NodeComponent(
        name=MESSAGE_LATENCY,
        title="message latency",
        unit="s",
        better="less",
        look_at="check adapter",
    ),
    NodeComponent(
        name=MESSAGE_BANDWIDTH,
        title="message bandwidth",
        unit="B/s",
        better="more",
        look_at="check adapter",
    ),
    NodeComponent(
        name=DEVICE_TRIAD,
        title="device triad",
        unit="B/s",
        better="more",
        look_at="check device",
    ),
    NodeComponent(
        name=DEVICE_FMA,
        title="device flops",
        unit="flop/s",
        better="more",
        look_at="check device",
    ),
    NodeComponent(
        name=DEVICE_LINK,
        title="device link",
        unit="B/s",
        better="more",
        look_at="check device",
    ),
)
BY_NAME = {component.name: component for component in COMPONENTS}
#: Measured with a partner node, and only if one is named.
WITH_PARTNER = (MESSAGE_LATENCY, MESSAGE_BANDWIDTH)
#: Measured on nodes with accelerators, by a process of their own.
OF_DEVICES = (DEVICE_TRIAD, DEVICE_FMA, DEVICE_LINK)
#: Measured on every node.
ALONE = tuple(each.name for each in COMPONENTS if each.name not in (*WITH_PARTNER, *OF_DEVICES))
#: A reading has one value per CPU or per device, and the slowest of them counts.
PER_UNIT = (CORE, *OF_DEVICES)


def unit_title(component: str, unit: int) -> str:
    """A component's title for one CPU or device: ``device 3 triad``, ``slowest core (CPU 3)``."""
    title = BY_NAME[component].title
    if component in OF_DEVICES:
        return title.replace("device", f"device {unit}", 1)
    return f"{title} (CPU {unit})"
