"""Kernels of the network family: messages between pairs of ranks, and the barrier."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.gpu.common import DEVICE_MEMORY, check_device_memory
from assay.model.placement import Placement, Value
from assay.units import counted

Parameters = Mapping[str, Value]

ON_DEVICES = (
    "memory = device: the buffers lie on the ranks' devices, and MPI takes their addresses. An MPI "
    "that doesn't say that it can is refused."
)
MODES = ("blocking", "nonblocking", "preposted", "persistent", "put", "get")
ONE_SIDED = ("put", "get")
PARTITIONED = "partitioned"
DIRECTIONS = ("unidirectional", "bidirectional")
_MOST = 1 << 30  # bytes of a message
_PARTITIONS = 4
_MOST_PINGPONG = 1 << 33  # larger counts than an int of MPI: native/network/extent.hpp

_BYTES = Parameter("bytes", 8, "message size", unit="B", low=0, high=_MOST)
_TO = Parameter("to", -1, "partner of this rank; -1: the last rank", low=-1)
_HOW_ONE_SIDED = (
    "put and get use MPI_Put or MPI_Get, completed by MPI_Win_flush, on a window from "
    "MPI_Win_allocate. The target is passive (MPI_Win_lock_all is held throughout), because "
    "one-sided communication is meant to work without the target."
)


def _size(parameters: Parameters) -> float:
    return float(parameters["bytes"])


def _ways(parameters: Parameters) -> int:
    return 2 if parameters["direction"] == "bidirectional" else 1


def _message_work(parameters: Parameters, ranks: int, threads: int) -> Work:
    return {"bytes": _size(parameters)}


def _stream_work(parameters: Parameters, ranks: int, threads: int) -> Work:
    ways = _ways(parameters)
    return {"bytes": ways * _size(parameters), "messages": float(ways)}


def _multi_work(parameters: Parameters, ranks: int, threads: int) -> Work:
    return {"bytes": _size(parameters), "all_bytes": ranks // 2 * _size(parameters)}


def _concurrent_work(parameters: Parameters, ranks: int, threads: int) -> Work:
    # 0 means the maximum number of senders; the kernel's record has the actual number.
    senders = int(parameters["senders"]) or ranks // 2
    return {"bytes": _size(parameters), "all_bytes": senders * _size(parameters)}


# The sample and the check, which repeats every operation with messages of all sizes: powers of two
# up to the size, twice it in total.
_WITH_CHECK = 3.0
# As in native/network/pairs_at_once.hpp: bytes and minimum and maximum trips of an operation.
_COUNT_BYTES, _FEWEST_TRIPS, _MOST_TRIPS = 256 << 10, 2, 32


def _round_trip_bytes(parameters: Parameters, nodes: int, ppn: int) -> float:
    return 2 * _WITH_CHECK * _size(parameters)


def _window_bytes(parameters: Parameters, nodes: int, ppn: int) -> float:
    return _WITH_CHECK * int(parameters["window"]) * _size(parameters)


def _trips_bytes(parameters: Parameters) -> float:
    """Bytes sent one way by the trips of an operation and by the check."""
    size = int(parameters["bytes"])
    trips = min(max(_COUNT_BYTES // max(size, 1), _FEWEST_TRIPS), _MOST_TRIPS)
    return (trips + _WITH_CHECK - 1.0) * size


def _multi_bytes(parameters: Parameters, nodes: int, ppn: int) -> float:
    if parameters["pairing"] == "neighbours" and ppn % 2 == 0:
        return 0.0
    return 2 * ppn * _trips_bytes(parameters)


def _concurrent_bytes(parameters: Parameters, nodes: int, ppn: int) -> float:
    return (int(parameters["senders"]) or ppn) * _trips_bytes(parameters)


def _no_work(parameters: Parameters, ranks: int, threads: int) -> Work:
    return {}


def _two_buffers(parameters: Parameters, ranks: int, threads: int) -> float:
    return 2 * _size(parameters)


def _stream_memory(parameters: Parameters, ranks: int, threads: int) -> float:
    places = int(parameters["window"]) if parameters["buffers"] == "each" else 1
    return _ways(parameters) * places * _size(parameters)


def check_pair(parameters: Parameters, placement: Placement) -> str | None:
    """Whether 'from' and 'to' are two different ranks of the placement."""
    last = placement.ranks - 1
    ends = {name: int(parameters[name]) for name in ("from", "to")}
    if ends["to"] == -1:
        ends["to"] = last
    for name, rank in ends.items():
        if not 0 <= rank <= last:
            return (
                f"'{name}' is rank {rank}, but the last of {placement.ranks} ranks is {last}: "
                "choose another rank, or use more ranks."
            )
    if ends["from"] == ends["to"]:
        return f"'from' and 'to' are both rank {ends['to']}, but must differ: choose another rank."
    return None


def _check_pingpong(parameters: Parameters, placement: Placement) -> str | None:
    # A cell of another mode has no partitions.
    partitions = int(parameters.get("partitions", _PARTITIONS))
    if parameters["mode"] != PARTITIONED:
        if partitions != _PARTITIONS:
            return f"'partitions' belongs to mode = {PARTITIONED}: leave it out."
    elif int(parameters["bytes"]) % partitions:
        return f"bytes = {parameters['bytes']} is not a multiple of partitions = {partitions}."
    if parameters.get("memory") == "device" and parameters["mode"] in ONE_SIDED:
        return "mode = put and get use memory of MPI's own: leave memory = device out."
    return check_device_memory(parameters) or check_pair(parameters, placement)


def _needs_mpi_4(parameters: Parameters) -> str | None:
    return f"mode = {PARTITIONED}" if parameters["mode"] == PARTITIONED else None


def _check_stream(parameters: Parameters, placement: Placement) -> str | None:
    if _ways(parameters) == 2 and parameters["mode"] == "blocking":
        return (
            "direction = bidirectional with mode = blocking: two ranks that send to each other by "
            "MPI_Send may deadlock: choose another mode."
        )
    return check_pair(parameters, placement)


def _check_even(parameters: Parameters, placement: Placement) -> str | None:
    if placement.ranks % 2:
        return f"{placement.ranks} ranks can't be paired: use an even number."
    return None


def _check_senders(parameters: Parameters, placement: Placement) -> str | None:
    """Senders are the first node's ranks, or the first half of a single node's."""
    senders = int(parameters["senders"])
    if placement.nodes > 1:
        most, of = min(placement.ppn, placement.ranks - placement.ppn), "the first node"
    else:
        most, of = placement.ranks // 2, "half of the node"
    if senders <= most:
        return None
    ranks = counted(most, "rank")
    return f"senders = {senders}, but {of} has {ranks}: use fewer senders, or more ranks per node."


KERNELS = (
    Kernel(
        name="network.pingpong",
        title="Ping-pong: latency and bandwidth between two ranks",
        parameters=(
            Parameter("bytes", 8, "message size", unit="B", low=0, high=_MOST_PINGPONG),
            Parameter("from", 0, "rank that sends first and measures the time", low=0),
            _TO,
            Parameter(
                "mode",
                "blocking",
                "MPI calls to use; preposted: each receive is posted before its message is sent",
                choices=(*MODES, PARTITIONED),
            ),
            Parameter(
                "partitions",
                _PARTITIONS,
                "parts of a message with mode = partitioned",
                low=1,
                high=4096,
                omitted=True,
            ),
            *DEVICE_MEMORY,
        ),
        metrics=(
            Metric(
                "latency",
                "s",
                "less",
                "half a round trip; for put and get, one complete transfer",
            ),
            Metric("bandwidth", "B/s", "more", "message size / latency", quantity="bytes"),
        ),
        work=_message_work,
        source="Edmundsson et al. (2004), 5.2; Pepper & Gupta (2005)",
        min_ranks=2,
        headline="latency",
        notes="Each of the two ranks has one buffer for sending and one for receiving; all other "
        "ranks wait. "
        "blocking: MPI_Send, MPI_Recv; nonblocking: MPI_Isend, MPI_Irecv, each followed by a wait; "
        "persistent: the same with persistent requests; partitioned: MPI_Psend_init, "
        "MPI_Precv_init, and MPI_Pready for each part (MPI 4). "
        + _HOW_ONE_SIDED
        + " "
        + ON_DEVICES,
        work_units={"bytes": "B"},
        formulas={"bytes": "bytes, one way"},
        memory=_two_buffers,
        check=_check_pingpong,
        needs_mpi_4=_needs_mpi_4,
        link_bytes=_round_trip_bytes,
    ),
    Kernel(
        name="network.stream",
        title="Streams of messages: message rate and bandwidth of windows",
        parameters=(
            _BYTES,
            Parameter("from", 0, "rank that sends (with get: that fetches)", low=0),
            _TO,
            Parameter("mode", "nonblocking", "MPI calls to use", choices=MODES),
            Parameter(
                "direction",
                "unidirectional",
                "from one rank to the other, or in both directions concurrently",
                choices=DIRECTIONS,
            ),
            Parameter("window", 64, "messages in flight in each direction", low=1, high=4096),
            Parameter(
                "buffers",
                "one",
                "one buffer for all messages of a window, as in the OSU benchmarks, or one buffer "
                "for each",
                choices=("one", "each"),
            ),
        ),
        metrics=(
            Metric(
                "time", "s", "less", "time of a window / number of its messages in one direction"
            ),
            Metric(
                "rate", "op/s", "more", "messages in both directions / time", quantity="messages"
            ),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "message sizes in both directions / time",
                quantity="bytes",
            ),
        ),
        work=_stream_work,
        source="Definitions of osu_bw, osu_bibw and osu_mbw_mr, OSU micro-benchmarks 7",
        min_ranks=2,
        headline="rate",
        notes="A window ends with an empty message from the receiver. With both directions it ends "
        "when the partner's messages have arrived. With put and get it ends with "
        "MPI_Win_flush, and with both directions also with an empty message from each rank. "
        "If both ranks send, the slower one counts. preposted: the receives of a window are "
        "posted before the previous window is acknowledged. " + _HOW_ONE_SIDED,
        work_units={"bytes": "B", "messages": ""},
        formulas={
            "bytes": "bytes, twice if bidirectional",
            "messages": "1, or 2 if bidirectional",
        },
        memory=_stream_memory,
        check=_check_stream,
        link_bytes=_window_bytes,
    ),
    Kernel(
        name="network.multi_pingpong",
        title="Ping-pong of many pairs concurrently",
        parameters=(
            _BYTES,
            Parameter(
                "pairing",
                "halves",
                "partners: rank i and i + ranks / 2, or neighbours (0 and 1, 2 and 3)",
                choices=("halves", "neighbours"),
            ),
        ),
        metrics=(
            Metric("time", "s", "less", "half a round trip of the slowest pair"),
            Metric("fastest", "s", "less", "half a round trip of the fastest pair", "fastest"),
            Metric(
                "min_bandwidth",
                "B/s",
                "more",
                "message size / time, slowest pair",
                quantity="bytes",
            ),
            Metric(
                "max_bandwidth",
                "B/s",
                "more",
                "message size / time, fastest pair",
                series="fastest",
                quantity="bytes",
            ),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "message sizes of all pairs / time of the slowest pair",
                quantity="all_bytes",
            ),
        ),
        work=_multi_work,
        source="Edmundsson et al. (2004), 5.2, figure 2: Multi(16), min and max",
        min_ranks=2,
        notes="Blocking MPI_Send and MPI_Recv. All pairs start together and make the same number "
        "of trips, so a slow pair may make its last trips while no other pair communicates. The "
        "slowest and the fastest pair are determined in each sample, so they may differ between "
        "samples.",
        work_units={"bytes": "B", "all_bytes": "B"},
        formulas={"bytes": "bytes, one way", "all_bytes": "ranks / 2 * bytes"},
        memory=_two_buffers,
        check=_check_even,
        link_bytes=_multi_bytes,
    ),
    Kernel(
        name="network.concurrent",
        title="Concurrent sends from one node to others",
        parameters=(
            _BYTES,
            Parameter(
                "senders",
                0,
                "ranks of the first node that send, each to a rank of another node, with the nodes "
                "in turn; on a single node its first half sends to the second half; 0: the maximum",
                low=0,
            ),
        ),
        metrics=(
            Metric(
                "time", "s", "less", "time of a message and its acknowledgement, slowest sender"
            ),
            Metric(
                "fastest",
                "s",
                "less",
                "time of a message and its acknowledgement, fastest sender",
                "fastest",
            ),
            Metric(
                "bandwidth_each",
                "B/s",
                "more",
                "message size / time of the slowest sender",
                quantity="bytes",
            ),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "message sizes of all senders / time of the slowest sender",
                quantity="all_bytes",
            ),
        ),
        work=_concurrent_work,
        source="Luecke, Li & Cuma (2005), 4.3, figure 9",
        min_ranks=2,
        notes="Messages are sent by blocking MPI_Send. Each message is acknowledged by an empty "
        "message, so that the sender's own clock measures its arrival. The paper times one "
        "message after a barrier on all ranks, "
        "which includes the barrier's own spread.",
        work_units={"bytes": "B", "all_bytes": "B"},
        formulas={"bytes": "bytes", "all_bytes": "senders * bytes"},
        memory=lambda parameters, ranks, threads: _size(parameters),
        check=_check_senders,
        link_bytes=_concurrent_bytes,
    ),
    Kernel(
        name="network.barrier",
        title="Barrier over all ranks",
        parameters=(),
        metrics=(Metric("time", "s", "less", "one of several consecutive barriers, slowest rank"),),
        work=_no_work,
        source="Edmundsson et al. (2004), 5.2",
        min_ranks=2,
    ),
)
